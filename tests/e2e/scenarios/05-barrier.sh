# The barrier (CONTRACT.md §16): real init containers, the real server, and app containers that start all or none. One
# Task of each gang is held back: its Pod is bound to a node that nobody runs, and gets its IP from the scenario.
# Goes first, because it takes the longest: nothing shorter than a minute may be a timeout (CONTRACT.md §16).

# A cluster with short delays after exit code 201, real containers and fc-barrier; waits are counted by its metrics.
barrier_cluster() {
    own_cluster
    own_config <<'END'
frameworkMinRetryDelaySecForTransientConflictFailed: 2
frameworkMaxRetryDelaySecForTransientConflictFailed: 4
END
    end_processes . 2 kubelet
    start_barrier_controller 1
    apply_gang_role "$NS"
    launch kubelet "$BUILD/fc-testkubelet" --kubeconfig cluster/kubeconfig --mode real --root "$RUN/pods" \
        --image-bin "$BUILD" --pod-env "KUBECONFIG=$RUN/gang.kubeconfig"
    start_barrier 1
}

start_barrier_controller() { # number
    launch_watcher "watcher-$1" --workers 1 --bus "ipc://$RUN/bus"
}

# The embedded API server asks nobody for a token, so there are none to be reviewed.
start_barrier() { # number
    local options=(--listen "${barrier_address:-127.0.0.1:0}")
    [[ $CLUSTER == kubernetes ]] || options+=(--insecure-no-auth)
    launch_barrier "barrier-$1" --bus "ipc://$RUN/bus" -v 1 "${options[@]}"
    wait_for 10 "fc-barrier listens" grep -q 'listening on' "barrier-$1.log"
    barrier_address=$(sed -nE 's/.*listening on ([0-9.:]+).*/\1/p' "barrier-$1.log")
    wait_for 15 "fc-barrier is ready" barrier_ready
}

barrier_ready() { curl -sSf "http://$barrier_address/readyz"; }

barrier_unready() {
    [[ $(curl -sS -o /dev/null -w '%{http_code}' "http://$barrier_address/readyz") == 503 ]]
}

barrier_metric() { # name-with-labels
    curl -sSf "http://$barrier_address/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

barrier_metric_is() { # name-with-labels value
    [[ $(barrier_metric "$1") == "$2" ]]
}

waiting_at_least() { (($(barrier_metric frameworkcontroller_barrier_waiting) >= $1)); } # number

# Submits a gang: so many Tasks that wait and then run for a moment, and one that is held back.
submit_gang() { # name tasks barrier-address timeout
    create 'fw($name; [
        (role("app"; $tasks; {}) | policy(1; $tasks) | .task.pod.spec = {
            restartPolicy: "Never",
            volumes: [{name: "fb", emptyDir: {}}],
            initContainers: [{name: "barrier", image: "frameworkbarrier", command: ["frameworkbarrier"],
                workingDir: "/mnt/frameworkbarrier", volumeMounts: [{name: "fb", mountPath: "/mnt/frameworkbarrier"}],
                env: [{name: "BARRIER_CHECK_INTERVAL_SEC", value: "5"}, {name: "BARRIER_CHECK_TIMEOUT_SEC", value: $timeout},
                      {name: "FRAMEWORK_BARRIER_ADDRESS", value: $address}]}],
            containers: [{name: "main", image: "i", volumeMounts: [{name: "fb", mountPath: "/mnt/frameworkbarrier"}],
                command: ["sh", "-c"],
                args: ["FB_APP_PORT=7; FB_LATE_PORT=8; . /mnt/frameworkbarrier/injector.sh; sleep 1"]}]}),
        (role("late"; 1; {}) | policy(-1; -1) | .task.podGracefulDeletionTimeoutSec = 0 | .task.pod.spec.nodeName = "nowhere")
    ]) | .spec.retryPolicy = {fancyRetryPolicy: true, maxRetryCount: 0}' \
        --arg name "$1" --argjson tasks "$2" --arg address "$3" --arg timeout "$4"
}

# The Task that was held back gets its IP.
let_come() { # framework
    wait_for 15 "Pod $1-late-0" get_pod "$1-late-0"
    late_comes "$1"
}

late_comes() { # framework
    api PATCH "/api/v1/namespaces/$NS/pods/$1-late-0/status" \
        '{"status": {"podIP": "10.9.8.7", "podIPs": [{"ip": "10.9.8.7"}]}}' application/merge-patch+json >/dev/null
}

# Whoever is tried again meanwhile needs a new one. (Without a wait: the Pod goes for good at any moment.)
comes_until_completed() { # framework
    framework_is "$1" '.status.state == "Completed"' || { get_pod "$1-late-0" && late_comes "$1"; false; }
}

# Whether an app container of the Framework has started; "frameworkbarrier" says nothing into its log before.
app_started() { # framework
    compgen -G "$RUN/pods/${NS}_$1-app-*/main.log" >/dev/null
}

log_of() { # framework container
    cat "$RUN"/pods/"${NS}_$1"-app-*/"$2.log"
}

