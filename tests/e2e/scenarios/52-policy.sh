# When an attempt is complete (CONTRACT.md §10).

TRIGGER='.status.attemptStatus.completionStatus | "\(.code) \(.trigger.taskRoleName)[\(.trigger.taskIndex)] \(.trigger.message)"'
# The same; of Tasks that ended in the same second either may come first: the index is shown as its place in time.
TRIGGER_IN_TIME='.status.attemptStatus as $attempt | $attempt.completionStatus.trigger as $trigger |
    ($attempt.taskRoleStatuses[] | select(.name == $trigger.taskRoleName).taskStatuses | map(.completionTime)) as $times |
    ($times | sort | indices($times[$trigger.taskIndex]) | map(tostring) | join("|")) as $places |
    "\($attempt.completionStatus.code) \($trigger.taskRoleName)[\($places)] \($trigger.message)"'
TOTAL="and no user specified conditions in FrameworkAttemptCompletionPolicy have ever been triggered"

# Tasks end after as many seconds as their index says, so that the order is known.
run_policy() {
    create '
        def tasks($name; $number; $code): role($name; $number; ends("{{FC_TASK_INDEX}}"; $code));
        fw("failed1"; [tasks("a"; 3; 1) | policy(1; -1)]),
        fw("failed2"; [tasks("a"; 3; 1) | policy(2; -1)]),
        fw("failedrole"; [(tasks("a"; 1; 0) | policy(1; -1)), (tasks("b"; 2; 5) | policy(2; 1))]),
        fw("succeeded1"; [tasks("a"; 3; 0) | policy(1; 1)]),
        fw("succeeded2"; [tasks("a"; 3; 0) | policy(-1; 2)]),
        fw("anyother"; [(tasks("a"; 1; 0) | policy(1; 1)), (role("b"; 1; {}) | policy(-1; 1))]),
        # Neither absent members nor 0 or -1 ever trigger.
        fw("empty"; [tasks("a"; 2; 1) | .frameworkAttemptCompletionPolicy = {}]),
        fw("zero"; [tasks("a"; 2; 1) | policy(0; 0)]),
        fw("negative"; [tasks("a"; 2; 1) | policy(-1; -1)]),
        fw("failedonly"; [tasks("a"; 2; 0) | .frameworkAttemptCompletionPolicy = {minFailedTaskCount: 1}]),
        fw("succeededonly"; [tasks("a"; 2; 1) | .frameworkAttemptCompletionPolicy = {minSucceededTaskCount: 1}]),
        # A policy that is absent as a whole is {1, -1}.
        fw("absentfailed"; [tasks("a"; 2; 1)]),
        fw("absentsucceeded"; [tasks("a"; 2; 0)]),
        # More than there are.
        fw("toomany"; [tasks("a"; 2; 1) | policy(3; 3)]),
        # TaskRoles without Tasks do not matter.
        fw("norole"; [tasks("a"; 0; 0), tasks("b"; 1; 0)]),
        # (a[1] ends last by far: places are those of one TaskRole)
        fw("tworoles"; [role("a"; 2; ends("{{FC_TASK_INDEX}}0"; 0)), tasks("b"; 1; 0)])'
    wait_all_completed
    expect_places "$TRIGGER_IN_TIME" <<EOT
absentfailed 1 a[0] FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole
absentsucceeded 0 a[1] CompletedTaskCount 2 has reached TotalTaskCount 2 $TOTAL
anyother 0 a[0] SucceededTaskCount 1 has reached MinSucceededTaskCount 1 in the TaskRole
empty 0 a[1] CompletedTaskCount 2 has reached TotalTaskCount 2 $TOTAL
failed1 1 a[0] FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole
failed2 1 a[1] FailedTaskCount 2 has reached MinFailedTaskCount 2 in the TaskRole
failedonly 0 a[1] CompletedTaskCount 2 has reached TotalTaskCount 2 $TOTAL
failedrole 5 b[1] FailedTaskCount 2 has reached MinFailedTaskCount 2 in the TaskRole
negative 0 a[1] CompletedTaskCount 2 has reached TotalTaskCount 2 $TOTAL
norole 0 b[0] CompletedTaskCount 1 has reached TotalTaskCount 1 $TOTAL
succeeded1 0 a[0] SucceededTaskCount 1 has reached MinSucceededTaskCount 1 in the TaskRole
succeeded2 0 a[1] SucceededTaskCount 2 has reached MinSucceededTaskCount 2 in the TaskRole
succeededonly 0 a[1] CompletedTaskCount 2 has reached TotalTaskCount 2 $TOTAL
toomany 0 a[1] CompletedTaskCount 2 has reached TotalTaskCount 2 $TOTAL
tworoles 0 a[1] CompletedTaskCount 3 has reached TotalTaskCount 3 $TOTAL
zero 0 a[1] CompletedTaskCount 2 has reached TotalTaskCount 2 $TOTAL
EOT
    # The status is the trigger's; that of all Tasks together is a plain success.
    expect "failed2: of the Task" \
        "$(framework failed2 '.status.attemptStatus | [.completionStatus,
            .taskRoleStatuses[0].taskStatuses[.completionStatus.trigger.taskIndex].attemptStatus.completionStatus] |
        map("\(.code) \(.phrase) \(.type) \(.diagnostics)") | unique | length')" 1
    expect "empty: the whole" \
        "$(framework empty '.status.attemptStatus.completionStatus |
            "\(.phrase) \(.type.name) \(.type.attributes) \(.diagnostics == .trigger.message) \(has("pod"))"')" \
        'Succeeded Succeeded [] true false'
}

