# Gangs that wait at fc-barrier. The statuses are written by the bench, so that what is measured is the barrier. Sourced
# by run.sh.

# Every Pod waits: so many at one Framework.
row_barrier_one() {
    setting 1 1000
    barrier_row
}

row_barrier_many() {
    setting 1000 5
    barrier_row
}

# The statuses come at the pace that reconcilers write them, so that the API server keeps up.
row_barrier_paced() {
    setting 1000 5 400
    barrier_row --rate "$qps"
}

barrier_row() { # [options of fc-bench...]
    local at options=() counted
    bench_cluster
    bench echo --prefix echo "$@" >echo.json # what the API server takes, before anybody else is there
    count_allocations counted
    launch watcher "${counted[@]}" "$BUILD/fc-watcher" --config config.yaml --kubeconfig cluster/kubeconfig --workers 0 \
        --bus "ipc://$RUN/bus" --http 127.0.0.1:0
    wait_for 60 "the watcher is ready" is_ready watcher
    # The embedded API server asks nobody for a token, so there are none to be reviewed.
    if [[ $CLUSTER == embedded ]]; then options+=(--insecure-no-auth); else BENCH_TOKEN=$(<cluster/tokens/admin); fi
    export BENCH_TOKEN
    launch barrier "${counted[@]}" "$BUILD/fc-barrier" --config config.yaml --kubeconfig cluster/kubeconfig --bus "ipc://$RUN/bus" \
        --listen 127.0.0.1:0 "${options[@]}"
    wait_for 30 "fc-barrier is ready" is_ready barrier
    at=$(http_of barrier)
    measure barrier_beside_echo --waiters "$tasks" --address "${at#http://}" "$@"
}

barrier_beside_echo() {
    bench barrier "$@" | jq -c --slurpfile echo echo.json '. + $echo[0]'
}

