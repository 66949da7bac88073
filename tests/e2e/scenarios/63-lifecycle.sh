# Suspend, managedBy, deadlines, delays and time to live (CONTRACT.md §2, §5, §8, §9).

suspend() { patch_framework "$1" "{\"spec\": {\"suspend\": $2}}"; } # framework true|false

# Waits until the Framework is suspended: none of its objects is left then.
wait_suspended() { # framework [seconds]
    wait_framework "$1" "${2:-20}" '.status.conditions | any(.type == "Suspended" and .status == "True")'
}

# Rows of a Framework: what suspend must not change, and what it does.
COUNTERS='.status | "\(.state) \(.displayState) attempt \(.attemptStatus.id)" +
    " retries \(.retryPolicyStatus | "\(.totalRetriedCount) \(.accountableRetriedCount) \(.retryDelaySec)")"'

# All resources are given back, no retry is lost, and what is edited meanwhile counts afterwards.
run_suspend() {
    local kubectl
    record configmaps
    create 'fw("f"; [role("a"; 2; {})])'
    wait_running f
    expect "before" "$(framework f '.status | "\(has("displayState")) \(has("resumeTime")) \(.conditions | map(.type) | join(","))"')" \
        "false false Running,Completed,Succeeded"
    suspend f true
    wait_suspended f
    none_left configmaps,pods || fail "something is left of a suspended Framework"
    expect "suspended" "$(framework f "$COUNTERS")" "AttemptCreationPending Suspended attempt 1 retries 1 0 null"
    for kubectl in "$OLDEST_KUBECTL" "$CURRENT_KUBECTL"; do
        write_kubectl "$kubectl" "$RUN/out/$scenario.kubectl"
        expect_match "what $kubectl shows" "$("$RUN/out/$scenario.kubectl" -n "$NS" get frameworks f --no-headers)" \
            '^f +Suspended +0/2 +1 +[0-9][0-9dhms]*$'
    done
    wait_event f AttemptCompleted 'code -240 \(SuspendFrameworkRequested\): User has requested to suspend the Framework'
    wait_event f FrameworkSuspended 'none of its Pods exists'
    patch_framework f "$(jq -cn \
            "$JQ_WORDS {spec: {taskRoles: [role(\"a\"; 3; ends(0; 0)) | .task.pod.metadata.labels = {edited: \"yes\"}]}}")"
    wait_observed f
    expect "edited" "$(framework f "$COUNTERS")" "AttemptCreationPending Suspended attempt 1 retries 1 0 null"
    suspend f false
    wait_completed f
    expect "resumed" "$(framework f "$COUNTERS")" "Completed null attempt 1 retries 1 0 null"
    expect "its result" "$(framework f \
            '.status | "\(.attemptStatus.completionStatus.code) \(.attemptStatus.taskRoleStatuses[0].taskStatuses |
            length) \(.resumeTime >= .startTime)"')" "0 3 true"
    expect "condition" "$(framework f '.status.conditions[] | select(.type == "Suspended") | "\(.status) \(.reason)"')" "False NotSuspended"
    wait_event f FrameworkResumed 'is resumed'
    end_records
    expect "ConfigMaps made" \
        "$(jq -r 'select(.type == "ADDED").object.metadata | select(.name == "f-attempt").annotations.FC_FRAMEWORK_ATTEMPT_ID' \
        "$RUN/out/$scenario.configmaps" | tr '\n' ' ')" "0 1 "
}

# Whoever goes back to the original, which does not know suspend: what it holds is not to be started.
run_going_back() {
    mkdir "$RUN/out/$scenario.bin"
    write_kubectl "$CURRENT_KUBECTL" "$RUN/out/$scenario.bin/stock"
    printf '#!/bin/sh\nexec stock -n %s "$@"\n' "$NS" >"$RUN/out/$scenario.bin/kubectl"
    chmod +x "$RUN/out/$scenario.bin/kubectl"
    create '(fw("held"; [role("a"; 1; {})]) | .spec.suspend = true), fw("f"; [role("a"; 1; {})])'
    wait_suspended held
    wait_running f
    # (as if the controller had stopped before it noticed)
    create 'fw("later"; [role("a"; 1; {})]) | .spec.suspend = true | .spec.managedBy = "example.com/nobody"'
    PATH=$RUN/out/$scenario.bin:$PATH bash -eu <(blocks_of manifests/README.md "sh back")
    expect "what the original does not start" "$(for name in held f later; do framework $name .spec.executionType; done)" "Create
Start
Create"
}

# Whatever state it is in when the value turns, the last one counts, and nothing runs twice.
run_suspend_toggled() {
    local i
    record pods
    create 'fw("f"; [role("a"; 3; {})]) | .spec.suspend = true'
    for i in {1..8}; do
        suspend f false
        ((i % 3)) || wait_framework f 15 '.status.state != "AttemptCreationPending"'
        suspend f true
        ((i % 4)) || wait_framework f 15 '.status.attemptStatus.completionStatus == null'
    done
    wait_suspended f
    none_left configmaps,pods || fail "something is left of a suspended Framework"
    for i in {1..8}; do
        suspend f false
        suspend f true
    done
    suspend f false
    wait_running f 30
    expect "retries that count" "$(framework f .status.retryPolicyStatus.accountableRetriedCount)" 0
    patch_framework f '{"spec": {"executionType": "Stop"}}'
    wait_completed f
    end_records
    expect "Pods that were there at the same time" "$(jq -rn '
        foreach inputs as $event ({}; ($event.object.metadata) as $pod |
            if $event.type == "ADDED" then .twice = (if .there[$pod.name] then $pod.name else null end) | .there[$pod.name] = true
            elif $event.type == "DELETED" then .twice = null | .there[$pod.name] = false else .twice = null end;
            .twice // empty)' "$RUN/out/$scenario.pods")" ""
}

# Stop, deletion and Create beside it.
run_suspend_others() {
    record configmaps
    create 'fw("born", "stopped", "deleted", "held"; [role("a"; 1; {})]) | .spec.suspend = true'
    create 'fw("leaving"; [role("a"; 1; {"ignore-termination": true})]),
        fw("ended"; [role("a"; 1; ends(0; 3)) | policy(1; 1), role("b"; 1; {"ignore-termination": true})]),
        (fw("retried"; [role("a"; 1; ends(0; 3)) | policy(1; 1), role("b"; 1; {"ignore-termination": true})]) | .spec |= retry(false; 1))'
    local name
    for name in born stopped deleted held; do
        wait_suspended $name
        expect "$name" "$(framework $name "$COUNTERS")" "AttemptCreationPending Suspended attempt 0 retries 0 0 null"
    done
    patch_framework stopped '{"spec": {"executionType": "Stop"}}'
    wait_completed stopped
    expect "stopped" "$(framework stopped \
            '.status | "\(.attemptStatus.completionStatus.code) \(.displayState) \(.attemptStatus.configMapUID)"')" "-210 null null"
    api DELETE "$(frameworks_path)/deleted" '{"propagationPolicy": "Foreground"}' >/dev/null
    wait_absent_framework deleted
    # Create holds it as well: it starts when neither does.
    patch_framework held '{"spec": {"executionType": "Create", "suspend": false}}'
    wait_framework held 15 '.status.conditions | any(.type == "Suspended" and .status == "False")'
    wait_observed held
    expect "held" "$(framework held "$COUNTERS")" "AttemptCreationPending null attempt 0 retries 0 0 null"
    end_records
    expect "ConfigMaps of those that never started" \
        "$(jq -r 'select(.type == "ADDED").object.metadata.name | select(test("^(born|stopped|deleted|held)-attempt$"))' \
        "$RUN/out/$scenario.configmaps")" ""
    patch_framework held '{"spec": {"executionType": "Start"}}'
    suspend born false
    wait_running held
    wait_running born
    # Deletion goes before suspend, and Stop does while it is suspended.
    wait_running leaving
    suspend leaving true
    wait_framework leaving 15 '.status.attemptStatus.completionStatus.code == -240'
    api DELETE "$(frameworks_path)/leaving" '{"propagationPolicy": "Foreground"}' >/dev/null
    delete pods/leaving-a-0 '{"gracePeriodSeconds": 0}'
    wait_absent_framework leaving
    suspend held true
    wait_framework held 15 '.status.retryPolicyStatus.totalRetriedCount == 1 or .status.attemptStatus.completionStatus.code == -240'
    patch_framework held '{"spec": {"executionType": "Stop"}}'
    wait_completed held
    expect_match "held, stopped" "$(framework held '.status | "\(.attemptStatus.completionStatus.code) \(.displayState)"')" '^-210 null$'
    # An attempt that is ending for another reason ends for that reason.
    for name in ended retried; do
        wait_framework $name 15 '.status.attemptStatus.completionStatus.code == 3'
        suspend $name true
        delete pods/$name-b-0 '{"gracePeriodSeconds": 0}'
    done
    wait_completed ended
    expect "ended" "$(framework ended \
            '.status | "\(.attemptStatus.completionStatus.code) \(.displayState) \(.conditions[] |
            select(.type == "Suspended").status)"')" "3 null False"
    wait_suspended retried
    expect "retried" "$(framework retried "$COUNTERS")" "AttemptCreationPending Suspended attempt 1 retries 1 1 null"
}

# A controller of another name: nothing of ours happens, whatever its spec says, until it is deleted.
run_managed_by() {
    local before
    create 'fw("theirs"; [role("a"; 1; {})]) | .spec.managedBy = "example.com/controller" |
        .spec.podFailureSpec = [{code: 0, podPatterns: [{nameRegex: "("}]}]'
    before=$(framework theirs .metadata.resourceVersion)
    create 'fw("ours"; [role("a"; 1; ends(0; 0))]) | .spec.managedBy = "frameworkcontroller.microsoft.com/controller"'
    wait_completed ours
    wait_event ours FrameworkCompleted 'code 0'
    expect "writes" "$(framework theirs '"\(.metadata.resourceVersion) \(has("status"))"')" "$before false"
    api PATCH "$(frameworks_path)/theirs/status" '{"status": {"state": "Elsewhere"}}' application/merge-patch+json >/dev/null
    patch_framework theirs '{"spec": {"suspend": true, "description": "x"}}'
    before=$(framework theirs .metadata.resourceVersion)
    create 'fw("later"; [role("a"; 1; ends(0; 0))])'
    wait_completed later
    expect "writes after changes" "$(framework theirs '"\(.metadata.resourceVersion) \(.status.state)"')" "$before Elsewhere"
    expect "Events" "$(get_jq "/api/v1/namespaces/$NS/events" '[.items[] | select(.involvedObject.name == "theirs")] | length')" 0
    is_absent "/api/v1/namespaces/$NS/configmaps/theirs-attempt" || fail "a ConfigMap was created for a Framework of another controller"
    delete_all_at_once theirs
}

delete_all_at_once() { # framework
    api DELETE "$(frameworks_path)/$1" >/dev/null
    wait_absent_framework "$1"
}

# The deadline runs over retries and their delays, stands still while suspended, and is over for good.
run_active_deadline() {
    local started
    create 'fw("again"; [role("a"; 1; {})]) | .spec.suspend = true | .spec.activeDeadlineSec = 3'
    create '(fw("runs"; [role("a"; 1; {})]) | .spec |= retry(true; -2)), fw("retries"; [role("a"; 1; ends(0; 1)) | policy(1; 1)]),
        (fw("delayed"; [role("a"; 1; ends(0; 1)) | policy(1; 1)]) | .spec.retryPolicy = {maxRetryCount: 5, backoff: {initialSec: 600}}),
        (fw("tasks"; [role("a"; 1; ends(0; 1)) | .task.retryPolicy = {maxRetryCount: 5, backoff: {initialSec: 600}}])) |
        .spec.activeDeadlineSec = 3 | if .metadata.name == "retries" then .spec |= retry(false; -1) else . end'
    wait_all_but again
    expect_match "diagnostics" "$(framework runs .status.attemptStatus.completionStatus.diagnostics)" \
        '^Framework has been active for longer than activeDeadlineSec 3s$'
    expect_match "diagnostics in a delay" "$(framework delayed .status.attemptStatus.completionStatus.diagnostics)" \
        '^Framework has been active for longer than activeDeadlineSec 3s, so it is not retried '\
'after code 1 \(ContainerUnrecognizedFailed\)$'
    wait_event runs FrameworkCompleted 'code -250 \(ActiveDeadlineExceeded\)'
    # By now it would be over, were it not suspended; it begins anew.
    expect "suspended for longer than the deadline" "$(framework again '"\(.status.state) \(now - (.status.startTime | fromdate) >= 3)"')" \
        "AttemptCreationPending true"
    suspend again false
    wait_running again
    wait_completed again
    expect_frameworks "codes and retries" \
        '.status | "\(.attemptStatus.completionStatus | "\(.code) \(.type.attributes)") \(.retryPolicyStatus.retryDelaySec)" +
            " \((.completionTime | fromdate) - (.resumeTime // .startTime | fromdate) >= 3)"' <<EOT
again -250 ["Permanent"] null true
delayed -250 ["Permanent"] null true
retries -250 ["Permanent"] null true
runs -250 ["Permanent"] null true
tasks -250 ["Permanent"] null true
EOT
    expect "it was retried until then" "$(framework retries '.status.retryPolicyStatus.totalRetriedCount > 0')" true
    wait_for 10 "nothing of the attempts is left" none_left configmaps,pods
}

wait_all_but() { # framework
    wait_for 30 "all Frameworks but $1 are Completed" all_completed_but "$1"
}

all_completed_but() { table_jq -e --arg but "$1" \
    '[.rows[].cells | select(.[0] != $but) | .[1]] | all(. == "Completed")'; } # framework

# Delays double up to maxSec, and begin anew after an attempt that ran for resetAfterSec.
run_backoff() {
    record frameworks
    create '{maxRetryCount: 4, backoff: {initialSec: 1, maxSec: 4}} as $grows |
        {maxRetryCount: 3, backoff: {initialSec: 1, maxSec: 60, resetAfterSec: 1}} as $resets |
        fw("task"; [role("a"; 1; ends(0; 1)) | .task.retryPolicy = $grows]),
        (fw("whole"; [role("a"; 1; ends(0; 1))]) | .spec.retryPolicy = $grows),
        (fw("long"; [role("a"; 1; ends(2; 1))]) | .spec.retryPolicy = $resets)'
    wait_all_completed 60
    end_records
    jq -rn '[inputs | select(.type != "DELETED").object | .metadata.name as $name | .status // {} |
            if $name == "task" then .attemptStatus.taskRoleStatuses[0].taskStatuses[0] // {} else . end |
            select(.retryPolicyStatus.retryDelaySec != null) |
        {name: $name, id: .attemptStatus.id, delay: .retryPolicyStatus.retryDelaySec}] |
        unique_by([.name, .id]) | group_by(.name)[] | "\(.[0].name) \(map(.delay | tostring) | join(" "))"' \
        "$RUN/out/$scenario.frameworks" >"$RUN/out/$scenario.delays"
    expect_lines "delays" "$(LC_ALL=C sort "$RUN/out/$scenario.delays")" 'long 1 1 1
task 1 2 4 4
whole 1 2 4 4'
    expect_frameworks "whether the delays were waited for" '(if .metadata.name == "long" then 3 else 11 end) as $delays |
        .status | (.completionTime | fromdate) - (.startTime | fromdate) >= $delays' <<EOT
long true
task true
whole true
EOT
    wait_event whole FrameworkRetryDelayed 'retried in 4 s by retryPolicy.backoff: retry 4 in a row'
}

# A reconciler that is killed in a delay: the delay neither begins anew nor ends.
run_backoff_killed() {
    local delayed
    own_cluster
    start_watcher "${STEADY_ELECTION[@]}"
    create '{maxRetryCount: 1, backoff: {initialSec: 8}} as $backoff |
        (fw("whole"; [role("a"; 1; {"run-seconds": 0, "attempt-exit-code": "1,0"})]) | .spec.retryPolicy = $backoff),
        fw("task"; [role("a"; 1; ends(0; "1,0")) | .task.retryPolicy = $backoff])'
    wait_framework whole 15 '.status.retryPolicyStatus.retryDelaySec == 8'
    wait_framework task 15 'task.retryPolicyStatus.retryDelaySec == 8'
    delayed=$(framework whole .status.attemptStatus.completionTime)
    kill_reconcilers
    wait_all_completed 60
    expect_frameworks "retries" \
        '.status | "\(.attemptStatus.completionStatus.code) \(.retryPolicyStatus | "\(.totalRetriedCount) \(.backoffCount)")"' <<EOT
task 0 0 null
whole 0 1 1
EOT
    expect "the Task's retries" "$(framework task 'task | .retryPolicyStatus | "\(.totalRetriedCount) \(.backoffCount)"')" "1 1"
    expect "the delay" "$(framework whole "(.status.attemptStatus.startTime | fromdate) - (\"$delayed\" | fromdate) >= 8")" true
}

# Its own time to live goes before the configuration's, and follows the spec.
run_ttl_after_completed() {
    create 'fw("now"; [role("a"; 1; ends(0; 0))]) | .spec.ttlSecondsAfterCompleted = 0'
    create 'fw("stays", "edited"; [role("a"; 1; ends(0; 1))]) | .spec.ttlSecondsAfterCompleted = 3600'
    wait_absent_framework now
    wait_completed stays
    wait_completed edited
    patch_framework edited '{"spec": {"ttlSecondsAfterCompleted": 1}}'
    wait_absent_framework edited
    expect "what is left" "$(table_jq -r '.rows[].cells[0]')" stays
    wait_for 10 "nothing of the attempts is left" none_left configmaps,pods
}

# A Framework's own entries go before the configuration's; what no entry may say is refused, by its name.
run_failure_spec_of_framework() {
    create 'def own($entries): .spec.podFailureSpec = $entries;
        [{code: 137, phrase: "Killed", type: {attributes: ["Permanent"]}, podPatterns: [{containers: [{codeRange: {min: 137, max: 137}}]}]},
         {code: -5000, phrase: "DataMissing", type: {attributes: ["Transient"]},
        podPatterns: [{containers: [{messageRegex: "no such dataset", codeRange: {min: 1}}]}]}] as $entries |
        [role("a"; 1; ends(0; "137,0")) | task_retry(true; 0)] as $killed |
        (fw("own"; $killed) | own($entries)), fw("configured"; $killed),
        (fw("data"; [role("a"; 1; ends(0; "1,0") + {message: "no such dataset: x|"}) | task_retry(true; 0)]) | own($entries)),
        (fw("predefined"; [role("a"; 1; ends(0; "210,0")) | task_retry(true; 0)]) | own([$entries[0] | .podPatterns = [{}]])),
        (fw("regex"; $killed) | own([{code: -5000, podPatterns: [{messageRegex: "(?=x)"}]}])),
        (fw("reserved"; $killed) | own([{code: -1, podPatterns: [{}]}]))'
    wait_all_but_malformed
    expect_frameworks "codes and retries of the Task" \
        'task // {} | "\(.attemptStatus.completionStatus | "\(.code) \(.phrase)") \(.retryPolicyStatus.totalRetriedCount)"' <<EOT
configured 0 Succeeded 1
data 0 Succeeded 1
own 137 Killed 0
predefined 210 ContainerPermanentFailed 0
regex null null null
reserved null null null
EOT
    wait_event regex Malformed 'spec.podFailureSpec\[0\].*messageRegex'
    wait_event reserved Malformed 'spec.podFailureSpec\[0\].*code.*-1'
}

wait_all_but_malformed() { wait_for 30 "those that can be read are Completed" completed_at_least 4; }

# What the schema knows to be wrong never gets in, and the message names the member and what is expected.
run_lifecycle_refused() {
    not_accepted "suspend" 'spec.suspend.*boolean' '.spec.suspend = "yes"'
    not_accepted "managedBy" 'spec.managedBy.*(63|long)' '.spec.managedBy = "a" * 64'
    not_accepted "ttlSecondsAfterCompleted" 'ttlSecondsAfterCompleted.*greater than or equal to 0' '.spec.ttlSecondsAfterCompleted = -1'
    not_accepted "activeDeadlineSec" 'activeDeadlineSec.*greater than or equal to 1' '.spec.activeDeadlineSec = 0'
    not_accepted "a backoff that says nothing" 'backoff.*initialSec' '.spec.retryPolicy.backoff = {maxSec: 5}'
    not_accepted "initialSec" 'backoff.initialSec.*greater than or equal to 1' '.spec.retryPolicy.backoff = {initialSec: 0}'
    not_accepted "maxSec" 'task.retryPolicy.backoff.maxSec.*greater than or equal to 1' \
        '.spec.taskRoles[0].task.retryPolicy.backoff = {initialSec: 1, maxSec: 0}'
    not_accepted "resetAfterSec" 'backoff.resetAfterSec.*greater than or equal to 0' \
        '.spec.retryPolicy.backoff = {initialSec: 1, resetAfterSec: -1}'
    not_accepted "startTimeoutSec" 'pendingPolicy.startTimeoutSec.*greater than or equal to 0' \
        '.spec.taskRoles[0].task.pendingPolicy = {startTimeoutSec: -1}'
    not_accepted "unschedulableTimeoutSec" 'pendingPolicy.unschedulableTimeoutSec.*integer' \
        '.spec.taskRoles[0].task.pendingPolicy = {unschedulableTimeoutSec: "1"}'
    not_accepted "an entry without patterns" 'podFailureSpec.*podPatterns' '.spec.podFailureSpec = [{code: -5000}]'
    not_accepted "an entry without a code" 'podFailureSpec.*code' '.spec.podFailureSpec = [{podPatterns: [{}]}]'
    not_accepted "the type of an entry" 'podFailureSpec.*type.name.*(Unsupported|supported) value' \
        '.spec.podFailureSpec = [{code: -5000, type: {name: "Odd"}, podPatterns: [{}]}]'
    none_left frameworks || fail "a Framework is stored"
}

# Frameworks suspended and resumed at once: each of the two costs few writes of each Framework's status.
alone_suspend_many() {
    local frameworks=200 all
    ((SLOWER == 1)) || not_here "where everything takes longer, what happens to one Framework does not fit into so few writes"
    [[ $CLUSTER == embedded ]] || frameworks=1000
    k create --validate=false \
        -f <(jq -cn "$JQ_WORDS"'{apiVersion: "v1", kind: "List", items: [range('$frameworks') | fw("f\(.)"; [role("a"; 1; {})])]}') \
        >/dev/null
    wait_for 300 "all run" states_are AttemptRunning $frameworks
    all=$(table_jq -r '.rows[].cells[0]')
    suspend_all true
    wait_for 300 "all are suspended" states_are Suspended $frameworks
    expect_few_writes suspending
    suspend_all false
    wait_for 300 "all run again" states_are AttemptRunning $frameworks
    expect_few_writes resuming
}

suspend_all() { # true|false
    record frameworks
    printf '%s\n' "$all" | xargs -P 8 -I NAME curl -sS -f -o /dev/null \
        "${api_identity[@]}" -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d "{\"spec\": {\"suspend\": $1}}" "$api_server$(frameworks_path)/NAME"
}

states_are() { table_jq -e "[.rows[] | select(.cells[1] == \"$1\")] | length == $2"; } # state number

# Each version of a Framework but the user's is a write of its status.
expect_few_writes() { # what
    local writes
    end_records
    writes=$(jq -rn 'reduce inputs.object.metadata.name as $name ({}; .[$name] += 1) | map(. - 1) | "\(add) \(max)"' \
            "$RUN/out/$scenario.frameworks")
    echo "status writes of $frameworks Frameworks, and most of one, $1: $writes"
    ((${writes#* } <= 5)) || fail "$1: ${writes#* } status writes of one Framework, expected at most 5"
}
