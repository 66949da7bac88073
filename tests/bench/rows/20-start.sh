# Cold start and failover with many Frameworks that run. Sourced by run.sh.

# A watcher and one reconciler that find everything running. To make all that takes a real API server minutes: it has
# fewer, unless told otherwise.
row_cold() {
    if [[ $CLUSTER == embedded ]]; then setting 10000 5; else setting 1000 5; fi
    bench_cluster
    start_kubelet
    start_controller
    bench load --until running >prepared.json
    end_processes . 20 watcher reconciler-{0..31}
    workers=1
    measure_start
}

# The time until the watcher has synced, and until the reconciler holds all of it: not before the leases of those who held
# it before are over. Costs are counted until it is at rest.
measure_start() {
    local begun synced held
    begun=$(now_ms)
    launch_controller
    sampler_start
    : >metrics.before
    : >bytes.before
    wait_for 120 "the watcher is ready" is_ready watcher
    synced=$(($(now_ms) - begun))
    wait_for 120 "all shards are held" all_held
    held=$(($(now_ms) - begun))
    wait_for 120 "the reconcilers are at rest" at_rest
    jq -n --argjson synced "$synced" --argjson held "$held" '{wall_s: ($synced / 1000), held_s: ($held / 1000)}' >measured.json
    bytes >bytes.after
    metrics >metrics.after
    sampler_end
    figures
}

# No rounds for half a second.
at_rest() {
    local now
    now=$(metrics | grep reconciles_total)
    sleep 0.5
    [[ $(metrics | grep reconciles_total) == "$now" ]]
}

# kill -9 of one of four reconcilers of a pool.
row_failover() {
    only_on embedded
    setting 10000 1
    BUILD=$BUILD "$here/failover.sh" "$frameworks" >>figures
}
