# kubectl framework: what it says of Frameworks that really are in a situation, and what it changes.

# The plugin as kubectl starts it, in the scenario's namespace.
fw() { # command arguments...
    "$BUILD/kubectl-framework" "$@" --kubeconfig "$CLUSTER_DIR/kubeconfig" -n "$NS"
}

launch_fw() { launch "$1" "$BUILD/kubectl-framework" "${@:2}" --kubeconfig "$CLUSTER_DIR/kubeconfig" -n "$NS"; } # name command arguments...

# Exit status of the plugin, which also leaves what it said in the files $scenario.out and .err.
fw_status() { # command arguments...
    local status=0
    fw "$@" >"$RUN/out/$scenario.out" 2>"$RUN/out/$scenario.err" || status=$?
    echo "$status"
}

# What why answers: its kind, and that its answer matches; and that it says so in words without -o, too.
expect_why() { # framework kind pattern
    local answer
    answer=$(fw why "$1" -o json)
    expect "why $1" "$(jq -r .kind <<<"$answer")" "$2"
    expect_match "why $1" "$(jq -r .answer <<<"$answer")" "$3"
    expect "what list says of $1 is of one line" "$(fw list "$1" --no-headers | wc -l)" 1
}

evidence() { # framework source: the texts of that source
    fw why "$1" -o json | jq -r --arg source "$2" '.evidence[] | select(.source | startswith($source)).text'
}

# Waits until why has come to this answer: Pods get their states from others.
wait_why() { # framework kind [pattern of the answer]
    wait_for 20 "why $1 is $2 ${3:-}" is_why "$1" "$2" "${3:-}"
}
is_why() { # framework kind pattern
    local answer
    answer=$(fw why "$1" -o json)
    [[ $(jq -r .kind <<<"$answer") == "$2" && $(jq -r .answer <<<"$answer") =~ $3 ]]
}

# Each reason to wait that this cluster can show.
run_cli_why_waits() {
    foreign_pod foreign-a-0 '{}'
    api POST "/api/v1/namespaces/$NS/configmaps" '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "taken-attempt"}}' \
        >/dev/null
    create 'def waits($reason; $message): {phase: "pending", reason: $reason, message: $message};
        fw("image"; [role("a"; 3; waits("ErrImagePull"; "manifest for nosuch:1 not found"))]),
        (fw("name"; [role("a"; 1; {})]) | .spec.taskRoles[0].task.pod.spec.containers[0].image = "Busy Box"),
        fw("room"; [role("a"; 2; {phase: "unschedulable", message: "0/4 nodes are available: 4 Insufficient cpu."}), role("b"; 1; {})]),
        fw("nobody"; [role("a"; 1; {phase: "hold"})]),
        (fw("backoff"; [role("a"; 2; ends(0; 7))]) | .spec.taskRoles[0].task.retryPolicy = {maxRetryCount: 3,
        backoff: {initialSec: 3600, maxSec: 3600}}),
        (fw("conflict"; [role("a"; 1; ends(0; 201))]) | .spec |= retry(true; 0)),
        fw("foreign"; [role("a"; 2; {})]),
        fw("taken"; [role("a"; 1; {})]),
        (fw("waits"; [role("a"; 1; {})]) | .spec.executionType = "Create"),
        (fw("rests"; [role("a"; 1; {})]) | .spec.suspend = true),
        (fw("others"; [role("a"; 1; {})]) | .spec.managedBy = "example.com/other"),
        fw("none"; []),
        fw("runs"; [role("a"; 2; {})]),
        (fw("codes"; [role("a"; 1; {})]) | .spec.podFailureSpec = [{code: 200, podPatterns: [{}]}])'
    wait_event foreign NamingConflict 'Pod foreign-a-0'
    wait_event taken NamingConflict 'ConfigMap taken-attempt'
    wait_event codes Malformed 'podFailureSpec'
    wait_framework rests 15 '.status.displayState == "Suspended"'
    wait_running runs
    wait_why image start-fails
    expect_why image start-fails \
        '^None of the 3 Tasks of Framework image runs\. 3 Tasks, a\[0\.\.2\], do not start, '\
'.* ErrImagePull: manifest for nosuch:1 not found'
    wait_why name never-starts
    expect_why name never-starts 'Task a\[0\] can never start: the kubelet reports InvalidImageName: .*Busy Box'
    wait_why room unschedulable
    expect_why room unschedulable \
        '2 Tasks, a\[0,1\], find no node: the scheduler says Unschedulable: 0/4 nodes are available: 4 Insufficient cpu\.'
    wait_why nobody scheduler
    expect_why nobody scheduler 'Task a\[0\] waits for the scheduler'
    wait_why backoff retry-delay
    expect_why backoff retry-delay 'retried later\. The first retry is at 20..-..-..T..:..:..Z \(in (59|60)m'
    wait_why conflict retry-delay
    expect_why conflict retry-delay 'Framework is retried at 20..-..-..T..:..:..Z \(in .*of type Conflict'
    wait_why foreign foreign-pod
    expect_why foreign foreign-pod '1 of the 2 Tasks of Framework foreign runs\. Task a\[0\] has no Pod, because another Pod'
    expect_match "evidence" "$(evidence foreign "Event NamingConflict")" 'Pod foreign-a-0 with uid .* is controlled by nobody'
    expect_why taken foreign-config-map 'ConfigMap taken-attempt exists and is not its own'
    expect_match "list of taken" "$(fw list taken --no-headers)" ' another ConfigMap taken-attempt$'
    expect_match "list of foreign" "$(fw list foreign --no-headers)" ' foreign-pod: a\[0\]$'
    expect_why waits not-started 'spec.executionType is Create'
    expect_why rests suspended 'none of its Pods exists'
    expect_why others managed-by-another 'example\.com/other'
    expect_why none no-tasks 'has no Tasks'
    expect_why runs running 'of its 2 Tasks 2 run'
    expect_why codes malformed 'spec\.podFailureSpec.*200'
    # Those that wait for somebody's finalizer: the end of an attempt, and a deletion.
    hold pods/runs-a-0
    fw stop runs
    wait_why runs ending
    expect_why runs ending 'Attempt 0 of Framework runs has ended with code -210'
    expect_match "evidence" "$(evidence runs "Pod runs-a-0")" 'its finalizers hold it: test/hold'
    release pods/runs-a-0
    patch_framework waits '{"metadata": {"finalizers": ["example.com/archive"]}}'
    expect "delete --no-wait" "$(fw_status delete waits --no-wait)" 0
    wait_why waits deleting
    expect_why waits deleting 'until its finalizers are removed: .*example\.com/archive'
    patch_framework waits '{"metadata": {"finalizers": null}}'
    expect "delete" "$(fw_status delete others none)" 0
    expect "why of one that is gone" "$(fw_status why others)" 3
}

