# Cold start and failover with many Frameworks that run. Sourced by run.sh.

# A watcher and one reconciler that find everything running. To make all that takes a real API server minutes: it has
# fewer, unless told otherwise.
row_cold() {
    if [[ $CLUSTER == embedded ]]; then setting 10000 5; else setting 1000 5; fi
    workers=${ask_workers:-1}
    bench_cluster
    fill
    measure_start
}

# Puts Frameworks that run, with their ConfigMaps and Pods, as the controller would have left them: on the embedded
# cluster copies of one that ran. A real one has to run them all.
fill() {
    local all=$frameworks
    start_kubelet
    if [[ $CLUSTER == embedded ]]; then frameworks=1; fi
    start_controller
    bench load --until running --prefix "$(fill_prefix)" >prepared.json
    if [[ $CLUSTER == embedded ]]; then
        templates >templates.json
        frameworks=$all
    fi
    end_processes . 20 watcher reconciler-{0..31} kubelet
    [[ $CLUSTER == embedded ]] || return 0
    fill_prefix >name
    perl "$here/lib/multiply.pl" "$(<name)0" "$frameworks" <templates.json >objects.json
    api POST /fc-testapi/objects "{\"file\": \"$PWD/objects.json\"}" >filled.json
    rm objects.json
}

# What comes before the number in their names, so that all have as many digits.
fill_prefix() {
    if [[ $CLUSTER == embedded ]]; then echo m00000; else echo m; fi
}

# The objects of the only Framework, one on each line.
templates() {
    local path
    for path in apis/frameworkcontroller.microsoft.com/v1/namespaces/bench/frameworks api/v1/namespaces/bench/configmaps \
        api/v1/namespaces/bench/pods; do
        api GET "/$path" | jq -c '.apiVersion as $version | (.kind | rtrimstr("List")) as $kind |
            .items[] | {apiVersion: $version, kind: $kind} + .'
    done
}

# The time until the watcher has synced, and until the reconciler holds all of it: not before the leases of those who held
# it before are over. Costs are counted until it is at rest.
measure_start() {
    local begun synced held reconciled
    begun=$(now_ms)
    launch_controller
    sampler_start
    : >metrics.before
    : >bytes.before
    wait_for 120 "the watcher is ready" is_ready watcher
    synced=$(($(now_ms) - begun))
    wait_for 120 "all shards are held" all_held
    held=$(($(now_ms) - begun))
    wait_for 120 "every Framework was reconciled" all_reconciled
    reconciled=$(($(now_ms) - begun))
    our_cpu >cpu
    wait_for 300 "memory is at rest" memory_at_rest
    jq -n --argjson synced "$synced" --argjson held "$held" --argjson reconciled "$reconciled" --argjson cpu "$(<cpu)" \
        '{wall_s: ($synced / 1000), held_s: ($held / 1000), reconciled_s: ($reconciled / 1000), reconciled_cpu_s: $cpu}' >measured.json
    bytes >bytes.after
    metrics >metrics.after
    sampler_end
    figures
}

# CPU time of our processes so far, in seconds.
our_cpu() {
    local name
    for name in $(ours); do cat "/proc/$(pid_of "$name")/stat"; done | sed 's/.*) //' |
        awk -v ticks="$(getconf CLK_TCK)" '{ sum += $12 + $13 } END { print sum / ticks }'
}

# Whether all has been folded that will be: for so many seconds, which are more than it takes to begin with that, our
# processes have taken no less memory than before.
memory_at_rest() {
    local name now
    now=$(for name in $(ours); do cat "/proc/$(pid_of "$name")/smaps_rollup"; done | awk '/^Rss/ { sum += $2 } END { print sum }')
    if [[ ! -e rest ]] || ((now < $(cut -d ' ' -f 1 rest))); then echo "$now $SECONDS" >rest; fi
    ((SECONDS - $(cut -d ' ' -f 2 rest) >= 30))
}

# As many rounds as Frameworks: at least one of each.
all_reconciled() {
    metrics | awk -v wanted="$frameworks" '$2 ~ /^frameworkcontroller_reconciles_total/ { sum += $3 } END { exit sum < wanted }'
}

# kill -9 of one of four reconcilers of a pool.
row_failover() {
    only_on embedded
    setting 10000 1
    BUILD=$BUILD "$here/failover.sh" "$frameworks" >>figures
}
