# Names for Pods, and the environment of distributed training: spec.network and spec.distributed (CONTRACT.md §2, §4, §12).

SERVICE='{spec: .spec | {clusterIP, publishNotReadyAddresses, selector}, labels: .metadata.labels, owners: .metadata.ownerReferences}'

service() { get_jq "/api/v1/namespaces/$NS/services/$1" -cS "$2"; } # name expression
no_service() { is_absent "/api/v1/namespaces/$NS/services/$1"; } # name

# One headless Service before the first Pod, kept over attempts, and gone with the Framework.
run_network() {
    local uid
    record pods
    create '(fw("named"; [role("a"; 2; {})]) | .spec.network = {}),
        (fw("plain"; [role("a"; 1; {})])),
        (fw("switchedoff"; [role("a"; 1; {})]) | .spec.network = {enableDNSHostnames: false}),
        (fw("again"; [role("a"; 1; {"run-seconds": 0, "attempt-exit-code": "1,1,0"})]) |
            .spec.network = {subdomain: "sub-1", publishNotReadyAddresses: false} | .spec |= retry(false; 1)),
        (fw("own"; [role("a"; 1; {}) | .task.pod.spec += {hostname: "mine", subdomain: "theirs"}]) | .spec.network = {})'
    wait_running named
    wait_running own
    expect "its Service" "$(service named "$SERVICE")" "$(jq -cS . <<END
{"spec": {"clusterIP": "None", "publishNotReadyAddresses": true, "selector": {"FC_FRAMEWORK_NAME": "named"}},
 "labels": {"FC_FRAMEWORK_NAME": "named"},
 "owners": [{"apiVersion": "frameworkcontroller.microsoft.com/v1", "kind": "Framework", "name": "named",
    "uid": "$(framework named .metadata.uid)", "controller": true, "blockOwnerDeletion": true}]}
END
)"
    wait_completed again
    # (a server that does not know the member leaves it out when it is false)
    expect "the Service of again" "$(service sub-1 '[.spec.clusterIP, .spec.publishNotReadyAddresses // false]')" '["None",false]'
    wait_running plain
    wait_running switchedoff
    end_records
    expect_lines "names of Pods" "$(jq -r 'select(.type == "ADDED").object | "\(.metadata.name) \(.spec.hostname) \(.spec.subdomain)"' \
        "$RUN/out/$scenario.pods" | LC_ALL=C sort -u)" \
'again-a-0 a-0 sub-1
named-a-0 a-0 named
named-a-1 a-1 named
own-a-0 mine theirs
plain-a-0 null null
switchedoff-a-0 null null'
    expect "Services" "$(get_jq "/api/v1/namespaces/$NS/services" -r '[.items[].metadata.name] | sort | join(" ")')" "named own sub-1"
    # A Service that somebody deletes is there again with the next attempt.
    create 'fw("deleted"; [role("a"; 1; {})]) | .spec.network = {} | .spec.retryPolicy = {maxRetryCount: 1}'
    wait_running deleted
    uid=$(service deleted .metadata.uid)
    delete services/deleted
    delete pods/deleted-a-0 '{"gracePeriodSeconds": 0}'
    wait_framework deleted 30 '.status.attemptStatus.id == 1 and .status.state == "AttemptRunning"'
    [[ $(service deleted .metadata.uid) != "$uid" ]] || fail "the Service of deleted is still the first one"
    k delete framework named own again deleted --wait=true >/dev/null
    for name in named own sub-1 deleted; do wait_for 20 "Service $name is gone" no_service "$name"; done
}

# Somebody else's Service is left as it is, reported, and waited for; a Framework of the same name as one before it is not
# troubled by that one's.
run_network_foreign() {
    local before
    api POST "/api/v1/namespaces/$NS/services" '{"metadata": {"name": "taken", "labels": {"FC_FRAMEWORK_NAME": "taken"}},
        "spec": {"ports": [{"port": 80}]}}' >/dev/null
    before=$(service taken .metadata)
    create '(fw("taken"; [role("a"; 1; ends(0; 0))]) | .spec.network = {}), fw("other"; [role("a"; 1; ends(0; 0))])'
    wait_event taken NamingConflict '^Service taken with uid [-0-9a-f]+ is controlled by nobody and not by this Framework'
    wait_completed other
    wait_framework taken 15 '.status.state == "AttemptPreparing"'
    expect "the Service of somebody else" "$(service taken .metadata)" "$before"
    is_absent "/api/v1/namespaces/$NS/pods/taken-a-0" || fail "a Pod was created without its Service"
    delete services/taken
    wait_completed taken 60
    for _ in 1 2; do
        create 'fw("same"; [role("a"; 1; ends(0; 0))]) | .spec.network = {}'
        wait_completed same
        k delete framework same --wait=true >/dev/null
    done
}

