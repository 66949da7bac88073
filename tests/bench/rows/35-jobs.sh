# TFJobs that fc-jobs runs as Frameworks. Sourced by run.sh.

# The goal: fc-jobs takes under 15 % of what the watcher and the reconcilers take for the Frameworks.
row_jobs() {
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
    measure bench load --jobs --until completed --run-seconds "${JOB_SECONDS:-1}"
}

leads_jobs() { curl -sSf "$(http_of jobs)/metrics" | grep -q '^leader_election_master_status{.*} 1$'; }
