# What a user waits for whenever kubectl framework starts. Sourced by run.sh.

# CPU time in milliseconds: the cheapest of twenty runs, because other processes only add to it.
row_plugin() {
    setting 0 0
    bench_cluster
    local starts
    starts=$(
        start_cost "help" --help
        start_cost "list of an empty namespace" list --kubeconfig cluster/kubeconfig -n bench
        start_cost "why of nobody" why nobody --kubeconfig cluster/kubeconfig -n bench
    )
    jq -cs --arg cluster "$CLUSTER" '{row: "plugin", cluster: $cluster, starts: add}' <<<"$starts" >>figures
}

start_cost() { # what arguments...
    local TIMEFORMAT='%U %S' _
    for _ in {1..20}; do
        { time "$BUILD/kubectl-framework" "${@:2}" >/dev/null 2>&1; } 2>&1 || true # (why of nobody ends with 3)
    done | awk -v what="$1" '{ ms = ($1 + $2) * 1000; if (NR == 1 || ms < best) best = ms } END { printf "{\"%s\": %d}\n", what, best }'
}
