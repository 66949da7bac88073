# Frameworks in a queue of Kueue (CONTRACT.md §21), whose part lib/kueue.sh plays.

kueue_cluster() {
    own_cluster
    own_config <<<'kueue: true'
    trap 'kueue_exit $?' EXIT
}

# A control plane goes on to other scenarios.
kueue_exit() { # status
    [[ $CLUSTER == embedded ]] || remove_kueue || true
    own_exit "$1"
}

IN_QUEUE='.metadata.labels = {"kueue.x-k8s.io/queue-name": "team"}'

# A queue with quota for 5 admits 5 at a time, evicts and re-admits one without losing a retry, and all come to their end.
run_kueue_quota() {
    kueue_cluster
    install_kueue
    start_kueue 5
    start_watcher
    record workloads
    # q0 comes first, so that it has quota, and has it again before those that wait
    create "fw(\"q0\"; [role(\"a\"; 1; {})]) | $IN_QUEUE"
    wait_running q0 60
    create "range(1; 7) | fw(\"q\(.)\"; [role(\"a\"; 1; {})]) | $IN_QUEUE"
    create 'fw("plain"; [role("a"; 1; ends(0; 0))])'
    wait_completed plain 60
    wait_for 60 "5 of them run" pods_run 5
    wait_for 30 "the others wait" suspended_are 2
    expect "who has quota" \
        "$(api GET "$(workloads_path)" |
            jq '[.items[] | select(any(.status.conditions[]?; .type == "QuotaReserved" and .status == "True"))] | length')" 5
    evict q0
    wait_framework q0 60 '.status.attemptStatus.id == 1 and ([tasks.state] | all(. == "AttemptRunning"))'
    expect "its retries" "$(framework q0 '.status.retryPolicyStatus | [.totalRetriedCount, .accountableRetriedCount] | join(" ")')" "1 0"
    wait_for 30 "5 of them run again" pods_run 5
    expect "those that wait" "$(table_jq '[.rows[] | select(.cells[1] == "Suspended")] | length')" 2
    create "range(8) | fw(\"r\(.)\"; [role(\"a\"; 1; ends(0; 0))]) | $IN_QUEUE"
    k delete framework q{0..6} --wait=true >/dev/null
    wait_all_completed 120
    end_records
    wait_for 20 "no finalizer is left" no_finalizers
    expect "outcomes" "$(api GET "$(workloads_path)" |
            jq -r '[.items[].status.conditions[] | select(.type == "Finished") | .reason] | unique | join(" ")')" Succeeded
    expect "Workloads" "$(get_jq "$(workloads_path)" '.items | length')" 8
    expect "by their label" "$(k get workloads -l FC_FRAMEWORK_NAME -o name | wc -l)" 8
    # never more than 5, as each of them was told
    expect "the most at a time" "$(jq -n '[inputs | select(.object.kind == "Workload") | {name: .object.metadata.name, type,
            holds: (any(.object.status.conditions[]?; .type == "QuotaReserved" and .status == "True") and
                all(.object.status.conditions[]?; .type != "Finished"))}] |
        reduce .[] as $event ({now: {}, over: false}; .now[$event.name] = ($event.holds and $event.type != "DELETED") |
            .over = (.over or ([.now[] | select(.)] | length) > 5)) | .over' "$RUN/out/$scenario.workloads")" false
    k delete frameworks --all --wait=true >/dev/null
    wait_for 20 "all Workloads are gone" none_of_them
}

pods_run() { [[ $(get_jq "/api/v1/namespaces/$NS/pods" '[.items[] | select(.status.phase == "Running")] | length') == "$1" ]]; }
suspended_are() { table_jq -e "[.rows[] | select(.cells[1] == \"Suspended\")] | length == $1"; }
no_finalizers() { get_jq "$(workloads_path)" -e 'all(.items[]; .metadata.finalizers == null)'; }
none_of_them() { [[ $(get_jq "$(workloads_path)" '.items | length') == 0 ]]; }