# TaskRoles that wait for others, and a Service that is somebody else's or is refused.
run_cli_why_before_pods() {
    api POST "/api/v1/namespaces/$NS/services" '{"metadata": {"name": "taken"}, "spec": {"ports": [{"port": 80}]}}' >/dev/null
    create 'def after($role; $status): .dependsOn = [{taskRole: $role, status: $status}];
        fw("chain"; [role("a"; 2; {}), (role("b"; 2; {}) | after("a"; "Succeeded"))]),
        fw("stuck"; [role("a"; 1; {phase: "pending", reason: "ErrImagePull", message: "no such image"}),
            (role("b"; 2; {}) | after("a"; "Running"))]),
        (fw("taken"; [role("a"; 1; {})]) | .spec.network = {})'
    wait_event chain TaskRoleWaiting 'TaskRole b waits until all Tasks of TaskRole a are Succeeded'
    wait_event taken NamingConflict 'Service taken '
    wait_why chain depends-on
    wait_for 20 "a runs" framework_is chain \
        '[.status.attemptStatus.taskRoleStatuses[0].taskStatuses[] | select(.state == "AttemptRunning")] | length == 2'
    expect_why chain depends-on \
        '^2 of the 4 Tasks of Framework chain run\. 2 Tasks, b\[0,1\], wait for TaskRole a: 2 of its 2 Tasks are not yet Succeeded'
    expect_match "list" "$(fw list chain --no-headers)" ' depends-on: b\[0,1\]$'
    expect_match "tree" "$(fw tree chain)" 'b\[0\] .*depends-on, a'
    # The cause counts before its effects.
    wait_why stuck start-fails
    expect_match "the effects" "$(evidence stuck 'Tasks b')" '^depends-on for .*: a: 1 of its 1 Task is not yet Running$'
    wait_why taken foreign-service
    expect_why taken foreign-service 'has no Pod, because another Service .*: taken: Service taken with uid .* is controlled by nobody'
    delete services/taken
    wait_running taken 60
    wait_why taken running
    [[ $CLUSTER == embedded ]] || return 0
    fault services -1 '{"status": 403, "reason": "Forbidden", "message": "services is forbidden: User \"x\" cannot do that"}'
    create 'fw("refused"; [role("a"; 1; {})]) | .spec.network = {}'
    wait_event refused FailedCreateService 'is forbidden'
    wait_why refused service-refused
    expect_why refused service-refused \
        'because the API server refuses the Service of spec\.network, .*Failed to (create|get) refused: services is forbidden'
    clear_faults
    wait_running refused 90
    wait_why refused running
}

