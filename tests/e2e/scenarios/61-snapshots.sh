# History snapshots on stderr (CONTRACT.md §14), as log collectors read them. Their switches: away, of 56-own.sh.

# Of the namespace: "trigger" and the object, one JSON document a line; each line is klog's.
snapshots() {
    cat "$RUN"/watcher-*.log | grep -F "[$NS/" | grep ObjectSnapshot >"$RUN/out/$scenario.lines" || true
    expect "lines that are not klog's" "$(grep -cvE '^[IWEF][0-9]{4} [0-9:.]+ +[0-9]+ [a-z_]+\.c:[0-9]+\] ' "$RUN/out/$scenario.lines")" 0
    jq -cR 'capture(": (?<trigger>On[A-Za-z]+): ObjectSnapshot: (?<object>.+)$") | .object |= fromjson' "$RUN/out/$scenario.lines"
}

run_snapshots() {
    record frameworks
    create '(fw("f"; [(role("a"; 1; {"run-seconds": 0, "exit-code": "1,0"}) | task_retry(false; 1) | policy(-1; -1)),
        (role("b"; 2; {"run-seconds": "", "attempt-exit-code": 0}) | policy(-1; -1))]) | .spec |= retry(false; 1))'
    wait_framework f 15 '.status.attemptStatus.taskRoleStatuses |
        (.[0].taskStatuses[0].state == "Completed") and ([.[1].taskStatuses[].state] | all(. == "AttemptRunning"))'
    patch_roles f '.[1].taskNumber = 1'
    wait_framework f 15 '.status.attemptStatus.taskRoleStatuses[1].taskStatuses | length == 1'
    delete configmaps/f-attempt
    wait_framework f 20 '.status.attemptStatus.id == 1'
    patch_framework f '{"spec": {"executionType": "Stop"}}'
    wait_completed f
    local uid
    uid=$(framework f .metadata.uid)
    api DELETE "$(frameworks_path)/f" '{}' >/dev/null
    wait_for 10 "the deletion is in the log" logged OnFrameworkDeletion
    end_records
    snapshots >"$RUN/out/$scenario.snapshots"
    # (a duplicate now and then is allowed)
    jq -r '"\(.trigger) \(.object.kind) \(.object.metadata.name)"' "$RUN/out/$scenario.snapshots" | sort -u >"$RUN/out/$scenario.found"
    expect_lines "what is in the log" "$(<"$RUN/out/$scenario.found")" "OnFrameworkDeletion Framework f
OnFrameworkRetry Framework f
OnPodDeletion Pod f-a-0
OnPodDeletion Pod f-b-0
OnPodDeletion Pod f-b-1
OnTaskDeletion Task f-b-1
OnTaskRetry Task f-a-0"
    jq -r --arg uid "$uid" 'select(.trigger == "OnTaskRetry").object | .metadata as $meta |
        "\(.apiVersion) \($meta.uid == $meta.annotations.FC_TASK_UID // .status.instanceUID == $meta.uid)" +
            " \($meta.annotations.FC_FRAMEWORK_UID == $uid) \($meta.labels | keys) \(.spec.pod.spec.containers[0].name)",
        "\(.status.state) \(.status.retryPolicyStatus.totalRetriedCount) \(.status.attemptStatus.completionStatus.code)" +
            " \($meta.creationTimestamp == .status.startTime) \($meta.deletionTimestamp)"' \
        "$RUN/out/$scenario.snapshots" | sort -ru >"$RUN/out/$scenario.found"
    expect_lines "the Task that was retried" "$(<"$RUN/out/$scenario.found")" \
        'frameworkcontroller.microsoft.com/v1 true true ["FC_FRAMEWORK_NAME","FC_TASKROLE_NAME","FC_TASK_INDEX"] c
AttemptCompleted 0 1 true null'
    jq -r 'select(.trigger == "OnTaskDeletion").object |
        "\(.status.deletionPending) \(.status.state) \(.status.attemptStatus.completionStatus.code) \(.metadata.deletionTimestamp !=
        null) \(.metadata.deletionGracePeriodSeconds)"' \
        "$RUN/out/$scenario.snapshots" >"$RUN/out/$scenario.found"
    expect "the Task that was scaled down" "$(sort -u "$RUN/out/$scenario.found")" "true Completed -230 true 0"
    expect "the Framework that was retried" \
        "$(jq -r 'select(.trigger == "OnFrameworkRetry").object |
            "\(.apiVersion) \(.status.state) \(.status.attemptStatus.id) \(.status.attemptStatus.completionStatus.code)"' \
            "$RUN/out/$scenario.snapshots" | sort -u)" \
        "frameworkcontroller.microsoft.com/v1 AttemptCompleted 0 -100"
    expect "the Framework that was deleted" \
        "$(jq -r 'select(.trigger == "OnFrameworkDeletion").object | "\(.apiVersion) \(.metadata.uid) \(.status.state)"' \
            "$RUN/out/$scenario.snapshots" | sort -u)" \
        "frameworkcontroller.microsoft.com/v1 $uid Completed"
    expect "a Pod that was deleted" \
        "$(jq -r 'select(.trigger == "OnPodDeletion" and .object.metadata.name == "f-a-0" and
            .object.metadata.annotations.FC_FRAMEWORK_ATTEMPT_ID == "0" and
        .object.metadata.annotations.FC_TASK_ATTEMPT_ID == "0").object |
        "\(.apiVersion) \(.status.phase) \(.spec.containers[0].image) \(.status.containerStatuses[0].state.terminated.exitCode)"' \
            "$RUN/out/$scenario.snapshots" | sort -u)" "v1 Failed i 1"
    # Only states that were stored are in the log.
    jq -nr --slurpfile stored "$RUN/out/$scenario.frameworks" --slurpfile logged "$RUN/out/$scenario.snapshots" '
        [$stored[].object | select(.status.state)] as $stored | $logged[].object |
        if .kind == "Framework" then select(.status as $status | any($stored[]; .status == $status) | not)
        elif .kind == "Task" then select(.status as $status |
        any($stored[].status.attemptStatus.taskRoleStatuses[].taskStatuses[]; . == $status) | not)
        else empty end | "\(.kind) \(.metadata.name) \(.status | tojson)"' >"$RUN/out/$scenario.found"
    expect_lines "logged, but never stored" "$(<"$RUN/out/$scenario.found")" ""
}

logged() { snapshots | jq -e --arg trigger "$1" 'select(.trigger == $trigger)'; } # trigger