# What the Workload asks for, what its admission adds to the Pods, and what is reported while they run.
run_kueue_admission() {
    kueue_cluster
    install_kueue
    # (without a message, the API server of Kubernetes 1.20 refuses it: in lists of a merge patch it makes null of "")
    start_kueue 10 '[{"name": "node", "state": "Ready", "message": "there", "podSetUpdates": [{"name": "b", "labels": {"check": "l"},
        "annotations": {"check": "a"}, "nodeSelector": {"check": "n"}, "tolerations": [{"key": "check", "operator": "Exists"}]}]}]'
    start_watcher
    create "fw(\"both\"; [role(\"a\"; 2; ends(0; 0)), (role(\"b\"; 1; {}) | .task.pod.spec.nodeSelector = {mine: \"yes\"} |
        .task.pod.metadata.labels = {mine: \"yes\"} | .task.pod.spec.tolerations = [{key: \"mine\", operator: \"Exists\"}])]) | $IN_QUEUE |
        .metadata.labels[\"kueue.x-k8s.io/priority-class\"] = \"urgent\" | .spec.activeDeadlineSec = 3600"
    wait_framework both 30 '.status.attemptStatus.taskRoleStatuses[1].taskStatuses[0].state == "AttemptRunning"'
    expect "what it asks for" \
        "$(workload both '.spec | {queueName, active, priority, ref: .priorityClassRef, max: .maximumExecutionTimeSeconds,
        sets: [.podSets[] | {name, count, containers: (.template.spec.containers | length),
            labels: .template.metadata.labels}]} | tojson')" \
        '{"queueName":"team","active":true,"priority":77,'\
'"ref":{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"urgent"},"max":3600,'\
'"sets":[{"name":"a","count":2,"containers":1,"labels":null},{"name":"b","count":1,"containers":1,"labels":{"mine":"yes"}}]}'
    expect "whose it is" "$(workload both \
            '.metadata | [.ownerReferences[0].kind, .ownerReferences[0].name, .labels.FC_FRAMEWORK_NAME, .finalizers[0]] | join(" ")')" \
        "Framework both both kueue.x-k8s.io/resource-in-use"
    expect "its uid" "$(workload both '.metadata.labels["kueue.x-k8s.io/job-uid"]')" "$(framework both .metadata.uid)"
    expect "a Pod" "$(pod both-b-0 '[(.spec.nodeSelector | to_entries | map("\(.key)=\(.value)") | sort | join(",")),
            (.spec.tolerations | map(.key)[:3]), .metadata.labels.mine, .metadata.labels.check, .metadata.annotations.check,
        ([.metadata.labels, .metadata.annotations | keys[] | select(test("kueue"))])] | tojson')" \
        '["check=n,flavor=default,mine=yes",["mine","queue","check"],"yes","l","a",[]]'
    expect "kept" "$(framework both '.status.admission | [.clusterQueue, (.podSets | map(.name) | join(","))] | join(" ")')" "cq a,b"
    # Tasks that are over need no quota any more.
    wait_workload both 30 '.status.reclaimablePods == [{name: "a", count: 2}]'
    # once all run or are over
    wait_workload both 30 'any(.status.conditions[]; .type == "PodsReady" and .status == "True")'
    # the controller that is started anew goes on with what was admitted
    local uid
    uid=$(framework both "$TASK.instanceUID")
    stop_watcher
    start_watcher
    delete pods/both-b-0 '{"gracePeriodSeconds": 0}'
    wait_completed both 60
    expect "its Tasks" "$(framework both "$TASK.instanceUID")" "$uid"
    wait_workload both 20 'any(.status.conditions[]; .type == "Finished" and .reason == "Failed") and .metadata.finalizers == null'
}

# One is evicted, and let in again, without losing a retry.
run_kueue_evicted() {
    kueue_cluster
    install_kueue
    start_kueue 5
    start_watcher
    create "(fw(\"big\"; [role(\"a\"; 5; {})]) | $IN_QUEUE)"
    wait_running big 30
    create "fw(\"next\"; [role(\"a\"; 3; {})]) | $IN_QUEUE"
    wait_event next QueueWaiting 'queue team .*insufficient unused quota'
    expect "how it is shown" "$(framework next .status.displayState)" Suspended
    expect_why next queue \
        '^Framework next waits in the queue team for .*: Kueue has not admitted it: couldn.t assign .*insufficient unused quota'
    is_absent "/api/v1/namespaces/$NS/pods/next-a-0" || fail "a Pod was created before the admission"
    stop_kueue
    evict big
    wait_framework big 40 '.status.attemptStatus.id == 1 and .status.displayState == "Suspended"'
    wait_workload big 20 'any(.status.conditions[]; .type == "QuotaReserved" and .status == "False" and .reason == "Pending") and
        any(.status.conditions[]; .type == "Requeued" and .status == "True") and .status.admission == null'
    expect "Pods" "$(pod_names)" ""
    wait_event big FrameworkEvicted 'Kueue has evicted it: Preempted to accommodate a workload'
    expect_why big queue 'Kueue (took its quota back: Kueue has evicted it|has not admitted it: )'
    delete_framework_and_wait next
    start_kueue 5
    wait_running big 60
    expect "its retries" "$(framework big '.status.retryPolicyStatus | [.totalRetriedCount, .accountableRetriedCount] | join(" ")')" "1 0"
    # somebody deactivates it, and activates it again
    patch_workload big '{"spec": {"active": false}}'
    wait_workload big 60 'any(.status.conditions[]; .type == "QuotaReserved" and .status == "False")'
    expect "Pods of one that is deactivated" "$(pod_names)" ""
    wait_event big QueueWaiting 'spec.active is false'
    patch_workload big '{"spec": {"active": true}}'
    wait_running big 60
    expect "its retries after all" \
        "$(framework big '.status.retryPolicyStatus | [.totalRetriedCount, .accountableRetriedCount] | join(" ")')" "2 0"
}

