# Faults of processes: stopped, slow, killed, twice there (common/README.md §11). Each has a cluster of its
# own, whose reconcilers are apart.

. "$here/lib/faults.sh"

# Stopped in the middle of the work, longer than its lease: its shards move, the other one brings everything to its end,
# and what it does when it goes on is to find its lease over.
run_fault_sigstop_reconciler() {
    local before said held
    # (a lease that a busy machine does not let run out by itself)
    apart_cluster one two <<<'memberLeaseSec: 10'
    wait_for 20 "each has its share" owns one 32
    record_pods
    submit_many f 30 2 3
    wait_for 20 "Pods run" running_at_least 5
    kill -STOP "$(pid_of one)"
    held=$(grep 'shards' one.log | tail -n 1)
    wait_for 30 "the other has all shards" owns two 64
    wait_for 60 "all Frameworks are Completed" completed_at_least 30
    before=$(get_jq "$(frameworks_path)" -r '.items[] | "\(.metadata.name) \(.metadata.resourceVersion)"')
    said=$(wc -l <one.log)
    kill -CONT "$(pid_of one)"
    wait_for 30 "it has shards again" owns_since_line one "$said"
    # (unless this machine had stood still before)
    [[ $held =~ ran\ out|were\ taken\ away ]] ||
        expect_match "what it did first" "$(sed -n "$((said + 1)),\$ { /shards/p }" one.log | head -n 1)" 'shards expired|were revoked'
    expect "what it wrote of others' Frameworks" \
        "$(get_jq "$(frameworks_path)" -r '.items[] | "\(.metadata.name) \(.metadata.resourceVersion)"')" "$before"
    submit_many g 10 0 3
    expect_all_once 40 3
}

owns_since_line() { # reconciler line
    tail -n "+$(($2 + 1))" "$1.log" | grep 'granted' && owns "$1" 32
}

# One that takes nothing in, but keeps its shards: what it is to be told is bounded by the number of objects, whatever
# happens to them, and the other's Frameworks do not notice.
run_fault_slow_reconciler() {
    local i objects memory backlog frameworks
    apart_cluster one two <<<'memberLeaseSec: 600'
    wait_for 20 "each has its share" owns one 32
    submit_many f 60 600 1
    wait_for 30 "Pods run" running_at_least 60
    kill -STOP "$(pid_of one)"
    memory=$(memory_of "$(pid_of watcher-1)")
    for ((i = 0; i < 20; i++)); do
        # (half of them are two's; each patch is an object of 20 kB; one curl sends them all)
        mapfile -t frameworks < <(seq 0 59 | shuf -n 20 | sed "s,^,$api_server$(frameworks_path)/f,")
        printf '{"metadata": {"annotations": {"x": "%020000d"}}}' "$i" |
            curl -sSf --fail-early --retry 5 "${api_identity[@]}" -X PATCH -H "Content-Type: application/merge-patch+json" \
                --data-binary @- "${frameworks[@]}" >/dev/null
        [[ $i != 2 ]] || submit_many quick 20 0 1
    done
    objects=$((80 + 80 + 80))
    backlog=$(metric "$WATCHER" frameworkcontroller_bus_backlog)
    ((backlog <= objects)) || fail "a backlog of $backlog for at most $objects objects"
    # 400 updates of 20 kB are 8 MB, of which the last ones of 30 Frameworks are kept for the slow one
    ! memory_is_plain || (($(memory_of "$(pid_of watcher-1)") - memory < 6000)) ||
        fail "grew from $memory to $(memory_of "$(pid_of watcher-1)") kB"
    wait_for 20 "the other's Frameworks are Completed" completed_at_least 5
    kill -CONT "$(pid_of one)"
    wait_for 60 "all of them are" completed_at_least 20
}

memory_of() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; } # pid

# Killed with all it knew: the reconcilers hold their shards as long as their leases run, wait, and go on with the next
# one; what happened meanwhile is found.
run_fault_watcher_killed() {
    local pids
    apart_cluster one two
    pids=$(pid_of one; pid_of two)
    record_pods
    submit_many f 30 2 3
    create 'fw("deleted", "stopped"; [role("a"; 2; {})])'
    wait_running deleted
    wait_running stopped
    kill -KILL "$(pid_of watcher-1)"
    submit_many g 10 1 3
    delete_framework_of_the_dead
    patch_framework stopped '{"spec": {"executionType": "Stop"}}'
    start_apart_watcher 2
    wait_for 60 "all shards are held again" all_shards_held
    wait_for 90 "all Frameworks are Completed" completed_at_least 41
    wait_for 20 "nothing of the attempts is left" none_left configmaps,pods
    expect "code of the one that was stopped" "$(framework stopped .status.attemptStatus.completionStatus.code)" -210
    api DELETE "$(frameworks_path)/stopped" >/dev/null
    wait_for 20 "it is gone" is_absent "$(frameworks_path)/stopped"
    expect_ran_once $((40 * 3)) '^(stopped|deleted)-'
    expect "reconcilers" "$(pid_of one; pid_of two)" "$pids"
    running one && running two || fail "a reconciler ended"
}

