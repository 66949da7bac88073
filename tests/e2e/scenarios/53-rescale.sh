# TaskRoles and Tasks follow the spec while the attempt runs (CONTRACT.md §11).

# Tasks as lines ROLE[INDEX] STATE PODUID…, of those that pass a jq test.
tasks_of() { # framework expression
    framework "$1" '.status.attemptStatus.taskRoleStatuses[] | .name as $role | .taskStatuses[] | select('"${2:-true}"') |
        "\($role)[\(.index)] \(.instanceUID) \(.attemptStatus.podUID)"'
}

# Both directions, TaskRoles added and removed: what stays is not touched.
run_rescale_both_ways() {
    create 'fw("f"; [role("a"; 2; {}), role("b"; 1; {}), role("c"; 1; {})] | map(policy(-1; -1)))'
    wait_running f
    local before after
    before=$(tasks_of f)
    # One update: a grows, b goes, d comes.
    patch_roles f '[.[0] | .taskNumber = 4] + [.[2]] + [.[2] | .name = "d" | .taskNumber = 2]'
    wait_framework f 15 '[.status.attemptStatus.taskRoleStatuses[] | "\(.name)\(.taskStatuses | length)"] | sort == ["a4", "c1", "d2"]'
    # The last TaskRole took the place of the one that went.
    expect "TaskRoles" "$(framework f '[.status.attemptStatus.taskRoleStatuses[].name] | join(" ")')" "a d c"
    wait_running f
    after=$(tasks_of f)
    expect_lines "those that were there before" "$(comm -12 <(sort <<<"$before") <(sort <<<"$after"))" \
        "$(grep -v '^b' <<<"$before" | sort)"
    wait_absent pods/f-b-0
    # Surplus goes from the tail.
    patch_roles f '.[0].taskNumber = 1 | del(.[2])'
    wait_framework f 15 '[.status.attemptStatus.taskRoleStatuses[] | "\(.name)\(.taskStatuses | length)"] | sort == ["a1", "c1"]'
    expect_lines "what is left" "$(tasks_of f | sort)" "$(grep -E '^(a\[0|c)' <<<"$before" | sort)"
    wait_for 10 "the surplus Pods are gone" pods_are "f-a-0 f-c-0"
    # To nothing, and up again.
    patch_roles f 'map(.taskNumber = 0)'
    wait_framework f 15 '[.status.attemptStatus.taskRoleStatuses[].taskStatuses | length] == [0, 0]'
    patch_roles f 'map(.taskNumber = 1)'
    wait_running f
    expect "new Tasks" "$(comm -12 <(sort <<<"$before") <(tasks_of f | sort))" ""
    expect "attempt" "$(framework f .status.attemptStatus.id)" 0
}

# Before there is a ConfigMap, Tasks that are not wanted any more stay listed.
run_rescale_pending() {
    create 'fw("f"; [role("a"; 3; {}), role("b"; 1; {})] | map(policy(-1; -1))) | .spec.executionType = "Create"'
    wait_observed f
    patch_roles f '.[0].taskNumber = 1 | del(.[1])'
    wait_framework f 15 '[tasks.deletionPending] == [false, true, true, true]'
    expect "the surplus" "$(framework f \
            '[tasks | select(.deletionPending) | "\(.state) \(.attemptStatus.completionStatus | "\(.code) \(.diagnostics)")"] |
            unique | join("; ")')" \
        "AttemptCreationPending -230 User has requested to delete the Task by Framework ScaleDown"
    expect "column Tasks" "$(framework f '.status.conditions[] | select(.type == "Running").message')" 0/1
    # Wanted again, but not as it was: replaced once it is over.
    local second
    second=$(framework f '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[1].instanceUID')
    patch_roles f '.[0].taskNumber = 2'
    wait_observed f
    patch_framework f '{"spec": {"executionType": "Start"}}'
    wait_framework f 15 '[tasks | "\(.state) \(.deletionPending)"] == ["AttemptRunning false", "AttemptRunning false"]'
    [[ $(framework f '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[1].instanceUID') != "$second" ]] ||
        fail "a Task that was to be deleted was used again"
    expect "Pods" "$(pod_names | tr '\n' ' ')" "f-a-0 f-a-1 "
}

