# What needs a cluster of its own: another configuration, a controller that is away for a while, the original's CRD.

. "$here/lib/adoption.sh"
. "$here/lib/original.sh"
constants_of 54-deletion

# The controller dies, the world goes on, and it comes back.
run_away() {
    own_cluster
    own_config <<'EOT'
frameworkCompletedRetainSec: 20
frameworkMinRetryDelaySecForTransientConflictFailed: 12
frameworkMaxRetryDelaySecForTransientConflictFailed: 13
logObjectSnapshot:
  framework: {onFrameworkRetry: false, onFrameworkDeletion: false}
  task: {onTaskRetry: false, onTaskDeletion: false}
  pod: {onPodDeletion: false}
EOT
    start_watcher
    record frameworks pods
    create '(fw("conflict"; [role("a"; 1; {"run-seconds": 0, "attempt-exit-code": "201,"})]) | .spec |= retry(true; 0)),
        (fw("adopted", "othertask", "otherattempt", "oldmap"; [role("a"; 2; {})]) | .spec.executionType = "Create"),
        (fw("map", "pod"; [role("a"; 1; {})]) | .spec.executionType = "Create"),
        fw("retained"; [role("a"; 1; ends(0; 0))]),
        fw("untouched", "replaced", "scaled", "stopped"; [role("a"; 2; {}) | task_retry(true; 0)]),
        (fw("mapless"; [role("a"; 1; {})]) | .spec |= retry(true; 0))'
    local name delay transition map pod before
    declare -A map pod
    for name in untouched replaced scaled stopped mapless; do wait_running $name; done
    for name in adopted othertask otherattempt oldmap map pod; do wait_observed $name; done
    wait_for 15 "conflict waits" status_was conflict '.retryPolicyStatus.retryDelaySec != null'
    wait_for 15 "retained is Completed" status_was retained '.state == "Completed"'
    delay=$(jq -s '[.[].object | select(.metadata.name == "conflict").status.retryPolicyStatus.retryDelaySec | values][0]' \
            "$RUN/out/$scenario.frameworks")
    before=$(k get pods -o jsonpath='{.items[*].metadata.uid}' -l FC_FRAMEWORK_NAME=untouched)
    stop_watcher KILL

    for name in adopted othertask otherattempt oldmap; do
        map[$name]=$(make_config_map $name "$([[ $name != oldmap ]] || echo '.metadata.annotations.FC_FRAMEWORK_ATTEMPT_ID = "1"')")
    done
    pod[adopted]=$(make_pod adopted 0 "${map[adopted]}")
    pod[othertask]=$(make_pod othertask 0 "${map[othertask]}" '.metadata.annotations.FC_TASK_UID = "11111111-1111-1111-1111-111111111111"')
    pod[otherattempt]=$(make_pod otherattempt 0 "${map[otherattempt]}" '.metadata.annotations.FC_TASK_ATTEMPT_ID = "1"')
    # What is being deleted is never taken over: its end is waited for.
    map[map]=$(make_config_map map '.metadata.finalizers += ["test/hold"]')
    delete configmaps/map-attempt
    map[pod]=$(make_config_map pod)
    pod[pod]=$(make_pod pod 0 "${map[pod]}" '.metadata.finalizers = ["test/hold"]')
    delete pods/pod-a-0
    for name in adopted othertask otherattempt oldmap map pod; do patch_framework $name '{"spec": {"executionType": "Start"}}'; done
    # Changes nobody saw.
    delete pods/scaled-a-0
    patch_roles scaled '.[0].taskNumber = 1'
    patch_framework stopped '{"spec": {"executionType": "Stop"}}'
    delete configmaps/mapless-attempt
    wait_absent configmaps/mapless-attempt
    api DELETE "$(frameworks_path)/replaced" "$BACKGROUND" >/dev/null
    create 'fw("replaced"; [role("b"; 1; {})])'

    start_watcher
    wait_framework mapless 15 '.status.attemptStatus.id == 1'
    wait_framework scaled 15 '[tasks] | length == 1 and .[0].attemptStatus.id == 1'
    for name in adopted othertask otherattempt oldmap scaled mapless replaced; do wait_running $name 20; done
    wait_for 15 "stopped is" status_was stopped '.attemptStatus.completionStatus.code == -210' # (retained no longer, maybe)
    expect "untouched: Pods" "$(k get pods -o jsonpath='{.items[*].metadata.uid}' -l FC_FRAMEWORK_NAME=untouched)" "$before"
    for name in adopted othertask otherattempt; do
        expect "$name: ConfigMap" "$(framework $name '.status.attemptStatus | "\(.configMapUID) \(.instanceUID)"')" \
            "${map[$name]} 0_${map[$name]}"
    done
    [[ $(framework oldmap '.status.attemptStatus.configMapUID') != "${map[oldmap]}" ]] ||
        fail "the ConfigMap of another attempt was taken over"
    expect "adopted: Pod" "$(framework adopted 'task.attemptStatus | "\(.podUID) \(.instanceUID)"' | head -n 1)" \
        "${pod[adopted]} 0_${pod[adopted]}"
    for name in othertask otherattempt; do
        [[ $(pod $name-a-0 .metadata.uid) != "${pod[$name]}" ]] || fail "$name: the Pod was taken over"
    done
    for name in adopted othertask otherattempt oldmap; do
        expect "$name: retries" \
            "$(framework $name '[.status.retryPolicyStatus.totalRetriedCount, (tasks.retryPolicyStatus.totalRetriedCount)] | tostring')" \
            "[0,0,0]"
    done
    wait_framework replaced 10 '.status.attemptStatus.taskRoleStatuses[0].name == "b"'
    expect "replaced: role" "$(framework replaced '.status.attemptStatus.taskRoleStatuses[0].name')" b
    wait_framework pod 10 '.status.state == "AttemptPreparing"'
    expect "map: state" "$(framework map .status.state)" AttemptCreationPending
    expect "pod: Task" "$(framework pod 'task | "\(.state) \(.attemptStatus.podUID)"')" "AttemptCreationPending null"
    expect "the deleting Pod" "$(pod pod-a-0 .metadata.uid)" "${pod[pod]}"
    release configmaps/map-attempt
    release pods/pod-a-0
    for name in map pod; do wait_running $name; done
    [[ $(framework map '.status.attemptStatus.configMapUID') != "${map[map]}" ]] || fail "the deleting ConfigMap was taken over"
    [[ $(pod pod-a-0 .metadata.uid) != "${pod[pod]}" ]] || fail "the deleting Pod was taken over"

    # The delay that was drawn before is the one that was waited for. (How much more it took is up to the machine.)
    # (by the records, as it is itself not retained for long)
    wait_for 30 "conflict is retried" status_was conflict '.attemptStatus.id == 1'
    wait_for 40 "what was retained is gone" is_absent "$(frameworks_path)/retained"
    end_records
    jq -s -r '[.[].object] as $all | ($all | map(select(.metadata.name == "conflict" and .status != null))) as $conflict |
        ($conflict | map(select(.status.state == "AttemptCompleted").status)) as $waiting |
        "delays \($waiting | map(.retryPolicyStatus.retryDelaySec) | unique | map(select(. != null)))",
        "waited \(($conflict | map(select(.status.attemptStatus.id == 1))[0].status.attemptStatus.startTime |
        fromdate) - ($waiting[0].attemptStatus.completionTime | fromdate) | . >= '"$delay"')",
        ($all | map(select(.metadata.name == "retained" and .metadata.deletionTimestamp != null))[0] |
            "retained \((.metadata.deletionTimestamp | fromdate) - (.status.transitionTime | fromdate) |
            . >= 20) \(.metadata.finalizers)")' \
        "$RUN/out/$scenario.frameworks" >"$RUN/out/$scenario.found"
    expect_lines "delay and retention" "$(<"$RUN/out/$scenario.found")" "delays [$delay]
