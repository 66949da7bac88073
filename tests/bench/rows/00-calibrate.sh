# What the API server does for plain clients, without us: the other rows are compared with it. Sourced by run.sh.

row_calibrate() {
    setting 1 5
    bench_cluster
    local arguments=()
    servers arguments
    "$BUILD/fc-bench" --kubeconfig cluster/kubeconfig --tasks 5 --count 1000 "${arguments[@]}" calibrate >calibration.json
    jq -c --arg cluster "$CLUSTER" '{row: "calibrate", cluster: $cluster} + .' calibration.json >>figures
}