# Down, and up again before the first is finished: a Completed Task inside the range is replaced at once, one that is
# still running when its old Pod has gone.
run_rescale_back() {
    create 'fw("f"; [role("a"; 3; {}) | policy(-1; -1)])'
    wait_running f
    hold pods/f-a-2
    local before
    before=$(tasks_of f)
    patch_roles f '.[0].taskNumber = 1'
    wait_framework f 15 '.status.attemptStatus.taskRoleStatuses[0].taskStatuses |
        (.[1].state == "Completed") and (.[2].state | test("Deleting"))'
    # Held up by the tail, it stays listed.
    expect "Task 1" "$(framework f \
            '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[1] | "\(.deletionPending) \(.attemptStatus.completionStatus.code)"')" \
        "true -230"
    patch_roles f '.[0].taskNumber = 3'
    wait_framework f 15 '.status.attemptStatus.taskRoleStatuses[0].taskStatuses |
        (.[1].state == "AttemptRunning") and (.[1].deletionPending | not) and
        (.[2].state == "AttemptDeleting") and .[2].deletionPending'
    expect "the Pod of Task 2" "$(pod f-a-2 .metadata.uid)" "$(grep -F 'a[2]' <<<"$before" | cut -d' ' -f3)"
    release pods/f-a-2
    wait_running f
    expect_lines "Tasks that stayed" "$(comm -12 <(sort <<<"$before") <(tasks_of f | sort))" "$(grep -F 'a[0]' <<<"$before")"
    expect "Tasks" "$(tasks_of f '.deletionPending | not' | wc -l)" 3
}

# Rescale and another policy in one update act as one: what is deletionPending counts nowhere.
run_rescale_policy() {
    create '
        def tasks($name; $code): fw($name; [role("a"; 4; {}) | policy(2; 4) | .task.pod.spec.containers[0].command =
            ["sh", "-c", "sleep {{FC_TASK_INDEX}}0000; exit \($code)"]]);
        # Two of four are done, and two shall suffice.
        fw("enough"; [(role("a"; 2; ends(0; 0)) | policy(-1; 4)), (role("b"; 2; {}) | policy(-1; -1))]),
        # The only one that failed goes with the update that would make one failure enough.
        fw("harmless"; [(role("a"; 1; {}) | policy(1; 1)), (role("b"; 1; ends(0; 3)) | policy(2; -1))])'
    wait_framework enough 15 '[.status.attemptStatus.taskRoleStatuses[0].taskStatuses[].state] | all(. == "Completed")'
    wait_framework harmless 15 \
        '.status.attemptStatus.taskRoleStatuses | (.[0].taskStatuses[0].state == "AttemptRunning") and
        (.[1].taskStatuses[0].state == "Completed")'
    patch_roles enough '.[0].frameworkAttemptCompletionPolicy.minSucceededTaskCount = 2 | .[1].taskNumber = 0'
    patch_roles harmless '.[1] |= (.taskNumber = 0 | .frameworkAttemptCompletionPolicy.minFailedTaskCount = 1)'
    wait_completed enough
    expect "enough" "$(framework enough '.status.attemptStatus.completionStatus | "\(.code) \(.trigger.message)"')" \
        "0 SucceededTaskCount 2 has reached MinSucceededTaskCount 2 in the TaskRole"
    wait_framework harmless 15 '.status.attemptStatus.taskRoleStatuses[1].taskStatuses == []'
    expect "harmless" "$(framework harmless .status.state)" AttemptRunning
}

# While an attempt completes, changes of the spec wait for the next one.
run_rescale_completing() {
    create 'fw("f"; [(role("a"; 1; {"run-seconds": "", "attempt-exit-code": 0}) | policy(1; 1)), (role("b"; 2; {}) | policy(-1; -1))]) |
        .spec |= retry(false; 1)'
    wait_running f
    hold pods/f-b-0
    delete configmaps/f-attempt
    wait_framework f 15 '.status.state == "AttemptDeleting"'
    patch_roles f '.[1].taskNumber = 3'
    wait_observed f
    expect "Tasks while it completes" "$(tasks_of f | wc -l)" 3
    release pods/f-b-0
    wait_framework f 20 '.status.attemptStatus.id == 1 and ([.status.attemptStatus.taskRoleStatuses[].taskStatuses | length] == [1, 3])'
    wait_running f
}