# Why one ended: trigger, classification, exit code, last words.
run_cli_why_ended() {
    create 'fw("good"; [role("a"; 3; ends(0; 0))]),
        (fw("bad"; [role("a"; 2; ends(0; 210) + {message: "epoch 3\nno such option: --learning-rte", reason: "Error"})]) |
        .spec |= retry(true; 2)),
        fw("killed"; [role("a"; 1; ends(0; 137))]),
        fw("odd"; [role("a"; 1; ends(0; 7))]),
        (fw("own"; [role("a"; 1; ends(0; 78))]) |
        .spec.podFailureSpec = [{code: 78, phrase: "WrongConfiguration", podPatterns: [{containers: [{codeRange: {min: 78, max: 78}}]}]}]),
        (fw("late"; [role("a"; 1; {phase: "unschedulable", message: "0/4 nodes"}) | .task.pendingPolicy = {unschedulableTimeoutSec: 0}])),
        fw("stopped"; [role("a"; 1; {})])'
    local name
    wait_running stopped
    expect "stop" "$(fw_status stop stopped)" 0
    for name in good bad killed odd own late stopped; do wait_completed $name; done
    expect_why good succeeded 'Framework good succeeded .* in attempt 0: all of its 3 Tasks are Completed'
    expect_why bad failed \
        'failed .* with code 210 \(ContainerPermanentFailed\) because of Task a\[[01]\]: 1 Task of TaskRole a failed, .* is Permanent'
    expect_match "last words" "$(evidence bad "Last words")" 'epoch 3.no such option: --learning-rte'
    expect "its container" "$(evidence bad "Container c")" "ended with exit code 210, reason Error"
    expect "its classification" "$(evidence bad Classification)" "code 210 (ContainerPermanentFailed) is predefined"
    wait_event bad FrameworkCompleted 'would fail again'
    expect_match "its Event" "$(evidence bad "Event FrameworkCompleted")" 'not retried, because it would fail again'
    expect_why killed failed 'code 137 \(ContainerSigKillReceived\)'
    expect_match "classification of killed" "$(evidence killed Classification)" \
        "entry with code 137 .* of podFailureSpec in the controller's configuration matched"
    expect_why odd failed 'code 7 \(ContainerUnrecognizedFailed\)'
    expect_match "classification of odd" "$(evidence odd Classification)" 'no entry of podFailureSpec matched'
    expect_match "classification of own" "$(evidence own Classification)" \
        'spec\.podFailureSpec\[0\] of the Framework matched: code 78, WrongConfiguration'
    expect_why late failed 'code -330 \(PodUnschedulableTimeout\)'
    expect_why stopped stopped 'was stopped'
    expect_match "why in words" "$(fw why bad)" \
        'Evidence:.*Last words:.*no such option: --learning-rte.*What to do:.*kubectl framework retry bad -n '
    expect_match "logs of Pods that are gone" "$(fw logs bad 2>&1)" 'has deleted the Pods.*a\[[01]\] no such option: --learning-rte'
}

# What to do then: advice that works, of one's own Framework and of one that another controller made.
run_cli_why_advice() {
    local owner
    owner=$(api POST "/api/v1/namespaces/$NS/configmaps" '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}' |
        jq -r .metadata.uid)
    create '(fw("never"; [role("a"; 1; {}) | .task.pendingPolicy = {}]) |
            .spec.taskRoles[0].task.pod.spec.containers[0].image = "Busy Box"),
        (fw("owned"; [role("a"; 1; ends(0; 1))]) | .metadata.ownerReferences = [{apiVersion: "v1", kind: "ConfigMap", name: "owner",
            uid: $owner, controller: true}])' --arg owner "$owner"
    wait_completed never
    wait_completed owned
    expect_match "advice on one's own" "$(fw why never)" \
        'What to do:.*kubectl edit framework never -n .*kubectl framework retry never -n '
    # (kubectl edit needs an editor)
    k patch framework never --type=json >/dev/null \
        -p '[{"op": "replace", "path": "/spec/taskRoles/0/task/pod/spec/containers/0/image", "value": "busybox"}]'
    expect "retry" "$(fw retry never -o name)" framework.frameworkcontroller.microsoft.com/neverr1
    wait_running neverr1
    expect "advice on another controller's" "$(fw why owned -o json | jq -c .advice)" \
        '[{"text":"Framework owned is controlled by ConfigMap owner: change that ConfigMap, or create it again."}]'
    expect "retry of another controller's" "$(fw_status retry owned)" 1
    expect_match "what is wrong" "$(<"$RUN/out/$scenario.err")" 'Framework owned is controlled by ConfigMap owner, expected no controller'
}

# A quota that is used up.
run_cli_why_quota() {
    local quota="/api/v1/namespaces/$NS/resourcequotas"
    if [[ $CLUSTER == kubernetes ]]; then
        api POST "$quota" '{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}' \
            >/dev/null
        set_quota 1 0
    else
        fault pods -1 '{"status": 403, "reason": "Forbidden",
            "message": "pods \"f-a-0\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"}'
    fi
    create 'fw("f"; [role("a"; 2; {})])'
    wait_event f FailedCreatePod "exceeded quota"
    wait_why f quota
    expect_why f quota 'because a quota is exceeded: the API server says .*exceeded quota: q'
    expect_match "list" "$(fw list --no-headers)" '^f .* quota: a\['
    launch_fw "$scenario-list" list -w
    wait_for 20 "list -w says it, too" grep -qE '^f .* quota: a\[' "$RUN/$scenario-list.log"
    end_processes "$RUN" 2 "$scenario-list"
    if [[ $CLUSTER == kubernetes ]]; then set_quota 5 1; else clear_faults; fi
    wait_running f 40
    wait_why f running
}

