# Mistakes of those who run the controller: one message each, which says what to mend, and an exit status. The watchers
# started here never get to work: there is no second one beside the cluster's own.

# Lines of severity E that the watcher has said.
complaints() { grep -c '^E' "$1"; }

# Runs fc-watcher to its end; what it says is in $said.
ends_with() { # exit-status pattern flag...
    local status=0 expected=$1 pattern=$2 log=$RUN/out/$scenario.stderr
    shift 2
    timeout $((10 * PATIENCE)) "$BUILD/fc-watcher" "$@" >"$log" 2>&1 || status=$?
    said=$(<"$log")
    expect "exit status of fc-watcher $*" "$status" "$expected"
    expect_match "fc-watcher $*" "$said" "$pattern"
    expect "messages of fc-watcher $*" "$(complaints "$log")" 1
}

config_says() { # text pattern
    echo "$1" >"$RUN/out/$scenario.yaml"
    ends_with 2 "$scenario.yaml:$2" --config "out/$scenario.yaml" --kubeconfig cluster/kubeconfig
}

run_config_mistakes() {
    config_says $'kubeClientBurst: 5\nkubeClientQps: fast' '2:16: kubeClientQps: found the string "fast", expected a number'
    config_says 'kubeClientQps: 20000' '1:16: kubeClientQps: found the integer 20000, expected a number'
    config_says 'logObjectSnapshot: {pod: {onPodDeletion: 1}}' '1:42: logObjectSnapshot.pod.onPodDeletion: found the integer 1'
    config_says $'podFailureSpec:\n- code: 205\n  podPatterns: [{reasonRegex: x}]' '2:9: .*code.*205'
    config_says $'podFailureSpec:\n- code: 17\n  podPatterns:\n  - reasonRegex: "(("' \
        '4:18: podFailureSpec\[0\] \(code 17\).*regular expression'
    config_says 'a: [' '2:1: '
    ends_with 2 "none.yaml: No such file" --config none.yaml --kubeconfig cluster/kubeconfig

    # A key that nobody knows is no reason to stay away, unless that is asked for; it is named once.
    echo 'kubeClientQsp: 10' >"$RUN/out/$scenario.yaml"
    ends_with 2 "1:1: kubeClientQsp: unknown key" --config "out/$scenario.yaml" --strict-config --kubeconfig cluster/kubeconfig
    ends_with 2 "kubeconfig: open none" --config "out/$scenario.yaml" --kubeconfig none
    expect "warnings of an unknown key" "$(grep -c '1:1: kubeClientQsp: unknown key, ignored' <<<"$said")" 1
}

run_wrong_kubeconfig() {
    local file=$RUN/out/$scenario.kubeconfig
    ends_with 2 "kubeconfig: open none: No such file" --config config.yaml --kubeconfig none
    echo 'kubeConfigFilePath: /nonexist' >"$RUN/out/$scenario.yaml"
    ends_with 2 "kubeConfigFilePath: kubeconfig: open /nonexist: No such file" --config "out/$scenario.yaml"
    echo 'clusters: [' >"$file"
    # A typo in $KUBECONFIG: the documented fallback may be another cluster.
    mkdir -p "$RUN/out/$scenario.home/.kube"
    cp "$file" "$RUN/out/$scenario.home/.kube/config"
    HOME=$RUN/out/$scenario.home KUBECONFIG=/nonexistent/typo ends_with 2 "kubeconfig: .*/.kube/config:2:1: " --config config.yaml
    expect "warnings about \$KUBECONFIG" \
        "$(grep -c "^W.*KUBECONFIG is /nonexistent/typo, which does not exist; using .*/.kube/config instead" <<<"$said")" 1
    HOME=$RUN/out/$scenario.home KUBECONFIG=/nonexistent/typo ends_with 2 none --config config.yaml --kubeconfig none
    expect "warnings about \$KUBECONFIG, which is not read" "$(grep -c '^W' <<<"$said")" 0
    ends_with 2 "kubeconfig: .*$scenario.kubeconfig:2:1: " --config config.yaml --kubeconfig "$file"
    edit_kubeconfig '."current-context" = "elsewhere"' >"$file"
    ends_with 2 'current-context: found "elsewhere", expected' --config config.yaml --kubeconfig "$file"
    edit_kubeconfig '.contexts[0].context.cluster = "elsewhere"' >"$file"
    ends_with 2 'cluster: found "elsewhere", expected' --config config.yaml --kubeconfig "$file"
    ends_with 2 'context "none": .*: found no such context' --config config.yaml --kubeconfig cluster/kubeconfig --context none
    ends_with 2 'found the API server http.*, expected http://other:1 \(--expect-server\)' --config config.yaml \
        --kubeconfig cluster/kubeconfig --expect-server http://other:1
    # (what fc-watcher hands on to its children, if it uses none)
    HOME=$RUN/out/$scenario.home ends_with 2 'found no API server' --config config.yaml --kubeconfig "" --address ""
    ends_with 2 'API server address: found "ftp://x"' --config config.yaml --address ftp://x --kubeconfig cluster/kubeconfig
}

