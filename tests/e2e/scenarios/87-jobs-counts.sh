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

# A job is deleted while its watch does not work: its Framework goes, and no other one is made for it.
alone_jobs_deleted_unseen() {
    local fault audited_from requests=$RUN/out/$scenario.requests
    [[ $CLUSTER == embedded ]] || not_here "needs a watch that fails"
    submit_job "$TFJOBS" tfjob-simple '.spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_job "$TFJOBS" simple 30 "$HAS has(\"Running\")"
    count_from_now
    fault=$(testapi POST faults '{"match": {"resource": "tfjobs", "verb": "watch", "userAgent": "fc-jobs"},
        "action": {"status": 503}}' | jq .id)
    testapi POST watches '{"match": {"resource": "tfjobs"}, "do": "end"}' >/dev/null
    api DELETE "$(jobs_path "$TFJOBS")/simple" >/dev/null
    wait_for 30 "its Framework is gone" is_absent "$(frameworks_path)/simple"
    wait_for 30 "fc-jobs looks for the job" jobs_asked_for simple
    testapi DELETE "faults/$fault" >/dev/null
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "next"'
    wait_framework next 60 .spec
    requests_of fc-jobs >"$requests"
    expect "Frameworks created" "$(grep -c '^create frameworks 201' "$requests")" 1
}

jobs_asked_for() { requests_of fc-jobs | grep -q "^get tfjobs 404"; }