# Tasks in the barrier, and the one that holds them up: real containers.
run_cli_why_barrier() {
    NS=$REAL_NAMESPACE
    create 'def gang: .task.pod.spec += {initContainers: [{name: "barrier", image: "frameworkbarrier", command: ["frameworkbarrier"]}],
            containers: [{name: "c", image: "busybox", command: ["sleep", "3600"]}]};
        fw("cligang"; [role("app"; 2; {}) | gang, (role("late"; 1; {}) | gang | .task.pod.spec.nodeName = "nowhere")])'
    wait_why cligang barrier
    wait_for 20 "both are in the barrier" eval \
        '[[ $(fw why cligang -o json | jq -r .answer) == *"2 Tasks, app[0,1], are held by the barrier"* ]]'
    expect_why cligang barrier 'Without an IP: late\[0\]\.'
    expect_match "evidence" "$(evidence cligang Barrier)" '2 Tasks are in it; without an IP: late\[0\]'
    fw delete cligang --no-wait
    api DELETE "/api/v1/namespaces/$NS/pods/cligang-late-0" '{"gracePeriodSeconds": 0}' >/dev/null || true
    wait_absent_framework cligang
}

# Those that are on their way, or held up there by finalizers or by the API server.
run_cli_why_on_the_way() {
    create 'fw("stays"; [role("a"; 2; {})]), fw("half"; [role("a"; 2; {})]), fw("slow"; [role("a"; 1; {phase: "pending"})])'
    wait_running stays
    wait_running half
    hold pods/stays-a-0
    hold pods/half-a-0
    fw suspend stays >/dev/null
    wait_why stays suspending
    expect_why stays suspending 'Framework stays is being suspended'
    delete pods/half-a-0
    wait_why half termination
    expect_why half termination 'Task a\[0\] waits until its Pod is gone'
    release pods/stays-a-0
    release pods/half-a-0
    wait_why stays suspended
    wait_why slow starting
    expect_why slow starting 'Task a\[0\] is being started by the kubelet'
    [[ $CLUSTER == embedded ]] || return 0
    fault configmaps -1 '{"status": 403, "reason": "Forbidden", "message": "configmaps is forbidden: not today"}'
    create 'fw("nomap"; [role("a"; 1; {})])'
    wait_why nomap config-map-refused
    expect_why nomap config-map-refused 'not today'
    clear_faults
}

# What lasts for a moment only, held up by the server.
run_cli_why_moments() {
    only_embedded
    create 'fw("again"; [role("a"; 1; {})])'
    wait_running again
    hold pods/again-a-0
    k delete framework again --cascade=background --wait=false > /dev/null
    wait_absent_framework again
    create 'fw("again"; [role("a"; 1; {})]),
        (fw("gated"; [role("a"; 2; {phase: "hold"})]) |
            .spec.taskRoles[0].task.pod.spec.schedulingGates = [{name: "example.com/budget"}])'
    # The garbage collector would wait for the Pod.
    k patch configmap again-attempt --type=merge -p '{"metadata": {"finalizers": null}}' > /dev/null
    wait_why again former-pod
    expect_why again former-pod 'Task a\[0\] waits until the Pod of a former attempt, or of a former Framework of this name, is gone'
    release pods/again-a-0
    wait_running again
    wait_why gated scheduling-gate
    expect_why gated scheduling-gate '2 Tasks, a\[0,1\], are not scheduled before .* example\.com/budget'
    fault_status -1 '{"status": 503, "reason": "ServiceUnavailable"}' fresh
    create 'fw("fresh"; [role("a"; 1; {})])'
    expect_match "list of one that the controller has not looked at" "$(fw list fresh --no-headers)" ' new$'
    fault configmaps -1 '{"latencyMs": 15000}'
    create 'fw("moves"; [role("a"; 1; {})])'
    wait_why moves between
    expect_why moves between 'is between two steps: its state is Attempt'
    clear_faults
    fault pods -1 '{"latencyMs": 15000}'
    create 'fw("comes"; [role("a"; 1; {})])'
    wait_why comes creation
    expect_why comes creation 'Task a\[0\] gets its Pod from the controller next'
    clear_faults
    fault pods -1 '{"status": 500, "reason": "InternalError", "message": "failed calling webhook: no endpoints"}'
    create 'fw("refused"; [role("a"; 1; {})])'
    wait_why refused creation-refused
    expect_why refused creation-refused 'Task a\[0\] has no Pod, because the API server refuses it for now: .*failed calling webhook'
    clear_faults
    wait_running refused 30
}

last_line_is() { # line command...
    [[ $("${@:2}" --tail 1) == "$1" ]]
}

# Containers that really run: one that fails again and again, and one that an init container holds up.
run_cli_why_containers() {
    NS=$REAL_NAMESPACE
    create 'def runs($policy; $inits; $text): .task.pod.spec = {restartPolicy: $policy, initContainers: $inits,
            containers: [{name: "c", image: "busybox", command: ["sh", "-c", $text]}]};
        fw("clicrash"; [role("a"; 1; {}) | runs("OnFailure"; []; "echo no such option; exit 3")]),
        fw("cliinit"; [role("a"; 1; {}) | runs("Never"; [{name: "fetch", image: "busybox", command: ["sleep", "3600"]}]; "true")])'
    wait_why clicrash crash-loop 'Task a\[0\] .*CrashLoopBackOff' # until its container is started again
    wait_for 20 "the log of the run before" last_line_is "no such option" fw logs clicrash --no-prefix
    wait_for 20 "the same by kubectl" last_line_is "no such option" k logs clicrash-a-0
    wait_why cliinit init-container
    expect_why cliinit init-container 'Task a\[0\] .*fetch'
    fw delete clicrash cliinit >/dev/null
}

