# Pods and ConfigMaps that the API server refuses (CONTRACT.md §8).

. "$here/lib/webhook.sh"

# The embedded server does as told: answers the controller's next creates of this resource in the namespace so.
fault() { # resource count action
    curl -sSf -X POST "$(sed -n 's/^ *server: *//p' "$CLUSTER_DIR/kubeconfig")/fc-testapi/faults" -d "$(jq -cn --arg resource "$1" \
        --argjson count "$2" --argjson action "$3" --arg namespace "$NS" \
            '{match: {verb: "create", resource: $resource, namespace: $namespace}, count: $count, action: $action}')" |
        jq .id >>"$RUN/out/$scenario.faults"
}

only_embedded() {
    [[ $CLUSTER == embedded ]] || not_here "a real server cannot be told to fail so"
}

# What ends the attempt: the code, and the Status in the diagnostics.
run_create_refused() {
    only_embedded
    local name status reason code attributes message count=0
    while read -r name status reason code attributes message; do
        fault pods 1 "{\"status\": $status, \"reason\": \"$reason\", \"message\": \"${message:-no}\"}"
        create 'fw($name; [role("a"; 1; ends(0; 0)) | task_retry(true; 0) | policy(1; -1)])' --arg name "$name"
        wait_completed "$name"
        expect "$name" "$(framework "$name" \
                '.status.attemptStatus.completionStatus |
                "\(.code) \(.type.attributes) \(.diagnostics |
                test("^Failed to create Pod: \\{\"ErrStatus\":\\{\"metadata\":\\{\\},\"status\":\"Failure\",\"message\":.*\\}\\}$";
                "s"))"')" "$code $attributes true"
        count=$((count + 1))
    done <<EOT
badrequest 400 BadRequest -310 []
forbidden 403 Forbidden -310 []
invalid 422 Invalid -200 ["Permanent"]
toolarge 413 RequestEntityTooLarge -200 ["Permanent"]
connection 422 Invalid -310 [] read: connection reset by peer
closed 413 RequestEntityTooLarge -310 [] use of closed network connection
EOT
    ((count == 6)) || fail "$count of 6 cases were tried"
}

# What does not: tried again with backoff, and the Task that is created in the end is in its first attempt still.
run_create_retried() {
    only_embedded
    local name action
    while read -r name action; do
        fault pods 2 "$action"
        create 'fw($name; [role("a"; 1; ends(0; 0)) | policy(1; -1)])' --arg name "$name"
        wait_completed "$name"
        expect "$name" "$(framework "$name" \
                '[.status.attemptStatus.completionStatus.code, .status.retryPolicyStatus.totalRetriedCount,
                    task.retryPolicyStatus.totalRetriedCount] | tostring')" "[0,0,0]"
    done <<'EOT'
notfound {"status": 404}
webhook {"status": 400, "reason": "", "message": "admission webhook denied the request"}
denied {"status": 403, "reason": "Webhook", "message": "denied"}
quota {"status": 403, "reason": "Forbidden", "message": "exceeded quota: q"}
unrecognized {"status": 400, "reason": "BadRequest", "message": "the object provided is unrecognized"}
toomany {"status": 429, "retryAfter": 1}
internal {"status": 500}
unavailable {"status": 503}
cut {"cut": true}
reset {"reset": true}
EOT
    wait_event denied FailedCreatePod "denied"
}

# Carried out, but not answered: the Pod that is there is found and used.
run_create_unanswered() {
    only_embedded
    fault pods 1 '{"cutAnswer": true}'
    fault configmaps 1 '{"cutAnswer": true}'
    record pods configmaps
    create 'fw("f"; [role("a"; 1; {})])'
    wait_running f
    end_records
    expect "Pods and ConfigMaps made" \
        "$(jq -r 'select(.type == "ADDED") | .object.metadata.name' "$RUN/out/$scenario".{pods,configmaps} | sort | tr '\n' ' ')" \
        "f-a-0 f-attempt "
    expect "the Pod" "$(framework f 'task | "\(.attemptStatus.podUID) \(.retryPolicyStatus.totalRetriedCount)"')" \
        "$(pod f-a-0 .metadata.uid) 0"
}

