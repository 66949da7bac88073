# Work from its creation on. Sourced by run.sh.

load_row() { # fc-bench's options...
    bench_cluster
    start_kubelet
    start_controller
    measure bench load "$@"
}

# 200 Frameworks of 5 Tasks that run for a second.
row_batch() {
    setting 200 5
    load_row --until completed --run-seconds 1
}

# Large Frameworks, whose statuses are compressed.
row_wide() {
    setting 1 1000
    more_config='largeFrameworkCompression: true'
    load_row --until completed --run-seconds 1
}

row_widest() {
    setting 1 10000
    more_config='largeFrameworkCompression: true'
    load_row --until completed --run-seconds 1
}

# Nothing but Pods to create: no kubelet, and no status that says more than their UIDs.
row_create() {
    setting 1 2000
    bench_cluster
    start_controller
    measure bench load --until created
}

# A rate limit that is the bottleneck.
row_limited() {
    setting 1000 5 400
    load_row --until running
}
