# kill -9 right after each request of a story (`make crash-points`): the k-th request of the reconcilers is carried out,
# its answer is held back, none after it is carried out, and the process is killed; for each k, one run. All end as the
# undisturbed run does, with the same Pods. The story has retries of a Task and of a Framework, and rescales both ways.

. "$here/lib/faults.sh"

only_when_asked() {
    [[ -n ${CRASH_POINTS:-} ]] || not_here "takes minutes: make crash-points"
    [[ $CLUSTER == embedded ]] || not_here "a real server cannot be told to hold the k-th answer"
}

run_crash_points_reconciler() {
    only_when_asked
    crash_points kill_reconciler
}

run_crash_points_watcher() {
    only_when_asked
    crash_points kill_controller
}

run_crash_points_lifecycle() {
    only_when_asked
    crash_points kill_controller lifecycle_story
}

run_crash_points_gang() {
    only_when_asked
    crash_points kill_reconciler gang_story "$(gang_crds)"
}

# The reconciler whose request it was is one of two: both go, and the watcher starts others.
kill_reconciler() { pgrep -P "$(watcher_pid)" | xargs -r kill -KILL; }

# The watcher, and with it its children.
kill_controller() {
    kill -KILL "$(watcher_pid)"
    start_crash_watcher $((++watchers))
    echo "$watchers" >"out/$scenario.watchers"
}

start_crash_watcher() { # number
    launch_watcher "watcher-$1" --workers 2 --leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s \
        --leader-elect-retry-period 200ms
}

crash_points() { # how to kill [story [crd-file]]
    story=${2:-life_story}
    own_cluster "${@:3}"
    own_config <<<'memberLeaseSec: 2'
    watchers=1
    start_crash_watcher 1
    crash_points_loop 20 '"userAgent": "fc-reconciler", "path": "/(pods|podgroups|configmaps|frameworks)"' "$1" crash_story new_pool
    end_processes . 15 "watcher-$watchers"
}

