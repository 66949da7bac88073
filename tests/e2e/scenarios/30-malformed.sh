# Objects that are wrong hurt nobody but themselves.

# What the CRD's schema knows to be wrong never gets in.
run_refused() {
    not_accepted "duplicate TaskRoles" 'Duplicate value' '.spec.taskRoles += .spec.taskRoles'
    not_accepted "an unknown executionType" 'executionType.*(Unsupported|supported) value' '.spec.executionType = "Later"'
    not_accepted "too many Tasks" 'taskNumber.*10000' '.spec.taskRoles[0].taskNumber = 10001'
    not_accepted "a retry count out of range" 'maxRetryCount.*-2' '.spec.retryPolicy.maxRetryCount = -3'
    not_accepted "a TaskRole's name" 'name.*\[a-z0-9\]\{1,63\}' '.spec.taskRoles[0].name = "a-b"'
    not_accepted "its own name" 'metadata.name.*\[a-z0-9\]\{1,63\}' '.metadata.name = "a-b"'
    not_accepted "a name that is too long" 'metadata.name' '.metadata.name = "a" * 64'
    not_accepted "a negative number of Tasks" 'taskNumber.*0' '.spec.taskRoles[0].taskNumber = -1'
    not_accepted "a threshold below -1" 'minFailedTaskCount.*-1' \
        '.spec.taskRoles[0].frameworkAttemptCompletionPolicy = {minFailedTaskCount: -2}'
    not_accepted "a number beyond 32 bits" 'maxRetryCount.*2147483647' '.spec.retryPolicy.maxRetryCount = 2147483648'
    not_accepted "a string for a number" 'taskNumber.*(integer|string)' '.spec.taskRoles[0].taskNumber = "2"'
    not_accepted "a nameless TaskRole" 'name.*Required value' '.spec.taskRoles[0] |= del(.name)'
    none_left frameworks || fail "a Framework is stored"
}

not_accepted() { # what pattern jq-expression
    local said
    if said=$(api POST "$(frameworks_path)" "$(jq -cn "$JQ_WORDS fw(\"f\"; [role(\"a\"; 1; {})]) | $3")"); then
        fail "$1 was accepted"
    fi
    expect_match "$1" "$(jq -r .message <<<"$said")" "$2"
}

# A template with a string for a bool passes the CRD; the API server refuses its Pods with 400 (CONTRACT.md §8, §19).
# The original's informer would choke on it for everyone.
run_malformed() {
    local diagnostics
    k create --dry-run=client -o json -f "$FRAMEWORKS/succeed.yaml" |
        jq '.metadata.name = "bad" | .spec.taskRoles[0].task.pod.spec.hostNetwork = "yes"' | k create -f -
    # Hard to parse, but not wrong: a number beyond 64 bits and a NUL.
    k create --dry-run=client -o json -f "$FRAMEWORKS/succeed.yaml" |
        jq '.metadata.name = "odd" | .spec.taskRoles[0].task.pod.odd = [36893488147419103232, "a\u0000b"]' | k create -f -
    submit succeed
    wait_completed bad
    expect "bad: code" "$(framework bad .status.attemptStatus.completionStatus.code)" -310
    expect "bad: phrase" "$(framework bad .status.attemptStatus.completionStatus.phrase)" PodCreationUnknownError
    diagnostics=$(framework bad .status.attemptStatus.completionStatus.diagnostics)
    expect_match "bad: diagnostics" "$diagnostics" '^Failed to create Pod: \{"ErrStatus":\{.*"code":400'
    wait_completed odd
    wait_completed f
    expect "f: code" "$(framework f .status.attemptStatus.completionStatus.code)" 0
    expect "odd: code" "$(framework odd .status.attemptStatus.completionStatus.code)" 0
    wait_for 5 "nothing of the attempts is left" none_left configmaps,pods
}

# A same-named ConfigMap that is not ours is not touched; the conflict is reported, and over when it goes.
run_name_taken() {
    k create configmap f-attempt --from-literal=mine=1
    submit succeed
    wait_for 10 "an Event tells of the conflict" conflict_reported
    expect "the other's ConfigMap" "$(k get configmap f-attempt -o jsonpath='{.data.mine}')" 1
    k delete configmap f-attempt
    wait_completed f 60
    expect "code" "$(framework f .status.attemptStatus.completionStatus.code)" 0
}

conflict_reported() {
    api GET "/api/v1/namespaces/$NS/events" |
        jq -e '.items[] | select(.involvedObject.name == "f" and (.message | test("f-attempt")) and .type == "Warning")'
}
