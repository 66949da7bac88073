# Pods that are there and do not come to run: pendingPolicy, and the Event TaskWaiting (CONTRACT.md §6).

# A reason that cannot heal ends the attempt at once, the others after their time; CONTRACT.md §9 decides as ever.
run_pending_policy() {
    create 'def waits($reason; $message): {phase: "pending", reason: $reason, message: $message};
        def pending($policy): .task.pendingPolicy = $policy;
        fw("name"; [role("a"; 1; {}) | .task.pod.spec.containers[0].image = "Busy Box" | pending({})]),
        fw("never"; [role("a"; 1; waits("ErrImageNeverPull"; "Container image \"i\" is not present")) | pending({startTimeoutSec: 3600})]),
        fw("pull"; [role("a"; 1; waits("ImagePullBackOff"; "Back-off pulling image \"i\"")) | pending({startTimeoutSec: 2})]),
        fw("atonce"; [role("a"; 1; waits("CreateContainerConfigError"; "secret \"s\" not found")) | pending({startTimeoutSec: 0})]),
        fw("room"; [role("a"; 1; {phase: "unschedulable", message: "0/4 nodes are available: 4 Insufficient cpu."}) |
        pending({unschedulableTimeoutSec: 2})]),
        fw("gated"; [role("a"; 1; {phase: "hold"}) | pending({unschedulableTimeoutSec: 0, startTimeoutSec: 0})]),
        fw("creating"; [role("a"; 1; {phase: "pending"}) | pending({unschedulableTimeoutSec: 0, startTimeoutSec: 0})]),
        fw("other"; [role("a"; 1; waits("ErrImagePull"; "x")) | pending({unschedulableTimeoutSec: 0})]),
        fw("without"; [role("a"; 1; waits("InvalidImageName"; "x"))]),
        fw("heals"; [role("a"; 1; ends(0; 0) + {phase: "pending,", reason: "ErrImagePull,", message: "manifest unknown|"}) |
        task_retry(false; 1) | pending({startTimeoutSec: 1})])'
    local name
    for name in name never pull atonce room heals; do wait_completed $name; done
    for name in gated creating other without; do
        wait_framework $name 15 '.status.state == "AttemptPreparing"'
    done
    expect_lines "codes" "$(get_jq "$(frameworks_path)" -r '.items[] | .metadata.name as $name | '"$TASK"' |
        select(.attemptStatus.completionStatus != null) |
        "\($name) \(.attemptStatus.completionStatus | "\(.code) \(.phrase) \(.type.attributes)")" +
            " \(.retryPolicyStatus | "\(.totalRetriedCount) \(.accountableRetriedCount)")"' | LC_ALL=C sort)" \
'atonce -320 PodStartTimeout [] 0 0
heals 0 Succeeded [] 1 1
name -321 PodNeverStarts ["Permanent"] 0 0
never -321 PodNeverStarts ["Permanent"] 0 0
pull -320 PodStartTimeout [] 0 0
room -330 PodUnschedulableTimeout [] 0 0'
    expect_match "diagnostics of name" "$(diagnostics_of name)" \
        '^Pod can never start, and has been waiting for [0-9]+s: container c: InvalidImageName: '\
'.*couldn.t parse image name "Busy Box": invalid reference format$'
    expect_match "diagnostics of pull" "$(diagnostics_of pull)" \
        '^Pod has failed to start for [2-9][0-9]*s: container c: ImagePullBackOff: Back-off pulling image "i"$'
    expect_match "diagnostics of room" "$(diagnostics_of room)" \
        '^Pod has been unschedulable for [2-9][0-9]*s: Unschedulable: 0/4 nodes are available: 4 Insufficient cpu\.$'
    wait_event room TaskFailed 'a\[0\] failed with code -330'
    for name in name never pull atonce room heals; do wait_absent pods/$name-a-0; done
}

diagnostics_of() { framework "$1" 'task.attemptStatus.completionStatus.diagnostics'; } # framework

# Without a policy nothing ends, but an Event says what is waited for: once for thousands of Tasks. A scheduler gives the
# time since when, so that nobody has to wait for a minute here.
run_task_waiting() {
    create 'fw("f"; [role("a"; 3; {phase: "hold"})])'
    wait_framework f 15 '[tasks.state] | all(. == "AttemptPreparing")'
    local index
    for index in 2 0 1; do
        api PATCH "/api/v1/namespaces/$NS/pods/f-a-$index/status" "$(jq -n '{status: {conditions: [{type: "PodScheduled", status: "False",
            reason: "Unschedulable", message: "0/4 nodes are available", lastTransitionTime: (now - 61 | todate)}]}}')" \
            application/merge-patch+json >/dev/null
    done
    wait_event f TaskWaiting '^Task a\[[0-2]\] waits: Unschedulable: 0/4 nodes are available$'
    patch_framework f '{"spec": {"description": "looked at once more"}}'
    wait_observed f
    expect "state" "$(framework f .status.state)" AttemptPreparing
    expect "Events" "$(get_jq "/api/v1/namespaces/$NS/events" '[.items[] | select(.reason == "TaskWaiting").count] | add')" 1
    # It counts from that time, too, and a policy that comes later takes effect.
    patch_framework f "{\"spec\": {\"taskRoles\": $(framework f \
            '[.spec.taskRoles[] | .task.pendingPolicy = {unschedulableTimeoutSec: 60}]' | jq -c .)}}"
    wait_completed f
    expect "code" "$(framework f .status.attemptStatus.completionStatus.code)" -330
}
