# The examples of manifests/examples really run: their containers are processes here. What each comes to is said in the
# file itself, in a line `# expect: Completed CODE[, N retries]`,
# `# expect: Running` or `# expect: Suspended`.

# The Framework an example is about.
example_framework() { # file
    awk '/^---/ { kind = name = "" } /^kind:/ { kind = $2 } /^[^ ]/ { inside = /^metadata:/ } inside && /^  name:/ { name = $2 }
        kind == "Framework" && name != "" { print name; exit }' "$1"
}

check_example() { # file
    local file=$1 name expected code retries tasks
    expected=$(sed -n 's/^# expect: *//p' "$file")
    name=$(example_framework "$file")
    if [[ $expected == Running ]]; then
        wait_framework "$name" 20 '.status.state == "AttemptRunning" and
            ([.status.attemptStatus.taskRoleStatuses[].taskStatuses[].state] | all(. == "AttemptRunning"))'
        tasks=$(framework "$name" '[.spec.taskRoles[].taskNumber] | add')
        expect "$name: the column Tasks" "$(k get framework "$name" --no-headers | awk '{ print $3 }')" "$tasks/$tasks"
    elif [[ $expected == Suspended ]]; then
        wait_suspended "$name"
        no_pod_of "$name" || fail "$name: something is there although it is suspended"
    elif [[ $expected =~ ^Completed\ (-?[0-9]+)(,\ ([0-9]+)\ retr(y|ies))?$ ]]; then
        code=${BASH_REMATCH[1]} retries=${BASH_REMATCH[3]}
        wait_completed "$name" 40
        expect "$name: code" "$(framework "$name" .status.attemptStatus.completionStatus.code)" "$code"
        [[ -z $retries ]] || expect "$name: retries" "$(framework "$name" .status.retryPolicyStatus.totalRetriedCount)" "$retries"
        wait_for 10 "no Pod of $name is left" no_pod_of "$name"
    else
        fail "$file: found \"$expected\" behind \"# expect:\", expected what ../README.md says"
    fi
}

no_pod_of() { # framework
    local resource selector="labelSelector=FC_FRAMEWORK_NAME=$1&limit=1"
    for resource in pods configmaps; do
        [[ $(get_jq "/api/v1/namespaces/$NS/$resource?$selector" '.items | length') == 0 ]] || return 1
    done
}

# (what runs may not have said anything yet)
wait_log() { # pod container pattern
    wait_for 10 "$2 of $1 says: $3" grep -qE -e "$3" "$RUN/pods/${NS}_$1/$2.log"
}

run_examples() {
    NS=$REAL_NAMESPACE
    local file
    k create -f "$EXAMPLES"
    for file in "$EXAMPLES"/*.yaml; do check_example "$file"; done

    # Only the Task that failed was run again, and only by its own policy.
    expect "retries of batchfailedtransient's Tasks" \
        "$(framework batchfailedtransient '[.status.attemptStatus.taskRoleStatuses[0].taskStatuses[].retryPolicyStatus |
            "\(.totalRetriedCount) \(.accountableRetriedCount)"] | join(", ")')" "1 0, 0 0"
    expect "retries of statefulbatch's Tasks" \
        "$(framework statefulbatch '[.status.attemptStatus.taskRoleStatuses[0].taskStatuses[].retryPolicyStatus |
            "\(.totalRetriedCount) \(.accountableRetriedCount)"] | join(", ")')" "0 0, 1 0, 0 0"

    expect "retries of batchbackoff's Task" \
        "$(framework batchbackoff 'task.retryPolicyStatus | "\(.totalRetriedCount) \(.backoffCount)"')" "2 2"
    expect_match "what batchpending says" "$(framework batchpending .status.attemptStatus.completionStatus.diagnostics)" \
        'container main: InvalidImageName: .*BusyBox'
    k patch framework suspended --type=merge -p '{"spec": {"suspend": false}}'
    wait_completed suspended
    expect "suspended: code and retries" \
        "$(framework suspended '.status | "\(.attemptStatus.completionStatus.code) \(.retryPolicyStatus.totalRetriedCount)"')" "0 0"

    # A server that is deleted comes back under its name.
    wait_log statefulservice-server-1 main "I am server-1.statefulservice-server, life 0"
    k delete pod statefulservice-server-1 --wait=false
    wait_framework statefulservice 20 '.status.attemptStatus.taskRoleStatuses[0].taskStatuses |
        map("\(.state) \(.attemptStatus.id)") | join(",") == "AttemptRunning 0,AttemptRunning 1,AttemptRunning 0"'
    wait_log statefulservice-server-1 main "I am server-1.statefulservice-server, life 1"
    k patch framework statefulservice --type=merge -p '{"spec": {"executionType": "Stop"}}'
    wait_completed statefulservice
    expect "statefulservice: code" "$(framework statefulservice .status.attemptStatus.completionStatus.code)" -210
}
