# Gangs: the PodGroup of an attempt (CONTRACT.md §4.18), and a scheduler that places its Pods together or not at all
# (tests/cluster/testkubelet/gang.c).

# The CRDs of a cluster that serves PodGroups: ours, and those of gang schedulers.
gang_crds() {
    local file=$RUN/out/$scenario.crds
    { "$BUILD/fc-watcher" --print-crd; echo ---; cat "$GANG_CRDS" "$@"; } >"$file"
    echo "$file"
}

group() { get_jq "$(groups_path "${3:-}")/$1" -r "$2"; } # name expression [group/version]

# By the order of Events: ADDED Pods of a gang come after their PodGroup.
expect_groups_first() {
    jq -s -e '([.[] | select(.type == "ADDED" and .object.kind == "PodGroup").object.metadata.name]) as $groups |
        [.[] | select(.type == "ADDED" and .object.kind == "Pod").object.metadata.annotations["scheduling.k8s.io/group-name"]] |
        map(select(. != null)) | unique - $groups == []' \
        "$RUN/out/$scenario.podgroups" "$RUN/out/$scenario.pods" >/dev/null || fail "a Pod has no PodGroup"
}

# Somebody else's PodGroup has the name: it is left as it is, why tells of it, and no Pod comes before it is gone.
expect_foreign_group_awaited() { # framework
    wait_event "$1" NamingConflict "^PodGroup $1-0 with uid [-0-9a-f]+ is controlled by nobody and not by this Framework"
    wait_why "$1" foreign-pod-group
    expect_why "$1" foreign-pod-group '2 Tasks, a\[0,1\], have no Pods, because another PodGroup that is not the Framework'"'"'s has '\
"the name that spec\.gang needs: PodGroup $1-0 with uid"
    expect "the PodGroup of somebody else" "$(group "$1-0" '"\(.spec.minMember) \(.metadata.ownerReferences)"')" "7 null"
    expect "Pods of $1" "$(pod_names "$1")" ""
    api DELETE "$(groups_path)/$1-0" >/dev/null
}

# What is made, how Pods are stamped, how the number follows Tasks that complete, a name that is taken, and that nothing is
# left.
run_gang() {
    api POST "$(groups_path)" '{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "taken-0"},
        "spec": {"minMember": 7}}' >/dev/null
    record podgroups pods
    create 'def requests($cpu; $memory): .task.pod.spec.containers[0].resources = {requests: {cpu: $cpu, memory: $memory}};
        (fw("volcano"; [(role("a"; 2; ends(2; 0)) | requests("500m"; "1Gi")), (role("b"; 1; ends(2; 0)) | requests("2"; "512Mi"))]) |
            .spec.gang = {scheduler: "Volcano", queue: "default"}),
        (fw("coscheduling"; [role("a"; 3; ends(0; 0))]) |
        .spec.gang = {scheduler: "Coscheduling", minTaskNumber: 2, scheduleTimeoutSec: 30}),
        (fw("again"; [role("a"; 2; {"run-seconds": 0, "attempt-exit-code": "1,0"})]) | .spec.gang = {scheduler: "Volcano"} |
        .spec |= retry(false; 1)),
        (fw("parts"; [(role("a"; 2; ends(0; 0)) | policy(-1; -1)),
        (role("b"; 1; {"run-seconds": 1, "exit-code": "1,1,0"}) | task_retry(false; 2))]) |
            .spec.gang = {scheduler: "Volcano"}),
        (fw("taken"; [role("a"; 2; ends(0; 0))]) | .spec.gang = {scheduler: "Volcano"})'
    expect_foreign_group_awaited taken
    wait_completed taken 60
    wait_completed volcano
    wait_completed coscheduling
    wait_completed again
    wait_completed parts
    expect "retries of again" "$(framework again .status.retryPolicyStatus.totalRetriedCount)" 1
    expect "retries of the last Task of parts" \
        "$(framework parts '.status.attemptStatus.taskRoleStatuses[1].taskStatuses[0].retryPolicyStatus.totalRetriedCount')" 2
    expect "exit codes" "$(get_jq "$(frameworks_path)" -c '[.items[].status.attemptStatus.completionStatus.code] | unique')" "[0]"
    wait_for 40 "no PodGroups are left" no_groups
    end_records
    expect_groups_first
    expect "volcano's" "$(jq -c 'select(.type == "ADDED" and .object.metadata.name == "volcano-0").object |
            [.spec, .metadata.ownerReferences[0].kind]' "$RUN/out/$scenario.podgroups")" \
        '[{"minMember":3,"minResources":{"cpu":"3","memory":"2684354560"},"queue":"default"},"ConfigMap"]'
    expect "attempts of again" \
        "$(jq -r 'select(.type == "ADDED").object.metadata.name | select(startswith("again"))' "$RUN/out/$scenario.podgroups" |
            LC_ALL=C sort | tr '\n' ' ')" "again-0 again-1 "
    # (the two Tasks of a end together, unless the API server is slow)
    expect_match "how the number of parts falls" \
        "$(jq -s -c 'map(select(.type != "DELETED").object | select(.metadata.name == "parts-0").spec.minMember) |
            reduce .[] as $now ([]; if .[-1] == $now then . else . + [$now] end)' "$RUN/out/$scenario.podgroups")" '^\[3,(2,)?1\]$'
    expect_lines "stamps" \
        "$(jq -r 'select(.type == "ADDED").object |
            "\(.metadata.name) \(.spec.schedulerName) \(.metadata.annotations["scheduling.k8s.io/group-name"])" +
            " \(.metadata.annotations["volcano.sh/task-spec"])" +
            " \(.metadata.labels["scheduling.x-k8s.io/pod-group"])"' \
        "$RUN/out/$scenario.pods" | grep -E '^(volcano|coscheduling)-a-0' | LC_ALL=C sort)" \
'coscheduling-a-0 default-scheduler null null coscheduling-0
volcano-a-0 volcano volcano-0 a null'
}