delete_framework_and_wait() {
    api DELETE "$(frameworks_path)/$1" >/dev/null
    wait_absent_framework "$1"
}

# A rescale asks anew; so does whoever deletes the Workload, or suspends the Framework.
run_kueue_changed() {
    local uid
    kueue_cluster
    install_kueue
    start_watcher
    create "fw(\"scaled\"; [role(\"a\"; 2; {})]) | $IN_QUEUE"
    wait_workload scaled 20 '.spec.podSets[0].count == 2'
    uid=$(workload scaled .metadata.uid)
    # while it waits, the Workload is changed
    patch_framework scaled "{\"spec\": {\"taskRoles\": $(framework scaled '.spec.taskRoles | .[0].taskNumber = 3' | jq -c .)}}"
    wait_workload scaled 20 '.spec.podSets[0].count == 3'
    expect "the Workload" "$(workload scaled .metadata.uid)" "$uid"
    start_kueue 5
    wait_running scaled 40
    # when it runs, another one takes its place
    patch_framework scaled "{\"spec\": {\"taskRoles\": $(framework scaled '.spec.taskRoles | .[0].taskNumber = 4' | jq -c .)}}"
    wait_event scaled FrameworkEvicted 'its queue, priority or TaskRoles have changed'
    wait_framework scaled 60 "[$TASKS.state] | length == 4 and all(. == \"AttemptRunning\")"
    [[ $(workload scaled .metadata.uid) != "$uid" ]] || fail "the Workload was not replaced"
    uid=$(workload scaled .metadata.uid)
    api DELETE "$(workloads_path)/framework-scaled" >/dev/null
    wait_workload scaled 60 ".metadata.uid != \"$uid\""
    wait_running scaled 60
    patch_framework scaled '{"spec": {"suspend": true}}'
    wait_framework scaled 60 '.status.displayState == "Suspended"'
    wait_for 30 "the Workload is gone" is_absent "$(workloads_path)/framework-scaled"
    patch_framework scaled '{"spec": {"suspend": false}}'
    wait_running scaled 60
    expect "its retries" "$(framework scaled '.status.retryPolicyStatus.accountableRetriedCount')" 0
    # without its label it runs on, and asks for nothing any more
    uid=$(framework scaled .status.attemptStatus.instanceUID)
    patch_framework scaled '{"metadata": {"labels": null}}'
    wait_for 30 "the Workload is gone" is_absent "$(workloads_path)/framework-scaled"
    expect "the attempt" "$(framework scaled .status.attemptStatus.instanceUID)" "$uid"
}

# Kueue is not there: it says so, others go on, and it goes on when Kueue is installed.
run_kueue_missing() {
    kueue_cluster
    [[ $CLUSTER == embedded ]] || remove_kueue 2>/dev/null || true
    start_watcher
    create "(fw(\"waits\"; [role(\"a\"; 1; ends(0; 0))]) | $IN_QUEUE), fw(\"plain\"; [role(\"a\"; 1; ends(0; 0))])"
    wait_event waits KueueUnavailable 'serves no Workloads of kueue.x-k8s.io'
    wait_completed plain
    expect "how it is shown" "$(framework waits .status.displayState)" Suspended
    expect_why waits queue-unavailable 'the controller cannot reach Kueue: .*serves no Workloads'
    install_kueue
    start_kueue 1
    wait_completed waits 120
    expect_why_refused
}

