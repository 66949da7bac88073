# The retry decision (CONTRACT.md §9) for every pair of policies and every kind of end. A Task's Pods end with the exit
# codes listed, one after the other, the last one for ever; those that are retried for ever are stopped in the end.

# fancy, maxRetryCount, exit codes → code, totalRetriedCount and accountableRetriedCount of the end, or "for ever" and
# whether the retries count. 1 is unknown, 200 Transient, 201 Transient and Conflict, 210 Permanent.
RETRY_TABLE='
normal  0 0      0 0 0
normal  0 1      1 0 0
normal  0 200    200 0 0
normal  0 201    201 0 0
normal  0 210    210 0 0
normal  2 0      0 0 0
normal  2 1      1 2 2
normal  2 1,0    0 1 1
normal  2 200    200 2 2
normal  2 201    201 2 2
normal  2 210    210 2 2
normal -1 0      0 0 0
normal -1 1,1,0  0 2 2
normal -1 200,0  0 1 1
normal -1 201,0  0 1 1
normal -1 210,0  0 1 1
normal -2 0      forever accountable
normal -2 1      forever accountable
normal -2 200    forever accountable
normal -2 201    forever accountable
normal -2 210    forever accountable
fancy   0 0      0 0 0
fancy   0 1      1 0 0
fancy   0 200,0  0 1 0
fancy   0 201,0  0 1 0
fancy   0 210    210 0 0
fancy   2 1      1 2 2
fancy   2 200,200,200,1 1 5 2
fancy   2 1,200,1,200,0 0 4 2
fancy   2 201,0  0 1 0
fancy   2 210    210 0 0
fancy  -1 0      0 0 0
fancy  -1 1,1,0  0 2 2
fancy  -1 200,0  0 1 0
fancy  -1 201,0  0 1 0
fancy  -1 210    210 0 0
fancy  -2 0      forever accountable
fancy  -2 1      forever accountable
fancy  -2 200    forever free
fancy  -2 201    forever free
fancy  -2 210    210 0 0'

# The rows as lines "NAME FANCY MAX CODES EXPECTED…"; the name says it all.
retry_rows() {
    awk 'NF { name = $1 "max" $2 "ends" $3; gsub(/[^a-z0-9]/, "x", name); sub(/^ */, ""); print name, $0 }' <<<"$RETRY_TABLE"
}

# Submits a Framework for each row whose name is read.
create_retried() { # jq-expression for a Framework, of $row and $rest
    retry_rows | jq -cRn '[inputs | splits("\n") | [splits(" +")]]' >"$RUN/out/$scenario.rows"
    create '$rows[0][] as [$name, $policy, $max, $codes] | ($policy == "fancy") as $fancy | ($max | tonumber) as $max |'"$1" \
        --slurpfile rows "$RUN/out/$scenario.rows"
}

# Task retries: at once, with no delay, Conflict or not.
run_retry_tasks() {
    create_retried 'fw($name; [role("a"; 1; ends(0; $codes)) | task_retry($fancy; $max) | policy(1; 1)])'
    expect_retries "$TASK.retryPolicyStatus" "$TASK.attemptStatus.completionStatus.code" "$TASK.attemptStatus.id"
    expect "Framework retries" "$(get_jq "$(frameworks_path)" '[.items[].status.retryPolicyStatus.totalRetriedCount] | add')" 0
}

# Framework retries. Those after a Conflict wait for 300 s and more: conflict_delay and own_delays show them.
run_retry_frameworks() {
    RETRY_TABLE=$(grep -v '^fancy.*201' <<<"$RETRY_TABLE")
    create_retried 'fw($name; [role("a"; 1; {"run-seconds": 0, "attempt-exit-code": $codes}) | policy(1; 1)]) |
        .spec |= retry($fancy; $max)'
    expect_retries .status.retryPolicyStatus .status.attemptStatus.completionStatus.code .status.attemptStatus.id
    # A fresh attempt has fresh Tasks.
    expect "Task retries" "$(get_jq "$(frameworks_path)" "[.items[] | $TASK.retryPolicyStatus.totalRetriedCount] | add")" 0
}

expect_retries() { # retry-status code id
    wait_for 60 "what ends has ended, and what is retried for ever was so three times" retried "$1"
    retry_rows | awk '$5 == "forever" { print $1, $6 }' | LC_ALL=C sort >"$RUN/out/$scenario.forever"
    expect_lines "for ever" \
        "$(get_jq "$(frameworks_path)" -r "$RETRIED_FOR_EVER | select(.ever) | \"\\(.framework.metadata.name) \\(.framework | $1 |
            if .accountableRetriedCount == .totalRetriedCount then \"accountable\"
            elif .accountableRetriedCount == 0 then \"free\" else . end)\"" |
        LC_ALL=C sort)" "$(<"$RUN/out/$scenario.forever")"
    expect_lines "the rest" "$(get_jq "$(frameworks_path)" -r "$RETRIED_FOR_EVER | select(.ever | not) | .framework |
            \"\\(.metadata.name) \\($2) \\($1.totalRetriedCount) \\($1.accountableRetriedCount) \\($3) \\($1.retryDelaySec)\"" |
            LC_ALL=C sort)" \
        "$(retry_rows | awk '$5 != "forever" { print $1, $5, $6, $7, $6, "null" }' | LC_ALL=C sort)"
    local name
    while read -r name _; do patch_framework "$name" '{"spec": {"executionType": "Stop"}}'; done <"$RUN/out/$scenario.forever"
    wait_all_completed 20
    wait_for 10 "nothing of the attempts is left" none_left pods
}

RETRIED_FOR_EVER='[.items[]] | .[] | {framework: ., ever: (.status.state != "Completed")}'

retried() { # retry-status
    local forever
    forever=$(retry_rows | awk '$5 == "forever" { printf "\"%s\":1,", $1 }')
    get_jq "$(frameworks_path)" -e "{${forever%,}} as \$forever | [.items[] | select(
        if \$forever[.metadata.name] then $1.totalRetriedCount < 3 else .status.state != \"Completed\" end) |
        \"\\(.metadata.name) \\(.status.state)\"] | if . == [] then true else error(join(\", \")) end"
}

# Whatever has happened in the first attempt of the Framework is over in the second one: new UIDs, no counters, but the
# outer times stay.
run_retry_fresh() {
    record frameworks
    create 'fw("f"; [role("a"; 2; {"run-seconds": "0.3", "attempt-exit-code": "1,0"}) | task_retry(false; 1) | policy(2; -1)]) |
        .spec |= retry(false; 3)'
    wait_completed f
    end_records
    jq -s '[.[] | select(.object.status.attemptStatus) | .object.status | {id: .attemptStatus.id, start: .startTime,
            uids: [.attemptStatus.taskRoleStatuses[] | .instanceUID, .taskStatuses[].instanceUID]}] |
        [.[].start] as $starts | {starts: ($starts | unique | length), ids: [.[].id] | unique,
            uids: group_by(.id) | map([.[].uids] | unique | length),
            shared: ((group_by(.id) | map(.[0].uids)) as $uids | $uids[0] - ($uids[0] - $uids[1]) | length)}' \
        "$RUN/out/$scenario.frameworks" >"$RUN/out/$scenario.seen"
    expect "start times, attempts, sets of UIDs in each, shared ones" "$(jq -c . "$RUN/out/$scenario.seen")" \
        '{"starts":1,"ids":[0,1],"uids":[1,1],"shared":0}'
    expect "retries" "$(framework f \
            '[.status.retryPolicyStatus.totalRetriedCount, (tasks.retryPolicyStatus.totalRetriedCount)] | join(" ")')" "1 0 0"
}
