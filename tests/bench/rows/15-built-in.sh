# The work of the rows batch and wide as Jobs of batch/v1, which Kubernetes' own Job controller runs. Sourced by run.sh.

built_in_row() { # Jobs Pods
    only_on kubernetes
    setting "$@"
    workers=0
    bench_cluster
    start_kubelet
    start_job_controller
    measure bench load --kind Job --until completed --run-seconds 1
}

row_built_in() { built_in_row 200 5; }
row_built_in_wide() { built_in_row 1 1000; }

# A process of its own, so that its CPU time is known: the control plane's kube-controller-manager runs other controllers
# (tests/kubernetes/cluster.sh). Its number of workers, 5, is no option in 1.20.
start_job_controller() {
    launch job-controller "$("$here/../kubernetes/assets.sh")/kube-controller-manager" --kubeconfig=cluster/kubeconfig \
        --controllers=job --leader-elect=false --kube-api-qps="$qps" --kube-api-burst="$qps" \
        --port=0 --bind-address=127.0.0.1 --secure-port="$(free_port)" --authorization-always-allow-paths=/metrics
    wait_for 60 "the Job controller has listed Jobs and Pods" grep -q 'Caches are synced for job' job-controller.log
}
