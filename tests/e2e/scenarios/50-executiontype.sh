# Create, Start and Stop, in every state of the attempt (CONTRACT.md §2, §5).

execution() { patch_framework "$1" "{\"spec\": {\"executionType\": \"$2\"}}"; } # framework type

# Create holds the Framework back, Start lets it run, Stop ends it for good; the object stays.
run_create_start_stop() {
    create 'fw("f"; [role("a"; 2; {})]) | .spec.executionType = "Create" | .spec |= retry(true; -2)'
    wait_observed f
    expect "held: state" "$(framework f .status.state)" AttemptCreationPending
    # One more look changes nothing.
    patch_framework f '{"spec": {"description": "still waiting"}}'
    wait_observed f
    expect "held: state" "$(framework f .status.state)" AttemptCreationPending
    expect "held: Tasks" "$(framework f '[tasks | .state] | join(",")')" "AttemptCreationPending,AttemptCreationPending"
    is_absent "/api/v1/namespaces/$NS/configmaps/f-attempt" || fail "a ConfigMap was created under executionType Create"
    execution f Start
    wait_running f
    execution f Stop
    wait_completed f
    framework f '.status |
        "\(.attemptStatus.completionStatus | "\(.code) \(.phrase) \(.type.name) \(.type.attributes) \(.diagnostics) \(.trigger)")",
        "\(.attemptStatus.id) \(.retryPolicyStatus.totalRetriedCount)"' >"$RUN/out/$scenario.found"
    framework f 'tasks | .attemptStatus.completionStatus | "\(.code) \(.phrase) \(.diagnostics)"' >>"$RUN/out/$scenario.found"
    expect_lines "after Stop" "$(<"$RUN/out/$scenario.found")" \
'-210 StopFrameworkRequested Failed ["Permanent"] User has requested to stop the Framework null
0 0
-220 FrameworkAttemptCompletion Stop to complete current FrameworkAttempt
-220 FrameworkAttemptCompletion Stop to complete current FrameworkAttempt'
    wait_for 10 "nothing of the attempt is left" none_left configmaps,pods
    # Over is over.
    execution f Start
    wait_observed f
    expect "Start after Completed: state" "$(framework f .status.state)" Completed
}

# Stop before there is a ConfigMap: none is ever made.
run_stop_pending() {
    record configmaps
    create 'fw("f"; [role("a"; 2; {})]) | .spec.executionType = "Create"'
    wait_observed f
    execution f Stop
    wait_completed f
    expect "f" "$(framework f '.status.attemptStatus | "\(.completionStatus.code) \(.configMapUID) \(.instanceUID) \(.runTime)"')" \
        "-210 null null null"
    expect "f: Tasks" "$(framework f \
            '[tasks | "\(.state) \(.attemptStatus.completionStatus.code) \(.attemptStatus.podUID)"] | unique | join(",")')" \
        "Completed -220 null"
    create 'fw("born"; [role("a"; 1; {})]) | .spec.executionType = "Stop"'
    wait_completed born
    expect "born stopped" "$(framework born .status.attemptStatus.completionStatus.code)" -210
    end_records
    # (1.20's own kube-root-ca.crt is none of ours)
    expect "ConfigMaps made" "$(jq -r '.object.metadata.name | select(endswith("-attempt"))' "$RUN/out/$scenario.configmaps")" ""
}

# Stop while the Pods are still Pending, unscheduled or not.
run_stop_preparing() {
    create 'fw("f"; [role("a"; 1; {phase: "hold"}), role("b"; 1; {phase: "pending"})])'
    wait_framework f 15 '[tasks.state] | all(. == "AttemptPreparing")'
    expect "state" "$(framework f .status.state)" AttemptPreparing
    expect "what is known of Pods without and with a node" \
        "$(framework f '[tasks.attemptStatus | "\(.podNodeName != "") \(.podIP != "")"] | join(", ")')" "false false, true false"
    execution f Stop
    wait_completed f
    expect "f" "$(framework f '.status | "\(.attemptStatus.completionStatus.code) \(.runTime) \(.attemptStatus.runTime)"')" "-210 null null"
    wait_for 10 "nothing of the attempt is left" none_left configmaps,pods
}

# An attempt that is already completing keeps its completionStatus, and CONTRACT.md §9 decides: the code may be 0, and a retry takes
# place, which ends at once. The Pods that hold things up are freed by the timeout, which follows the spec even then.
run_stop_completing() {
    create '[["succeeded", 0, 0], ["failed", 7, 0], ["retried", 7, 1]][] as [$name, $code, $max] |
        fw($name; [role("a"; 1; ends(0; $code)) | policy(1; 1), role("b"; 1; {"ignore-termination": true})]) |
        .spec |= retry(false; $max)'
    local name
    record configmaps
    for name in succeeded failed retried; do
        wait_framework $name 15 '.status.state | test("^Attempt(DeletionRequested|Deleting)$")'
        execution $name Stop
        wait_observed $name
        expect "$name: state" "$(framework $name '.status.state | sub("DeletionRequested"; "Deleting")')" AttemptDeleting
        patch_timeouts $name 0
    done
    wait_all_completed
    end_records
    expect_frameworks "what became of the stopped" \
        '.status | .retryPolicyStatus as $retries | .attemptStatus | "\(.completionStatus.code) \(.id)" +
            " \($retries | "\(.totalRetriedCount) \(.accountableRetriedCount)") \(.configMapUID != null)"' <<EOT
succeeded 0 0 0 0 true
failed 7 0 0 0 true
retried -210 1 1 1 false
EOT
    expect "ConfigMaps of the retry" "$(jq -r 'select(.type == "ADDED" and .object.metadata.annotations.FC_FRAMEWORK_ATTEMPT_ID != "0") |
        .object.metadata.name | select(endswith("-attempt"))' "$RUN/out/$scenario.configmaps")" ""
}

# Sets podGracefulDeletionTimeoutSec of all roles.
patch_timeouts() { # framework seconds
    local roles
    roles=$(framework "$1" "[.spec.taskRoles[] | .task.podGracefulDeletionTimeoutSec = $2]" | jq -c .)
    patch_framework "$1" "{\"spec\": {\"taskRoles\": $roles}}"
}

# Moves that make little sense are read as levels: Create lets the present attempt go on and holds the next one.
run_start_to_create() {
    create 'fw("f"; [role("a"; 1; {})]) | .spec |= retry(false; 1)'
    wait_running f
    local uid
    uid=$(pod f-a-0 .metadata.uid)
    execution f Create
    wait_observed f
    expect "the Pod under Create" "$(pod f-a-0 .metadata.uid)" "$uid"
    delete configmaps/f-attempt
    wait_framework f 15 '.status.state == "AttemptCreationPending" and .status.attemptStatus.id == 1'
    wait_observed f
    expect "the next attempt" "$(framework f .status.state)" AttemptCreationPending
    execution f Start
    wait_running f
    expect "attempt" "$(framework f .status.attemptStatus.id)" 1
}
