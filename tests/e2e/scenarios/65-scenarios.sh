# The examples in manifests/examples/scenarios, walked through as they say themselves. What they train with is stood in
# for by ../standins; volumes that other machines would serve are empty directories.

SCENARIOS=$EXAMPLES/scenarios

# The file's Framework, ready to run here.
scenario_framework() { # file
    k create --dry-run=client --validate=false -o json -f "$SCENARIOS/$1.yaml" |
        jq -s 'map(.items? // [.]) | add | map(select(.kind == "Framework"))[0] |
            walk(if type == "object" and has("nfs") then del(.nfs) | .emptyDir = {} else . end)'
}

create_scenario() { # file
    scenario_framework "$1" | k create --validate=false -f -
}

# Lets the stand-ins of a Framework succeed.
let_go() { : >"$RUN/image-bin/go-$1"; } # framework

walk_tensorflow() { # framework
    local framework=$1 expected role
    wait_running "$framework" 60
    # The barrier told every worker where all the others are.
    for role in ps worker; do
        expected=$(get_jq "$(frameworks_path)/$framework" -r --arg role $role '[.status.attemptStatus.taskRoleStatuses[] |
            select(.name == $role).taskStatuses[].attemptStatus.podIP + {ps: ":4001", worker: ":5001"}[$role]] | join(",")')
        wait_log "$framework-worker-1" tensorflow \
            "--job_name=worker --task_index=1 .*--${role}_hosts=$expected "
    done
}

finish_tensorflow() { # framework
    let_go "$1"
    wait_completed "$1"
    expect "$1: trigger" "$(framework "$1" '.status.attemptStatus.completionStatus | "\(.code) \(.trigger.taskRoleName)"')" "0 worker"
    wait_for 15 "no Pod of $1 is left" no_pod_of "$1"
}

run_scenario_tensorflow() {
    NS=$REAL_NAMESPACE
    create_scenario tensorflow-cpu
    create_scenario tensorflow-gpu
    walk_tensorflow tensorflowcpu
    walk_tensorflow tensorflowgpu
    expect "the GPUs of a worker" "$(pod tensorflowgpu-worker-0 '.spec.containers[0].resources.limits["nvidia.com/gpu"]')" 1
    finish_tensorflow tensorflowcpu
    finish_tensorflow tensorflowgpu
}

run_scenario_hived() {
    NS=$REAL_NAMESPACE
    # (the embedded API server has no PriorityClasses, and asks for none)
    [[ $CLUSTER == embedded ]] || sed '/^---/,$d' "$SCENARIOS/tensorflow-hived.yaml" | k create -f -
    create_scenario tensorflow-hived
    walk_tensorflow tensorflowhived
    expect_match "what the scheduler reads" \
        "$(pod tensorflowhived-ps-0 \
            '.spec.schedulerName + " " + .metadata.annotations["hivedscheduler.microsoft.com/pod-scheduling-spec"]')" \
        "hivedscheduler virtualCluster: VC2"
    # What the scheduler writes stays, whatever the controller does to the Framework.
    k annotate pod tensorflowhived-ps-0 hivedscheduler.microsoft.com/pod-gpu-isolation=3
    k patch framework tensorflowhived --type=json -p '[{"op": "replace", "path": "/spec/taskRoles/1/taskNumber", "value": 4}]'
    wait_framework tensorflowhived 30 '[tasks | select(.state == "AttemptRunning")] | length == 6'
    expect "the scheduler's annotation" \
        "$(pod tensorflowhived-ps-0 '.metadata.annotations["hivedscheduler.microsoft.com/pod-gpu-isolation"]')" 3
    finish_tensorflow tensorflowhived
}

run_scenario_pytorch() {
    NS=$REAL_NAMESPACE
    local pod
    export KUBECTL="$CLUSTER_DIR/kubectl -n $NS"
    create_scenario pytorch-elastic
    wait_running pet 30
    expect "the host name of worker 3" "$(pod pet-worker-3 '.spec.hostname + "." + .spec.subdomain')" worker-3.pet-worker
    "$SCENARIOS/pytorch-elastic-rescale.sh" 2
    for pod in 2 3; do wait_absent "pods/pet-worker-$pod" 30; done
    wait_framework pet 30 '[.status.attemptStatus.taskRoleStatuses[] | "\(.name) \(.taskStatuses | length)"] == ["etcd 1", "worker 2"]'
    "$SCENARIOS/pytorch-elastic-rescale.sh" 3
    wait_framework pet 30 '[tasks.state] == ([range(4)] | map("AttemptRunning"))'
    let_go pet
    wait_completed pet
    expect "what ended it" \
        "$(framework pet '.status.attemptStatus.completionStatus | "\(.code) \(.trigger.taskRoleName): \(.trigger.message)"')" \
        "0 worker: SucceededTaskCount 3 has reached MinSucceededTaskCount 3 in the TaskRole"
    expect "the Framework's retries" "$(framework pet .status.retryPolicyStatus.totalRetriedCount)" 0
}

# Create, something it owns, Start; then Stop, keep what became of it, delete.
run_scenario_pre_start() {
    export KUBECTL="$CLUSTER_DIR/kubectl -n $NS"
    k create -f "$SCENARIOS/pre-start.yaml"
    wait_framework prestart 15 '.status.state == "AttemptCreationPending"'
    expect "Pods before Start" "$(pod_names)" ""
    "$SCENARIOS/pre-start.sh" prestart
    wait_running prestart 30
    expect "whose Pods run as" "$(pod prestart-worker-0 .spec.serviceAccountName)" prestart
    cd "$RUN/out"
    "$SCENARIOS/post-stop.sh" prestart
    expect "what was kept" "$(jq -r '.status | "\(.state) \(.attemptStatus.completionStatus.code)"' prestart.json)" "Completed -210"
    wait_for 30 "nothing is left" none_left frameworks,configmaps,pods
    [[ $CLUSTER == embedded ]] || wait_for 30 "its ServiceAccount went with it" no_service_account
}

no_service_account() { [[ -z $(k get serviceaccount prestart --ignore-not-found -o name) ]]; }