no_groups() { [[ $(get_jq "$(groups_path)" '.items | length') == 0 &&
    $(get_jq "$(groups_path scheduling.x-k8s.io/v1alpha1)" '.items | length') == 0 ]]; }

# More Tasks and fewer, while it runs: the number first.
run_gang_rescale() {
    local raised
    create 'fw("f"; [role("a"; 2; {}) | policy(-1; -1)]) | .spec.gang = {scheduler: "Volcano"}'
    wait_running f
    expect "minMember" "$(group f-0 .spec.minMember)" 2
    record podgroups pods
    patch_framework f "{\"spec\": {\"taskRoles\": $(framework f '.spec.taskRoles | .[0].taskNumber = 4' | jq -c .)}}"
    wait_framework f 20 "[$TASKS.state] | length == 4 and all(. == \"AttemptRunning\")"
    expect "minMember of four" "$(group f-0 .spec.minMember)" 4
    patch_framework f "{\"spec\": {\"taskRoles\": $(framework f '.spec.taskRoles | .[0].taskNumber = 1' | jq -c .)}}"
    wait_framework f 20 "[$TASKS.state] | . == [\"AttemptRunning\"]"
    expect "minMember of one" "$(group f-0 .spec.minMember)" 1
    end_records
    raised=$(jq -s '[.[] | select(.type == "MODIFIED" and .object.spec.minMember == 4).object.metadata.resourceVersion | tonumber] | min' \
            "$RUN/out/$scenario.podgroups")
    expect "Pods of the rescale before the number" \
        "$(jq -r --argjson raised "$raised" \
            'select(.type == "ADDED" and (.object.metadata.resourceVersion | tonumber) < $raised).object.metadata.name' \
            "$RUN/out/$scenario.pods")" ""
}

run_gang_refused() {
    not_accepted "no scheduler" 'gang.*scheduler' '.spec.gang = {}'
    not_accepted "scheduler" 'scheduler.*(Unsupported|supported) value' '.spec.gang = {scheduler: "Slurm"}'
    not_accepted "minTaskNumber" 'minTaskNumber' '.spec.gang = {scheduler: "Volcano", minTaskNumber: 0}'
    create '(fw("topology"; [role("a"; 1; {})]) | .spec.gang = {scheduler: "Volcano", topologyKey: "rack"}),
        (fw("waits"; [role("a"; 1; {}), (role("b"; 2; {}) | .dependsOn = [{taskRole: "a", status: "Running"}])]) |
        .spec.gang = {scheduler: "Volcano"})'
    wait_event topology Malformed 'spec.gang.topologyKey is "rack", expected no topologyKey: PodGroups of scheduler Volcano have none'
    wait_event waits Malformed 'spec.gang.minTaskNumber is 3 \(all Tasks\), expected at most 1: the Pods of TaskRoles with dependsOn'
    expect "Pods" "$(pod_names)" ""
}

