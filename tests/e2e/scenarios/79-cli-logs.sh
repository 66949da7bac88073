# kubectl framework logs, of processes that really print. (fw is in 78-cli.sh.)

# A TaskRole whose Tasks say who they are, and end with the code that the test writes into their FIFO.
log_role() { # name tasks retries
    local index attempt
    for ((index = 0; index < $2; index++)); do
        for ((attempt = 0; attempt <= $3; attempt++)); do mkfifo "$gates/$1-$index-$attempt"; done
    done
    # shellcheck disable=SC2016 # the container's variables
    jq -n --arg name "$1" --argjson tasks "$2" --argjson retries "$3" --arg gates "$gates" --arg run '
        echo "$FC_TASKROLE_NAME-$FC_TASK_INDEX says hello in attempt $FC_TASK_ATTEMPT_ID"
        read -r code <"$GATES/$FC_TASKROLE_NAME-$FC_TASK_INDEX-$FC_TASK_ATTEMPT_ID"
        echo "and ends with $code"
        exit "$code"' '{name: $name, taskNumber: $tasks, task: {retryPolicy: {maxRetryCount: $retries}, pod: {spec: {
            restartPolicy: "Never", containers: [{name: "main", image: "busybox", command: ["sh", "-c", $run],
            env: [{name: "GATES", value: $gates}]}]}}}}'
}

# All Tasks at once, each line with its Task before it; what a retry prints follows by itself.
run_cli_logs() {
    NS=$REAL_NAMESPACE
    gates=$RUN/out/$scenario.gates
    mkdir "$gates"
    create '(fw("clilogs"; [$a, $b])) | .spec.retryPolicy = {maxRetryCount: 0}' \
        --argjson a "$(log_role a 2 1)" --argjson b "$(log_role b 1 0)"
    wait_running clilogs 60
    # (no function: it would outlive a scenario that fails)
    "$BUILD/kubectl-framework" logs clilogs -f --kubeconfig "$CLUSTER_DIR/kubeconfig" -n "$NS" \
        >"$RUN/out/$scenario.followed" 2>"$RUN/out/$scenario.said" &
    local follower=$!
    wait_for 20 "all Tasks have said hello" followed_are 'a\[0\] a-0 says hello in attempt 0' 'a\[1\] a-1 says hello in attempt 0' \
        'b\[0\] b-0 says hello in attempt 0'
    echo 1 >"$gates/a-1-0"
    wait_for 40 "the retry has said hello" followed_are 'a\[1\] and ends with 1' 'a\[1\]#1 a-1 says hello in attempt 1'
    expect "logs of a TaskRole" "$(fw logs clilogs a | LC_ALL=C sort)" "a[0] a-0 says hello in attempt 0
a[1]#1 a-1 says hello in attempt 1"
    expect "logs of a Task" "$(fw logs clilogs 'a[1]' --no-prefix)" "a-1 says hello in attempt 1"
    expect_match "logs of two Tasks" "$(fw logs clilogs a-0 b-0 --timestamps | LC_ALL=C sort)" \
        '^a\[0\] 20..-..-..T..:..:..\.[0-9]+Z a-0 says hello in attempt 0'$'\n''b\[0\] 20..-..-..T.*Z b-0 says hello in attempt 0$'
    expect "none of its lines" "$(fw logs clilogs b --tail 0 2>&1)" ""
    expect "those of the last hour" "$(fw logs clilogs b --since 1h)" "b[0] b-0 says hello in attempt 0"
    expect "a Task that is not there" "$(fw_status logs clilogs 'a[2]')" 3
    expect "a TaskRole that is not there" "$(fw logs clilogs nope 2>&1)" \
        "kubectl framework: Framework clilogs has no TaskRole nope, expected one of: a, b"
    expect "kubectl logs" "$(k logs clilogs-b-0)" "b-0 says hello in attempt 0"
    expect_match "kubectl logs of a run that never was" "$(k logs -p clilogs-b-0 2>&1)" 'previous terminated container "main" .* not found'
    local task
    for task in a-0-0 a-1-1 b-0-0; do echo 0 >"$gates/$task"; done
    # It ends with the Framework.
    wait "$follower" || fail "logs -f ended with $?"
    wait_completed clilogs
    expect "all that was followed" "$(LC_ALL=C sort "$RUN/out/$scenario.followed")" "a[0] a-0 says hello in attempt 0
a[0] and ends with 0
a[1] a-1 says hello in attempt 0
a[1] and ends with 1
a[1]#1 a-1 says hello in attempt 1
a[1]#1 and ends with 0
b[0] and ends with 0
b[0] b-0 says hello in attempt 0"
    expect "what it says beside them" "$(<"$RUN/out/$scenario.said")" \
        "note: a[1]: the log of attempt 0 has ended, and that of attempt 1 begins"
    fw delete clilogs >/dev/null
}

followed_are() { # pattern...
    local pattern
    for pattern; do grep -qx -- "$pattern" "$RUN/out/$scenario.followed" || return; done
}
