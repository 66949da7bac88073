# Several watchers of one cluster: one leads by the Lease, and whatever becomes of it another one does, with no Task run
# twice. Each has a cluster of its own.

# Where the Lease is, and the record of its epoch.
election_lease() { echo "/apis/coordination.k8s.io/v1/namespaces/$(lease_namespace)/leases/frameworkcontroller"; }
election_record() { echo "/api/v1/namespaces/$(lease_namespace)/configmaps/frameworkcontroller-epoch"; }
# Times that a test can wait for. An etcd on a busy disk has left a renewal unanswered for 4 s.
QUICK_ELECTION=(--leader-elect-lease-duration 12s --leader-elect-renew-deadline 10s --leader-elect-retry-period 400ms)

# Starts watcher-NUMBER; ADDRESS_NUMBER is where it tells of itself.
start_candidate() { # number [arguments...]
    local number=$1
    shift
    launch_watcher "watcher-$number" --http 127.0.0.1:0 "$@"
    declare -g "ADDRESS_$number=$(http_address "watcher-$number")"
}

candidate_pid() { awk -v name="watcher-$1" '$1 == name { print $2 }' "$RUN/pids" | tail -n 1; } # number
candidate_address() { local name=ADDRESS_$1; echo "${!name}"; }                                 # number

is_leader() { metric_is "$(candidate_address "$1")" 'leader_election_master_status{name="frameworkcontroller"}' 1; } # number

# Waits until the candidate leads and everything is in its reconcilers' hands.
wait_leads() { # number seconds
    wait_for "$2" "watcher-$1 leads" is_leader "$1"
    wait_for "$2" "watcher-$1 has granted all shards" metric_is "$(candidate_address "$1")" frameworkcontroller_shards_held 64
}

lease_is() { # expression
    get_jq "$(election_lease)" -e "$1"
}

record_is() { # expression
    get_jq "$(election_record)" -e "$1"
}

# A cluster with two watchers, of which the first leads.
two_watchers() { # [arguments of both...]
    own_cluster
    own_config <<<"memberLeaseSec: ${member_lease:-2}"
    start_candidate 1 "$@"
    wait_leads 1 20
    start_candidate 2 "$@"
    wait_for 20 "the standby is ready" curl -sSf "$(candidate_address 2)/readyz"
    expect "the standby leads" "$(is_leader 2 && echo yes)" ""
    expect "children of the standby" "$(pgrep -P "$(candidate_pid 2)" | wc -l)" 0
}

end_candidates() {
    end_processes . 15 watcher-{1..9}
}

# kill -9: the standby sees that the process is gone, and its children with it, so that there is nothing to wait for.
# Meanwhile Frameworks run, and some are deleted: their snapshots are in somebody's log.
run_election_killed() {
    local started
    two_watchers --workers 2 "${STEADY_ELECTION[@]}"
    record_pods
    submit_many f 10 2 3
    wait_for 20 "Pods run" running_at_least 1
    kill -KILL "$(candidate_pid 1)"
    started=$(now_ms)
    submit_many g 10 2 3
    wait_leads 2 20
    echo "leads $(($(now_ms) - started)) ms after kill -9 of the leader"
    wait_for 60 "all Frameworks are Completed" completed_at_least 20
    wait_for 10 "nothing of the attempts is left" none_left configmaps,pods
    expect_ran_once $((20 * 3))
    expect "epoch" "$(metric "$(candidate_address 2)" frameworkcontroller_epoch)" 2
    end_candidates
    expect "the Lease is given back" "$(get_jq "$(election_lease)" -r '.spec.holderIdentity // ""')" ""
}

# SIGTERM: the Lease is given back at once, so nobody waits for its end.
run_election_rolled_out() {
    local started
    two_watchers --workers 2 "${STEADY_ELECTION[@]}"
    record_pods
    submit_many f 14 2 3
    wait_for 20 "Pods run" running_at_least 10
    started=$(now_ms)
    kill -TERM "$(candidate_pid 1)"
    wait_leads 2 12
    echo "leads $(($(now_ms) - started)) ms after SIGTERM of the leader"
    wait_for 60 "all Frameworks are Completed" completed_at_least 14
    wait_for 10 "nothing of the attempts is left" none_left configmaps,pods
    expect_ran_once $((14 * 3))
    expect "reconcilers that did not end well" "$(grep -hE 'pool-. \(pid [0-9]+\) ' watcher-1.log | grep -v 'exited with code 0')" ""
    end_candidates
}