# The exit status tells an unusable start from trouble on the way, in each program; and nothing listens before.
run_wrong_flags() {
    local program wrong status=0
    for wrong in "--http 127.0.0.1:99999" "--http 0.0.0.0:0" "--bus bogus --workers 0" "--bus bogus" "--reconciler /nonexist" \
        "--workers-http 127.0.0.1:99999"; do
        # shellcheck disable=SC2086 # words
        ends_with 2 "${wrong%% *}|bogus|/nonexist" --config config.yaml --kubeconfig cluster/kubeconfig $wrong
        [[ $wrong != "--reconciler"* ]] || expect_match "the flag" "$said" '\] .*--reconciler /nonexist: cannot execute it'
        [[ $wrong == *bogus ]] || expect "what listens with $wrong" "$(grep -c 'the bus listens' <<<"$said")" 0
    done
    "$BUILD/fc-watcher" keygen "$RUN/out/$scenario.keys" >/dev/null
    said=$("$BUILD/fc-watcher" keygen "$RUN/out/$scenario.keys" 2>&1) || status=$?
    expect "exit status of a second keygen" "$status" 2
    expect_match "a second keygen" "$said" "found .*keys/reconciler/client.secret, expected a peer without keys: choose another NAME"
    for program in fc-reconciler fc-barrier fc-jobs; do
        for wrong in "--http 127.0.0.1:99999" "--http 0.0.0.0:0" "--bus bogus" "--address ftp://x" "--kubeconfig /nonexist" \
            "--tls-cert x"; do
            if [[ $program == fc-jobs && $wrong == --bus* || $program != fc-barrier && $wrong == --tls* ]]; then continue; fi
            # shellcheck disable=SC2086 # words
            said=$(timeout $((10 * PATIENCE)) "$BUILD/$program" --config config.yaml --kubeconfig cluster/kubeconfig \
                --bus "ipc://$RUN/out/$scenario.bus" $wrong 2>&1) && fail "$program $wrong: exits with 0" || status=$?
            expect "exit status of $program $wrong" "$status" 2
        done
    done
}

edit_kubeconfig() { # jq-expression
    kubectl config view --raw -o json | jq "$1"
}

run_busy_port() {
    local port
    port=$(kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}' | sed 's/.*://')
    ends_with 1 "tcp://127.0.0.1:$port: Address already in use" \
        --config config.yaml --kubeconfig cluster/kubeconfig --workers 0 --bus "tcp://127.0.0.1:$port"
}

# Runs fc-watcher until it complains, and then long enough for more attempts of its own: it must not repeat itself.
keeps_trying() { # pattern flag...
    local pattern=$1 log=$RUN/$scenario.log pid status=0 begun
    shift
    "$BUILD/fc-watcher" --config config.yaml "$@" >"$log" 2>&1 &
    pid=$!
    wait_for 5 "a complaint of fc-watcher $*" complaints "$log"
    begun=$(now_ms)
    wait_for 5 "three seconds are over" three_seconds_since "$begun"
    expect_match "fc-watcher $*" "$(<"$log")" "$pattern"
    expect "messages of fc-watcher $*" "$(complaints "$log")" 1
    kill "$pid"
    wait "$pid" || status=$?
    expect "exit status after SIGTERM" "$status" 0
}

three_seconds_since() { (($(now_ms) - $1 > 3000)); }

