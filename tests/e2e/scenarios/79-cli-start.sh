# kubectl framework: how it starts, whom it asks, and what it draws of a history. (fw is in 78-cli.sh.)

run_cli_start() {
    ((SLOWER == 1)) || not_here "programs built or run otherwise take longer"
    starts_quickly "--help" "$BUILD/kubectl-framework" --help
    starts_quickly "list of an empty namespace" "$BUILD/kubectl-framework" list --kubeconfig "$CLUSTER_DIR/kubeconfig" -n "$NS"
    starts_quickly "completion" "$BUILD/kubectl-framework" __complete lis
}

# A pipe that nobody reads ends a command quietly, as SIGPIPE ends other programs.
run_cli_no_reader() {
    local fifo=$RUN/out/$scenario.fifo status command
    create 'fw("f"; [role("a"; 1; {})])'
    mkfifo "$fifo"
    # (a shell that opens both ends waits for nobody)
    exec 7<>"$fifo" 8>"$fifo" 7>&-
    for command in list "list -w" "list -o json" "why f" "list --help"; do
        status=0
        # shellcheck disable=SC2086 # words of a command
        fw $command >&8 2>"$RUN/out/$scenario.err" || status=$?
        expect "$command" "$status" 141
        expect "what $command says of it" "$(<"$RUN/out/$scenario.err")" ""
    done
    exec 8>&-
}

# A kubeconfig with contexts of two clusters: each command asks the one that is named, in its namespace.
run_cli_contexts() {
    create 'fw("here"; [role("a"; 1; {})])'
    local first=$CLUSTER_DIR/kubeconfig both=$RUN/out/$scenario.kubeconfig first_ns=$NS
    own_cluster
    [[ $CLUSTER == kubernetes ]] || kubectl create -f crd.yaml >/dev/null
    wait_for 20 "Frameworks are served" k get frameworks
    create 'fw("there"; [role("a"; 1; {})])'
    jq -n --argjson first "$(kubectl --kubeconfig "$first" config view --raw --flatten -o json)" \
        --argjson second "$(kubectl --kubeconfig cluster/kubeconfig config view --raw --flatten -o json)" \
        --arg first_ns "$first_ns" --arg second_ns "$NS" '
        def named($config; $name; $ns): {clusters: [{name: $name, cluster: $config.clusters[0].cluster}],
            users: [($config.users // [])[0] // {name: "", user: {}} | .name = $name],
            contexts: [{name: $name, context: {cluster: $name, user: $name, namespace: $ns}}]};
        named($first; "one"; $first_ns) as $a | named($second; "two"; $second_ns) as $b |
        {apiVersion: "v1", kind: "Config", "current-context": "one", clusters: ($a.clusters + $b.clusters),
            users: ($a.users + $b.users), contexts: ($a.contexts + $b.contexts)}' >"$both"
    local plugin=("$BUILD/kubectl-framework")
    expect "the current context" "$("${plugin[@]}" list --kubeconfig "$both" -o name)" framework.frameworkcontroller.microsoft.com/here
    expect "--context two" "$("${plugin[@]}" list --kubeconfig "$both" --context two -o name)" \
        framework.frameworkcontroller.microsoft.com/there
    expect "by \$KUBECONFIG" "$(KUBECONFIG=$both "${plugin[@]}" list --context=two -o name)" \
        framework.frameworkcontroller.microsoft.com/there
    expect "completion" "$(KUBECONFIG=$both "${plugin[@]}" __complete tree --context two th)" "there
:4"
    local status=0
    "${plugin[@]}" list --kubeconfig "$both" --context three >/dev/null 2>"$RUN/out/$scenario.err" || status=$?
    expect "a context that is not there" "$status" 2
    expect_match "what is wrong" "$(<"$RUN/out/$scenario.err")" 'context "three": .*found no such context'
    status=0
    "${plugin[@]}" tree here --kubeconfig "$both" --context two >/dev/null 2>&1 || status=$?
    expect "a Framework of the other cluster" "$status" 3
}

# The picture of a Framework has its former attempts, from the lines that the controller wrote, also when it is over.
run_cli_history() {
    create 'fw("f"; [(role("a"; 1; {"run-seconds": "0.1,", "exit-code": "3,0"}) | task_retry(false; 1)), role("b"; 1; {})]) |
        .spec |= retry(false; 1)'
    wait_second_attempts 0
    delete pods/f-b-0
    wait_second_attempts 1
    fw stop f
    wait_completed f 40
    cat "$RUN"/watcher-*.log >"$RUN/out/$scenario.snapshots"
    fw timeline f -o svg --snapshots "$RUN/out/$scenario.snapshots" >"$RUN/out/$scenario.svg"
    fw timeline f -o svg >"$RUN/out/$scenario.bare"
    # Titles of its Tasks' lines: without the log, former attempts are one.
    expect "the picture without the log" "$(titles_of a <"$RUN/out/$scenario.bare" | grep -v before)" \
        "attempt 1 of the Framework's attempt 1, code -220"
    expect "the picture" "$(titles_of a <"$RUN/out/$scenario.svg")" "attempt 0, code 3
attempt 1, code -220
attempt 0 of the Framework's attempt 1, code 3
attempt 1 of the Framework's attempt 1, code -220"
    expect "the attempts of the Framework" "$(titles_of f <"$RUN/out/$scenario.svg")" "attempt 0, code -101
attempt 1, code -210"
    # An end is drawn for each attempt that failed.
    expect "failed attempts of the Framework" "$(sed -n '/^<g><title>f$/,/^<.g>/p' "$RUN/out/$scenario.svg" | grep -c 'class="bad"')" 2
    expect "failed attempts without the log" "$(sed -n '/^<g><title>f$/,/^<.g>/p' "$RUN/out/$scenario.bare" | grep -c 'class="bad"')" 1
    expect_match "the bars of the terminal" "$(LC_ALL=C fw timeline f --snapshots "$RUN/out/$scenario.snapshots")" \
        '^f +[.#]+x *[.#]+x +-210 StopFrameworkRequested'
}

wait_second_attempts() { # attempt of the Framework
    wait_framework f 40 ".status.attemptStatus.id == $1 and ([tasks | \"\(.attemptStatus.id) \(.state)\"] |
        sort == [\"0 AttemptRunning\", \"1 AttemptRunning\"])"
}

# The attempts of a line of a picture, without their times.
titles_of() { # name
    sed -n "/^<g><title>$1\(\[.*\]\)\{0,1\}$/,/<.title>/p" |
        sed -nE 's/^(.*attempt [0-9]+): [^,<]*([^<]*)(<.title>)?$/\1\2/p'
}
