# kill -9 of reconcilers, and of the watcher with all of them, in the middle of the work: everything completes, and no
# Task runs twice.

# COUNT Frameworks of two roles, three Tasks each, which run for a while.
submit_many() { # prefix count seconds tasks
    jq -n --arg prefix "$1" --argjson count "$2" --arg seconds "$3" --argjson tasks "$4" '{
        apiVersion: "v1", kind: "List", items: [range($count) | {
            apiVersion: "frameworkcontroller.microsoft.com/v1", kind: "Framework",
            metadata: {name: "\($prefix)\(.)"},
            spec: {taskRoles: [{name: "a", taskNumber: $tasks, task: {pod: {
                metadata: {annotations: {"testkubelet/run-seconds": $seconds}},
                spec: {restartPolicy: "Never", containers: [{name: "c", image: "i"}]}}}}]}}]}' |
        k create --validate=false -f - >/dev/null
}

completed() { k get frameworks --no-headers 2>/dev/null | awk '$2 == "Completed"' | wc -l; }
completed_at_least() { (($(completed) >= $1)); }
running_at_least() { # number of Pods
    (($(k get pods --no-headers 2>/dev/null | awk '$3 == "Running"' | wc -l) >= $1))
}

# The reconcilers' process ids, one a line.
reconcilers() { pgrep -P "$(watcher_pid)" | sort -n; }

other_reconcilers() { # before
    local now
    now=$(reconcilers)
    [[ $now != "$1" ]] && (($(wc -l <<<"$now") == 4))
}

alone_restart() {
    local before pid pods watch frameworks=40
    pods=$RUN/out/$scenario.pods
    k get pods -w -o custom-columns=NAME:.metadata.name,UID:.metadata.uid --no-headers >"$pods" 2>&1 &
    watch=$!

    submit_many f $frameworks 2 3
    # Each reconciler once, one after the other, at whatever it is doing then.
    wait_for 10 "Pods run" running_at_least 1
    for slot in 1 2 3 4; do
        before=$(reconcilers)
        pid=$(sed -n "${slot}p" <<<"$before")
        kill -KILL "$pid"
        wait_for 10 "reconciler $pid is replaced" other_reconcilers "$before"
    done
    # The watcher, in the middle of a second load.
    submit_many g $frameworks 2 3
    wait_for 20 "Pods of the second load run" running_at_least 20
    kill -KILL "$(watcher_pid)"
    start_watcher
    wait_for 60 "all Frameworks are Completed" completed_at_least $((2 * frameworks))
    kill "$watch"
    wait "$watch" || true

    # One Pod per Task was ever seen, and it is the one in the status, whose first attempt has succeeded.
    k get frameworks -o json | jq -r '.items[] | .metadata.name as $name | .status.attemptStatus as $attempt |
        $attempt.taskRoleStatuses[].taskStatuses[] | "\(.attemptStatus.podName) \(.attemptStatus.podUID // "none")
            \($attempt.id) \(.attemptStatus.id) \(.attemptStatus.completionStatus.code // "none")"' |
        awk '{ $1 = $1; line = line (line ? " " : "") $0 } NR % 2 == 0 { print line; line = "" }' | sort >"$RUN/out/$scenario.tasks"
    expect "Tasks" "$(wc -l <"$RUN/out/$scenario.tasks")" $((2 * frameworks * 3))
    expect "Tasks whose first Pod did not succeed" "$(awk '$3 " " $4 " " $5 != "0 0 0"' "$RUN/out/$scenario.tasks")" ""
    expect "Pods ever seen, but not in the status" \
        "$(comm -13 <(cut -d' ' -f1,2 "$RUN/out/$scenario.tasks") <(awk '{ print $1, $2 }' "$pods" | sort -u))" ""
    wait_for 5 "nothing of the attempts is left" none_left configmaps,pods
}