# A ConfigMap's creation is retried for ever, whatever the error.
run_create_config_map_retried() {
    only_embedded
    local name action
    while read -r name action; do
        fault configmaps 2 "$action"
        create 'fw($name; [role("a"; 1; ends(0; 0))])' --arg name "$name"
        wait_completed "$name"
        expect "$name" "$(framework "$name" \
                '.status | "\(.attemptStatus.completionStatus.code) \(.retryPolicyStatus.totalRetriedCount)"')" "0 0"
    done <<'EOT'
badrequest {"status": 400, "reason": "BadRequest"}
forbidden {"status": 403}
invalid {"status": 422, "reason": "Invalid"}
toolarge {"status": 413, "reason": "RequestEntityTooLarge"}
cut {"cut": true}
EOT
    wait_event invalid FailedCreateConfigMap "invalid-attempt"
}

# Bodies that any server refuses; all other Tasks, and other Frameworks, go on.
run_create_invalid() {
    create '
        def bad($name; change): fw($name; [(role("a"; 1; {}) | policy(1; -1) | .task.pod |= change), (role("b"; 1; {}) | policy(1; -1))]);
        bad("nocontainers"; .spec.containers = []),
        bad("badpolicy"; .spec.restartPolicy = "Sometimes"),
        bad("badlabel"; .metadata.labels = {"a b": "c"}),
        bad("badtype"; .spec.containers = "none"),
        fw("fine"; [role("a"; 1; ends(0; 0))])'
    wait_all_completed
    expect_frameworks "codes" \
        '.status.attemptStatus.completionStatus |
        "\(.code) \(.phrase) \(.diagnostics |
        capture("^Failed to create Pod: (?<json>\\{\"ErrStatus\":\\{\"metadata\":\\{\\},\"status\":\"Failure\",\"message\":.*\\})$";
        "s").json? // "{}" | fromjson | .ErrStatus | "\(.code) \(.reason)")"' <<EOT
badlabel -200 PodCreationPermanentError 422 Invalid
badpolicy -200 PodCreationPermanentError 422 Invalid
badtype -310 PodCreationUnknownError 400 BadRequest
fine 0 Succeeded null null
nocontainers -200 PodCreationPermanentError 422 Invalid
EOT
}

# A namespace that enforces the profile restricted refuses a Pod for good; one that only warns takes it, and the
# controller logs the warning once, however many Pods it creates.
run_create_restricted() {
    only_embedded
    own_cluster
    launch_watcher watcher-1 --workers 1 --http 127.0.0.1:0
    wait_for 20 "the reconciler has its shards" reconcilers_complete watcher-1.log 1
    pod_security '{enforce: "restricted"}'
    create '
        def safe: .spec |= (.securityContext = {runAsNonRoot: true, seccompProfile: {type: "RuntimeDefault"}} |
            .containers[].securityContext = {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}});
        fw("open"; [role("a"; 1; {}) | policy(1; -1)]),
        fw("safe"; [role("a"; 2; ends(0; 0)) | .task.pod |= safe])'
    wait_completed open
    wait_completed safe
    expect_match "why the attempt ended" "$(framework open '.status.attemptStatus.completionStatus | "\(.code) \(.diagnostics)"')" \
        '^-310 .*violates PodSecurity .*allowPrivilegeEscalation != false'
    expect "safe" "$(framework safe .status.attemptStatus.completionStatus.code)" 0
    expect "warnings" "$(watcher_logs | grep -c 'the API server warns')" 0
    pod_security '{enforce: null, warn: "restricted"}'
    create 'fw("warned"; [role("a"; 5; ends(0; 0)) | task_retry(false; 1)])'
    wait_completed warned
    expect "warnings" "$(watcher_logs | grep 'the API server warns' |
            grep -c 'POST /api/v1/namespaces/.*/pods: .*would violate PodSecurity')" 1
}