# Everything decided is in the stored status before anything is done about it (CONTRACT.md §12), as what a watcher sees
# tells: a Pod is created for a Task that is stored as pending with that very attempt, and deleted only when the
# completionStatus of its attempt is stored. Status only moves forward.
run_persist_before_act() {
    # (slow writes give anything that does not wait for them the time to come first)
    [[ $CLUSTER != embedded ]] || fault_status -1 '{"latencyMs": 150}'
    record frameworks configmaps pods
    create 'fw("f"; [(role("a"; 3; {"run-seconds": "0.2", "exit-code": "1,0"}) | task_retry(false; 1) | policy(-1; -1)),
        (role("b"; 2; {}) | policy(-1; -1))]) | .spec |= retry(false; 1)'
    wait_framework f 20 '[.status.attemptStatus.taskRoleStatuses[0].taskStatuses[].state] | all(. == "Completed")'
    patch_roles f '.[1].taskNumber = 4'
    wait_framework f 20 '[tasks.state] | length == 7 and all(test("Running|Completed"))'
    patch_roles f '.[1].taskNumber = 1 | .[0].taskNumber = 1'
    wait_framework f 20 '[tasks.state] | length == 2'
    delete configmaps/f-attempt
    wait_framework f 20 '.status.attemptStatus | .id == 1 and .taskRoleStatuses[0].taskStatuses[0].state == "Completed"'
    patch_framework f '{"spec": {"executionType": "Stop"}}'
    wait_completed f
    wait_for 10 "nothing of the attempts is left" none_left pods,configmaps
    end_records
    local out=$RUN/out/$scenario
    jq -nr --slurpfile frameworks "$out.frameworks" --slurpfile pods "$out.pods" --slurpfile maps "$out.configmaps" '
        def version: .object.metadata.resourceVersion | tonumber;
        def first(f): [.[] | select(f)] | if . == [] then null else .[0] end;
        [$frameworks[] | select(.object.status.state) | {at: version, status: .object.status}] as $stored |
        [$pods[] | select(.type != "BOOKMARK" and .object.metadata.labels.FC_FRAMEWORK_NAME == "f")] as $pods |
        # the stored statuses before a version, as the Task of a Pod in its attempt
        def task_before($pod; $version): $pod.object.metadata.annotations as $a | [$stored[] | select(.at < $version) |
            .status.attemptStatus | select(.id == ($a.FC_FRAMEWORK_ATTEMPT_ID | tonumber)) | .taskRoleStatuses[].taskStatuses[] |
            select(.instanceUID == $a.FC_TASK_UID and .attemptStatus.id == ($a.FC_TASK_ATTEMPT_ID | tonumber))];
        ($pods[] | select(.type == "ADDED") | . as $pod |
            select([task_before($pod; version)[] | select(.state == "AttemptCreationPending")] == []) |
            "Pod \(.object.metadata.name) was created before its Task was stored as pending"),
        ($pods | group_by(.object.metadata.uid)[] | first(.object.metadata.deletionTimestamp != null) | select(. != null) | . as $pod |
            select(.object.metadata.annotations.FC_FRAMEWORK_ATTEMPT_ID != "0" or .object.metadata.annotations.FC_TASKROLE_NAME == "a") |
            select([task_before($pod; version)[] | select(.attemptStatus.completionStatus != null)] == []) |
            "Pod \(.object.metadata.name) was deleted before its completion was stored"),
        ($maps[] | select(.type == "ADDED" and .object.metadata.name == "f-attempt") |
            .object.metadata.annotations.FC_FRAMEWORK_ATTEMPT_ID as $id | version as $version |
            select([$stored[] | select(.at < $version and (.status.attemptStatus.id | tostring) == $id and
        .status.state == "AttemptCreationPending")] == []) |
            "ConfigMap of attempt \($id) was created before the attempt was stored as pending"),
        ([$stored[].status] | range(1; length) as $i | .[$i - 1] as $before | .[$i] as $after |
            select($after.attemptStatus.id < $before.attemptStatus.id or
                $after.retryPolicyStatus.totalRetriedCount < $before.retryPolicyStatus.totalRetriedCount or
                $after.transitionTime < $before.transitionTime or
                ($after.attemptStatus.id == $before.attemptStatus.id and $before.attemptStatus.completionStatus != null and
                    $before.attemptStatus.completionStatus != $after.attemptStatus.completionStatus)) |
            "status \($i) went back: \($before | tojson) to \($after | tojson)"),
        # G1: of the Pods of one name, one at a time
        ($pods | group_by(.object.metadata.name)[] | . as $events | [.[].object.metadata.uid] | unique as $uids | $uids[] as $uid |
            ($events | first(.object.metadata.uid == $uid) | version) as $born |
            $events[] | select(.type == "DELETED" | not) | select(.object.metadata.uid != $uid and version > $born) |
            .object.metadata.uid as $other | select(($events | first(.object.metadata.uid == $other) | version) < $born) |
            "two Pods \(.object.metadata.name) at a time"),
        "Pods seen: \($pods | map(.object.metadata.uid) | unique | length)"' >"$out.found"
    # a: 3 Tasks twice, b: 2, 2 more; and those of the second attempt, of which a's is retried.
    expect_lines "order" "$(<"$out.found")" "Pods seen: 13"
}