# No controller: none at all, and one that has gone.
run_cli_why_no_controller() {
    own_cluster
    [[ $CLUSTER == kubernetes ]] || kubectl create -f crd.yaml >/dev/null
    wait_for 20 "Frameworks are served" k get frameworks
    create 'fw("first"; [role("a"; 1; {})])'
    expect_why first no-controller 'No controller looks after Framework first: it has no status'
    create 'fw("second"; [role("a"; 1; {})])'
    start_watcher
    wait_running first
    wait_running second
    expect_why first running ''
    stop_watcher
    k delete pod first-a-0 --wait=false >/dev/null
    wait_why first unnoticed 'Task a\[0\] waits for the controller, which has not yet noted the end of its Pod: the Pod is gone'
    expect_match "evidence of the end" "$(evidence first "Lease $(lease_namespace)/frameworkcontroller")" 'no fc-watcher leads'
    fw scale first a=3
    expect_why first no-controller 'its spec has changed, and the status does not follow'
    expect_match "evidence" "$(evidence first "Lease $(lease_namespace)/frameworkcontroller")" 'no fc-watcher leads'
    expect "notes of list" "$(fw list 2>&1 >/dev/null)" ""
    api PATCH "/apis/coordination.k8s.io/v1/namespaces/$(lease_namespace)/leases/frameworkcontroller" \
        '{"spec": {"renewTime": "2020-01-01T00:00:00.000000Z"}}' application/merge-patch+json >/dev/null
    expect "notes of list while the controller takes steps" "$(fw list 2>&1 >/dev/null)" ""
    age_status first
    age_status second
    expect_why second running "waits for nothing: .* No fc-watcher leads by Lease $(lease_namespace)/frameworkcontroller: until one does"
    expect_match "notes of list" "$(fw list 2>&1 >/dev/null)" "^note: no fc-watcher leads by Lease $(lease_namespace)/framework"
}

# As if its last step had been in 2019.
age_status() { # framework
    api PUT "$(frameworks_path)/$1/status" "$(get_jq "$(frameworks_path)/$1" \
            'walk(if type == "object" and has("transitionTime") then .transitionTime = "2019-01-01T00:00:00Z" else . end)')" >/dev/null
}

# What it changes, and its exit codes.
run_cli_actions() {
    create 'fw("f"; [role("a"; 3; {}) | policy(1; 3), role("b"; 1; {})]),
        fw("short"; [role("a"; 1; ends(0; 0))]), fw("fails"; [role("a"; 1; ends(0; 1))])'
    wait_running f
    expect "scale" "$(fw scale f a=5 b=2 --adjust-min-succeeded)" "framework.frameworkcontroller.microsoft.com/f scaled"
    expect "the spec" "$(framework f \
            '[.spec.taskRoles[] | "\(.name) \(.taskNumber) \(.frameworkAttemptCompletionPolicy.minSucceededTaskCount)"] | join(", ")')" \
        "a 5 5, b 2 -1"
    wait_framework f 15 '[tasks | select(.state == "AttemptRunning")] | length == 7'
    expect "scale of a role that is not there" "$(fw_status scale f c=1)" 3
    expect "more Tasks than there may be" "$(fw_status scale f a=10000)" 2
    fw scale f a=1 b=1 2>"$RUN/out/$scenario.err"
    expect_match "the remark" "$(<"$RUN/out/$scenario.err")" 'minSucceededTaskCount stays 5, with 1 Task;'
    wait_framework f 30 '[tasks] | length == 2'
    expect "suspend" "$(fw_status suspend f)" 0
    expect "wait for Suspended" "$(fw_status wait f --for suspended --timeout "$((60 * PATIENCE))s")" 0
    fw start f 2>"$RUN/out/$scenario.err" >/dev/null
    expect_match "start of one that is suspended" "$(<"$RUN/out/$scenario.err")" 'stays suspended: spec.suspend is true'
    expect "resume" "$(fw_status resume f)" 0
    fw start f 2>&1 | grep -q 'note:' && fail "start says that something holds it"
    expect "wait for Running" "$(fw_status wait f --for Running --timeout "$((60 * PATIENCE))s")" 0
    expect "wait for what does not come" "$(fw_status wait f --timeout 1s)" 5
    expect "wait for success" "$(fw_status wait short --timeout "$((60 * PATIENCE))s")" 0
    expect "wait for a failure" "$(fw_status wait fails --timeout "$((60 * PATIENCE))s")" 6
    expect "wait for nobody" "$(fw_status wait nobody)" 3
    expect "retry of one that runs" "$(fw_status retry f)" 1
    expect_match "what is wrong" "$(<"$RUN/out/$scenario.err")" 'in state Attempt.*, expected Completed'
    expect "retry" "$(fw retry short -o name)" framework.frameworkcontroller.microsoft.com/shortr1
    expect "retry once more" "$(fw retry short -o name)" framework.frameworkcontroller.microsoft.com/shortr2
    wait_completed shortr2
    local uid
    uid=$(framework fails .metadata.uid)
    expect "retry in its place" "$(fw_status retry fails --replace)" 0
    [[ $(framework fails .metadata.uid) != "$uid" ]] || fail "it was not replaced"
    expect "stop" "$(fw_status stop f nobody)" 3
    wait_completed f
    fw scale f a=2 2>"$RUN/out/$scenario.err" >/dev/null
    expect "scale of one that is Completed" "$(<"$RUN/out/$scenario.err")" \
        "note: Framework f is already Completed: this change has no effect"
    expect "the code" "$(framework f .status.attemptStatus.completionStatus.code)" -210
    expect "delete" "$(fw_status delete f short shortr1 shortr2 fails)" 0
    none_left frameworks,configmaps,pods || fail "something is left"
    expect "nothing to list" "$(fw_status list)" 0
}

