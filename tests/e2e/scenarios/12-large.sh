# Large Frameworks (FRAMEWORK.md §13).

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
    expect "Tasks, as others read them" "$(framework f .status.attemptStatus.taskRoleStatusesCompressed | base64 -d | gzip -d | jq '.[0].taskStatuses | length')" $tasks
    wait_completed f $((150 + tasks / 50)) # on a machine that does other things, too
    framework f .status.attemptStatus.taskRoleStatusesCompressed | base64 -d | gzip -d |
        jq -r '.[0].taskStatuses[] | "\(.state) \(.attemptStatus.id) \(.attemptStatus.completionStatus.code)"' | sort | uniq -c | sed "s/^ *//" >"$RUN/out/$scenario.found"
    expect "Tasks" "$(<"$RUN/out/$scenario.found")" "$tasks Completed 0 0"
    expect_match "message" "$(framework f '.status.attemptStatus.completionStatus.trigger.message')" "^CompletedTaskCount $tasks has reached TotalTaskCount $tasks and no"
    # Below 700 KiB nothing is compressed.
    create 'fw("small"; [role("a"; 10; ends(0; 0))])'
    wait_completed small
    expect "small" "$(framework small '.status.attemptStatus | "\(.taskRoleStatuses | type) \(has("taskRoleStatusesCompressed"))"')" "array false"
}

# Without being asked to, a status is compressed when the object would not fit otherwise, with an Event.
run_large_automatic() {
    create 'fw("f"; [role("a"; 600; {}) | policy(-1; -1)]) | .spec.executionType = "Create" | .spec.description = ("0123456789" * 125000)'
    wait_framework f 20 '.status.attemptStatus | .taskRoleStatuses == null and .taskRoleStatusesCompressed != null'
    wait_event f StatusTooLarge "compressed"
    expect "Tasks" "$(framework f .status.attemptStatus.taskRoleStatusesCompressed | base64 -d | gzip -d | jq '.[0].taskStatuses | length')" 600
    # It goes on, and once it fits it is as it was.
    patch_framework f '{"spec": {"executionType": "Stop"}}'
    wait_completed f
    expect "code" "$(framework f '.status.attemptStatus.completionStatus.code')" -210
    patch_framework f '{"spec": {"description": "short"}}'
    wait_framework f 15 '.status.attemptStatus | (.taskRoleStatuses | type == "array") and (has("taskRoleStatusesCompressed") | not)'
}
