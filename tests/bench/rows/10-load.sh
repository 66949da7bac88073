# Work from its creation on. Sourced by run.sh.

# 200 Frameworks of 5 Tasks that run for a second.
row_batch() {
    setting 200 5
    bench_cluster
    start_kubelet
    start_controller
    measure bench load --until completed --run-seconds 1
}