# Writes the kubeconfig of somebody with this token. The embedded cluster's own server lets everyone in, since kubectl
# sends no token over plain HTTP: there it is for a second one.
kubeconfig_with_token() { # token
    local kubeconfig=cluster/kubeconfig
    if [[ $CLUSTER == embedded ]]; then
        kubeconfig=out/$scenario.guarded
        echo 'alice-token,alice,alice,"testers"' >"out/$scenario.csv"
        launch "$scenario-server" "$BUILD/fc-testapi" --token-auth-file "out/$scenario.csv" --kubeconfig "$kubeconfig"
        wait_for 5 "a server" test -s "$kubeconfig"
    fi
    kubectl --kubeconfig="$kubeconfig" config view --raw -o json | jq ".users[0].user = {token: \"$1\"}" \
        >"out/$scenario.kubeconfig"
}

run_unauthorised() {
    kubeconfig_with_token nobody
    keeps_trying 'frameworks.frameworkcontroller.microsoft.com.*401 Unauthorized' --kubeconfig "out/$scenario.kubeconfig"
}

# Known to the server, but without rights.
run_forbidden() {
    local token=alice-token
    if [[ $CLUSTER == kubernetes ]]; then token=$(<cluster/tokens/alice); fi
    kubeconfig_with_token "$token"
    keeps_trying '403 Forbidden.*alice.*cannot get resource' --kubeconfig "out/$scenario.kubeconfig"
}

run_untrusted() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded server speaks plain HTTP"
    edit_kubeconfig '.clusters[0].cluster |= del(."certificate-authority-data")' >"$RUN/out/$scenario.kubeconfig"
    keeps_trying 'SSL certificate problem' --kubeconfig "out/$scenario.kubeconfig"
}

# An API server that is not there yet, or for a while: one message, and the work goes on when it is back. (One of its
# own, as the cluster's is in use.)
run_unreachable() {
    local port pid log=$RUN/$scenario.log
    launch "$scenario-server" "$BUILD/fc-testapi" --port-file "$RUN/out/$scenario.port"
    wait_for 5 "a server" test -s "$RUN/out/$scenario.port"
    port=$(<"$RUN/out/$scenario.port")
    end_processes "$RUN" 2 "$scenario-server"

    "$BUILD/fc-watcher" --config config.yaml --address "http://127.0.0.1:$port" --kubeconfig "" --workers 4 >"$log" 2>&1 &
    pid=$!
    wait_for 5 "a complaint" grep -q "^E.*127.0.0.1:$port/.*Connection refused" "$log"
    launch "$scenario-server2" "$BUILD/fc-testapi" --port "$port"
    wait_for 10 "the reconcilers are at work" reconcilers_complete "$log"
    expect "messages while it was not there" "$(complaints "$log")" 1
    kill "$pid"
    wait "$pid"
    end_processes "$RUN" 2 "$scenario-server2"
}

# What the log says of it at the default level, found as manifests/README.md has it: severity and words.
life_in_log() { # framework
    local command
    command=$(inline_commands manifests/README.md '^kubectl logs … ')
    command=${command/kubectl logs …/cat "$RUN/watcher-*.log"}
    bash -c "${command/NAMESPACE\/NAME/$NS/$1}" | sed -E 's,^(.)[^[]*\[[^]]*\]: ,\1 ,'
}

life_is_told() { life_in_log "$1" | grep FrameworkCompleted; } # framework

# One Framework's life, with a retry, can be read: few lines, which say what happened, in its order.
run_log_lines() {
    create '(fw("life"; [role("a"; 1; {"run-seconds": 1, "attempt-exit-code": "2,0"}), role("b"; 2; {"run-seconds": 1.5})]) |
        .spec |= retry(false; 1))'
    wait_completed life
    wait_for 10 "the log tells of its end" life_is_told life
    life_in_log life
    expect_lines "what the log tells" "$(life_in_log life | sed -E 's/(started|code [0-9]+).*/\1/')" \
        "I AttemptStarted: Attempt 0 started
W TaskFailed: Task a[0] failed with code 2
W AttemptCompleted: Attempt 0 completed with code 2
I FrameworkRetried: Framework is retried after code 2
I AttemptStarted: Attempt 1 started
I FrameworkCompleted: Framework completed with code 0"
    expect_match "why the Task failed" "$(life_in_log life | grep TaskFailed)" 'Pod failed: .*"code":2'
}
