# Two fc-jobs of one cluster: one leads by the Lease, and whatever becomes of it the other one goes on.

constants_of 85-jobs
constants_of election

# Starts jobs-NUMBER; JOBS_ADDRESS_NUMBER is where it tells of itself.
start_jobs_candidate() { # number
    launch_jobs "jobs-$1" --qps 1000 --burst 1000 --http 127.0.0.1:0 "${QUICK_ELECTION[@]}"
    declare -g "JOBS_ADDRESS_$1=$(http_address "jobs-$1")"
}

jobs_leads() { # number
    local name=JOBS_ADDRESS_$1
    metric_is "${!name}" 'leader_election_master_status{name="fc-jobs"}' 1
}

jobs_pid() { awk -v name="jobs-$1" '$1 == name { print $2 }' "$RUN/pids" | tail -n 1; } # number

jobs_succeeded() { # at least
    get_jq "$(jobs_path "$TFJOBS")" -e --argjson least "$1" '[.items[] | '"$HAS"' select(has("Succeeded"))] | length >= $least'
}

jobs_frameworks() { # at least
    get_jq "$(frameworks_path)" -e --argjson least "$1" '.items | length >= $least'
}

submit_numbered_jobs() { # from to
    local i
    for ((i = $1; i <= $2; i++)); do
        submit_job "$TFJOBS" tfjob-simple '.metadata.name = "n'"$i"'" |
            .spec.tfReplicaSpecs.Worker |= (.replicas = 2 | annotate({"run-seconds": 1, "exit-code": 0}))'
    done
}

# Names, and creations, of the recorded objects.
made() { # resource
    jq -rn '[inputs | select(.type == "ADDED").object.metadata.name] | "\(unique | length) of \(length)"' "out/$scenario.$1"
}

# Two candidates, of which the first leads.
given_two_candidates() { # workers
    own_cluster
    kubectl create -f "$JOB_CRDS" >/dev/null
    launch_watcher watcher-1 --workers "$1"
    wait_for 20 "TFJobs are served" api GET "$(jobs_path "$TFJOBS")"
    start_jobs_candidate 1
    wait_for 20 "jobs-1 leads" jobs_leads 1
    start_jobs_candidate 2
}

# kill -9 of the leader while jobs begin, run and end: none is lost, and no Framework, Pod or Event is made twice.
run_jobs_leaders() {
    given_two_candidates 2
    record frameworks pods
    submit_numbered_jobs 1 10
    wait_for 30 "the leader works" jobs_frameworks 5
    expect "the other one leads" "$(jobs_leads 2 && echo yes)" ""
    kill -KILL "$(jobs_pid 1)"
    submit_numbered_jobs 11 15
    wait_for 60 "jobs-2 leads" jobs_leads 2
    wait_for 60 "all jobs have succeeded" jobs_succeeded 15
    wait_all_completed 60
    end_records
    expect "Frameworks that were made" "$(made frameworks)" "15 of 15"
    expect "Pods that were made" "$(made pods)" "30 of 30"
    expect "Events that two say" "$(get_jq "/api/v1/namespaces/$NS/events" -r '.items[] | select(.source.component == "fc-jobs") |
        "\(.involvedObject.uid) \(.reason) \(.message)"' | sort | uniq -d)" ""
    keep_control_plane
}

# The next leader counts up the Event of the former one, once for each restart of a replica.
run_jobs_restarted() {
    given_two_candidates 1
    submit_job "$TFJOBS" tfjob-simple '.spec.tfReplicaSpecs.Worker |= (.replicas = 1 | .restartPolicy = "ExitCode" |
        annotate({"run-seconds": 2, "exit-code": "130,130,0"}))'
    wait_event simple TFJobRestarting 'Worker replica'
    wait_job "$TFJOBS" simple 30 "$HAS has(\"Restarting\")"
    kill -KILL "$(jobs_pid 1)"
    wait_job "$TFJOBS" simple 90 "$HAS has(\"Succeeded\")"
    wait_object "/api/v1/namespaces/$NS/events" "involvedObject.name=simple,reason=TFJobRestarting" 15 '.count == 2'
    keep_control_plane
}
