# What must not get out, at the most talkative log level: tokens and keys. And signals in any order.

# Every place a process writes to, and what it says of itself, lacks these texts.
expect_lacks() { # what text
    local found
    found=$(grep -rlF -- "$2" "$RUN"/*.log "$RUN/said" || true)
    expect "files with $1 in them" "$found" ""
}

ask_for_itself() { # process
    local address path
    address=$(http_address "$1")
    for path in metrics healthz readyz debug/shards; do curl -sS "$address/$path" >"said/$1-${path//\//-}"; done
}

pid_of_process() { awk -v name="$1" '$1 == name { pid = $2 } END { print pid }' "$RUN/pids"; } # process
is_over() { ! kill -0 "$1" 2>/dev/null; }                                                      # pid

run_secrets() {
    local process pid key signal bus front
    own_cluster
    mkdir said
    "$BUILD/fc-watcher" keygen keys >/dev/null
    # (the embedded server takes any token; a real one knows those of the service accounts)
    for process in fc-watcher fc-reconciler fc-barrier; do
        kubectl --kubeconfig "$(kubeconfig_of $process)" config view --raw -o json |
            jq '.users[0].user.token //= "a-token-that-nobody-may-see"' >$process.kubeconfig
    done
    launch_watcher watcher-1 -v 5 --kubeconfig fc-watcher.kubeconfig --workers 0 --bus tcp://127.0.0.1:0 \
        --bus-keys keys/server --http 127.0.0.1:0
    wait_for 20 "the watcher has a bus" grep -q 'the bus listens on tcp' watcher-1.log
    bus=$(sed -nE 's/.*the bus listens on (tcp:.*)$/\1/p' watcher-1.log | head -n 1)
    launch_reconciler one -v 5 --name one --kubeconfig fc-reconciler.kubeconfig --bus "$bus" --bus-keys keys/reconciler --http 127.0.0.1:0
    launch_barrier barrier -v 5 --kubeconfig fc-barrier.kubeconfig --bus "$bus" --bus-keys keys/barrier --listen 127.0.0.1:0
    wait_for 30 "the reconciler is ready" curl -sSf "$(http_address one)/readyz"
    submit succeed
    wait_completed f
    wait_for 10 "the barrier listens" grep -q 'listening on 127' barrier.log
    front=$(sed -nE 's/.*listening on (127[^ ]*)$/\1/p' barrier.log)
    # a client's own token goes through fc-barrier
    curl -sS -H 'Authorization: Bearer a-client-token-of-its-own' \
        "http://$front/v1/namespaces/$NS/frameworks/f/barrier?timeoutSeconds=0" >said/barrier || true

    for process in watcher-1 one barrier; do
        pid=$(pid_of_process "$process")
        # (LeakSanitizer looks into its own process, which a process without dumps does not let it)
        sanitized || expect_match "limits of $process" "$(grep 'Max core file size' "/proc/$pid/limits")" 'size +0 +0'
        # None of these ends or stops a process; two of them read its credentials again.
        for signal in PIPE HUP CHLD CONT WINCH URG HUP PIPE; do kill "-$signal" "$pid"; done
    done
    submit_many g 1 0 2
    wait_completed g0 60
    for process in watcher-1 one; do ask_for_itself "$process"; done
    k get events -o json >said/events

    for process in fc-watcher fc-reconciler fc-barrier; do
        expect_lacks "the token of $process" "$(jq -r '.users[0].user.token' $process.kubeconfig)"
    done
    expect_lacks "a client's token" a-client-token-of-its-own
    for key in keys/*/*.secret; do expect_lacks "$key" "$(<"$key")"; done

    # Asked to end by several at once, each ends once.
    for process in barrier one watcher-1; do
        pid=$(pid_of_process "$process")
        for signal in HUP TERM INT TERM HUP; do kill "-$signal" "$pid" 2>/dev/null || true; done
        wait_for 15 "$process has ended" is_over "$pid"
    done
    expect "processes that broke" "$(grep -lE 'Sanitizer|Assertion|out of memory|core dumped' ./*.log || true)" ""
}