# What it shows: rows, folded Tasks, bars; for people and for programs.
run_cli_shows() {
    create 'fw("many"; [role("worker"; 100; {}), role("ps"; 1; {})]),
        (fw("f"; [role("a"; 1; ends(0; 0))]) | .metadata.labels = {team: "x"})'
    wait_completed f
    wait_running many 30
    expect_match "list" "$(fw list)" \
        '^NAME +STATE +READY +RUNNING +FAILED +TASKS +RETRIES +AGE +WAITS FOR / BECAUSE'\
'.f +Completed +0 +0 +0 +1 +0 .*many +Running +101 +101 +0 +101 +0 '
    expect_match "list -l" "$(fw list -l team=x --no-headers)" '^f +Completed .* succeeded$'
    expect_match "list -o wide" "$(fw list f -o wide)" '^NAME .* COMPLETION +WAITS.*'$'\n''f +Completed .* 0 Succeeded +succeeded$'
    expect_match "list -A" "$(fw list -A -l 'team in (x)')" "^NAMESPACE +NAME +STATE .*"$'\n'"$NS +f +Completed "
    expect "list -A -o name" "$(fw list -A -o name -l 'team in (x)')" framework.frameworkcontroller.microsoft.com/f
    expect_match "list on a narrow terminal" \
        "$(command script -qec "stty cols 60; '$BUILD/kubectl-framework' list --kubeconfig '$CLUSTER_DIR/kubeconfig' -n $NS" /dev/null \
            </dev/null | sed 's/\x1b\[[0-9]*m//g')" \
        '^NAME +STATE +RUNNING +TASKS +WAITS'
    expect_match "list on a very narrow one" \
        "$(command script -qec "stty cols 40; '$BUILD/kubectl-framework' list --kubeconfig '$CLUSTER_DIR/kubeconfig' -n $NS" /dev/null \
            </dev/null | sed 's/\x1b\[[0-9]*m//g')" \
        '^NAME +STATE +WAITS.*f +Completed +succeeded'
    expect "list -o name" "$(fw list -o name | tr '\n' ' ')" \
        "framework.frameworkcontroller.microsoft.com/f framework.frameworkcontroller.microsoft.com/many "
    expect "list -o json" "$(fw list -o json | jq -c '[.kind, (.items | map(.metadata.name))]')" '["List",["f","many"]]'
    expect "list f -o yaml" "$(fw list f -o yaml | kubectl create --dry-run=client -o json -f - | jq -cS '.spec, .status.state')" \
        "$(get_jq "$(frameworks_path)/f" -cS '.spec, .status.state')"
    expect_match "tree" "$(LC_ALL=C.UTF-8 fw tree many)" \
        'many  Running .*├─ worker  100 of 100 running.*│  └─ worker\[0\.\.99\]  100 × Running  on node-.*'\
'└─ ps  1 of 1 running.*   └─ ps\[0\]  Running.*      └─ many-ps-0  Running  attempt 0'
    expect_match "tree in ASCII" "$(LC_ALL=C fw tree many)" '[|]- worker .*`- worker\[0\.\.99\]  100 x Running'
    expect "tree --all-tasks" "$(fw tree many --all-tasks | grep -c 'worker\[[0-9]*\]  Running')" 100
    expect_match "timeline" "$(LC_ALL=C fw timeline f)" '^f +[.#+ ]+  0 Succeeded.a\[0\] +[.#+ ]+  0 Succeeded.*pending'
    expect "timeline -o svg" "$(fw timeline many -o svg | grep -c '^<svg xmlns')" 1
    expect_match "exec" "$("$BUILD/kubectl-framework" exec many worker-7 --kubeconfig "$CLUSTER_DIR/kubeconfig" -n "$NS" -- echo 'a b')" \
        "^kubectl --kubeconfig .*/kubeconfig -n $NS exec -it many-worker-7 -- echo 'a b'$"
    expect_match "port-forward" "$(fw port-forward many 'ps[0]' 8080:80)" ' port-forward many-ps-0 8080:80$'
    expect "exec in one that has ended" "$(fw_status exec f a-0)" 3
    # The watch shows what changes after it has begun.
    launch_fw "$scenario-list" list -w
    wait_for 20 "the watch has begun" grep -q many "$RUN/$scenario-list.log"
    launch_fw "$scenario-tree" tree many -w
    wait_for 20 "the tree is there" grep -q '100 of 100 running' "$RUN/$scenario-tree.log"
    fw stop many
    wait_for 40 "the tree shows the end" grep -q '^many  Completed -210' "$RUN/$scenario-tree.log"
    wait_for 40 "the watch shows the end" grep -qE 'many +Completed .* stopped$' "$RUN/$scenario-list.log"
    end_processes "$RUN" 2 "$scenario-list" "$scenario-tree"
    expect "completion" "$("$BUILD/kubectl-framework" __complete su)" "suspend
:4"
}