# What the schema knows to be wrong never gets in; what only the whole object can tell makes it malformed.
run_network_refused() {
    not_accepted "enableDNSHostnames" 'network.enableDNSHostnames.*boolean' '.spec.network = {enableDNSHostnames: "yes"}'
    not_accepted "subdomain" 'network.subdomain.*should match' '.spec.network = {subdomain: "a.b"}'
    not_accepted "a long subdomain" 'network.subdomain.*(63|long)' '.spec.network = {subdomain: ("a" * 64)}'
    not_accepted "kind" 'distributed.kind.*(Unsupported|supported) value' '.spec.distributed = {kind: "MPI"}'
    not_accepted "no kind" 'distributed.*kind.*[Rr]equired|distributed.*required.*kind' '.spec.distributed = {port: 1}'
    not_accepted "port" 'distributed.port.*less than or equal to 65535' '.spec.distributed = {kind: "JAX", port: 65536}'
    not_accepted "processesPerTask" 'distributed.processesPerTask.*greater than or equal to 1' \
        '.spec.distributed = {kind: "PyTorch", processesPerTask: 0}'
    not_accepted "processesPerTask as a text" 'distributed.processesPerTask.*should match' \
        '.spec.distributed = {kind: "PyTorch", processesPerTask: "gpu"}'
    not_accepted "no TaskRole" 'distributed.taskRoles.*(at least 1|empty)' '.spec.distributed = {kind: "JAX", taskRoles: []}'
    not_accepted "a TaskRole twice" 'distributed.taskRoles.*Duplicate' '.spec.distributed = {kind: "JAX", taskRoles: ["a", "a"]}'
    create '(fw("1st"; [role("a"; 1; {})]) | .spec.network = {}),
        (fw("longnames"; [role("a" * 62; 1; {})]) | .spec.network = {}),
        (fw("norole"; [role("a"; 1; {})]) | .spec.distributed = {kind: "JAX", taskRoles: ["b"]}),
        (fw("nonames"; [role("a"; 1; {})]) | .spec.distributed = {kind: "JAX"} | .spec.network = {enableDNSHostnames: false}),
        (fw("processes"; [role("a"; 1; {})]) | .spec.distributed = {kind: "JAX", processesPerTask: "auto"}),
        (fw("large"; [role("a"; 10000; {})]) | .spec.distributed = {kind: "TensorFlow"}),
        (fw("2nd"; [role("a"; 1; ends(0; 0))]) | .spec.network = {subdomain: "second"})'
    wait_completed 2nd
    wait_event 1st Malformed 'spec.network.subdomain is missing, and metadata.name is "1st"'
    wait_event longnames Malformed 'spec.taskRoles\[0\].name is "a{62}", expected at most 61 characters'
    wait_event norole Malformed 'spec.distributed.taskRoles\[0\] is "b", expected the name of a TaskRole'
    wait_event nonames Malformed 'spec.network.enableDNSHostnames is false, expected true'
    wait_event processes Malformed 'spec.distributed.processesPerTask is "auto", expected an integer'
    wait_event large Malformed 'TF_CONFIG would have [0-9]+ bytes'
    expect "Pods" "$(pod_names)" ""
}

# A variable of a container of a Pod, as the API server has it.
variable() { # pod name
    get_jq "/api/v1/namespaces/$NS/pods/$1" -r --arg name "$2" \
        '[.spec.containers[0].env[] | select(.name == $name).value] | join("|")'
}