waited true
retained true [\"foregroundDeletion\"]"
    ((delay == 12 || delay == 13)) || fail "the delay is $delay, expected 12 or 13"
    expect "snapshots, all switched off" "$(watcher_logs | grep -c ObjectSnapshot)" 0
}

# Whether a status of the Framework was like this, by the records.
status_was() { # framework jq-expression-of-status
    jq -s -e "any(.[].object; .metadata.name == \"$1\" and (.status | $2))" "$RUN/out/$scenario.frameworks"
}

# Frameworks as the original controller left them: under its CRD, with statuses of its making, running.
run_takeover() {
    own_cluster "$FRAMEWORKS/original_crd.yaml"
    local name map uids task_uids
    declare -A map uids
    # Explicit zero policies, nulls, empty strings mean what they say.
    create '
        def old: .spec |= (retry(false; 0) | .description = "" | .executionType = "Start") |
            .spec.taskRoles[] |= (task_retry(false; 0) | .task.podGracefulDeletionTimeoutSec = null);
        (fw("running", "compressed", "corrupt", "early"; [role("a"; 2; {}) | policy(0; 0)]) | old),
        (fw("finished"; [role("a"; 1; {}) | policy(1; -1)]) | old),
        (fw("fresh"; [role("a"; 1; {"run-seconds": 0, "exit-code": 1}) | policy(0; 0)]) | old),
        (fw("sparse"; [role("a"; 1; {"run-seconds": 0, "exit-code": 1})])),
        (fw("twice"; [role("a"; 1; {}), role("a"; 2; {})]) | old)'
    for name in running compressed corrupt early finished; do
        write_original_status $name AttemptCreationPending
        [[ $name != finished ]] || continue
        map[$name]=$(make_config_map $name)
        uids[$name]="$(make_pod $name 0 "${map[$name]}") $(make_pod $name 1 "${map[$name]}")"
        wait_pod $name-a-0 10 '.status.phase == "Running"'
        wait_pod $name-a-1 10 '.status.phase == "Running"'
        write_original_status $name AttemptRunning "${map[$name]}" "${uids[$name]}"
    done
    write_original_status finished Completed
    put_status compressed 'compressed'
    # (not gzip, under base64 that is in order)
    api PUT "$(frameworks_path)/corrupt" "$(get_jq "$(frameworks_path)/corrupt" -c '.status.attemptStatus.taskRoleStatuses = null |
        .status.attemptStatus.taskRoleStatusesCompressed = "H4sIAAAAAAAA/3dyb25n"')" >/dev/null
    # (as the first versions of the original wrote it)
    api PUT "$(frameworks_path)/early" "$(get_jq "$(frameworks_path)/early" -c 'del(.status.attemptStatus.taskRoleStatuses[] |
        .instanceUID, (.taskStatuses[] | .instanceUID, .deletionPending))')" >/dev/null
    record pods
    start_watcher

    expect "the subresource" "$(k get crd frameworks.frameworkcontroller.microsoft.com -o jsonpath='{.spec.versions[0].subresources}')" \
        '{"status":{}}'
    for name in running compressed early; do
        wait_framework $name 15 '.status.observedGeneration == .metadata.generation and .status.state == "AttemptRunning"'
        wait_framework $name 15 \
            "[.status.attemptStatus.taskRoleStatuses[0].taskStatuses[] | \"\\(.state) \\(.attemptStatus.podUID)\"] == [$(
            for uid in ${uids[$name]}; do echo "\"AttemptRunning $uid\""; done | paste -sd,)]"
        expect "$name: the attempt" "$(framework $name '.status.attemptStatus | "\(.id) \(.configMapUID)"')" "0 ${map[$name]}"
    done
    wait_completed fresh
    expect "fresh: zero means never" "$(framework fresh '.status.attemptStatus.completionStatus.code')" 0
    wait_completed sparse
    expect "sparse: what is absent is defaulted" "$(framework sparse '.status.attemptStatus.completionStatus.code')" 1
    expect "finished" "$(framework finished '.status | "\(.state) \(.attemptStatus.completionStatus.code) \(.attemptStatus.id)"')" \
        "Completed 0 0"
    # Errors on those two alone, told of, and nothing done.
    wait_event corrupt Malformed "taskRoleStatusesCompressed"
    wait_event twice Malformed "taskRoles.*a"
    expect "corrupt: its Pods" "$(pod_names corrupt | wc -l)" 2
    expect "twice: its status" "$(framework twice .status)" null
    # In order again when its owner has mended it.
    patch_roles twice 'del(.[1])'
    wait_running twice
    end_records
    expect "Pods deleted since" "$(jq -r 'select(.object.metadata.labels.FC_FRAMEWORK_NAME | test("running|compressed|corrupt|early")) |
        select(.object.metadata.deletionTimestamp != null).object.metadata.name' "$RUN/out/$scenario.pods")" ""

    # A CRD that loses its subresource (an original controller was started) is put back, and reported.
    local reads
    api PUT /apis/apiextensions.k8s.io/v1/customresourcedefinitions/frameworks.frameworkcontroller.microsoft.com \
        "$(api GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/frameworks.frameworkcontroller.microsoft.com |
            jq -c 'del(.spec.versions[0].subresources)')" >/dev/null
    create 'fw("meanwhile"; [role("a"; 1; {})])'
    wait_for 30 "the subresource is back" crd_has_status
    wait_running meanwhile 30
    watcher_logs | grep "was changed by another client: restoring it" || fail "that the CRD was changed is not reported"
    if [[ $CLUSTER == embedded ]]; then
        # Nobody hammered the server because of it.
        reads=$(kubectl get --raw /fc-testapi/requests |
                jq '[.[] | select(.userAgent == "fc-reconciler" and .resource == "frameworks" and .verb == "get").count] | add // 0')
        ((reads < 100)) || fail "$reads reads by reconcilers while the subresource was missing"
    fi
}