# A foreign Workload of its name; a right that is missing. It goes on when the one is deleted, and the other is there.
expect_why_refused() {
    api POST "$(workloads_path)" '{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "framework-taken"},
        "spec": {"active": false, "podSets": [{"name": "a", "count": 1, "template": {}}]}}' >/dev/null
    create "fw(\"taken\"; [role(\"a\"; 1; ends(0; 0))]) | $IN_QUEUE"
    wait_why taken foreign-workload
    expect_why taken foreign-workload 'another Workload has the name that it needs: Workload framework-taken .* is controlled by nobody'
    api DELETE "$(workloads_path)/framework-taken" >/dev/null
    wait_completed taken 60
    take_right kueue kueue.x-k8s.io workloads
    create "fw(\"refused\"; [role(\"a\"; 1; ends(0; 0))]) | $IN_QUEUE"
    wait_event refused FailedCreateWorkload \
        '^Failed to create framework-refused: workloads.* is forbidden: .*The rights that Kueue needs are in manifests/rbac/kueue'
    wait_why refused queue-refused
    expect_why refused queue-refused ': Failed to (create|get) framework-refused: workloads.* is forbidden'
    give_right kueue
    wait_completed refused 90
}

# Killed at any time, it goes on: one Workload, and no Pod without quota.
run_kueue_killed() {
    local i
    kueue_cluster
    install_kueue
    start_kueue 3
    start_watcher "${STEADY_ELECTION[@]}"
    record workloads pods
    create "range(6) | fw(\"k\\(.)\"; [role(\"a\"; 1; ends(2; 0))]) | $IN_QUEUE"
    for i in 1 2 3; do
        wait_for 60 "$i are completed" completed_at_least "$i"
        kill_reconcilers
    done
    wait_all_completed 120
    end_records
    expect "Workloads created" "$(jq -r 'select(.type == "ADDED").object.metadata.name' "$RUN/out/$scenario.workloads" | sort -u | wc -l)" 6
    expect "Pods created" "$(jq -r 'select(.type == "ADDED").object.metadata.uid' "$RUN/out/$scenario.pods" | sort -u | wc -l)" 6
}

# A Workload is deleted while the watcher cannot list any: the reconciler, which knows it by its own creation alone, learns
# that from the first list, and creates it again.
run_kueue_unseen() {
    [[ $CLUSTER == embedded ]] || only_embedded
    local uid
    kueue_cluster
    install_kueue
    testapi_fault '{"match": {"resource": "workloads", "userAgent": "fc-watcher"}, "action": {"status": 503}}'
    start_watcher
    create "fw(\"f\"; [role(\"a\"; 1; ends(0; 0))]) | $IN_QUEUE"
    wait_framework f 30 '.status.displayState == "Suspended"'
    wait_for 30 "its Workload is there" get_jq "$(workloads_path)/framework-f" -e .metadata.uid
    uid=$(get_jq "$(workloads_path)/framework-f" -r .metadata.uid)
    patch_workload f '{"metadata": {"finalizers": null}}'
    api DELETE "$(workloads_path)/framework-f" >/dev/null
    is_absent "$(workloads_path)/framework-f" || fail "somebody knew at once: this tests nothing"
    testapi DELETE faults >/dev/null
    wait_for 60 "it is created again" get_jq "$(workloads_path)/framework-f" -e ".metadata.uid != \"$uid\""
    start_kueue 1
    wait_completed f 60
}

# A job in a queue: it says that it is suspended while it waits, and when it has begun.
run_kueue_job() {
    local name
    constants_of 85-jobs
    kueue_cluster
    kubectl create -f "$JOB_CRDS" >/dev/null
    install_kueue
    start_kueue 0 # nothing is admitted
    start_watcher
    wait_for 20 "PyTorchJobs are served" api GET "$(jobs_path "$PYTORCHJOBS")"
    launch_jobs jobs --qps 1000 --burst 1000 "${STEADY_ELECTION[@]}"
    submit_job "$PYTORCHJOBS" pytorch-simple \
        "$IN_QUEUE"' | .spec.pytorchReplicaSpecs[] |= annotate({"run-seconds": "forever"})'
    wait_job "$PYTORCHJOBS" pytorch-simple 60 "$HAS has(\"Suspended\")"
    expect "it has a startTime" "$(job "$PYTORCHJOBS" pytorch-simple '.status | has("startTime")')" false
    stop_kueue
    start_kueue 10
    wait_job "$PYTORCHJOBS" pytorch-simple 60 "$HAS has(\"Running\")"
    expect "its conditions, admitted" \
        "$(job "$PYTORCHJOBS" pytorch-simple '.status | "\([.conditions[] | "\(.type)=\(.status)"] | join(" ")) \(has("startTime"))"')" \
        "Created=True Suspended=False Running=True true"
    stop_kueue
    name=$(framework_of pytorch-simple)
    evict "$name"
    wait_job "$PYTORCHJOBS" pytorch-simple 60 "$HAS has(\"Suspended\") and (has(\"Running\") | not)"
    end_processes . 15 jobs
    keep_control_plane
}
