# Faults of the network between the processes and the API server, by a proxy: on any cluster (common/README.md
# §11). Every Task runs once, whatever is lost or late.

. "$here/lib/faults.sh"

# The only reconciler's requests go through a proxy.
proxied_reconciler() {
    apart_cluster
    start_proxy proxy fc-reconciler
    start_reconciler one --kubeconfig proxy.kubeconfig
    wait_for 30 "all shards are held" all_shards_held
    record_pods
}

# The watcher's go through one, too.
proxied_watcher() {
    apart_cluster one
    stop_watcher
    start_proxy proxy fc-watcher
    PROXIED=proxy.kubeconfig
    start_apart_watcher 2
    wait_for 30 "all shards are held" all_shards_held
    record_pods
}

# A server that ends connections while requests are on their way: a real one by GOAWAY with some of its answers, the
# embedded one by "Connection: close" with each. (Without this, it is one more connection over HTTP/2, 32 over HTTP/1.1.)
run_fault_goaway() {
    local before after wanted=5
    export KUBE_APISERVER_FLAGS="--goaway-chance=0.02"
    proxied_reconciler
    if [[ $CLUSTER == embedded ]]; then
        testapi_fault '{"match": {"userAgent": "fc-reconciler"}, "action": {"close": true}}'
        wanted=200
    fi
    before=$(proxy proxy stats | cut -d' ' -f1)
    submit_many f 60 0 3
    expect_all_once 60 3
    after=$(proxy proxy stats | cut -d' ' -f1)
    ((after - before >= wanted)) || fail "$((after - before)) further connections, expected $wanted at least"
}

# Every so many answers the connection is reset instead, after the request was carried out.
run_fault_answers_lost() {
    proxied_reconciler
    proxy proxy "lose 4"
    submit_many f 30 2 3
    wait_for 60 "answers were lost" proxy_cut proxy 10
    wait_for 60 "some Frameworks are Completed all the same" completed_at_least 3
    proxy proxy pass
    expect_all_once 30 3
}

# Requests arrive later than anybody waits for them, some when their attempt is over.
run_fault_requests_delayed() {
    local i
    proxied_reconciler
    submit_many f 30 2 3
    for ((i = 1; i <= 3; i++)); do
        wait_for 30 "requests are answered" answered $((i * 20))
        proxy proxy "delay 3000" # more than the lease, which no request outlives
        submit_many "late$i" 2 2 3 # (what came before may be over, on a machine that has much to do)
        wait_for 30 "requests time out" unanswered $((i * 2))
        proxy proxy pass
    done
    expect_all_once 36 3
}

answered() { (($(proxy proxy stats | cut -d' ' -f2) >= $1)); } # times

unanswered() { # times
    local at
    at=$(http_address one)
    (($(curl -sSf "$at/metrics" | awk '/^rest_client_requests_total.*<error>/ { sum += $2 } END { print sum + 0 }') >= $1))
}

# Connections that neither bring anything nor end, while new ones work: requests on them time out, and what follows goes
# over others.
run_fault_half_open() {
    proxied_reconciler
    submit_many f 10 1 3
    wait_for 20 "Pods run" running_at_least 5
    proxy proxy abandon
    submit_many g 10 1 3
    expect_all_once 20 3
}

# The same of event streams. Kernels that answer for a server that does not are noticed by the bookmarks that do not come:
# 150 s after the last one.
run_fault_half_open_watch() {
    [[ -n ${LONG:-} ]] || not_here "takes five minutes: LONG=1 SCENARIO_LIMIT=600"
    proxied_watcher
    submit_many f 10 1 3
    wait_for 30 "all Frameworks are Completed" completed_at_least 10
    wait_for 100 "bookmarks came" one_minute_since "$(now_ms)"
    proxy proxy abandon
    submit_many g 10 1 3
    wait_for 240 "the watcher has noticed" completed_at_least 20
    expect_all_once 20 3
}

one_minute_since() { (($(now_ms) - $1 > 75000)); }

# Event streams end by RST in the middle of an event: the part is dropped, and the watch goes on where it was.
run_fault_reset_in_event() {
    proxied_watcher
    proxy proxy "half 3"
    submit_many f 30 1 3
    wait_for 60 "connections were reset" proxy_cut proxy 5
    proxy proxy pass
    expect_all_once 30 3
}

# Nothing gets through for a while, in neither direction, and then all of it.
run_fault_held() {
    proxied_reconciler
    submit_many f 20 2 3
    wait_for 20 "Pods run" running_at_least 5
    proxy proxy hold
    submit_many late 2 2 3
    wait_for 30 "requests time out" unanswered 2
    proxy proxy pass
    expect_all_once 22 3
}

# A reconciler is cut off while it creates Pods: what it gave up stays in its kernel, as the bodies are larger than what
# the proxy's takes. None of it gets through later, when its lease is over.
run_fault_cut_writes() {
    local before
    apart_cluster
    stop_watcher
    sed -i -E 's/^(kubeClientQps|kubeClientBurst): .*/\1: 5/' config.yaml # so that creates are on their way for a while
    start_apart_watcher 2
    start_proxy proxy fc-reconciler
    launch bus-proxy "$BUILD/fc-testproxy" "${BUS##*:}" bus-proxy.ports
    wait_for 5 "bus-proxy listens" test -s bus-proxy.ports
    start_reconciler one --kubeconfig proxy.kubeconfig --bus "tcp://127.0.0.1:$(cut -d' ' -f1 bus-proxy.ports)"
    wait_for 30 "all shards are held" all_shards_held
    create 'fw("f"; [role("a"; 25; {}) | .task.pod.spec.containers[0].env = [{name: "PAD", value: ("x" * 200000)}]])'
    wait_for 20 "some Pods are created" created_at_least 3
    wait_for 20 "the proxy holds between two requests" hold_at_rest
    proxy bus-proxy hold
    wait_for 20 "requests time out" unanswered 3
    wait_for 20 "its lease is over" owns one 0
    before=$(pod_count)
    proxy proxy pass
    wait_for 10 "what was held has gone on" nothing_unread "$(cut -d' ' -f1 proxy.ports)"
    expect "Pods, with those of writes that were given up" "$(pod_count)" "$before"
    proxy bus-proxy pass
    wait_for 60 "all Pods are created" created_at_least 25
}

# The rest of a body that is half on its way might fit into the buffers of the proxy, and would get through later.
hold_at_rest() {
    proxy proxy hold
    (($(proxy proxy stats | cut -d' ' -f5) == 0)) && return
    proxy proxy pass
    return 1
}

pod_count() { get_jq "/api/v1/namespaces/$NS/pods" '.items | length'; }
created_at_least() { (($(pod_count) >= $1)); }

# No connection to the port has bytes that nobody has read.
nothing_unread() { # port
    awk -v port=":$(printf %04X "$1")" 'NR > 1 && $2 ~ port "$" && $5 !~ /:00000000$/ { unread = 1 } END { exit unread }' /proc/net/tcp
}