delete_framework_of_the_dead() { api DELETE "$(frameworks_path)/deleted" >/dev/null; }

# A second process of a name is put off as long as the first lives, and takes its place afterwards.
run_fault_second_peer_same_name() {
    # (the first keeps its lease, whatever else this machine does)
    apart_cluster one two <<<'memberLeaseSec: 40'
    wait_for 20 "each has its share" owns one 32
    start_reconciler one+second
    wait_for 15 "the second is put off" grep -q 'refused this process for now: ' one+second.log
    wait_for 15 "it is counted" busy_counted
    record_pods
    submit_many f 10 1 3
    wait_for 20 "Pods run" running_at_least 5
    expect "shards of the second" "$(owned_by one+second)" 0
    wait_for 15 "the first has its shards" owns one 32
    kill -KILL "$(pid_of one)"
    wait_for 30 "the second has its shards" owns one+second 32
    expect_all_once 10 3
}

busy_counted() { (($(metric "$WATCHER" frameworkcontroller_bus_busy_total) > 0)); }

# A Ctrl-C, which reaches the watcher's children twice, once from the terminal and once from the watcher: they finish what
# is in flight all the same.
run_fault_interrupted() {
    local watcher begun
    only_embedded
    own_cluster
    start_watcher
    watcher=$(watcher_pid)
    testapi_fault '{"match": {"verb": "create", "resource": "pods"}, "action": {"answerLatencyMs": 4000}}'
    submit_many f 20 60 1
    wait_for 10 "Pods are there, and answers on their way" pods_at_least 20
    begun=$(now_ms)
    kill -INT "$watcher" $(pgrep -P "$watcher")
    wait_for 20 "the watcher has ended" watcher_gone
    # (of the 4 s some have passed until they were seen)
    (($(now_ms) - begun >= 1000)) || fail "ended within $(($(now_ms) - begun)) ms, without the answers"
}

# SIGTERM: a status change that waits for others to be written with them is on the server when the process has ended,
# whether it is apart or a child that is ended with its parent.
run_fault_sigterm_reconciler() {
    apart_cluster one
    create 'fw("f"; [role("a"; 2; {}) | .task.pod.spec.nodeName = "nowhere"])'
    wait_framework f 15 '[.status.attemptStatus.taskRoleStatuses[].taskStatuses[].state] == ["AttemptPreparing", "AttemptPreparing"]'
    host_changes 10.9.9.1 "$(http_address one)"
    kill -TERM "$(pid_of one)"
    wait_for 20 "the reconciler has ended" has_ended "$(pid_of one)"
    expect "the IP in the status" "$(host_in_status)" 10.9.9.1
    kill -TERM "$(pid_of watcher-1)"
    wait_for 20 "the watcher has ended" has_ended "$(pid_of watcher-1)"
    launch_watcher watcher-2 --workers 1 --workers-http 127.0.0.1:0 --http 127.0.0.1:0
    wait_for 20 "all shards are held" metric_is "$(http_address watcher-2)" frameworkcontroller_shards_held 64
    host_changes 10.9.9.2 "$(http_address_of_child watcher-2)"
    kill -TERM "$(pid_of watcher-2)"
    wait_for 20 "the watcher has ended with its child" has_ended "$(pid_of watcher-2)"
    expect "the IP in the status" "$(host_in_status)" 10.9.9.2
}

# A Pod of two gets another host IP, and its reconciler has seen that.
host_changes() { # ip reconciler-address
    local seen
    seen=$(metric "$2" frameworkcontroller_bus_objects_total)
    api PATCH "/api/v1/namespaces/$NS/pods/f-a-0/status" "{\"status\": {\"hostIP\": \"$1\"}}" application/merge-patch+json >/dev/null
    wait_for 10 "the reconciler has seen it" metric_above "$2" frameworkcontroller_bus_objects_total "$seen"
}

metric_above() { (($(metric "$1" "$2") > $3)); } # address name value
host_in_status() { framework f '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[0].attemptStatus.podHostIP'; }

pods_at_least() { (($(get_jq "/api/v1/namespaces/$NS/pods" '.items | length') >= $1)); } # number