pod_security() { # labels
    api PATCH "/api/v1/namespaces/$NS" "$(jq -cn "{metadata: {labels: $1 | with_entries(.key |= \"pod-security.kubernetes.io/\" + .)}}")" \
        application/merge-patch+json >/dev/null
}

# Refused at the door of a real server: by an admission webhook without a word, with a code, with the reason Forbidden,
# with 404, 409 and 429, and by one that does not answer (500). Only Forbidden is for good. (The embedded server has no webhooks:
# create_retried and
# create_refused.)
run_create_webhook() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded server asks no webhooks"
    local name
    start_webhook
    create 'fw("none", "code", "reason", "absent", "conflict", "busy"; [role("a"; 1; {}) | policy(1; -1)]) |
        .spec.taskRoles[0].task.pod.metadata.labels = {refused: .metadata.name}'
    create 'fw("fine"; [role("a"; 1; ends(0; 0))])'
    wait_event none FailedCreatePod "denied the request"
    wait_event code FailedCreatePod "not today"
    wait_event absent FailedCreatePod "no such thing"
    wait_event conflict FailedCreatePod "not now"
    wait_event busy FailedCreatePod "too busy"
    wait_completed reason
    expect "reason" "$(framework reason \
            '.status.attemptStatus.completionStatus |
            "\(.code) \(.phrase) \(.diagnostics | capture("(?<json>\\{\"ErrStatus.*)").json | fromjson.ErrStatus |
            "\(.code) \(.reason)")"')" \
        "-310 PodCreationUnknownError 403 Forbidden"
    wait_completed fine
    break_webhook
    create 'fw("unanswered"; [role("a"; 1; {})]) | .spec.taskRoles[0].task.pod.metadata.labels = {refused: "none"}'
    wait_event unanswered FailedCreatePod "failed calling webhook"
    for name in none code absent conflict busy unanswered; do
        expect "$name" "$(framework $name '.status.attemptStatus.completionStatus, task.state, task.attemptStatus.completionStatus' |
                tr '\n' ' ')" "null AttemptCreationPending null "
    done
    stop_webhook
    for name in none code absent conflict busy unanswered; do
        wait_running $name 90
        expect "$name: retries" "$(framework $name 'task.retryPolicyStatus.totalRetriedCount')" 0
    done
}

# A template whose placeholders make of it what no server takes (3 MiB in all): 413.
run_create_too_large() {
    create 'fw("f" * 60; [role("a" * 60; 1; {}) | policy(1; -1) | .task.pod.spec.containers[0].args = ["{{FC_POD_NAME}}" * 30000]])'
    create 'fw("fine"; [role("a"; 1; ends(0; 0))])'
    local name
    name=$(printf 'f%.0s' {1..60})
    wait_completed "$name"
    expect "code" "$(framework "$name" \
            '.status.attemptStatus.completionStatus |
            "\(.code) \(.phrase) \(.type.attributes) \(.diagnostics | capture("(?<json>\\{\"ErrStatus.*)").json | fromjson.ErrStatus |
            "\(.code) \(.reason)")"')" \
        '-200 PodCreationPermanentError ["Permanent"] 413 RequestEntityTooLarge'
    wait_completed fine
}

# Forbidden for good: by a LimitRange, or as the embedded server is told.
run_create_forbidden() {
    if [[ $CLUSTER == kubernetes ]]; then
        api POST "/api/v1/namespaces/$NS/limitranges" '{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"},
            "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}}' >/dev/null
    else
        fault pods 1 '{"status": 403, "reason": "Forbidden",
            "message": "pods \"f-a-0\" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi"}'
    fi
    create 'fw("f"; [role("a"; 1; {}) | policy(1; -1) | .task.pod.spec.containers[0].resources = {limits: {memory: "2Gi"}}])'
    wait_completed f
    expect "f" "$(framework f '.status.attemptStatus.completionStatus | "\(.code) \(.phrase) \(.type.attributes)"')" \
        "-310 PodCreationUnknownError []"
    expect_match "diagnostics" "$(framework f .status.attemptStatus.completionStatus.diagnostics)" \
        'maximum memory usage per Container is 1Gi'
    # Who asks why is told.
    expect_match "kubectl describe" "$(k describe framework f)" \
        'FailedCreatePod .*Failed to create f-a-0: .*maximum memory usage per Container is 1Gi'
}

# A quota that is used up: the Task waits, and goes on when there is room. (The embedded server knows no quotas: its
# faults speak as one.)
run_quota() {
    local quota="/api/v1/namespaces/$NS/resourcequotas"
    if [[ $CLUSTER == kubernetes ]]; then
        api POST "$quota" '{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}' \
            >/dev/null
        set_quota 1 0
    fi
    [[ $CLUSTER == kubernetes ]] ||
        fault pods -1 '{"status": 403, "reason": "Forbidden",
            "message": "pods \"f-a-0\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"}'
    create 'fw("f"; [role("a"; 2; {}) | policy(1; -1) | task_retry(false; 0)])'
    wait_event f FailedCreatePod "exceeded quota"
    wait_framework f 10 '(.status.state | test("Preparing|Running")) and .status.attemptStatus.completionStatus == null'
    expect "Tasks that wait" \
        "$(framework f '[tasks | select(.state == "AttemptCreationPending") | .attemptStatus.completionStatus] | unique | tostring')" \
        "[null]"
    if [[ $CLUSTER == kubernetes ]]; then set_quota 5 1; else clear_faults; fi
    wait_running f 40
    expect "retries" "$(framework f '[tasks.retryPolicyStatus.totalRetriedCount] | add')" 0
}

