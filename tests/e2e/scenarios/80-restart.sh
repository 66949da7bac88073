# Processes that end in the middle of the work, killed or asked to: everything completes, and no Task runs twice. (A watcher
# whose Lease runs out ends its reconcilers, too: not here.)

# The reconcilers' process ids, one a line.
reconcilers() { pgrep -P "$(watcher_pid)" | sort -n; }
reconcilers_run() { [[ -n $(reconcilers) ]]; }
are_reaped() { [[ -z $(reconcilers | grep -Fx "$1") ]]; } # process ids, one a line
# Returns when the watcher has reaped them, so that the next call kills others.
kill_reconcilers() {
    local killed
    wait_for 10 "reconcilers run" reconcilers_run
    killed=$(reconcilers)
    xargs kill -KILL <<<"$killed"
    wait_for 10 "the watcher has reaped them" are_reaped "$killed"
}

other_reconcilers() { # before
    local now
    now=$(reconcilers)
    [[ $now != "$1" ]] && (($(wc -l <<<"$now") == 4))
}

# All Pods that ever were.
record_pods() { record pods; }

# One Pod was ever seen of each Task, the one in its status, and it has succeeded.
expect_ran_once() { # tasks [pattern of Pods that do not count]
    local tasks=$RUN/out/$scenario.tasks
    end_records
    get_jq "$(frameworks_path)" -r '.items[].status.attemptStatus | .id as $attempt | .taskRoleStatuses[].taskStatuses[] |
        .attemptStatus | [.podName, .podUID, $attempt, .id, .completionStatus.code] | map(tostring) | join(" ")' | sort >"$tasks"
    expect "Tasks" "$(wc -l <"$tasks")" "$1"
    expect "Tasks whose first Pod did not succeed" "$(awk '$3 " " $4 " " $5 != "0 0 0"' "$tasks")" ""
    expect "Pods that are not in the status, and the other way round" \
        "$(comm -3 <(cut -d' ' -f1,2 "$tasks") <(jq -r --arg others "${2:-^$}" '.object.metadata | select(.name | test($others) | not) |
            "\(.name) \(.uid)"' "$RUN/out/$scenario.pods" | sort -u))" ""
}

# kill -9 of each reconciler, at whatever it is doing then, and of the watcher with all of them.
run_killed() {
    local before pid slot
    own_cluster
    start_watcher "${STEADY_ELECTION[@]}"
    record_pods
    submit_many f 40 2 3
    wait_for 10 "Pods run" running_at_least 1
    for slot in 1 2 3 4; do
        before=$(reconcilers)
        pid=$(sed -n "${slot}p" <<<"$before")
        kill -KILL "$pid"
        wait_for 10 "reconciler $pid is replaced" other_reconcilers "$before"
    done
    submit_many g 40 2 3
    wait_for 20 "Pods of the second load run" running_at_least 20
    kill -KILL "$(watcher_pid)"
    start_watcher "${STEADY_ELECTION[@]}"
    wait_for 60 "all Frameworks are Completed" completed_at_least 80
    wait_for 5 "nothing of the attempts is left" none_left configmaps,pods
    expect_ran_once $((80 * 3))
}

# SIGTERM, as in a rollout: the watcher and its reconcilers finish what is in flight and end by themselves.
run_rolled_out() {
    local pid begun
    own_cluster
    start_watcher "${STEADY_ELECTION[@]}"
    record_pods
    submit_many f 40 2 3
    wait_for 10 "Pods run" running_at_least 20
    pid=$(watcher_pid)
    begun=$(now_ms)
    kill "$pid"
    wait_for 10 "the watcher has ended" has_ended "$pid"
    echo "drained within $(($(now_ms) - begun)) ms"
    expect "reconcilers that did not end well" \
        "$(grep -hE "pool-. \(pid [0-9]+\) " "$RUN"/watcher-*.log | tail -n 4 | grep -v "exited with code 0")" ""
    start_watcher "${STEADY_ELECTION[@]}"
    wait_for 60 "all Frameworks are Completed" completed_at_least 40
    wait_for 5 "nothing of the attempts is left" none_left configmaps,pods
    expect_ran_once $((40 * 3))
}

has_ended() { # pid
    ! start_time "$1"
}
