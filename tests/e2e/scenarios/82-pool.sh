# The reconcilers of a pool start again later than their watcher, and all the same in the watcher's world: with its API server
# and its bus.

# A kubeconfig with the controller's context and another one, changed by a jq expression. ($mine: the controller's context)
two_contexts() { # jq-expression
    kubectl --kubeconfig "$(kubeconfig_of frameworkcontroller)" config view --raw --flatten -o json |
        jq '."current-context" as $mine |
            .contexts += [.contexts[] | select(.name == $mine) | .name = "other" | .context.cluster = "other"] |
            .clusters += [{name: "other", cluster: {server: "http://127.0.0.1:9"}}] | '"$1" >two.new
    mv two.new two
}

# A Framework with a Task that ends at once.
runs_one() { # name
    create 'fw($name; [role("a"; 1; ends(0; 0))])' --arg name "$1"
    wait_completed "$1" 60
}

# The kubeconfig changes while the watcher runs: a child that starts again uses the watcher's cluster, or says why it cannot.
run_pool_context() {
    own_cluster
    two_contexts .
    launch_watcher watcher-1 --kubeconfig two --workers 1 "${STEADY_ELECTION[@]}"
    wait_for 20 "the child has its shards" reconcilers_complete watcher-1.log 1
    two_contexts '."current-context" = "other"'
    kill_reconcilers
    wait_for 20 "the child starts again" started_times 2
    runs_one othercontext
    # somebody has made the cluster anew
    two_contexts '.clusters |= map(.cluster.server = "http://127.0.0.1:9")'
    kill_reconcilers
    wait_for 20 "it does not take the other server" \
        grep -q "found the API server http://127.0.0.1:9, expected $api_server (--expect-server)" watcher-1.log
    two_contexts 'del(.contexts[] | select(.name == $mine))'
    wait_for 20 "it misses the context" grep -q 'context "[^"]*": .*: found no such context' watcher-1.log
    two_contexts .
    runs_one before
}

started_times() { # number
    (($(grep -c 'started pool-0' watcher-1.log) == $1))
}

# Somebody removes the socket's directory. A child that starts again could not connect: the watcher ends, and gives its Lease
# back, so that the next one leads at once.
run_pool_socket() {
    local pid socket
    own_cluster
    launch_watcher watcher-1 --workers 2 "${STEADY_ELECTION[@]}"
    wait_for 20 "the children have their shards" reconcilers_complete watcher-1.log 2
    pid=$(watcher_pid)
    socket=$(sed -n 's,.*the bus listens on ipc://,,p' watcher-1.log)
    expect_match "the socket" "$socket" '^/.*/frameworkcontroller-[^/]+/bus$'
    rm "$socket"
    rmdir "${socket%/bus}"
    runs_one withoutsocket
    kill -KILL "$(reconcilers | head -n 1)"
    wait_for 20 "the watcher has ended" has_ended "$pid"
    expect_match "what it says" "$(grep '^E' watcher-1.log)" "the bus socket $socket is gone"
    expect "the holder of the Lease" "$(get_jq "$(election_lease)" -r '.spec.holderIdentity // ""')" ""
    start_watcher "${STEADY_ELECTION[@]}"
    runs_one next
}

# A child hangs. The other one gets its shards, and the watcher kills it and starts it again. (With the shortest leases the
# watcher waits for 30 s.)
run_pool_hangs() {
    local at hung
    [[ $CLUSTER == embedded ]] || not_here "the embedded cluster shows as much"
    own_cluster
    own_config <<<$'memberLeaseSec: 2\nmemberGraceSec: 0'
    launch_watcher watcher-1 --workers 2 --http 127.0.0.1:0 "${STEADY_ELECTION[@]}"
    wait_for 20 "the children have their shards" reconcilers_complete watcher-1.log 2
    at=$(http_address watcher-1)
    hung=$(sed -n 's/.*started pool-0, pid //p' watcher-1.log)
    kill -STOP "$hung"
    submit_many f 10 0 3
    wait_for 40 "the other child completes all Frameworks" completed_at_least 10
    expect "children that were killed" "$(grep -c 'hangs: ' watcher-1.log)" 0
    wait_for 60 "it is killed" grep -q "pool-0 (pid $hung) hangs: it has sent nothing for 3[0-9] s" watcher-1.log
    wait_for 20 "the restart is counted" metric_is "$at" frameworkcontroller_pool_restarts_total 1
    wait_for 20 "its successor has shards" successor_complete
    expect "children that were killed" "$(grep -c 'hangs: ' watcher-1.log)" 1
}

successor_complete() { sed '1,/hangs: /d' watcher-1.log | grep 'pool-0: .*shards are complete'; }
