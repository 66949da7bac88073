# TaskRoles that wait for others: dependsOn (CONTRACT.md §6); Frameworks that share a rack with no other.

# The order of creation in each attempt, and what does not wait.
run_depends_on() {
    record pods
    create 'def after($role; $status): .dependsOn = [{taskRole: $role, status: $status}];
        fw("chain"; [role("a"; 2; ends(1; 0)), (role("b"; 2; ends(0; 0)) | after("a"; "Succeeded")),
        (role("c"; 1; ends(0; 0)) | after("b"; "Running"))]),
        (fw("again"; [role("a"; 1; {}) | policy(1; -1), (role("b"; 1; {"run-seconds": 0, "attempt-exit-code": "1,0"}) |
        after("a"; "Running") | policy(1; 1))]) | .spec |= retry(false; 1)),
        fw("waits"; [role("a"; 2; {phase: "hold"}), (role("b"; 1; {}) | after("a"; "Running"))]),
        fw("probed"; [role("a"; 1; {phase: "hold"}), (role("b"; 1; ends(0; 1)) | after("a"; "Ready") | task_retry(false; 1) |
        policy(-1; -1))]),
        fw("empty"; [role("a"; 0; {}), (role("b"; 1; ends(0; 0)) | after("a"; "Ready"))])'
    wait_completed chain
    wait_completed again
    wait_completed empty
    wait_event waits TaskRoleWaiting '^TaskRole b waits until all Tasks of TaskRole a are Running: 2 of 2 are not yet$'
    # A Pod that runs is not ready yet.
    wait_framework probed 15 ".status.attemptStatus.taskRoleStatuses[0].taskStatuses[0].attemptStatus.podUID != null"
    be_running probed-a-0 False
    wait_framework probed 15 '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[0].state == "AttemptRunning"'
    patch_framework probed '{"spec": {"description": "looked at once more"}}'
    wait_observed probed
    is_absent "/api/v1/namespaces/$NS/pods/probed-b-0" || fail "b does not wait until a is ready"
    be_running probed-a-0 True
    wait_framework probed 15 '.status.attemptStatus.taskRoleStatuses[1].taskStatuses[0].state == "Completed"'
    expect "retries of probed's b" \
        "$(framework probed '.status.attemptStatus.taskRoleStatuses[1].taskStatuses[0].retryPolicyStatus.totalRetriedCount')" 1
    expect "whose readyTime is stored" \
        "$(framework probed '[.status.attemptStatus.taskRoleStatuses[].taskStatuses[0] | has("readyTime")] | tojson')" '[true,false]'
    expect "who says whether it is ready" \
        "$(api GET "/api/v1/namespaces/$NS/pods" |
            jq -r '[.items[] | select(.metadata.annotations.FC_READY_WANTED).metadata.name] | join(" ")')" probed-a-0
    expect "Pods of waits" "$(pod_names waits | tr '\n' ' ')" "waits-a-0 waits-a-1 "
    expect "retries of again" "$(framework again .status.retryPolicyStatus.totalRetriedCount)" 1
    end_records
    expect_lines "order" "$(jq -r 'select(.type == "ADDED").object.metadata | select(.name | test("^(chain|again)")) |
        "\(.name[0:5]) \(.annotations.FC_FRAMEWORK_ATTEMPT_ID) \(.annotations.FC_TASKROLE_NAME)"' "$RUN/out/$scenario.pods" |
            LC_ALL=C sort -s -k1,2)" \
'again 0 a
again 0 b
again 1 a
again 1 b
chain 0 a
chain 0 a
chain 0 b
chain 0 b
chain 0 c'
}

be_running() { # pod True|False
    api PATCH "/api/v1/namespaces/$NS/pods/$1/status" \
        "{\"status\": {\"phase\": \"Running\", \"conditions\": [{\"type\": \"Ready\", \"status\": \"$2\"}]}}" \
        application/merge-patch+json >/dev/null
}

