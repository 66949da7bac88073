# A cluster of a scenario's own, for what needs another configuration, another CRD, or a controller that stops and
# starts: the functions of cluster.sh in a run directory below the run's. It costs 1 s embedded. A real control plane costs
# seven seconds of CPU, so that one goes on to the next scenario (control_plane.sh). Sourced by scenario.sh.

. "$here/lib/control_plane.sh"

# Starts the cluster with the CRDs of a file (ours without one) and a kubelet with these flags, but no controller. The
# namespace is made.
own_cluster() { # [crd-file [kubelet-flags...]]
    planes=$RUN/planes
    mkdir "$RUN/own-$scenario"
    ln -s ../out "$RUN/own-$scenario/out"
    RUN=$RUN/own-$scenario
    CLUSTER_DIR=$RUN/cluster
    cd "$RUN"
    : >pids
    trap 'own_exit $?' EXIT
    "$BUILD/fc-watcher" --print-crd >crd.yaml
    if [[ $CLUSTER == kubernetes ]]; then
        take_control_plane "${1:-crd.yaml}"
    else
        start_embedded
        (($# == 0)) || kubectl apply -f "$1" >/dev/null
    fi
    find_api
    launch kubelet "$BUILD/fc-testkubelet" --kubeconfig cluster/kubeconfig --nodes 4 --node-name node "${@:2}"
    own_config
    create_namespace "$NS"
}

own_exit() { # status
    local status=$1
    trap - ERR EXIT
    set +e
    (exit "$status")
    on_exit
    # The controller needs the server to its end, and so do the kubelets.
    end_processes . 5 watcher-{1..9}
    end_processes . 5
    if [[ $CLUSTER == embedded ]]; then
        end_processes cluster 2
    else
        check_roles "$scenario" plane/audit.log "${audited_from:-1}" >roles.said || status=1
        cat roles.said
        [[ ! -s roles.said || -s out/$scenario.reason ]] || cp roles.said "out/$scenario.reason"
        give_control_plane "$status"
    fi
    exit "$status"
}

# The shipped configuration with lines of stdin.
own_config() {
    { cat "$root/manifests/config/frameworkcontroller.yaml"; printf 'kubeClientQps: 10000\nkubeClientBurst: 10000\n'; [[ -t 0 ]] ||
        cat; } >config.yaml
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