# Whoever waits in every Pod must cost little by itself.
check_init_program() {
    local needed
    needed=$({ readelf -d "$BUILD/frameworkbarrier" 2>/dev/null || true; } | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
    [[ $needed == *libc.so* && $needed != *libasan* ]] || return 0 # built, or run, to find mistakes
    expect "libraries that only servers need" "$(grep -E 'zmq|microhttpd|gnutls' <<<"$needed" || true)" ""
    starts_quickly "a start of frameworkbarrier" env -i "$BUILD/frameworkbarrier"
}

run_barrier() {
    check_init_program
    barrier_cluster
    submit_gang gang 3 "http://$barrier_address" 600
    submit_gang poll 2 "" 600
    submit_gang slow 1 "http://$barrier_address" 60 # times out first
    wait_for 20 "four init containers wait at the server" barrier_metric_is frameworkcontroller_barrier_waiting 4
    wait_for 20 "the polling ones know whom they wait for" polled poll
    app_started gang && fail "an app container of gang started before the last Task had an IP"
    app_started poll && fail "an app container of poll started before the last Task had an IP"

    # A look at the API server per Framework that passes, and none before.
    expect "looks" "$(barrier_metric frameworkcontroller_barrier_reads_total)" 0
    let_come gang
    wait_completed gang
    expect "looks" "$(barrier_metric frameworkcontroller_barrier_reads_total)" 1
    expect_match "what app containers see" "$(log_of gang main)" 'FB_LATE_ADDRESSES=10\.9\.8\.7:8'
    expect "code" "$(framework gang .status.attemptStatus.completionStatus.code)" 0
    let_come poll
    wait_completed poll

    check_answers
    check_restarts

    # Nobody came in 60 s: the gang gives its resources back and tries again.
    # (or more than once, if all the above took so long)
    wait_framework slow 80 '.status.retryPolicyStatus.totalRetriedCount >= 1'
    expect "accountable retries" "$(framework slow .status.retryPolicyStatus.accountableRetriedCount)" 0
    expect "why it was tried again" "$(sed -n 's/.*OnFrameworkRetry: ObjectSnapshot: //p' watcher-*.log | jq -r '
        select(.metadata.name == "slow") | .status | "\(.attemptStatus.completionStatus.code) \(.retryPolicyStatus.retryDelaySec >= 2 and
        .retryPolicyStatus.retryDelaySec <= 4)"' | sort -u)" "201 true"
    app_started slow && fail "an app container of slow started"
    wait_for 80 "slow is Completed" comes_until_completed slow
    expect "code" "$(framework slow .status.attemptStatus.completionStatus.code)" 0
}

polled() { # framework
    (($(grep -l '2 of 3 Tasks have an IP according to the API server; waiting for late-0' "$RUN"/pods/"${NS}_$1"-app-*/barrier.log |
            wc -l) == 2))
}

answer_code() { # path [curl arguments...]
    local path=$1
    shift
    curl -sS -o /dev/null -w '%{http_code}' "$@" "http://$barrier_address$path"
}

# What the server answers to whom.
check_answers() {
    local fw=/v1/namespaces/$NS/frameworks admin=() token
    if [[ $CLUSTER == kubernetes ]]; then
        admin=(-H "Authorization: Bearer $(<cluster/tokens/admin)")
        expect "without a token" "$(answer_code "$fw/slow/barrier")" 401
        expect "with an unknown token" "$(answer_code "$fw/slow/barrier" -H 'Authorization: Bearer nobody')" 401
        for token in cluster/tokens/*; do
            [[ $token != */admin ]] || continue
            expect "with $token" "$(answer_code "$fw/slow/barrier" -H "Authorization: Bearer $(<"$token")")" 403
        done
    fi
    expect "its time over" "$(answer_code "$fw/slow/barrier?timeoutSeconds=0" "${admin[@]}")" 202
    expect "passed" "$(answer_code "$fw/gang/barrier" "${admin[@]}")" 200
    expect "unknown" "$(answer_code "$fw/nothing/barrier" "${admin[@]}")" 404
    expect "another uid" "$(answer_code "$fw/gang/barrier?uid=1" "${admin[@]}")" 404
    expect "another namespace" "$(answer_code "/v1/namespaces/default/frameworks/gang/barrier" "${admin[@]}")" 404
    expect "malformed" "$(answer_code "$fw/Gang/barrier" "${admin[@]}")" 400
    expect "oversized" "$(answer_code "$fw/gang/barrier" -H "X: $(printf '%020000d' 0)")" 431
    expect "not GET" "$(answer_code "$fw/gang/barrier" "${admin[@]}" -X DELETE)" 405
}

# Waiters outlive the watcher, and turn to the API server when the barrier has gone.
check_restarts() {
    submit_gang again 2 "http://$barrier_address" 600
    submit_gang alone 2 "http://$barrier_address" 600
    # (slow, whose time may be over at any moment, waits beside them)
    wait_for 20 "they wait at the server" waiting_at_least 4
    end_processes . 0 watcher-1
    wait_for 20 "fc-barrier notices that it hears nothing" barrier_unready
    wait_for 15 "they wait all the same" waiting_at_least 4
    start_barrier_controller 2
    wait_for 20 "fc-barrier is ready again" barrier_ready
    wait_for 15 "they wait at the server still" waiting_at_least 4
    let_come again
    wait_completed again
    expect_match "who let them go" "$(log_of again barrier)" 'all 3 Tasks have an IP according to the barrier server'
    end_processes . 2 barrier-1
    let_come alone
    wait_completed alone 40
    expect_match "who let them go" "$(log_of alone barrier)" 'all 3 Tasks have an IP according to the API server'
    start_barrier 2
}
