# What jobs cost the API server: 60 TFJobs of two Workers that run for a second.

constants_of 85-jobs

JOBS_PACE=25    # statuses of jobs that go on, for each second …
JOBS_AT_ONCE=25 # … and at once
JOBS_EVENTS_PACE=10 # Events that repeat conditions
JOBS_EVENTS_AT_ONCE=25

alone_jobs_counts() {
    local jobs=60 i text first='"j1"' started took seconds audited_from requests=$RUN/out/$scenario.requests
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "first" | .spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_job "$TFJOBS" first 30 "$HAS has(\"Running\")"
    count_from_now
    started=$(now_ms)
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "j1" | .spec.successPolicy = "AllWorkers" |
        .spec.tfReplicaSpecs.Worker |= (.replicas = 2 | annotate({"run-seconds": 1, "exit-code": 0}))'
    text=$(<"$RUN/out/$scenario.job")
    for ((i = 2; i <= jobs; i++)); do
        api POST "$(jobs_path "$TFJOBS")" "${text//$first/\"j$i\"}" >/dev/null
    done
    wait_for 60 "all jobs have succeeded" jobs_succeeded $jobs
    took=$(($(now_ms) - started))
    seconds=$((took / 1000 + 1))
    echo "$jobs TFJobs of 2 Workers: $took ms"
    requests_of fc-jobs >"$requests"
    cut -d' ' -f1-3 "$requests" | sort | uniq -c | sort -rn
    expect "Frameworks created" "$(grep -c '^create frameworks 201' "$requests")" $jobs
    expect "other requests" "$(grep -vE '^(create frameworks 201|create events 20[01]|patch tfjobs/status 200) ' "$requests")" ""
    for i in "patch tfjobs/status:$((jobs + JOBS_AT_ONCE + JOBS_PACE * seconds))" \
        "create events:$((JOBS_EVENTS_AT_ONCE + JOBS_EVENTS_PACE * seconds))"; do
        (($(grep -c "^${i%:*} " "$requests") <= ${i#*:})) || fail "more than ${i#*:} of ${i%:*}"
    done
}
