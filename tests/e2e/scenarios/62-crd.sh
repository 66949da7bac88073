# The CRD (CONTRACT.md §17) and what kubectl users see (CONTRACT.md §18), beside 30-malformed.sh and 40-kubectl.sh.

run_crd_defaults() {
    create 'fw("sparse"; [{name: "a"}]),
        fw("partial"; [{name: "a", frameworkAttemptCompletionPolicy: {minSucceededTaskCount: 2},
        task: {retryPolicy: {maxRetryCount: -2}}}]),
        (fw("nothing"; null) | .spec = {}),
        (fw("nulls"; null) | .spec = {description: null, taskRoles: null})'
    expect "sparse" "$(get_framework sparse |
            jq -cS '.spec | [.executionType, .retryPolicy, .taskRoles[0].taskNumber // 0, .taskRoles[0].frameworkAttemptCompletionPolicy,
            .taskRoles[0].task.podGracefulDeletionTimeoutSec]')" \
        '["Start",{"fancyRetryPolicy":false,"maxRetryCount":0},0,{"minFailedTaskCount":1,"minSucceededTaskCount":-1},null]'
    expect "partial: what is missing is not invented" \
        "$(get_jq "$(frameworks_path)/partial" -cS '.spec.taskRoles[0] | [.frameworkAttemptCompletionPolicy, .task.retryPolicy]')" \
        '[{"minSucceededTaskCount":2},{"fancyRetryPolicy":false,"maxRetryCount":-2}]'
    local name
    for name in sparse partial nothing nulls; do wait_framework $name 15 '.status.state == "AttemptPreparing"'; done
}

# A client that writes the object does not write the status, and one that writes the status nothing else; the status does
# not raise the generation.
run_crd_subresource() {
    create 'fw("f"; [role("a"; 1; {})])'
    wait_running f
    expect "generation" "$(framework f '.metadata.generation')" 1
    local status
    status=$(get_jq "$(frameworks_path)/f" -cS .status)
    patch_framework f '{"status": {"state": "Completed"}, "spec": {"description": "x"}}'
    wait_observed f
    expect "status" "$(get_jq "$(frameworks_path)/f" -cS '.status | del(.observedGeneration)')" \
        "$(jq -c 'del(.observedGeneration)' <<<"$status")"
    api PATCH "$(frameworks_path)/f/status" '{"spec": {"description": "y"}, "metadata": {"annotations": {"z": "1"}}}' \
        application/merge-patch+json >/dev/null
    expect "spec" "$(framework f '.spec.description')" x
    # Unknown fields of a Pod are kept, by the CRD and on the way to the server.
    create 'fw("odd"; [role("a"; 1; {}) | .task.pod.spec.unknownField = {x: [1]} | .task.pod.odd = true | .task.unknownToTask = 1 |
        .unknownToRole = 1])'
    expect "unknown fields in a template" "$(framework odd '.spec.taskRoles[0].task.pod | "\(.spec.unknownField) \(.odd)"')" \
        '{"x":[1]} true'
    wait_running odd
}

# One Event per outcome, not per transition.
run_events() {
    create '(fw("f"; [role("a"; 2; {"run-seconds": 0, "exit-code": "3,0"}) | task_retry(false; 1) | policy(1; -1)])),
        (fw("g"; [role("a"; 1; {"run-seconds": 0, "attempt-exit-code": "4,5"}) | policy(1; -1)]) | .spec |= retry(false; 1))'
    wait_completed f
    wait_completed g
    wait_event f FrameworkCompleted "code 0"
    wait_event g FrameworkCompleted "code 5"
    wait_for 10 "all Events are there" has_events 11
    api GET "/api/v1/namespaces/$NS/events" |
        jq -r '.items[] | "\(.involvedObject.name) \(.involvedObject.kind) \(.type) \(.reason) \(.count)"' |
        LC_ALL=C sort >"$RUN/out/$scenario.found"
    expect_lines "Events" "$(<"$RUN/out/$scenario.found")" "f Framework Normal AttemptStarted 1
f Framework Normal FrameworkCompleted 1
f Framework Normal TaskRetried 1
f Framework Normal TaskRetried 1
g Framework Normal AttemptStarted 1
g Framework Normal AttemptStarted 1
g Framework Normal FrameworkRetried 1
g Framework Warning AttemptCompleted 1
g Framework Warning FrameworkCompleted 1
g Framework Warning TaskFailed 1
g Framework Warning TaskFailed 1"
    expect_match "what it says of a completion" \
        "$(api GET "/api/v1/namespaces/$NS/events" |
            jq -r '.items[] | select(.reason == "AttemptCompleted" and .involvedObject.name == "g").message')" \
        'Attempt 0 completed with code 4 \(ContainerUnrecognizedFailed\): Pod failed: PodPattern unmatched'\
': .*; FailedTaskCount 1 has reached MinFailedTaskCount 1'
    # The whole story of a failure, for who asks kubectl.
    expect_match "kubectl describe" "$(k describe framework g | sed -n '/^Events:/,$p' | tr -s ' ')" \
        'AttemptStarted .*Attempt 0 started.*TaskFailed .*Task a\[0\] failed with code 4 .*'\
'AttemptCompleted .*Attempt 0 completed with code 4 .*FrameworkRetried .*after code 4 .*'\
'AttemptStarted .*Attempt 1 started.*TaskFailed .*code 5 .*'\
'FrameworkCompleted .*code 5 \(ContainerUnrecognizedFailed\): Pod failed: .*FailedTaskCount 1 has reached'
}

has_events() { (($(get_jq "/api/v1/namespaces/$NS/events" '.items | length') >= $1)); } # number

# Conditions, in every state that users wait for.
run_conditions() {
    create '(fw("f"; [(role("a"; 1; {}) | policy(1; -1)), (role("b"; 1; {phase: "hold"}) | policy(1; -1))]) |
        .spec.executionType = "Create"),
        fw("good"; [role("a"; 1; ends(0; 0))]), fw("bad"; [role("a"; 1; ends(0; 1))])'
    wait_observed f
    CONDITIONS='[.status.conditions[] | "\(.type)=\(.status) \(.reason) \(.message)"] | join("; ")'
    expect "held" "$(framework f "$CONDITIONS")" \
        "Running=False AttemptCreationPending 0/2; Completed=False AttemptCreationPending ; Succeeded=Unknown AttemptCreationPending "
    patch_framework f '{"spec": {"executionType": "Start"}}'
    k wait --for=condition=Running --timeout=$((15 * PATIENCE))s framework/f >/dev/null
    wait_framework f 15 '.status.conditions[0].message == "1/2"'
    expect "running" "$(framework f "$CONDITIONS")" \
        "Running=True AttemptRunning 1/2; Completed=False AttemptRunning ; Succeeded=Unknown AttemptRunning "
    k wait --for=condition=Completed --timeout=$((15 * PATIENCE))s framework/good framework/bad >/dev/null
    expect "good" "$(framework good "$CONDITIONS")" "Running=False Completed 0/1; Completed=True Completed ; Succeeded=True Succeeded "
    expect "bad" "$(framework bad "$CONDITIONS")" "Running=False Completed 0/1; Completed=True Completed ; Succeeded=False Failed "
}