# A quota with place for a part of the Tasks: the first TaskRole's have it, however the server orders what comes together. (It
# may count a Pod twice when its own writes of the quota conflict, and then has place for one only.)
run_quota_roles() {
    local i pods
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded server knows no quotas"
    api POST "/api/v1/namespaces/$NS/resourcequotas" \
        '{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}' >/dev/null
    for i in 1 2 3 4 5 6; do
        quota="/api/v1/namespaces/$NS/resourcequotas" set_quota 2 0
        create 'fw($name; [role("m"; 2; {}) | policy(1; -1), (role("w"; 4; {}) | policy(1; -1))])' --arg name "f$i"
        wait_event "f$i" FailedCreatePod "exceeded quota"
        pods=$(pod_names "f$i" | tr '\n' ' ')
        [[ $pods == *-m-* && $pods != *-w-* ]] || fail "Pods of f$i: found \"$pods\", expected those of m"
        delete_framework_and_wait "f$i"
    done
}

# There is no quota controller here that would bring the status up to date.
set_quota() { # hard used
    api PUT "$quota/q/status" \
        "$(get_jq "$quota/q" -c ".spec.hard.pods = \"$1\" | .status = {hard: {pods: \"$1\"}, used: {pods: \"$2\"}}")" >/dev/null
}

# Only this scenario's: others have theirs.
clear_faults() {
    local id
    while read -r id; do
        curl -sSf -X DELETE "$(sed -n 's/^ *server: *//p' "$CLUSTER_DIR/kubeconfig")/fc-testapi/faults/$id" >/dev/null
    done <"$RUN/out/$scenario.faults"
}

# Answers the controller's next status writes in the namespace so.
fault_status() { # count action [Framework]
    curl -sSf -X POST "$(sed -n 's/^ *server: *//p' "$CLUSTER_DIR/kubeconfig")/fc-testapi/faults" \
        -d "$(jq -cn --argjson count "$1" --argjson action "$2" \
        --arg namespace "$NS" --arg name "${3:-}" \
            '{match: ({verb: "update", resource: "frameworks", subresource: "status", namespace: $namespace} +
                if $name == "" then {} else {name: $name} end), count: $count, action: $action}')" >/dev/null
}

# Status writes that fail, or whose answer is lost: nothing runs twice, nothing is lost.
run_status_writes_failing() {
    only_embedded
    record pods
    local name action
    while read -r name action; do
        fault_status 3 "$action"
        create 'fw($name; [role("a"; 2; ends(0; "1,0")) | task_retry(false; 1)])' --arg name "$name"
        wait_completed "$name"
        expect "$name" "$(framework "$name" \
                '[.status.attemptStatus.completionStatus.code, .status.retryPolicyStatus.totalRetriedCount,
                    (tasks.retryPolicyStatus.totalRetriedCount)] | tostring')" "[0,0,1,1]"
    done <<'EOT'
conflict {"status": 409}
internal {"status": 500}
cut {"cut": true}
unanswered {"cutAnswer": true}
missing {"status": 404}
EOT
    end_records
    expect "Pods made" "$(jq -r 'select(.type == "ADDED").object.metadata.uid' "$RUN/out/$scenario.pods" | sort -u | wc -l)" 20
}

# The server finds the status too large: it is compressed.
run_status_too_large() {
    only_embedded
    fault_status 1 '{"status": 413, "reason": "RequestEntityTooLarge"}' refused
    create 'fw("refused"; [role("a"; 2; {})])'
    wait_framework refused 15 '.status.attemptStatus | .taskRoleStatuses == null and .taskRoleStatusesCompressed != null'
    wait_event refused StatusTooLarge compressed
    fault_status 1 '{"status": 500, "message": "etcdserver: request is too large"}' etcd
    create 'fw("etcd"; [role("a"; 1; {})])'
    wait_framework etcd 15 '.status.attemptStatus.taskRoleStatusesCompressed != null'
    # It goes on refusing what cannot be made any smaller: that is said, and tried again.
    fault_status 3 '{"status": 413, "reason": "RequestEntityTooLarge"}' small
    create 'fw("small"; [role("a"; 1; ends(0; 0))])'
    wait_event small StatusRefused "is not stored"
    wait_completed small
}
