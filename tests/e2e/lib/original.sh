# Frameworks as the original controller left them. Sourced before the scenarios that begin with such.

subresource=

# The status as the original writes it: into the object itself, as its CRD has no subresource; under ours, subresource is
# /status.
write_original_status() { # framework state [config-map-uid pod-uids]
    api PUT "$(frameworks_path)/$1$subresource" "$(get_jq "$(frameworks_path)/$1" -c --arg state "$2" --arg map "${3:-}" \
        --arg pods "${4:-}" '
        def null_if_empty: if . == "" then null else . end;
        ($state == "AttemptRunning") as $running | ($state == "Completed") as $over |
        (.status.attemptStatus.taskRoleStatuses // [.spec.taskRoles[] |
            {name, instanceUID: "11111111-1111-4111-8111-111111111111", podGracefulDeletionTimeoutSec: null,
            taskStatuses: [range(.taskNumber) | {index: ., instanceUID: "22222222-2222-4222-8222-00000000000\(.)"}]}]) as $roles |
        "2026-01-02T03:04:05Z" as $long_ago | {retryDelaySec: null, totalRetriedCount: 0, accountableRetriedCount: 0} as $retry |
        (if $over then {code: 0, phrase: "Succeeded", type: {name: "Succeeded", attributes: []},
            diagnostics: "Pod succeeded"} else null end) as $completion |
        .metadata.name as $name |
        .status = {startTime: $long_ago, completionTime: (if $over then $long_ago else null end),
            runTime: (if $running then $long_ago else null end), state: $state, transitionTime: (now | todate),
            retryPolicyStatus: $retry, attemptStatus: {id: 0, startTime: $long_ago, runTime: (if $running then $long_ago else null end),
                completionTime: (if $over then $long_ago else null end), instanceUID: (if $running then "0_\($map)" else null end),
                configMapName: "\($name)-attempt", configMapUID: ($map | null_if_empty), completionStatus: $completion,
                taskRoleStatuses: [$roles[] | .name as $role |
            .taskStatuses |= [to_entries[] | .key as $index | ($pods | split(" ")[$index] // "") as $pod | .value + {
                    startTime: $long_ago, runTime: null, completionTime: (if $over then $long_ago else null end),
                    state: (if $running then "AttemptPreparing" else $state end), transitionTime: $long_ago, deletionPending: false,
                    retryPolicyStatus: $retry, attemptStatus: {id: 0, startTime: $long_ago, runTime: null,
            completionTime: (if $over then $long_ago else null end),
                        instanceUID: (if $running then "0_\($pod)" else null end), podName: "\($name)-\($role)-\($index)",
                        podUID: ($pod | null_if_empty), podNodeName: null, podIP: null, podHostIP: null,
            completionStatus: $completion}}]]}}')" >/dev/null
}

# Changes the stored status while no controller is there to mind.
edit_status() { # framework jq-expression-of-status
    api PUT "$(frameworks_path)/$1/status" "$(get_jq "$(frameworks_path)/$1" -c ".status |= ($2)")" >/dev/null
}
