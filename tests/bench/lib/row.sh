# A row: a cluster of its own, our processes on it, something measured. Sourced by run.sh.

# Sets frameworks, tasks, workers and qps: the row's own, unless the command line says otherwise.
setting() { # frameworks tasks [qps]
    frameworks=${ask_frameworks:-$1}
    tasks=${ask_tasks:-$2}
    qps=${ask_qps:-${3:-10000}}
    workers=${ask_workers:-4}
}

# This row is not for the present cluster.
only_on() { # cluster
    [[ $CLUSTER == "$1" ]] || exit "$NOT_HERE"
}

# Its figures come as lines of JSON.
run_row() { # name
    local status=0
    RUN=$BENCH/$CLUSTER-$1
    mkdir -p "$RUN/out"
    : >"$RUN/pids"
    bash "$here/run.sh" --row "$1" >"$RUN/row.log" 2>&1 </dev/null || status=$?
    end_row
    if ((status == NOT_HERE)); then return 0; fi
    if ((status != 0)); then
        echo "$1 on $CLUSTER failed:"
        tail -n 15 "$RUN/row.log" | sed 's/^/    /'
        return 1
    fi
    while read -r line; do
        echo "$line" >>"$BENCH/results"
        jq -c --slurpfile all "$BENCH/results" -f "$here/lib/alone.jq" <<<"$line" | print_row
    done <"$RUN/figures"
}

end_row() {
    [[ -n ${RUN:-} && -e $RUN/pids ]] || return 0
    (
        cd "$RUN"
        CLUSTER=$([[ -e cluster/kube-apiserver.log ]] && echo kubernetes || echo embedded)
        stop_cluster
    ) >>"$RUN/row.log" 2>&1
    rm -f "$RUN/pids"
}

# ---- clusters ----

bench_cluster() {
    "$BUILD/fc-watcher" --print-crd >crd.yaml
    if [[ $CLUSTER == kubernetes ]]; then
        "$here/../kubernetes/cluster.sh" start cluster crd.yaml >cluster.log
    else
        start_embedded
        kubectl create -f crd.yaml >/dev/null
    fi
    kubectl create namespace bench >/dev/null
    cat "$root/manifests/config/frameworkcontroller.yaml" - >config.yaml <<END
kubeClientQps: $qps
kubeClientBurst: $qps
${more_config:-}
END
}

start_kubelet() { # [flags...]
    launch kubelet "$BUILD/fc-testkubelet" --kubeconfig cluster/kubeconfig --nodes 4 --node-name node "$@"
}

# The processes as fc-watcher would start them, but each on its own, so that each serves its metrics.
start_controller() {
    launch_controller
    wait_for 60 "the watcher is ready" is_ready watcher
    wait_for 60 "all shards are held" all_held
}

# What it takes in front of a command to have its allocations counted.
count_allocations() { # name of the array
    local -n before=$1
    mkdir -p counts
    before=(env "FC_BENCH_COUNTS=$PWD/counts" "LD_PRELOAD=$BUILD/fc-bench-malloc.so")
}

launch_controller() {
    local i counted
    count_allocations counted
    launch watcher "${counted[@]}" "$BUILD/fc-watcher" --config config.yaml --kubeconfig cluster/kubeconfig --workers 0 \
        --bus "ipc://$RUN/bus" --http 127.0.0.1:0
    for ((i = 0; i < workers; i++)); do
        launch "reconciler-$i" "${counted[@]}" "$BUILD/fc-reconciler" --name "r$i" --config config.yaml \
            --kubeconfig cluster/kubeconfig --bus "ipc://$RUN/bus" --http 127.0.0.1:0
    done
}

http_of() { # process
    sed -nE -e "s,.*listening on (http://)?([0-9.]+:[0-9]+).*,http://\2,p" \
        -e "s,.*Serving securely on ([0-9.]+:[0-9]+).*,https://\1,p" "$1.log"
}

is_ready() { # process
    local at
    at=$(http_of "$1") && [[ -n $at ]] && curl -sSf "$at/readyz"
}

all_held() {
    local i
    for ((i = 0; i < workers; i++)); do is_ready "reconciler-$i" || return 1; done
    curl -sSf "$(http_of watcher)/metrics" | awk '/^frameworkcontroller_shards /{ all = $2 }
        /^frameworkcontroller_shards_held /{ held = $2 } END { exit !(all > 0 && held == all) }'
}

pid_of() { # process
    awk -v name="$1" '$1 == name { pid = $2 } END { print pid }' "${2:-pids}"
}

# Our processes that run, or the one in their place, by name.
ours() {
    local name pid started
    while read -r name pid started; do
        if [[ $name =~ ^(watcher|reconciler-[0-9]+|barrier|jobs|job-controller)$ ]] && is_alive "$pid" "$started"; then echo "$name"; fi
    done <pids
}
