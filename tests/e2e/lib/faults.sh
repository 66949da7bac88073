# Clusters whose processes are apart: fc-watcher --workers 0 with a bus on tcp:// and keys, each fc-reconciler a process
# of its own, and proxies between any of them and the API server. Leases are short, so that what waits for them takes
# seconds. Sourced by scenario.sh.

# Starts such a cluster with a watcher and these reconcilers, and waits until they have all shards. Lines of stdin go
# into the configuration.
apart_cluster() { # reconciler...
    local name
    own_cluster
    { printf 'memberLeaseSec: 2\nmemberGraceSec: 2\n'; [[ -t 0 ]] || cat; } >apart.yaml
    own_config <apart.yaml
    "$BUILD/fc-watcher" keygen keys >/dev/null
    BUS=tcp://127.0.0.1:0
    PROXIED=
    start_apart_watcher 1
    for name; do start_reconciler "$name"; done
    (($# == 0)) || wait_for 30 "all shards are held" all_shards_held
}

# A later watcher takes the port of the first one.
start_apart_watcher() { # number
    launch_watcher "watcher-$1" ${PROXIED:+--kubeconfig "$PROXIED"} --workers 0 --bus "$BUS" --bus-keys keys/server \
        --http 127.0.0.1:0 -v 1
    WATCHER=$(http_address "watcher-$1")
    wait_for 10 "watcher-$1 has a bus" grep -q 'the bus listens on' "watcher-$1.log"
    BUS=$(sed -nE 's/.*the bus listens on (tcp:.*)$/\1/p' "watcher-$1.log")
}

start_reconciler() { # name [arguments...]; the log's name is that of the process
    local process=$1
    shift
    launch_reconciler "$process" --name "${process%+*}" --bus "$BUS" --bus-keys keys/reconciler --http 127.0.0.1:0 "$@"
}

all_shards_held() { metric_is "$WATCHER" frameworkcontroller_shards_held 64; }

owned_by() { metric "$(http_address "$1")" frameworkcontroller_shards_owned; } # reconciler
owns() { [[ $(owned_by "$1") == "$2" ]]; }                                      # reconciler shards

pid_of() { awk -v name="$1" '$1 == name { pid = $2 } END { print pid }' "$RUN/pids"; } # process

# Puts a proxy in front of the API server; $RUN/NAME.kubeconfig leads through it.
start_proxy() { # name service-account
    local server
    server=$(sed -n 's/^ *server: *//p' cluster/kubeconfig)
    launch "$1" "$BUILD/fc-testproxy" "${server##*:}" "$1.ports"
    wait_for 5 "$1 listens" test -s "$1.ports"
    sed "s#^\( *server: .*:\)[0-9]*\$#\1$(cut -d' ' -f1 "$1.ports")#" "$(kubeconfig_of "$2")" >"$1.kubeconfig"
}

# Tells a proxy what to do from now on (tests/cluster/testproxy); prints its answer.
proxy() { # name command
    local control answer
    exec {control}<>"/dev/tcp/127.0.0.1/$(cut -d' ' -f2 "$1.ports")"
    echo "$2" >&"$control"
    read -r answer <&"$control"
    exec {control}>&-
    [[ $2 == stats || $answer == ok ]] || fail "proxy $1: $2: $answer"
    echo "$answer"
}

proxy_cut() { (($(proxy "$1" stats | cut -d' ' -f3) >= $2)); } # name times

# Faults of the embedded server (tests/cluster/testapi): a request under /fc-testapi/.
testapi() { # METHOD path [body]
    curl -sSf -X "$1" "$(sed -n 's/^ *server: *//p' "$CLUSTER_DIR/kubeconfig")/fc-testapi/$2" ${3:+-d "$3"}
}

testapi_fault() { testapi POST faults "$1" >/dev/null; } # fault

# The embedded server refuses initial events, as servers without them do: the watcher lists, and does not ask again.
without_initial_events() {
    testapi_fault '{"match": {"userAgent": "fc-watcher", "parameter": "sendInitialEvents"},
        "action": {"status": 422, "reason": "Invalid", "message": "sendInitialEvents is forbidden for watch"}}'
}

# Requests that the embedded server was sent: all, or those that the jq condition is true of.
testapi_count() { # [condition]
    testapi GET requests | jq "[.[] | select(${1:-true}).count] | add // 0"
}

# Ends what the scenario watched, and checks that every Task ran once and nothing is left.
expect_all_once() { # Frameworks tasks-of-each
    wait_for 90 "all Frameworks are Completed" completed_at_least "$1"
    wait_for 10 "nothing of the attempts is left" none_left configmaps,pods
    expect_ran_once $(($1 * $2))
}
