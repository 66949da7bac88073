# Creation timeouts (CONTRACT.md §5, §6): 60 s at least, and here what a machine may stand still more, so that this begins before most
# others. Objects that were made
# and never come into sight are those of a controller before ours, whose status says that it made them.

. "$here/lib/original.sh"

run_creation_timeouts() {
    "$BUILD/fc-watcher" --print-crd >"$RUN/out/$scenario.crd.yaml"
    own_cluster "$RUN/out/$scenario.crd.yaml"
    own_config <<'EOT'
objectLocalCacheCreationTimeoutSec: 70
logObjectSnapshot:
  pod: {onPodDeletion: false}
EOT
    create '
        (fw("map", "mapretried", "stopped"; [role("a"; 1; {})])),
        (fw("pod", "podretried", "scaled"; [role("a"; 1; {}) | policy(1; -1), (role("b"; 1; {}) | policy(-1; -1))]))'
    patch_framework mapretried '{"spec": {"retryPolicy": {"fancyRetryPolicy": true}}}'
    patch_framework stopped '{"spec": {"executionType": "Stop"}}'
    patch_roles podretried '.[0].task.retryPolicy.fancyRetryPolicy = true'
    local name unseen=99999999-9999-4999-8999-999999999999
    subresource=/status
    for name in map mapretried stopped pod podretried scaled; do write_original_status $name AttemptCreationPending; done
    for name in map mapretried stopped; do
        edit_status $name ".state = \"AttemptCreationRequested\" |
            .attemptStatus |= (.configMapUID = \"$unseen\" | .instanceUID = \"0_$unseen\")"
    done
    for name in pod podretried scaled; do
        edit_status $name "$(make_config_map $name | jq -rR \
                '"(.attemptStatus |= (.configMapUID = \"\(.)\" | .instanceUID = \"0_\(.)\"))"') |
            .state = \"AttemptPreparing\" | .attemptStatus.taskRoleStatuses[0].taskStatuses[0] |= (.state = \"AttemptCreationRequested\" |
            .transitionTime = (now | todate) | .attemptStatus |= (.podUID = \"$unseen\" | .instanceUID = \"0_$unseen\"))"
    done
    record frameworks
    start_watcher
    # The sibling's Pod is made at once. What is not wanted any more is not waited for.
    patch_roles scaled '.[0].taskNumber = 0'
    wait_completed stopped
    expect "stopped" "$(framework stopped '.status.attemptStatus | "\(.completionStatus.code) \(.configMapUID)"')" "-210 $unseen"
    wait_framework scaled 15 \
        '.status.attemptStatus.taskRoleStatuses | (.[0].taskStatuses == []) and (.[1].taskStatuses[0].state == "AttemptRunning")'
    for name in pod podretried; do
        wait_framework $name 15 \
            '.status.attemptStatus.taskRoleStatuses | (.[0].taskStatuses[0].state == "AttemptCreationRequested") and
            (.[1].taskStatuses[0].state == "AttemptRunning")'
    done
    expect "map" "$(framework map .status.state)" AttemptCreationRequested

    wait_completed map 120
    wait_completed pod 20
    wait_framework mapretried 20 '.status.attemptStatus.id == 1'
    wait_running mapretried 20
    wait_running podretried 20
    expect_frameworks "retries, code" \
        '.status | [.retryPolicyStatus, .attemptStatus.taskRoleStatuses[].taskStatuses[0].retryPolicyStatus | select(. != null) |
        "\(.totalRetriedCount) \(.accountableRetriedCount)"] + [.attemptStatus.completionStatus |
        if . then "\(.code) \(.phrase) \(.type.attributes)" else "-" end] | join(", ")' <<'EOT'
map 0 0, 0 0, -110 ConfigMapLocalCacheCreationTimeout ["Transient"]
mapretried 1 0, 0 0, -
pod 0 0, 0 0, 0 0, -111 PodLocalCacheCreationTimeout ["Transient"]
podretried 0 0, 1 0, 0 0, -
scaled 0 0, 0 0, -
stopped 0 0, 0 0, -210 StopFrameworkRequested ["Permanent"]
EOT
    local unseen_kind
    for name in map pod; do
        unseen_kind=$([[ $name == map ]] && echo ConfigMap || echo Pod)
        expect "$name: diagnostics" "$(framework $name '.status.attemptStatus.completionStatus.diagnostics')" \
            "$unseen_kind does not appear in the local cache within timeout 1m10s, so consider it was deleted and explicitly delete it"
    done
    end_records
    expect "waited" "$(jq -rs \
            '[.[].object | select(.metadata.name == "map" and .status.state != null)] |
            (map(select(.status.state == "AttemptCreationRequested"))[0].status.transitionTime | fromdate) as $from |
        (map(select(.status.attemptStatus.completionTime != null))[0].status.attemptStatus.completionTime | fromdate) - $from | . >= 70' \
            "$RUN/out/$scenario.frameworks")" true
    # One switch of the snapshots is off, all others are not.
    expect "snapshots" "$(watcher_logs | grep -oE 'On[A-Za-z]+: ObjectSnapshot' | sort -u | tr '\n' ' ')" \
        "OnFrameworkRetry: ObjectSnapshot OnTaskDeletion: ObjectSnapshot OnTaskRetry: ObjectSnapshot "
}

# Pods whose phase no kubelet here would report (CONTRACT.md §6). Nobody schedules them, so that what is written stays.
run_pod_phases() {
    create 'fw("f"; [role("a"; 3; {phase: "hold"}) | policy(-1; -1)])'
    wait_framework f 15 '[tasks.state] == ["AttemptPreparing", "AttemptPreparing", "AttemptPreparing"]'
    expect "state" "$(framework f .status.state)" AttemptPreparing
    # Unknown: the three fields, and nothing else.
    pod_status f-a-0 '{"phase": "Unknown", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}], "hostIP": "10.1.0.1"}'
    wait_framework f 15 'task.attemptStatus | .podIP == "10.1.2.3" and .podHostIP == "10.1.0.1"'
    expect "after Unknown" "$(framework f 'task.state')" AttemptPreparing
    # Running, and Pending again: the Task goes back, the Framework does not.
    pod_status f-a-1 '{"phase": "Running"}'
    wait_framework f 15 '.status.state == "AttemptRunning" and
        .status.attemptStatus.taskRoleStatuses[0].taskStatuses[1].state == "AttemptRunning"'
    pod_status f-a-1 '{"phase": "Pending"}'
    wait_framework f 15 '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[1].state == "AttemptPreparing"'
    expect "state" "$(framework f .status.state)" AttemptRunning
    pod_status f-a-1 '{"phase": "Unknown"}'
    # One that is none of Kubernetes': that Task's trouble alone, told of once; it goes on with the next phase.
    pod_status f-a-2 '{"phase": "Dancing"}'
    wait_event f UnrecognizedPodPhase "f-a-2"
    pod_status f-a-0 '{"phase": "Running"}'
    wait_framework f 15 '[tasks.state] == ["AttemptRunning", "AttemptPreparing", "AttemptPreparing"]'
    pod_status f-a-2 '{"phase": "Succeeded"}'
    wait_framework f 15 '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[2] |
        .state == "Completed" and .attemptStatus.completionStatus.code == 0'
    expect "Events of it" \
        "$(get_jq "/api/v1/namespaces/$NS/events" -r '[.items[] | select(.reason == "UnrecognizedPodPhase").count] | tostring')" "[1]"
    patch_framework f '{"spec": {"executionType": "Stop"}}'
    wait_completed f
    expect "Tasks" "$(framework f '[tasks.attemptStatus.completionStatus.code] | tostring')" "[-220,-220,0]"
}

pod_status() { # name status
    api PATCH "/api/v1/namespaces/$NS/pods/$1/status" "{\"status\": $2}" application/merge-patch+json >/dev/null
}