# It stands still past its Lease: another one leads. When it goes on it knows so before it does anything.
run_election_stopped() {
    local stopped
    two_watchers --workers 2 "${QUICK_ELECTION[@]}"
    record_pods
    submit_many f 14 2 3
    wait_for 20 "Pods run" running_at_least 10
    stopped=$(candidate_pid 1)
    kill -STOP "$stopped"
    wait_leads 2 50
    kill -CONT "$stopped"
    wait_for 10 "the stopped leader knows" grep -q 'leading no longer' watcher-1.log
    wait_for 5 "its reconcilers are gone" has_no_children "$stopped"
    submit_many g 10 2 3
    wait_for 60 "all Frameworks are Completed" completed_at_least 24
    wait_for 10 "nothing of the attempts is left" none_left configmaps,pods
    expect_ran_once $((24 * 3))
    # It is a standby as any other now.
    wait_for 10 "one of them leads" one_leads
    kill -TERM "$(candidate_pid 2)"
    wait_leads 1 20
    end_candidates
}

has_no_children() { [[ -z $(pgrep -P "$1") ]]; } # pid

# What people do to a Lease and to the record of its epoch.
run_election_lease_by_hand() {
    local holder
    two_watchers --workers 2 "${QUICK_ELECTION[@]}"
    record_pods
    submit_many f 10 4 2
    holder=$(get_jq "$(election_lease)" .spec.holderIdentity)
    # Deleted: who leads puts it back. The holder taken out: the same.
    api DELETE "$(election_lease)" >/dev/null
    wait_for 10 "the Lease is back" lease_is ".spec.leaseTransitions == 1 and .spec.holderIdentity == $holder"
    expect "the record" "$(get_jq "$(election_record)" -c \
        "[.data.holder == $holder, (.data | .epoch, .leaseMs, .memberLeaseMs | tonumber)]")" "[true,1,12000,2000]"
    api PATCH "$(election_lease)" '{"spec": {"holderIdentity": ""}}' application/merge-patch+json >/dev/null
    wait_for 10 "it is put right" lease_is ".spec.leaseTransitions == 1 and .spec.holderIdentity == $holder"
    expect "it leads" "$(is_leader 1 && echo yes)" yes
    # The record deleted: the next term writes it again.
    api DELETE "$(election_record)" >/dev/null
    kill -TERM "$(candidate_pid 1)"
    wait_leads 2 20
    wait_for 10 "the record is back" record_is '.data.epoch == "2"'
    expect "terms" "$(grep -c 'leading as ' watcher-1.log) $(grep -c 'leading as ' watcher-2.log)" "1 1"
    wait_for 60 "all Frameworks are Completed" completed_at_least 10
    expect_ran_once $((10 * 2))
    end_candidates
    # Nobody is there to put the Lease back: who starts waits until the record's would have run out.
    api DELETE "$(election_lease)" >/dev/null
    start_candidate 3 --workers 2 "${QUICK_ELECTION[@]}"
    wait_for 40 "it leads" is_leader 3
    expect "epoch" "$(metric "$ADDRESS_3" frameworkcontroller_epoch)" 3
    # Another holder put in: it is waited for, and then for whom the record names.
    api PATCH "$(election_lease)" '{"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 2}}' \
        application/merge-patch+json >/dev/null
    wait_for 10 "it leads no longer" grep -q 'leading no longer: another process holds the Lease' watcher-3.log
    wait_for 40 "it leads again" metric_is "$ADDRESS_3" frameworkcontroller_epoch 4
    # Both deleted: nothing is left to be waited for.
    end_candidates
    api DELETE "$(election_lease)" >/dev/null
    api DELETE "$(election_record)" >/dev/null
    start_candidate 4 --workers 2 "${QUICK_ELECTION[@]}"
    wait_leads 4 20
    expect "epoch" "$(metric "$ADDRESS_4" frameworkcontroller_epoch)" 1
    end_candidates
}