# Runs the story undisturbed, and once for each k: the k-th of the requests that match is carried out and its answer held
# back, all that follow are cut, and somebody is killed. Shared with 85-jobs.sh.
crash_points_loop() { # least number of requests, their match, how to kill, story, what to do between two runs
    local k reached=1 found first=1 last=${CRASH_POINTS/all/1000}
    if [[ $last == *-* ]]; then first=${last%-*} last=${last#*-}; fi
    NS=$NS-undisturbed
    create_namespace "$NS"
    "$4"
    cp "out/$scenario.end" "out/$scenario.undisturbed"
    for ((k = first; k <= last && reached; k++)); do
        NS=$(namespace_of "$scenario")-$k
        create_namespace "$NS"
        testapi DELETE faults >/dev/null
        crash_fault "$2" $((k - 1)) 1 '{"answerLatencyMs": 60000}'
        crash_fault "$2" "$k" 100000 '{"cut": true}'
        crash_when_struck "$3" "$k" &
        found=$!
        "$4"
        kill "$found" 2>/dev/null || true
        wait "$found" 2>/dev/null || true
        diff -u "out/$scenario.undisturbed" "out/$scenario.end" || fail "killed after request $k, it ends otherwise: see the diff"
        [[ -e out/$scenario.struck-$k ]] || reached=
        "$5"
    done
    [[ $reached ]] || k=$((k - 1))
    echo "crash points $first to $((k - 1))"
    ((k > $1 || k > last)) || fail "only $((k - 1)) requests in a story that needs more"
}

# What becomes of so many requests of the namespace after others.
crash_fault() { # match skip count action
    testapi_fault "{\"match\": {$1, \"namespace\": \"$NS\"}, \"skip\": $2, \"count\": $3, \"action\": $4}"
}

# Waits for the k-th request, as often as there is time to look.
crash_when_struck() { # how to kill, k
    trap - ERR EXIT
    until testapi GET faults | jq -e '.[0].hits > 0' >/dev/null; do sleep 0.005; done
    touch "out/$scenario.struck-$2"
    "$1"
    testapi DELETE faults >/dev/null
}

# One that has not learnt yet to wait before it restarts what dies.
new_pool() {
    if [[ -e out/$scenario.watchers ]]; then watchers=$(<"out/$scenario.watchers"); fi
    rm -f "out/$scenario.watchers"
    api DELETE "$(frameworks_path)" >/dev/null
    end_processes . 15 "watcher-$watchers"
    start_crash_watcher $((++watchers))
}

# Runs it to its end; how that looks is in out/SCENARIO.end.
crash_story() {
    record pods
    "$story"
    wait_all_completed 60
    wait_for 30 "nothing of the attempts is left" none_left configmaps,pods
    end_records
    {
        # Whether a phase was seen in which nobody was there to look is no matter; nor is which of two equals was last, nor
        # whether somebody took it over, nor for how long a Pod has waited.
        get_jq "$(frameworks_path)" -S --arg namespace "$NS" "$(<"$here/lib/normalise.jq")"' |
            [.items[] | {name: .metadata.name, status} |
                del(.. | .runTime?, .podIP?, .podHostIP?, .podNodeName?, .fenced?, .writer?, .waitingTime?) |
                walk(if type == "string" then gsub(
                    "(?<what>been waiting|failed to start|been unschedulable) for [0-9hms]+"; .what + " for TIME") else . end)]'
        # Each Pod that ever was, by the attempt it was for.
        jq -r 'select(.type == "ADDED") | .object.metadata |
            "\(.name) \(.annotations.FC_FRAMEWORK_ATTEMPT_ID) \(.annotations.FC_TASK_ATTEMPT_ID)"' \
            "$RUN/out/$scenario.pods" | sort
    } >"out/$scenario.end"
}

life_story() {
    create '
        (fw("scaled"; [
            (role("a"; 2; {"run-seconds": 0.2, "exit-code": "1,0"}) | task_retry(false; 1) | policy(-1; -1)),
            (role("b"; 2; {}) | policy(-1; -1)),
            (role("c"; 0; ends(0.2; 0)) | policy(-1; 1))])),
        (fw("retried"; [role("a"; 2; {"run-seconds": 0.2, "attempt-exit-code": "1,0"}) | policy(2; 2)]) | .spec |= retry(false; 1))'
    wait_framework scaled 60 '.status.attemptStatus.taskRoleStatuses as $roles |
        ($roles[0].taskStatuses | all(.state == "Completed")) and ($roles[1].taskStatuses | all(.state == "AttemptRunning"))'
    patch_roles scaled '.[1].taskNumber = 1'
    wait_framework scaled 60 '.status.attemptStatus.taskRoleStatuses[1].taskStatuses | length == 1'
    patch_roles scaled '.[2].taskNumber = 1'
}

# A gang whose number falls as Tasks complete, with a retry after that, and is raised by a rescale; and one of two attempts.
gang_story() {
    create '
        (fw("scaled"; [
            (role("a"; 2; {"run-seconds": 0.2, "exit-code": "1,0"}) | task_retry(false; 1) | policy(-1; -1)),
            (role("b"; 1; {}) | policy(-1; -1)),
            (role("c"; 0; ends(0.2; 0)) | policy(-1; 2))]) | .spec.gang = {scheduler: "Volcano"}),
        (fw("retried"; [role("a"; 2; {"run-seconds": 0.2, "attempt-exit-code": "1,0"}) | policy(2; 2)]) | .spec |= retry(false; 1) |
            .spec.gang = {scheduler: "Volcano"})'
    wait_framework scaled 60 '.status.attemptStatus.taskRoleStatuses as $roles |
        ($roles[0].taskStatuses | all(.state == "Completed")) and ($roles[1].taskStatuses | all(.state == "AttemptRunning"))'
    patch_roles scaled '.[2].taskNumber = 2'
}

# Suspended and resumed, delayed by backoff, Pods that never start, a deadline, and a time to live.
lifecycle_story() {
    create '
        fw("held"; [role("a"; 2; {})]),
        fw("delayed"; [role("a"; 1; ends(0; "1,0")) | .task.retryPolicy = {maxRetryCount: 1, backoff: {initialSec: 1}}]),
        (fw("again"; [role("a"; 1; {"run-seconds": 0, "attempt-exit-code": "1,0"})]) |
            .spec.retryPolicy = {maxRetryCount: 1, backoff: {initialSec: 1}}),
        fw("never"; [role("a"; 1; {phase: "pending", reason: "InvalidImageName", message: "x"}) | .task.pendingPolicy = {}]),
        fw("pull"; [role("a"; 1; {phase: "pending", reason: "ImagePullBackOff", message: "x"}) |
            .task.pendingPolicy = {startTimeoutSec: 1}]),
        fw("room"; [role("a"; 1; {phase: "unschedulable", message: "0/4 nodes are available"}) |
            .task.pendingPolicy = {unschedulableTimeoutSec: 1}]),
        (fw("late"; [role("a"; 1; {})]) | .spec.activeDeadlineSec = 2),
        (fw("brief"; [role("a"; 1; ends(0; 0))]) | .spec.ttlSecondsAfterCompleted = 0)'
    wait_framework held 60 '[tasks.state] == ["AttemptRunning", "AttemptRunning"]'
    patch_framework held '{"spec": {"suspend": true}}'
    wait_framework held 60 '.status.conditions | any(.type == "Suspended" and .status == "True")'
    patch_framework held "$(jq -cn "$JQ_WORDS {spec: {suspend: false, taskRoles: [role(\"a\"; 3; ends(0; 0))]}}")"
    wait_absent_framework brief
}
