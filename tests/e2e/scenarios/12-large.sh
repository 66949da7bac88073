# Large Frameworks (CONTRACT.md §13).

# 10 000 Tasks in one Framework, run to their end, with compression. A real control plane takes minutes for as many:
# `make test-long` has them, otherwise there are 1 500 Tasks.
run_large() {
    local tasks=10000
    [[ $CLUSTER == embedded ]] || tasks=${LARGE_TASKS:-1500}
    own_cluster
    own_config <<<'largeFrameworkCompression: true'
    start_watcher
    create 'fw("f"; [role("a"; '$tasks'; ends(0; 0))])'
    wait_framework f 15 '.status.attemptStatus | .taskRoleStatuses == null and .taskRoleStatusesCompressed != null'
    expect "Tasks, as others read them" \
        "$(framework f .status.attemptStatus.taskRoleStatusesCompressed | base64 -d | gzip -d | jq '.[0].taskStatuses | length')" $tasks
    wait_completed f $((150 + tasks / 50)) # on a machine that does other things, too
    framework f .status.attemptStatus.taskRoleStatusesCompressed | base64 -d | gzip -d |
        jq -r '.[0].taskStatuses[] | "\(.state) \(.attemptStatus.id) \(.attemptStatus.completionStatus.code)"' | sort | uniq -c |
        sed "s/^ *//" >"$RUN/out/$scenario.found"
    expect "Tasks" "$(<"$RUN/out/$scenario.found")" "$tasks Completed 0 0"
    expect_match "message" "$(framework f '.status.attemptStatus.completionStatus.trigger.message')" \
        "^CompletedTaskCount $tasks has reached TotalTaskCount $tasks and no"
    # Below 700 KiB nothing is compressed.
    create 'fw("small"; [role("a"; 10; ends(0; 0))])'
    wait_completed small
    expect "small" "$(framework small '.status.attemptStatus | "\(.taskRoleStatuses | type) \(has("taskRoleStatusesCompressed"))"')" \
        "array false"
}

# Without being asked to, a status is compressed when the object would not fit otherwise, with an Event.
run_large_automatic() {
    create 'fw("f"; [role("a"; 600; {}) | policy(-1; -1)]) | .spec.executionType = "Create" | .spec.description = ("0123456789" * 125000)'
    wait_framework f 20 '.status.attemptStatus | .taskRoleStatuses == null and .taskRoleStatusesCompressed != null'
    wait_event f StatusTooLarge "compressed"
    expect "Tasks" "$(framework f .status.attemptStatus.taskRoleStatusesCompressed | base64 -d | gzip -d |
            jq '.[0].taskStatuses | length')" 600
    # It goes on, and once it fits it is as it was.
    patch_framework f '{"spec": {"executionType": "Stop"}}'
    wait_completed f
    expect "code" "$(framework f '.status.attemptStatus.completionStatus.code')" -210
    patch_framework f '{"spec": {"description": "short"}}'
    wait_framework f 15 '.status.attemptStatus | (.taskRoleStatuses | type == "array") and (has("taskRoleStatusesCompressed") | not)'
}

# More than any object has room for: an Event says so, others do not notice, and it can be deleted. More Tasks than a
# Framework may have: an Event names the limit, none is added, and it can be stopped.
run_large_vast() {
    create 'fw("vast"; [role("a"; 9000; {})]) | .spec.executionType = "Create" | .spec.description = ("0123456789" * 140000)'
    wait_event vast StatusRefused "is not stored"
    create 'fw("many"; [range(2) | role("a\(.)"; 6000; {})])'
    wait_event many TooManyTasks "12000 Tasks .* at most 10000"
    create 'fw("other"; [role("a"; 1; ends(0; 0))])'
    wait_completed other
    patch_framework many '{"spec": {"executionType": "Stop"}}'
    wait_completed many
    expect "Tasks" "$(framework many '[.status.attemptStatus.taskRoleStatuses[].taskStatuses | length] | add')" 0
    api DELETE "$(frameworks_path)/vast" >/dev/null
    wait_absent_framework vast
}

# Thousands of Tasks that all fail, each with 4 KB of a log of its own: their messages are shortened until the status
# fits, so that the Framework completes; and another one, as full, is stopped. A real server's limit is seen by the latter; it
# has the former, which costs half a minute of processor time, only when it is asked for.
run_large_failures() {
    local tasks=${LARGE_TASKS:-0}
    # (valgrind takes longer than memberLeaseSec for the failures of 2000 Tasks at once)
    [[ $CLUSTER != embedded || ${LARGE_TASKS:-} ]] || tasks=$((SLOWER < 10 ? 2000 : 600))
    own_cluster
    start_watcher
    create 'fw("stopped"; [(role("a"; 600; ends(0; 7) + {"random-message": 4096}), role("b"; 1; {})) | policy(-1; -1)])'
    ((tasks == 0)) || create 'fw("f"; [role("a"; '$tasks'; ends(0; 7) + {"random-message": 4096}) | policy('$tasks'; -1)])'
    wait_framework stopped 60 '.status.attemptStatus | .taskRoleStatuses == null and .taskRoleStatusesCompressed != null'
    wait_for 60 "all Tasks have failed" large_ended stopped 600
    wait_event stopped StatusShortened "messages .* are shortened"
    patch_framework stopped '{"spec": {"executionType": "Stop"}}'
    wait_completed stopped 60
    expect "code" "$(framework stopped '.status.attemptStatus.completionStatus.code')" -210
    expect "codes in the diagnostics of stopped" "$(large_messages stopped | cut -d' ' -f1 | sort | uniq -c | sed "s/^ *//")" "600 7"
    large_messages stopped | grep -x "7 true" >/dev/null || fail "no message of stopped has the mark where something is missing"
    ((tasks > 0)) || return 0
    wait_completed f $((150 + tasks / 50))
    expect "code" "$(framework f '.status.attemptStatus.completionStatus.code')" 7
    expect "Tasks" "$(large_tasks f |
            jq -r '"\(.state) \(.attemptStatus.id) \(.attemptStatus.completionStatus | "\(.code) \(.phrase) \(.type.name)")"' |
        sort | uniq -c | sed "s/^ *//")" "$tasks Completed 0 7 ContainerUnrecognizedFailed Failed"
    expect "shortened diagnostics" "$(large_messages f | sort | uniq -c | sed "s/^ *//")" "$tasks 7 true"
}

# Of each failed Task the exit code in its diagnostics, which clients parse as JSON, and whether its message has the mark where
# something is missing.
large_messages() { # framework
    large_tasks "$1" | jq -r '.attemptStatus.completionStatus.diagnostics | capture("matched: (?<json>.*)").json |
        fromjson.containers[0] | "\(.code) \(.message | test("...\\[shortened\\]..."))"'
}

# Its Tasks, one on each line, however they are stored.
large_tasks() { # framework
    get_framework "$1" >"$RUN/out/$scenario.$1"
    jq -r '.status.attemptStatus.taskRoleStatusesCompressed // empty' "$RUN/out/$scenario.$1" | base64 -d | gzip -d 2>/dev/null |
        jq -c '.[].taskStatuses[]'
    jq -c '.status.attemptStatus.taskRoleStatuses // [] | .[].taskStatuses[]' "$RUN/out/$scenario.$1"
}

large_ended() { # framework tasks
    (($(large_tasks "$1" | grep -c '"state":"Completed"') == $2))
}