# The API server is out of reach for the leader alone: it stops by itself before another one begins, and its reconcilers
# with it, though they still have leases and could reach the server.
run_election_cut_off() {
    local first
    own_cluster
    own_config <<<'memberLeaseSec: 2'
    start_proxy proxy frameworkcontroller
    start_candidate 1 --workers 2 "${QUICK_ELECTION[@]}" --kubeconfig proxy.kubeconfig
    wait_leads 1 20
    start_candidate 2 --workers 2 "${QUICK_ELECTION[@]}"
    wait_for 20 "the standby is ready" curl -sSf "$ADDRESS_2/readyz"
    first=$(candidate_pid 1)
    record_pods
    submit_many f 14 2 3
    wait_for 20 "Pods run" running_at_least 10
    proxy proxy hold
    wait_for 20 "it leads no longer" grep -q 'leading no longer: the Lease was not renewed in time' watcher-1.log
    wait_for 5 "its reconcilers are gone" has_no_children "$first"
    wait_leads 2 50
    submit_many g 10 2 3
    proxy proxy pass
    wait_for 60 "all Frameworks are Completed" completed_at_least 24
    wait_for 10 "nothing of the attempts is left" none_left configmaps,pods
    expect_ran_once $((24 * 3))
    # (unless the second one's Lease has run out, too)
    grep 'leading no longer' watcher-2.log || expect "terms of the first" "$(grep -c 'leading as ' watcher-1.log)" 1
    end_candidates
    end_processes . 5 proxy
}

one_leads() { if is_leader 1; then ! is_leader 2; else is_leader 2; fi; }
somebody_leads() { is_leader 1 || is_leader 2; }

shards_lost() { cat reconciler-*.log | grep -c 'were revoked\|shards expired' || true; }

# Reconcilers on their own know both watchers, follow the one that leads, and keep their shards meanwhile.
run_election_members() {
    local buses before name
    own_cluster
    own_config <<<'memberLeaseSec: 900'
    start_candidate 1 --workers 0 --bus "ipc://$RUN/bus-1" "${STEADY_ELECTION[@]}"
    start_candidate 2 --workers 0 --bus "ipc://$RUN/bus-2" "${STEADY_ELECTION[@]}"
    buses=ipc://$RUN/bus-2,ipc://$RUN/bus-1
    launch_reconciler reconciler-a --name a --bus "$buses"
    launch_reconciler reconciler-b --name b --bus "$buses"
    wait_leads 1 10 # there was nobody before: no lease is waited for
    for name in a b; do wait_for 10 "reconciler $name has its share" grep -q '32 shards were' "reconciler-$name.log"; done
    before=$(shards_lost)
    record_pods
    submit_many f 10 2 3
    wait_for 20 "Pods run" running_at_least 5
    kill -KILL "$(candidate_pid 1)"
    wait_leads 2 10
    submit_many g 10 2 3
    wait_for 60 "all Frameworks are Completed" completed_at_least 20
    expect_ran_once $((20 * 3))
    expect "shards lost on the way" "$(shards_lost)" "$before"
    start_candidate 1 --workers 0 --bus "ipc://$RUN/bus-1" "${STEADY_ELECTION[@]}"
    kill -TERM "$(candidate_pid 2)"
    wait_leads 1 10
    expect "shards lost on the way back" "$(shards_lost)" "$before"
    end_processes . 15 reconciler-a reconciler-b
    end_candidates
}

# A standby that was away for a while, as in a rollout, is found within seconds of its return: it may lead right then, and
# its reconcilers hold leases until they know it.
run_election_returns() {
    local bus before pings started
    own_cluster
    start_candidate 1 --workers 0 --bus tcp://127.0.0.1:0 "${STEADY_ELECTION[@]}"
    wait_for 10 "watcher-1 leads" is_leader 1
    start_candidate 2 --workers 0 --bus tcp://127.0.0.1:0 "${STEADY_ELECTION[@]}"
    wait_for 10 "the standby is ready" curl -sSf "$ADDRESS_2/readyz"
    bus=$(bus_of 2)
    launch_reconciler reconciler-a --name a --bus "$(bus_of 1),$bus" --http 127.0.0.1:0
    wait_leads 1 20
    wait_for 10 "it has reached the standby, too" reached 2
    kill -TERM "$(candidate_pid 2)"
    before=$(shards_lost)
    pings=$(metric "$(http_address reconciler-a)" frameworkcontroller_bus_pings_total)
    wait_for 40 "it has been away for 20 pings, one a second" pings_at_least $((pings + 20))
    start_candidate 2 --workers 0 --bus "$bus" "${STEADY_ELECTION[@]}"
    started=$(now_ms)
    wait_for 20 "the reconciler has found it again" reached 2
    (($(now_ms) - started < 8000)) || fail "found it again after $(($(now_ms) - started)) ms"
    kill -TERM "$(candidate_pid 1)"
    wait_leads 2 10
    expect "shards lost on the way" "$(shards_lost)" "$before"
    end_processes . 15 reconciler-a
    end_candidates
}

