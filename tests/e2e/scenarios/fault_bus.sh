# The bus on tcp:// with keys, and who is kept out of it (common/README.md §4.10, §8.6, §11).

. "$here/lib/faults.sh"

refused() { metric "$WATCHER" "frameworkcontroller_bus_refused_total{reason=\"$1\"}"; } # reason
refused_at_least() { (($(refused "$1") >= $2)); }                                     # reason times

# Reconcilers and fc-barrier, each with a key: Frameworks run, the barrier knows them. A key that is taken off the list
# is of no use any more, at once; put back, it is.
run_bus_curve() {
    local barrier key
    apart_cluster one two <<<'memberLeaseSec: 600'
    launch_barrier barrier --bus "$BUS" --bus-keys keys/barrier --listen 127.0.0.1:0 --http 127.0.0.1:0 --insecure-no-auth
    barrier=$(http_address barrier)
    wait_for 15 "the barrier is ready" curl -sSf "$barrier/readyz"
    record_pods
    submit_many f 10 1 3
    expect_all_once 10 3
    wait_for 5 "the barrier knows the Frameworks" metric_is "$barrier" frameworkcontroller_barrier_frameworks 10
    expect "refused" "$(refused unknown_key) $(refused handshake) $(refused revoked_key)" "0 0 0"

    key=$(grep ' barrier ' keys/server/clients)
    sed -i '/ barrier /d' keys/server/clients
    wait_for 20 "messages are dropped" refused_at_least revoked_key 1
    wait_for 30 "the barrier is not ready" http_says "$barrier/readyz" "not synced"
    expect "shards of the others" "$(owned_by one) $(owned_by two)" "32 32"
    echo "$key" >>keys/server/clients
    wait_for 60 "the barrier is ready again" curl -sSf "$barrier/readyz"
    beyond_this_machine
}

# Nothing listens or speaks beyond this machine in the clear unless it is told so by name.
beyond_this_machine() {
    local status=0
    timeout $((10 * PATIENCE)) "$BUILD/fc-watcher" --config config.yaml --kubeconfig cluster/kubeconfig --workers 0 \
        --bus tcp://0.0.0.0:0 >"out/$scenario.said" 2>&1 || status=$?
    expect "exit status of a watcher in the clear" "$status" 2
    expect_match "what it said" "$(<"out/$scenario.said")" 'tcp://0.0.0.0:0.*--bus-keys DIRECTORY \(or --bus-insecure\)'
    status=0
    timeout $((10 * PATIENCE)) "$BUILD/fc-reconciler" --config config.yaml --kubeconfig cluster/kubeconfig --name x \
        --bus tcp://fc-watcher:8471 >"out/$scenario.said" 2>&1 || status=$?
    expect "exit status of a reconciler in the clear" "$status" 2
    expect_match "what it said" "$(<"out/$scenario.said")" 'other machines can reach the bus tcp://fc-watcher:8471'
    status=0
    timeout $((10 * PATIENCE)) "$BUILD/fc-barrier" --config config.yaml --kubeconfig cluster/kubeconfig --name x --bus "$BUS" \
        --bus-keys keys/none >"out/$scenario.said" 2>&1 || status=$?
    expect "exit status of a barrier without its keys" "$status" 2
    expect_match "what it said" "$(<"out/$scenario.said")" 'keys/none/server.public: No such file'
    status=0
    timeout $((10 * PATIENCE)) "$BUILD/fc-barrier" --config config.yaml --kubeconfig cluster/kubeconfig --name x --bus "$BUS" \
        --bus-keys keys/barrier --listen 0.0.0.0:0 >"out/$scenario.said" 2>&1 || status=$?
    expect "exit status of a barrier in the clear" "$status" 2
    expect_match "what it said" "$(<"out/$scenario.said")" '--listen 0.0.0.0:0: other machines can reach this address: .*--insecure-no-tls'
}

# Peers with a key of their own, with none, with the key of another watcher, and whatever else connects: refused,
# counted, said once a minute, and everything goes on.
run_fault_hostile_peer() {
    local i fd port begun
    apart_cluster one two <<<'memberLeaseSec: 600'
    begun=$(now_ms)
    "$BUILD/fc-watcher" keygen other >/dev/null
    cp -r other/reconciler stranger
    cp keys/reconciler/server.public stranger/server.public
    start_reconciler stranger --bus-keys stranger
    start_reconciler elsewhere --bus-keys other/reconciler
    launch_reconciler plain --name plain --bus "$BUS"
    wait_for 20 "one without a known key is refused" refused_at_least unknown_key 2
    wait_for 20 "and so are those without any, or for another watcher" refused_at_least handshake 2
    port=${BUS##*:}
    for ((i = 0; i < 200; i++)); do
        exec {fd}<>"/dev/tcp/127.0.0.1/$port"
        head -c $((i * 7)) /dev/urandom >&"$fd" 2>/dev/null || true
        exec {fd}>&-
    done
    record_pods
    submit_many f 10 1 3
    expect_all_once 10 3
    expect "shards" "$(owned_by one) $(owned_by two)" "32 32"
    expect "Frameworks that a stranger knows of" "$(metric "$(http_address stranger)" frameworkcontroller_bus_objects_total)" 0
    # (two kinds of them, each once a minute)
    (($(grep -c 'the bus refused' watcher-1.log) <= 4 + ($(now_ms) - begun) / 60000 * 2)) || fail "refused peers fill the log"
    expect_match "what the stranger says" "$(<stranger.log)" 'our key is not among its clients'
}
