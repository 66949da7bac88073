# Pods that a node does not let go (CONTRACT.md §2, podGracefulDeletionTimeoutSec): waited for, for ever or so long.

constants_of 54-deletion

run_force_delete() {
    create '
        def stuck($name; $timeout): fw($name; [role("a"; 1; {"ignore-termination": true}) | policy(1; -1) | task_retry(true; 0) |
            .task.podGracefulDeletionTimeoutSec = $timeout | .task.pod.spec.terminationGracePeriodSeconds = 1]);
        stuck("zero"; 0), stuck("two"; 2), stuck("never"; null), stuck("absent"; null | empty), stuck("later"; null),
        (stuck("absent"; 0) | del(.spec.taskRoles[0].task.podGracefulDeletionTimeoutSec))'
    local name uid
    for name in zero two never absent later; do wait_running $name; done
    uid=$(pod never-a-0 .metadata.uid)
    record pods
    for name in zero two never absent later; do delete pods/$name-a-0; done
    for name in never absent later; do wait_framework $name 15 'task.state == "AttemptDeleting"'; done
    # A Task is tried again when its Pod has gone for certain.
    for name in zero two; do wait_framework $name 20 'task.attemptStatus.id == 1 and task.state == "AttemptRunning"'; done
    for name in never absent; do
        expect "$name" "$(pod $name-a-0 '.metadata.deletionTimestamp != null') $(framework $name 'task.attemptStatus.id')" "true 0"
    done
    expect "never: Pod" "$(pod never-a-0 .metadata.uid)" "$uid"
    # The value in force follows the spec.
    patch_timeouts later 1
    wait_framework later 15 'task.attemptStatus.id == 1 and task.state == "AttemptRunning"'
    end_records
    # Deleted by force no earlier than so many seconds after the deletion began (times are whole seconds).
    jq -s -r '[.[] | select(.object.metadata.name == "two-a-0" and .object.metadata.deletionTimestamp != null)] |
        (.[0].object.metadata | (.deletionTimestamp | fromdate) - .deletionGracePeriodSeconds) as $began |
        "\(.[0].object.metadata.deletionGracePeriodSeconds) \(.[-1] | .type)"' "$RUN/out/$scenario.pods" >"$RUN/out/$scenario.found"
    expect "two: grace and end" "$(<"$RUN/out/$scenario.found")" "1 DELETED"
}

# When the TaskRole goes from the spec, its backup in the status counts; and a Stop that is stuck can be freed.
run_force_backup() {
    create '
        def stuck($name; $timeout): fw($name; [role("a", "b"; 1; {"ignore-termination": true}) | policy(-1; -1) |
        .task.podGracefulDeletionTimeoutSec = $timeout]);
        stuck("gone"; 1), stuck("stopped"; null), stuck("deleted"; 1)'
    local name
    for name in gone stopped deleted; do wait_running $name; done
    expect "the backup" "$(framework gone '[.status.attemptStatus.taskRoleStatuses[].podGracefulDeletionTimeoutSec] | tostring')" "[1,1]"
    patch_roles gone 'del(.[0])'
    wait_framework gone 20 '[.status.attemptStatus.taskRoleStatuses[].name] == ["b"]'
    wait_absent pods/gone-a-0
    patch_framework stopped '{"spec": {"executionType": "Stop"}}'
    wait_framework stopped 15 '[.status.attemptStatus.taskRoleStatuses[].taskStatuses[].state] | all(. == "AttemptDeleting")'
    patch_timeouts stopped 0
    wait_completed stopped
    # A deleted Framework's Pods too, in the foreground.
    api DELETE "$(frameworks_path)/deleted" "$FOREGROUND" >/dev/null
    wait_for 20 "deleted is gone" is_absent "$(frameworks_path)/deleted"
    wait_for 10 "nothing of it is left" no_pod_of deleted
}