# The environment follows from the spec: of what is created, when it is created.
run_distributed() {
    create '(fw("torch"; [role("master"; 1; {}), role("worker"; 2; {}) | .task.pod.spec.containers[0].env =
            [{name: "RANK", value: "own"}, {name: "MINE", value: "$(PET_NODE_RANK)/$(PET_NNODES)"}]]) |
            .spec.distributed = {kind: "PyTorch", processesPerTask: "auto"}),
        (fw("tf"; [role("chief"; 1; {}), role("worker"; 1; {})]) | .spec.distributed = {kind: "TensorFlow", port: 7000} |
        .spec.network = {subdomain: "cluster"}),
        (fw("jax"; [role("side"; 1; {}), role("worker"; 2; {})]) | .spec.distributed = {kind: "JAX", taskRoles: ["worker"]})'
    wait_running torch
    wait_running tf
    wait_running jax
    expect "stored" "$(framework torch '.spec.distributed | tojson') $(framework jax '.spec.distributed.processesPerTask')" \
        '{"kind":"PyTorch","processesPerTask":"auto"} 1'
    expect "torch" "$(for name in MASTER_ADDR MASTER_PORT WORLD_SIZE RANK PET_NNODES PET_NODE_RANK \
            PET_NPROC_PER_NODE; do variable torch-worker-1 $name; done | tr '\n' ' ')" \
        "master-0.torch 29500 3 own 3 2 auto "
    expect "tf" "$(variable tf-worker-0 TF_CONFIG)" \
        '{"cluster":{"chief":["chief-0.cluster:7000"],"worker":["worker-0.cluster:7000"]},'\
'"task":{"type":"worker","index":0},"environment":"cloud"}'
    expect "jax" "$(for name in JAX_COORDINATOR_ADDRESS JAX_NUM_PROCESSES JAX_PROCESS_ID; do variable jax-worker-1 $name; done |
            tr '\n' ' ')" \
        "worker-0.jax:29500 2 1 "
    expect "who takes no part" "$(variable jax-side-0 JAX_PROCESS_ID)" ""
    patch_framework torch "{\"spec\": {\"taskRoles\": $(framework torch '.spec.taskRoles | .[1].taskNumber = 3' | jq -c .)}}"
    wait_framework torch 20 '.status.attemptStatus.taskRoleStatuses[1].taskStatuses[2].state == "AttemptRunning"'
    expect "after a rescale, new and old" "$(variable torch-worker-2 WORLD_SIZE) $(variable torch-worker-1 WORLD_SIZE)" "4 3"
}

# Without the rights an Event says which are missing, other Frameworks go on, and it goes on when they are granted.
run_network_forbidden() {
    own_cluster
    take_right network "" services
    start_watcher
    create '(fw("waits"; [role("a"; 2; ends(0; 0))]) | .spec.network = {}), fw("other"; [role("a"; 1; ends(0; 0))])'
    wait_event waits FailedCreateService \
        '^Failed to create waits: services .*is forbidden: .*The rights that spec.network needs are in manifests/rbac/network'
    wait_completed other
    wait_framework waits 15 '.status.state == "AttemptPreparing"'
    give_right network
    wait_completed waits 90
}

# Answers that are lost, and a reconciler that is killed meanwhile: one Service, which is found again.
run_network_killed() {
    [[ $CLUSTER == embedded ]] || not_here "answers are lost on the embedded API server only"
    own_cluster
    start_watcher "${STEADY_ELECTION[@]}"
    record services
    testapi_fault '{"match": {"resource": "services", "verb": "create"}, "count": 1, "action": {"cutAnswer": true}}'
    create 'fw("lost"; [role("a"; 2; ends(0; 0))]) | .spec.network = {}'
    wait_completed lost
    testapi_fault '{"match": {"resource": "services", "verb": "create", "name": "killed"}, "action": {"answerLatencyMs": 60000}}'
    create 'fw("killed"; [role("a"; 2; ends(0; 0))]) | .spec.network = {}'
    wait_for 20 "the Service is created" eval '! no_service killed'
    kill_reconcilers
    testapi DELETE faults >/dev/null
    wait_completed killed 60
    end_records
    expect_lines "Services created" \
        "$(jq -r 'select(.type == "ADDED").object.metadata.name' "$RUN/out/$scenario.services" | LC_ALL=C sort)" 'killed
lost'
}