run_depends_on_refused() {
    not_accepted "no status" 'dependsOn.*status' '.spec.taskRoles[0].dependsOn = [{taskRole: "a"}]'
    not_accepted "no TaskRole" 'dependsOn.*taskRole' '.spec.taskRoles[0].dependsOn = [{status: "Ready"}]'
    not_accepted "status" 'dependsOn.*status.*(Unsupported|supported) value' \
        '.spec.taskRoles[0].dependsOn = [{taskRole: "a", status: "Complete"}]'
    create '(fw("later"; [role("a"; 1; {}) | .dependsOn = [{taskRole: "b", status: "Ready"}], role("b"; 1; {})])),
        (fw("self"; [role("a"; 1; {}) | .dependsOn = [{taskRole: "a", status: "Ready"}]]))'
    wait_event later Malformed 'spec.taskRoles\[0\].dependsOn\[0\].taskRole is "b", expected the name of an earlier TaskRole'
    wait_event self Malformed 'spec.taskRoles\[0\].dependsOn\[0\].taskRole is "a"'
    expect "Pods" "$(pod_names)" ""
}

# Reconcilers that are killed while a TaskRole waits: the Tasks that came so far before count.
run_depends_on_killed() {
    own_cluster
    start_watcher "${STEADY_ELECTION[@]}"
    create 'fw("f"; [role("a"; 2; {phase: "hold"}), (role("b"; 1; ends(0; 0)) | .dependsOn = [{taskRole: "a", status: "Ready"}] |
        policy(1; 1))])'
    wait_framework f 15 ".status.attemptStatus.taskRoleStatuses[0].taskStatuses | all(.attemptStatus.podUID != null)"
    be_running f-a-0 True
    wait_framework f 15 ".status.attemptStatus.taskRoleStatuses[0].taskStatuses[0].readyTime != null"
    be_running f-a-0 False
    kill_reconcilers
    be_running f-a-1 True
    wait_completed f 60
}

# A rack of its own: the affinity of its Pods, beside the template's, and nothing for others (CONTRACT.md §4.17). (Servers
# before 1.22 know no namespaceSelector.)
run_placement() {
    local uid
    record pods
    create '(fw("alone"; [role("a"; 2; ends(0; 0)) |
        .task.pod.spec.affinity = {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
            {nodeSelectorTerms: [{matchExpressions: [{key: "x", operator: "DoesNotExist"}]}]}}}]) |
        .spec.placement = {exclusiveTopologyKey: "example.com/rack"}),
        fw("plain"; [role("a"; 1; ends(0; 0))])'
    wait_completed alone
    wait_completed plain
    end_records
    uid=$(framework alone .metadata.uid)
    expect_lines "affinity" "$(jq -cS 'select(.type == "DELETED").object | {name: .metadata.name, uid: .metadata.labels.FC_FRAMEWORK_UID} +
        (.spec.affinity // {} | {node: (.nodeAffinity != null), own: .podAffinity.requiredDuringSchedulingIgnoredDuringExecution,
            others: .podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution | (. // []) | map(del(.namespaceSelector))})' \
            "$RUN/out/$scenario.pods" | LC_ALL=C sort -u)" \
"{\"name\":\"alone-a-0\",\"node\":true,\"others\":[$(others_term "$uid")],\"own\":[$(own_term "$uid")],\"uid\":\"$uid\"}
{\"name\":\"alone-a-1\",\"node\":true,\"others\":[$(others_term "$uid")],\"own\":[$(own_term "$uid")],\"uid\":\"$uid\"}
{\"name\":\"plain-a-0\",\"node\":false,\"others\":[],\"own\":null,\"uid\":null}"
    not_accepted "exclusiveTopologyKey" 'placement.exclusiveTopologyKey.*should match' '.spec.placement = {exclusiveTopologyKey: "a rack"}'
}

own_term() { echo '{"labelSelector":{"matchLabels":{"FC_FRAMEWORK_UID":"'"$1"'"}},"topologyKey":"example.com/rack"}'; } # uid
others_term() { # uid
    echo '{"labelSelector":{"matchExpressions":[{"key":"FC_FRAMEWORK_NAME","operator":"Exists"},'\
'{"key":"FC_FRAMEWORK_UID","operator":"NotIn","values":["'"$1"'"]}]},"topologyKey":"example.com/rack"}'
}