# A server without PodGroups of its own, which drops spec.schedulingGroup without a word: that is known before a Pod is
# made (1.20 serves scheduling.k8s.io/v1beta1, too, and has no PodGroups in it).
run_gang_dropped() {
    create '(fw("waits"; [role("a"; 2; ends(0; 0))]) | .spec.gang = {scheduler: "Kubernetes"}), fw("other"; [role("a"; 1; ends(0; 0))])'
    wait_event waits GangUnavailable \
        '^Attempt 0 waits: spec.gang.scheduler is Kubernetes, and the API server does not serve podgroups of '\
'scheduling.k8s.io/v1beta1 or v1alpha2: enable the feature gate GenericWorkload'
    wait_completed other
    wait_framework waits 15 '.status.state == "AttemptPreparing"'
    expect "Pods of waits" "$(pod_names waits)" ""
    # it ends like any other
    patch_framework waits '{"spec": {"executionType": "Stop"}}'
    wait_completed waits
}

# Nobody serves PodGroups; then somebody installs them.
run_gang_unavailable() {
    own_cluster
    start_watcher
    create '(fw("waits"; [role("a"; 2; ends(0; 0))]) | .spec.gang = {scheduler: "Volcano"}), fw("other"; [role("a"; 1; ends(0; 0))])'
    wait_event waits GangUnavailable \
        'the API server does not serve podgroups of '\
'scheduling.volcano.sh/v1beta1: install Volcano. The controller looks again every minute$'
    wait_completed other
    wait_framework waits 15 '.status.state == "AttemptPreparing"'
    expect_match "what kubectl describe says" "$(k describe framework waits)" 'GangUnavailable .*install Volcano'
    expect_why waits gang-unavailable \
        '2 Tasks, a\[0,1\], have no Pods, because the controller does not find the gangs of spec\.gang in the cluster: .*install Volcano'
    kubectl apply -f "$GANG_CRDS" >/dev/null
    wait_completed waits 90
    keep_control_plane
}

# PodGroups of Kubernetes: Pods name theirs in spec.schedulingGroup.
run_gang_kubernetes() {
    [[ $CLUSTER == embedded ]] || not_here "kube-apiserver 1.20 has no PodGroups"
    own_cluster "$(gang_crds <(echo ---) "$here/../cluster/gang/kubernetes.yaml")"
    start_watcher
    record pods
    create '(fw("f"; [role("a"; 2; {}), role("b"; 1; ends(1; 0))]) | .spec.gang = {scheduler: "Kubernetes", topologyKey: "rack"})'
    wait_object "$(groups_path scheduling.k8s.io/v1beta1)" metadata.name=f-0 20 '.spec.schedulingPolicy.gang.minCount == 2'
    expect "spec" "$(group f-0 '.spec | tojson' scheduling.k8s.io/v1beta1)" \
        '{"schedulingPolicy":{"gang":{"minCount":2}},"schedulingConstraints":{"topology":[{"key":"rack"}]}}'
    patch_framework f '{"spec": {"executionType": "Stop"}}'
    wait_completed f
    end_records
    expect "groups of Pods" \
        "$(jq -r 'select(.type == "ADDED").object.spec.schedulingGroup.podGroupName' "$RUN/out/$scenario.pods" | sort | uniq -c |
            tr -s ' ')" " 3 f-0"
}

