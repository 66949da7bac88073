# What the original Go controller made of a few Frameworks on a real Kubernetes 1.20, in expected/: whole statuses, Pod
# bodies and the ConfigMap must be the same here.

final_status_is_golden() { # scenario
    submit "$1"
    wait_completed f
    framework f .status | expect_golden "$1"
    wait_for 5 "nothing of the attempt is left" none_left configmaps,pods
}

# Of everything in a namespace of 1.20 but not of later ones, only what is ours counts.
own() { # resources
    k get "$1" -l FC_FRAMEWORK_NAME=f -o json
}

run_succeed() { final_status_is_golden succeed; }
run_unknown_retry() { final_status_is_golden unknown_retry; }
run_service_batch() { final_status_is_golden service_batch; }

completion_is_golden() { # scenario
    submit "$1"
    wait_completed f
    framework f '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[0].attemptStatus.completionStatus' |
        expect_golden "$1"
}

run_match_oom() { completion_is_golden match_oom; }
run_match_none() { completion_is_golden match_none; }

run_pod_body() {
    submit pod_body
    wait_framework f 10 '.status.state == "AttemptRunning"'
    { own configmaps; own pods; } | jq -s '{
        cm: .[0].items[0].metadata | {name, labels, annotations, finalizers,
            ownerReferences: [.ownerReferences[] | del(.uid)]},
        pods: [.[1].items | sort_by(.metadata.name)[] | {
            name: .metadata.name, labels: .metadata.labels, annotations: .metadata.annotations,
            owners: [.metadata.ownerReferences[] | del(.uid)],
            spec: .spec | {restartPolicy, hostname, subdomain, containers, initContainers}}]}' | expect_golden pod_body
}

run_cm_deleted() {
    submit cm_deleted
    wait_framework f 10 '[.status.attemptStatus.taskRoleStatuses[0].taskStatuses[].state] | all(. == "AttemptRunning")'
    k delete configmap f-attempt --wait=false
    wait_framework f 20 '.status.attemptStatus.id == 1 and .status.state == "AttemptRunning" and
        ([.status.attemptStatus.taskRoleStatuses[0].taskStatuses[].state] | all(. == "AttemptRunning"))'
    framework f .status | expect_golden cm_deleted
}

# The delay is one of the configured range; Stop ends it, and the retry that was decided takes place all the same: an
# attempt that completes at once, with -210. (The original's dump shows it a moment before its end.)
run_conflict_delay() {
    submit conflict_delay
    wait_framework f 10 '.status.state == "AttemptCompleted" and .status.retryPolicyStatus.retryDelaySec != null'
    local in_range
    in_range=$(framework f '.status.retryPolicyStatus.retryDelaySec | . >= 300 and . <= 310')
    k patch framework f --type=merge -p '{"spec": {"executionType": "Stop"}}'
    wait_completed f
    framework f '.status | {state, attempt: .attemptStatus.id, code: .attemptStatus.completionStatus.code,
        retried: .retryPolicyStatus, inrange: '"$in_range"'}' | expect_golden conflict_delay
}