bus_of() { sed -nE 's/.*the bus listens on (tcp:.*)$/\1/p' "watcher-$1.log" | tail -n 1; } # number
reached() { (($(metric "$(candidate_address "$1")" frameworkcontroller_bus_connections_total) > 0)); } # number
pings_at_least() { (($(metric "$(http_address reconciler-a)" frameworkcontroller_bus_pings_total) >= $1)); } # number

# What a watcher says of itself, for people and for programs.
run_status() {
    local name table member_lease=600
    two_watchers --workers 2 "${STEADY_ELECTION[@]}"
    launch_barrier barrier --name gate --bus "$(printf 'ipc://%s\n' "$RUN"/frameworkcontroller-*/bus | paste -sd,)" --listen 127.0.0.1:0 \
        --insecure-no-auth
    create 'range(5) | fw("f\(.)"; [role("a"; 1; {})])'
    for name in f{0..4}; do wait_running "$name"; done
    wait_for 15 "the barrier is seen" status_is 1 '.barriers | length == 1 and .[0].name == "gate"'
    wait_for 15 "what the leader says of itself" status_is 1 \
        '.leads and .leader == .identity and .lease == "'"$(lease_namespace)"'/frameworkcontroller" and .epoch == 1 and
        .synced and .live and .shardCount == 64 and .held == 64 and .unheld == [] and
        ([.members[].name] == ["pool-0", "pool-1"]) and all(.members[]; .state == "present" and .count == 32 and
            .draining == "" and .leaseSeconds > 0 and .pid > 0 and .uuid != "") and ([.members[].shards] | sort == ["0-31", "32-63"])'
    wait_for 15 "what the standby says of itself" status_is 2 \
        '(.leads | not) and .leader != .identity and .members == [] and .synced and .live'
    table=$(asked_status_of 1)
    echo "$table"
    expect_match "the table" "$table" 'MEMBER +PID +STATE +SHARDS .* RESTARTS +LAST END'
    expect_match "the table" "$table" 'pool-1 +[0-9]+ +present +(0-31|32-63) +32 +- '
    expect_match "the table of the standby" "$(asked_status_of 2)" ', standby'

    # Both see what is deleted; who leads tells it.
    api DELETE "$(frameworks_path)/f4" '{}' >/dev/null
    wait_for 15 "the deletion is in the log" grep -q "\[$NS/f4\] .*: OnFrameworkDeletion: ObjectSnapshot: " watcher-1.log
    kill -KILL "$(pgrep -P "$(candidate_pid 1)" | head -n 1)"
    wait_for 15 "how it ended is told" status_is 1 'any(.members[]; .restarts == 1 and (.lastEnd | test("signal 9")))'
    expect_match "the table tells it, too" "$(asked_status_of 1)" '  1 +was killed by signal 9 \(Killed\)'
    wait_for 15 "it has its shards again" status_is 1 '.held == 64 and all(.members[]; .count == 32)'
    expect "ends counted" "$(curl -sSf "$ADDRESS_1/metrics" | grep '^frameworkcontroller_pool_ends_total')" \
        'frameworkcontroller_pool_ends_total{reason="signal 9"} 1'

    expect "of no watcher" \
        "$("$BUILD/fc-watcher" status --http 127.0.0.1:1 2>&1 >/dev/null |
            grep -c '/debug/shards: Connection refused: expected the --http address of a running fc-watcher')" 1
    expect "a wrong format" "$("$BUILD/fc-watcher" status -o yaml 2>&1 >/dev/null | grep -c 'expected table or json')" 1
    end_processes . 15 barrier
    expect "deletions that the standby tells of" "$(grep -c ObjectSnapshot watcher-2.log)" 0
    end_candidates
}

asked_status_of() { # number [arguments...]
    local address
    address=$(candidate_address "$1")
    "$BUILD/fc-watcher" status --http "${address#http://}" "${@:2}"
}

status_is() { # number expression
    asked_status_of "$1" -o json | jq -e "$2"
}