# 100 gangs on nodes for ten: all complete, and none is ever placed in part beside another one.
run_gang_crowd() {
    local events
    own_cluster "$(gang_crds)" --pods-capacity 80
    start_watcher
    record pods
    create 'range(100) as $i | fw("f\($i)"; [role("a"; 8; ends(1; 0))]) | .spec.gang = {scheduler: "Volcano"}'
    wait_for 200 "100 gangs are Completed" completed_at_least 100
    end_records
    expect "exit codes" "$(get_jq "$(frameworks_path)" -c '[.items[].status.attemptStatus.completionStatus.code] | unique')" "[0]"
    # Walks through all events: how many Pods of each gang are there, are bound, and have ended.
    events=$(jq -n -c 'def over: .status.phase == "Succeeded" or .status.phase == "Failed" or .metadata.deletionTimestamp != null;
        reduce (inputs | select(.object.metadata.annotations["scheduling.k8s.io/group-name"])) as $event ({pods: {}, parts: 0, most: 0,
            early: []};
            $event.object as $pod | $pod.metadata.annotations["scheduling.k8s.io/group-name"] as $gang |
            .pods[$gang][$pod.metadata.name] = (if $event.type == "DELETED" or
            ($pod | over) then "over" elif $pod.spec.nodeName then "bound" else "waits" end) |
            (if .pods[$gang][$pod.metadata.name] == "bound" and (.pods[$gang] | length) < 8 then .early += [$gang] else . end) |
            ([.pods[] | select(any(. == "bound") and any(. == "waits"))] | length) as $parts |
            ([.pods[][] | select(. == "bound")] | length) as $bound |
            .parts = ([.parts, $parts] | max) | .most = ([.most, $bound] | max)) | {parts, most, early: (.early | unique)}' \
            "$RUN/out/$scenario.pods")
    echo "gangs placed in part at one time, Pods on nodes at one time: $events"
    jq -e '.parts <= 1 and .most <= 80 and .early == []' <<<"$events" >/dev/null || fail "gangs are placed in part: $events"
}

# Without the rights an Event says which are missing, and it goes on when they are granted.
run_gang_forbidden() {
    own_cluster "$(gang_crds)"
    take_right gang scheduling.volcano.sh podgroups
    start_watcher
    create '(fw("waits"; [role("a"; 2; ends(0; 0))]) | .spec.gang = {scheduler: "Volcano"}), fw("other"; [role("a"; 1; ends(0; 0))])'
    wait_event waits FailedCreatePodGroup \
        '^Failed to create waits-0: podgroups.* is forbidden: .*The rights that spec.gang needs are in manifests/rbac/gang'
    wait_why waits gang-refused
    expect_why waits gang-refused 'because the API server refuses the PodGroup of spec\.gang: Failed to (create|get) waits-0'
    wait_completed other
    give_right gang
    wait_completed waits 90
}

# Answers that are lost, and reconcilers that are killed meanwhile: one PodGroup, with the right number in the end.
run_gang_killed() {
    [[ $CLUSTER == embedded ]] || not_here "answers are lost on the embedded API server only"
    local verb
    own_cluster "$(gang_crds)"
    start_watcher "${STEADY_ELECTION[@]}"
    record podgroups
    for verb in create patch; do
        testapi_fault "{\"match\": {\"resource\": \"podgroups\", \"verb\": \"$verb\"}, \"count\": 1, \"action\": {\"cutAnswer\": true}}"
        create 'fw("lost\($verb)"; [role("a"; 1; ends(0; 0)),
            (role("b"; 1; {"run-seconds": 1, "exit-code": "1,0"}) | task_retry(false; 1))]) | .spec.gang = {scheduler: "Volcano"}' --arg \
            verb "$verb"
        wait_completed "lost$verb"
        testapi DELETE faults >/dev/null
    done
    for verb in create patch; do
        testapi_fault "{\"match\": {\"resource\": \"podgroups\", \"verb\": \"$verb\", \"name\": \"killed$verb-0\"},
            \"action\": {\"answerLatencyMs\": 60000}}"
        create 'fw("killed\($verb)"; [role("a"; 1; ends(0; 0)),
            (role("b"; 1; {"run-seconds": 3, "exit-code": "1,0"}) | task_retry(false; 1))]) | .spec.gang = {scheduler: "Volcano"}' --arg \
            verb "$verb"
        wait_for 20 "the request is carried out" was_done "$verb"
        kill_reconcilers
        testapi DELETE faults >/dev/null
        wait_completed "killed$verb" 60
    done
    end_records
    expect_lines "PodGroups created" \
        "$(jq -r 'select(.type == "ADDED").object.metadata.name' "$RUN/out/$scenario.podgroups" | LC_ALL=C sort)" 'killedcreate-0
killedpatch-0
lostcreate-0
lostpatch-0'
}

was_done() { # verb
    if [[ $1 == create ]]; then group killedcreate-0 .metadata.uid; else [[ $(group killedpatch-0 .spec.minMember) == 1 ]]; fi
}
