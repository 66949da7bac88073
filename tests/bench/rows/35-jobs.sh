# TFJobs that fc-jobs runs as Frameworks. Sourced by run.sh.

# The goal: fc-jobs adds under 15 % to what the watcher and the reconcilers take for the Frameworks alone.
row_jobs() {
    jobs_row
    measure bench load --kind TFJob --until completed --run-seconds "${JOB_SECONDS:-1}"
}

# The Frameworks that fc-jobs made of these jobs, without owners and without fc-jobs.
row_jobs_alone() {
    jobs_row
    kubectl -n bench get framework placeholder0 -o json | jq -c '.metadata |= {name, labels, annotations} | del(.status)' |
        sed s/placeholder0/placeholder/g >framework.json
    end_processes . 20 jobs
    grep -v '^jobs ' pids >pids.left && mv pids.left pids
    measure bench load --like framework.json --until completed
}

# One job runs before both rows, so that all processes have connected.
jobs_row() {
    local counted
    setting 500 4
    bench_cluster
    kubectl create -f "$JOB_CRDS" >/dev/null
    start_kubelet
    start_controller
    count_allocations counted
    launch jobs "${counted[@]}" "$BUILD/fc-jobs" --config config.yaml --kubeconfig cluster/kubeconfig --kinds tfjobs.kubeflow.org \
        --qps "$qps" --burst "$qps" --http 127.0.0.1:0
    wait_for 60 "fc-jobs is ready" is_ready jobs
    wait_for 60 "fc-jobs leads" leads_jobs
    bench load --kind TFJob --until completed --run-seconds "${JOB_SECONDS:-1}" --prefix placeholder --frameworks 1
}

leads_jobs() { curl -sSf "$(http_of jobs)/metrics" | grep -q '^leader_election_master_status{.*} 1$'; }