crd_has_status() {
    api GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/frameworks.frameworkcontroller.microsoft.com |
        jq -e '.spec.versions[0].subresources.status'
}

# taskRoleStatuses as gzip and base64 tools make them.
put_status() { # framework
    local compressed
    compressed=$(get_jq "$(frameworks_path)/$1" -c '.status.attemptStatus.taskRoleStatuses' | tr -d '\n' | gzip -9 | base64 -w0)
    api PUT "$(frameworks_path)/$1" \
        "$(get_jq "$(frameworks_path)/$1" -c --arg compressed "$compressed" '.status.attemptStatus |= (.taskRoleStatuses = null |
        .taskRoleStatusesCompressed = $compressed)')" >/dev/null
}

# Entries of a user's own in podFailureSpec: the first that matches wins, predefined codes before all; parts are anded,
# containers matched by some; open ranges; inline flags; regexes search. (The rest of the syntax: unit tests.)
run_failure_spec() {
    own_cluster
    cat >config.yaml <<'EOT'
kubeClientQps: 10000
kubeClientBurst: 10000
podFailureSpec:
- {code: 50, phrase: Both, type: {attributes: [Transient]}, podPatterns: [{containers: [
    {nameRegex: ^c$, codeRange: {min: 40, max: 60}}, {nameRegex: ^setup$, codeRange: {min: 0, max: 0}}]}]}
- {code: 51, phrase: High, podPatterns: [{containers: [{codeRange: {min: 240}}]}]}
- {code: 52, phrase: Low, podPatterns: [{containers: [{codeRange: {min: 1, max: 3}, messageRegex: '(?msi)^second.*end$'}]}]}
- {code: 53, phrase: Signalled, type: {attributes: []}, podPatterns: [
    {containers: [{signalRange: {min: 5, max: 9}}]}, {reasonRegex: 'Never'}]}
- {code: 54, phrase: ByName, podPatterns: [{nameRegex: '-named-[0-9]+$', containers: [{codeRange: {min: 20, max: 29}}]}]}
- {code: 55, phrase: ByMessage, podPatterns: [{reasonRegex: '(?i)odd', messageRegex: 'né+'}]}
- {code: 56, phrase: Later, podPatterns: [{containers: [{codeRange: {min: 240}}]}]}
- {code: 57, phrase: Predefined, podPatterns: [{containers: [{codeRange: {min: 200, max: 210}}]}]}
EOT
    start_watcher
    create '
        def failing($name; $told): role($name; 1; {"run-seconds": 0} + $told) | policy(-1; -1);
        fw("f"; [
            (failing("both"; {"exit-code": 45}) | .task.pod.spec.initContainers = [{name: "setup", image: "i"}]),
            failing("half"; {"exit-code": 45}),
            failing("high"; {"exit-code": 255}),
            failing("low"; {"exit-code": 2, message: "first\nSECOND line\nthe END"}),
            failing("lownot"; {"exit-code": 2, message: "only"}),
            failing("signal"; {signal: 9}),
            failing("named"; {"exit-code": 22}),
            failing("other"; {"exit-code": 22}),
            (failing("message"; {"pod-reason": "VeryODDly", "pod-message": "il est née à Gênes"}) |
        del(.task.pod.metadata.annotations["testkubelet/run-seconds"])),
            failing("predefined"; {"exit-code": 200})])'
    wait_completed f
    framework f '.status.attemptStatus.taskRoleStatuses[] | .name as $name | .taskStatuses[0].attemptStatus.completionStatus |
        "\($name) \(.code) \(.phrase) \(.type.attributes) \(.diagnostics | sub("^Pod failed: PodPattern "; "") |
        sub("unmatched: .*"; "unmatched"))"' >"$RUN/out/$scenario.found"
    expect_lines "what the entries make of them" "$(<"$RUN/out/$scenario.found")" \
        'both 50 Both ["Transient"] matched: {"containers":[{"name":"c","code":45},{"name":"setup","code":0}]}
half 45 ContainerUnrecognizedFailed [] unmatched
high 51 High null matched: {"containers":[{"code":255}]}
low 52 Low null matched: {"containers":[{"message":"SECOND line\nthe END","code":2}]}
lownot 2 ContainerUnrecognizedFailed [] unmatched
signal 53 Signalled [] matched: {"containers":[{"signal":9}]}
named 54 ByName null matched: {"name":"-named-0","containers":[{"code":22}]}
other 22 ContainerUnrecognizedFailed [] unmatched
message 55 ByMessage null matched: {"reason":"ODD","message":"né"}
predefined 200 ContainerTransientFailed ["Transient"] matched: {"containers":[{"name":"c","code":200}]}'
}