# The plugin with a terminal for its stdout and stderr. (command: a scenario's function is called script, too)
on_terminal() { # command arguments...
    TERM=xterm command script -qec "'$BUILD/kubectl-framework' $* --kubeconfig '$CLUSTER_DIR/kubeconfig' -n $NS" /dev/null </dev/null
}

# Who may read Frameworks and nothing else still gets an answer, and is told what is missing.
run_cli_rights() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded API server knows nobody who is impersonated"
    kubectl -n "$NS" create role reader --verb=get,list --resource=frameworks.frameworkcontroller.microsoft.com >/dev/null
    kubectl -n "$NS" create rolebinding reader --role=reader --user=jane >/dev/null
    create 'fw("f"; [role("a"; 1; {phase: "unschedulable", message: "0/4 nodes"})])'
    wait_framework f 15 '.status.state == "AttemptPreparing"'
    wait_for 20 "jane may list" is_allowed jane list frameworkcontroller.microsoft.com frameworks "$NS"
    expect "list" "$(fw_status list --as jane)" 0
    expect_match "its row" "$(<"$RUN/out/$scenario.out")" 'f +Preparing .* pending: a\[0\]$'
    expect "why" "$(fw_status why f --as jane)" 0
    expect_match "the answer" "$(<"$RUN/out/$scenario.out")" 'Task a\[0\] has a Pod that is Pending'
    expect_match "the notes" "$(<"$RUN/out/$scenario.err")" \
        'note: Pods are left out.*cannot list resource "pods".*note: Events are left out'
    expect "logs" "$(fw_status logs f --as jane)" 4
    expect "list of all namespaces" "$(fw_status list -A --as jane)" 4
    expect "stop" "$(fw_status stop f --as jane)" 4
    expect "watch" "$(fw_status list -w --as eve)" 4
    expect "watch with the right to list only" "$(fw_status wait f --as jane)" 4
    expect_match "the missing right" "$(<"$RUN/out/$scenario.err")" "the right to watch frameworks in namespace $NS is missing"
}

# Escape sequences and the like, of names and messages, reach nobody's terminal: neither a pipe nor a terminal gets them.
run_cli_hostile() {
    local bad=$'\e[31mred\e]0;title\a\u202eback\u009b2J'
    create 'fw("f"; [role("a"; 1; ends(0; 1) + {message: $bad})]) | .spec.description = $bad | .metadata.annotations = {note: $bad}' --arg \
        bad "$bad"
    wait_completed f
    local command
    for command in "why f" "tree f" "list" "timeline f" "logs f" "why f -o yaml" "list f -o yaml" "list f -o json" "why f -o json" \
        "timeline f -o svg"; do
        # shellcheck disable=SC2086 # words of a command
        fw $command >"$RUN/out/$scenario.out" 2>&1
        on_terminal $command 2>&1 |
            tr -d '\r' | sed 's/\x1b\[[0-9]*m//g' >"$RUN/out/$scenario.terminal"
        grep -q . "$RUN/out/$scenario.out" || fail "$command says nothing"
        if LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' "$RUN/out/$scenario.out" \
            "$RUN/out/$scenario.terminal"; then
            fail "$command: these lines have control characters"
        fi
    done
    on_terminal why f | grep $'\e\\[1m' >/dev/null || fail "no colours on a terminal"
    expect "no colours" "$(NO_COLOR=1 on_terminal why f | grep -c $'\e')" 0
    expect "the message is there" \
        "$(fw why f -o json | jq -r '[.evidence[] | select(.source == "Last words").text] == [$bad]' --arg bad "$bad")" true
}