# expect_frameworks, where a place like [0|1], of those that ended together, is as good as [1].
expect_places() { # expression
    local expected found
    expected=$(LC_ALL=C sort)
    found=$(get_jq "$(frameworks_path)" -r ".items[] | \"\\(.metadata.name) \\($1)\"" | LC_ALL=C sort)
    expect_lines "triggers" "$(paste -d '\n' <(echo "$expected") <(echo "$found") | awk 'NR % 2 { want = $0; next } {
        place = want; sub(/^[^[]*\[/, "", place); sub(/\].*/, "", place)
        all = $0; sub(/^[^[]*\[/, "", all); sub(/\].*/, "", all)
        if (index("|" all "|", "|" place "|")) sub(/\[[^]]*\]/, "[" place "]")
        print }')" "$expected"
}

# Without Tasks there is nothing to complete; Stop does.
run_policy_no_tasks() {
    create 'fw("none"; []), fw("null"; null), (fw("absent"; []) | del(.spec.taskRoles)), fw("zero"; [role("a"; 0; {})])'
    local name
    for name in none null absent zero; do
        wait_framework $name 15 '.status.state == "AttemptPreparing"'
        wait_observed $name
    done
    expect_frameworks "TaskRoles, Tasks in column Tasks" \
        '.status | "\(.state) \(.attemptStatus.taskRoleStatuses | length) \(.conditions[] | select(.type == "Running").message)"' <<EOT
absent AttemptPreparing 0 0/0
none AttemptPreparing 0 0/0
null AttemptPreparing 0 0/0
zero AttemptPreparing 1 0/0
EOT
    for name in none null absent zero; do patch_framework $name '{"spec": {"executionType": "Stop"}}'; done
    wait_all_completed
    expect_frameworks "codes" .status.attemptStatus.completionStatus.code <<EOT
absent -210
none -210
null -210
zero -210
EOT
}

# A changed spec may trigger it too: a lower threshold, fewer Tasks, a TaskRole less. Of several triggers the earliest
# wins, then the first in the spec, failed before succeeded.
run_policy_changed() {
    create '
        def two($code): role("a"; 2; {"attempt-exit-code": $code, "run-seconds": ""});
        # Task 0 ends, Task 1 does not: its container named by its index is the one that fails.
        def first_ends($name; $code): role($name; 2; {}) | .task.pod.spec.containers[0].command =
            ["sh", "-c", "sleep {{FC_TASK_INDEX}}000; exit \($code)"];
        fw("lowerfailed"; [first_ends("a"; 3) | policy(2; -1)]),
        fw("lowersucceeded"; [first_ends("a"; 0) | policy(-1; 2)]),
        fw("fewer"; [first_ends("a"; 0) | policy(-1; -1)]),
        fw("roleless"; [first_ends("a"; 0) | .taskNumber = 1 | policy(-1; -1)] + [role("b"; 1; {}) | policy(-1; -1)]),
        fw("firstinspec"; [first_ends("b"; 4), first_ends("a"; 5)] | map(policy(2; -1)))'
    local name
    for name in lowerfailed lowersucceeded fewer roleless firstinspec; do
        wait_framework $name 15 '[.status.attemptStatus.taskRoleStatuses[].taskStatuses[0].state] | .[0] == "Completed" and
            (.[1] == null or .[1] == "Completed" or .[1] == "AttemptRunning")'
    done
    wait_framework firstinspec 15 '[.status.attemptStatus.taskRoleStatuses[].taskStatuses[0].state] | all(. == "Completed")'
    patch_roles lowerfailed '.[0].frameworkAttemptCompletionPolicy.minFailedTaskCount = 1'
    patch_roles lowersucceeded '.[0].frameworkAttemptCompletionPolicy.minSucceededTaskCount = 1'
    patch_roles fewer '.[0].taskNumber = 1'
    patch_roles roleless 'del(.[1])'
    patch_roles firstinspec 'map(.frameworkAttemptCompletionPolicy.minFailedTaskCount = 1)'
    wait_all_completed
    local first
    first=$(framework firstinspec '[.status.attemptStatus.taskRoleStatuses[] | {name, time: .taskStatuses[0].completionTime}] |
        (if .[1].time < .[0].time then .[1] else .[0] end) | if .name == "b" then "4 b" else "5 a" end')
    expect_frameworks "triggers" "$TRIGGER" <<EOT
fewer 0 a[0] CompletedTaskCount 1 has reached TotalTaskCount 1 $TOTAL
firstinspec ${first}[0] FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole
lowerfailed 3 a[0] FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole
lowersucceeded 0 a[0] SucceededTaskCount 1 has reached MinSucceededTaskCount 1 in the TaskRole
roleless 0 a[0] CompletedTaskCount 1 has reached TotalTaskCount 1 $TOTAL
EOT
}

# Replaces the TaskRoles by what a jq expression makes of them.
patch_roles() { # framework expression
    patch_framework "$1" "$(get_jq "$(frameworks_path)/$1" -c "{spec: {taskRoles: (.spec.taskRoles | $2)}}")"
}
