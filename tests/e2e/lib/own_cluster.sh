# A cluster of a scenario's own, for what needs another configuration, another CRD, or a controller that stops and
# starts: the functions of cluster.sh in a run directory below the run's. It costs 1 s embedded and 5 s with a real
# control plane. Sourced by scenario.sh.

# Starts the cluster with the CRD of a file (ours without one) and a kubelet, but no controller. The namespace is made.
own_cluster() { # [crd-file]
    mkdir "$RUN/own-$scenario"
    ln -s ../out "$RUN/own-$scenario/out"
    RUN=$RUN/own-$scenario
    CLUSTER_DIR=$RUN/cluster
    cd "$RUN"
    : >pids
    trap 'own_exit $?' EXIT
    "$BUILD/fc-watcher" --print-crd >crd.yaml
    if [[ $CLUSTER == kubernetes ]]; then
        # (with our own limit of time, as another control plane may be busy beside it)
        "$here/../kubernetes/cluster.sh" start cluster "${1:-crd.yaml}" >cluster.log
    else
        start_embedded
        (($# == 0)) || kubectl create -f "$1" >/dev/null
    fi
    apply_roles
    launch kubelet "$BUILD/fc-testkubelet" --kubeconfig cluster/kubeconfig --nodes 4 --node-name node
    own_config
    kubectl create namespace "$NS" >/dev/null
}

# The shipped configuration with lines of stdin.
own_config() {
    { cat "$root/manifests/config/frameworkcontroller.yaml"; printf 'kubeClientQps: 10000\nkubeClientBurst: 10000\n'; [[ -t 0 ]] || cat; } >config.yaml
}

own_exit() { # status
    local status=$1
    trap - ERR EXIT
    set +e
    (exit "$status")
    on_exit
    stop_cluster
    exit "$status"
}

# Ends the controller: at once, or as told.
stop_watcher() { # [signal]
    local pid
    pid=$(watcher_pid)
    kill "-${1:-TERM}" "$pid"
    wait_for 15 "the watcher has ended" watcher_gone
}

watcher_gone() { ! watcher_pid >/dev/null; }

# The lines of all the controller's logs.
watcher_logs() { cat "$RUN"/watcher-*.log; }