# 5 000 Frameworks of 5 Tasks that are not started.
create_large() {
    # (by one curl: each request on the same connection)
    jq -nr --arg url "$(sed -n 's/^ *server: *//p' cluster/kubeconfig)$(frameworks_path)" "$JQ_WORDS range(5000) |
        fw(\"f\\(.)\"; [role(\"a\"; 5; {})]) | .spec.executionType = \"Create\" | tojson | tojson |
        \"url = \\(\$url)\nheader = Content-Type:application/json\ndata = \\(.)\noutput = /dev/null\nnext\"" | sed '$d' >requests
    curl -sSf -K requests
}

# 5 000 Frameworks are read in pages of 500, and a second of CPU is enough to show them.
CLI_CPU_MS=1000
run_cli_large() {
    [[ $CLUSTER == embedded ]] || not_here "it counts requests of the embedded API server"
    own_cluster
    start_watcher
    create_large
    wait_for 60 "all have a status" large_begun
    curl -sf -X DELETE "$(sed -n 's/^ *server: *//p' cluster/kubeconfig)/fc-testapi/requests"
    local TIMEFORMAT='%U %S' spent
    { time fw list >listed; } 2>spent
    spent=$(awk '{ print int(($1 + $2) * 1000) }' spent)
    expect "rows" "$(wc -l <listed)" 5001
    expect "requests" "$(curl -sf "$(sed -n 's/^ *server: *//p' cluster/kubeconfig)/fc-testapi/requests" |
        jq -r '.[] | select(.userAgent == "kubectl-framework") | "\(.verb) \(.resource) \(.code) \(.count)"' | sort)" \
        "list frameworks 200 10"$'\n'"list leases 200 1"
    echo "5 000 Frameworks: $spent ms of CPU"
    ((SLOWER > 1 || spent <= CLI_CPU_MS)) || fail "$spent ms of CPU for 5 000 Frameworks"
}

large_begun() { [[ $(table_jq '[.rows[] | select(.cells[1] == "AttemptCreationPending")] | length') == 5000 ]]; }

# What is installed and packed: kubectl finds the plugin, the man page has every command, and the archive fits its manifest.
run_cli_packed() {
    ((SLOWER == 1)) || not_here "make install links the programs anew, without sanitizers or valgrind"
    local work=$RUN/out/$scenario.work command count=0
    mkdir "$work"
    "$root/cli/krew.sh" "$BUILD" "$work" https://downloads.example.com/framework/
    expect "the archive" "$(tar -tzf "$work"/*.tar.gz | sort | tr '\n' ' ')" \
        "./ ./LICENSE ./kubectl-framework ./kubectl-framework.1 ./kubectl_complete-framework "
    expect "its sum" "$(sed -n 's/^ *sha256: //p' "$work/framework.yaml")" "$(sha256sum "$work"/*.tar.gz | cut -d' ' -f1)"
    expect_match "its address" "$(<"$work/framework.yaml")" \
        "uri: https://downloads\.example\.com/framework/kubectl-framework-[^/]*-linux-[a-z0-9]*\.tar\.gz"
    tar -C "$work" -xzf "$work"/*.tar.gz
    for kubectl in "$OLDEST_KUBECTL" "$CURRENT_KUBECTL"; do
        expect "version by $kubectl" "$(PATH=$work:$PATH "$kubectl" framework --version)" "kubectl-framework 1.0"
        expect "list by $kubectl" "$(PATH=$work:$PATH KUBECONFIG=$CLUSTER_DIR/kubeconfig "$kubectl" framework list -n "$NS" 2>&1)" \
            "note: found no Frameworks in namespace $NS"
    done
    create 'fw("f"; [role("worker"; 2; {})])'
    expect "completion by kubectl" \
        "$(PATH=$work:$PATH KUBECONFIG=$CLUSTER_DIR/kubeconfig "$CURRENT_KUBECTL" __complete framework tree -n "$NS" '' 2>/dev/null |
            head -n 1)" f
    expect "completion of a Task" \
        "$(PATH=$work:$PATH KUBECONFIG=$CLUSTER_DIR/kubeconfig kubectl_complete-framework exec f -n "$NS" worker-1)" "worker-1
:4"
    expect "completion of a command" "$(PATH=$work:$PATH kubectl_complete-framework u)" "ui
:4"
    while read -r command; do
        count=$((count + 1))
        sed 's/\\-/-/g' "$work/kubectl-framework.1" | grep -E '^\.BR ' | grep -we "$command" >/dev/null ||
            fail "the man page does not tell of $command"
        expect_match "help of $command" "$("$work/kubectl-framework" "$command" --help)" "^Usage: kubectl framework $command "
        grep -qE "^\| .*\`$command[ \`]" "$root/cli/README.md" || fail "cli/README.md does not tell of $command"
    done < <("$work/kubectl-framework" --help | sed -nE 's/^  ([a-z-]+) .*/\1/p')
    ((count >= 15)) || fail "only $count commands were found"
    local code
    for code in {0..7}; do
        grep -qE "[ :;]$code [a-z]" <("$work/kubectl-framework" --help | sed -n '/^Exit codes/,$p') || fail "--help has no exit code $code"
        grep -qx "\.B $code" "$work/kubectl-framework.1" || fail "the man page has no exit code $code"
        grep -q "^| $code | " "$root/cli/README.md" || fail "cli/README.md has no exit code $code"
    done
    make -s -C "$root" BUILD="$BUILD" install DESTDIR="$work/root" PREFIX=/usr
    expect "what make install installs of it" "$(cd "$work/root/usr" && find . -name 'kubectl*' | LC_ALL=C sort | tr '\n' ' ')" \
        "./bin/kubectl-framework ./bin/kubectl_complete-framework ./share/man/man1/kubectl-framework.1 "
    expect "the installed one by kubectl" "$(PATH=$work/root/usr/bin:$PATH "$CURRENT_KUBECTL" framework --version)" "kubectl-framework 1.0"
}
