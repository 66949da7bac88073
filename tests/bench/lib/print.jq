# One line of the table from the figures of one row.
def round($digits): if . == null then "" else . as $x | pow(10; $digits) as $p | ($x * $p | round) / $p end;
# "1.3 (watcher 0.6, reconcilers 4 × 0.18)"
def split(of; $digits): (.processes // []) as $all
    | ($all | map(select(.name | startswith("reconciler"))) | map(of)) as $reconcilers
    | [($all[] | select(.name | startswith("reconciler") | not) | "\(.name) \(of | round($digits))"),
       (if $reconcilers == [] then empty else "reconcilers \($reconcilers | length) ×"
           + " \(($reconcilers | add) / ($reconcilers | length) | round($digits))" end)]
    | join(", ");
def servers: [.others[]? | select(.name | test("^(fc-testapi|kube-apiserver|etcd)$"))];
# Our CPU time in percent of what the API server and etcd spent meanwhile.
def share: (servers | map(.cpu_s) | add // 0) as $theirs
    | if $theirs > 0 then "\(.cpu_s * 100 / $theirs | round(0)) %" else "" end;
# "kube-apiserver 1.8 + etcd 0.3" of each kind of request
def costs: .cpu_ms | to_entries | map("\(.key) \(.value | to_entries | map("\(.key) \(.value | round(2))") | join(" + "))") | join(", ");
def requests: .requests | to_entries | sort_by(-.value) | map("\(.key) \(.value)") | join(", ");
def more: [
    "CPU s: \(servers | map("\(.name) \(.cpu_s | round(1))") | join(" + "))",
    (if .alone_s and .alone_s > 0.005 then "API server alone \(.alone_s | round(2)) s, ratio \(.wall_s / .alone_s | round(2))" else
        empty end),
    (if .alone_with_kubelet_s and .pods_per_s == null and .alone_with_kubelet_s > .alone_s then "with the kubelet's requests"
        + " \(.alone_with_kubelet_s | round(2)) s, ratio \(.wall_s / .alone_with_kubelet_s | round(2))" else empty end),
    (if .pods_per_s then "\(.pods_per_s | round(0)) Pods/s" +
        "\(if .creation_percent then ", \(.creation_percent | round(0)) % of the API server alone" else "" end)" else empty end),
    (if .failed_requests > 0 then "**\(.failed_requests) failed requests**" else empty end),
    (if .release_last_ms then "last waiter \(.release_last_ms | round(0)) ms after the last status; per Framework p50"
        + " \(.release_p50_ms | round(0)), p99 \(.release_p99_ms | round(0)) ms, of which in fc-barrier \(.release_mean_ms | round(1))"
        + " ms on average" else empty end),
    (if .echo_p50_ms then "API server alone: watch p50 \(.echo_p50_ms | round(0)), p99 \(.echo_p99_ms | round(0)) ms; a GET then p50"
        + " \(.echo_get_p50_ms | round(0)), p99 \(.echo_get_p99_ms | round(0)), the last \(.echo_get_last_ms | round(0)) ms" else
        empty end),
    (if .latency_p50_ms then "Pod to status p50 \(.latency_p50_ms | round(0)), p99 \(.latency_p99_ms | round(0)) ms" else empty end),
    (([.processes[]? | select(.name == "jobs") | .cpu_s] | add) as $jobs
        | if $jobs then "fc-jobs takes \($jobs * 100 / (.cpu_s - $jobs) | round(0)) % of the others' CPU" else empty end),
    (if .held_s then "the reconciler holds all after \(.held_s | round(2)) s" else empty end),
    (if .churned then "\(.churned) Frameworks; PSS \(.memory[0].pss_mb) MB after \(.memory[0].round) rounds, \(.memory[-1].pss_mb) at"
        + " the end; allocated \(.memory | map(.watcher_mb + .reconcilers_mb | round(1) | tostring) | join(", ")) MB minute by minute,"
        + " held of it \(.memory | map(.held_mb | round(1) | tostring) | join(", "))" else empty end)
] | join("; ");

if .rates then
    "| \(.cluster) | \(.row) | \(.wall_s | round(2)) | | | | | | | | | |"
        + " \(.rates | to_entries | map("\(.key) \(.value)/s") | join(", ")) | CPU ms for a request: \(costs) |"
elif .starts then
    "| \(.cluster) | \(.row) | | | | | | | | | | | | CPU ms to start: \(.starts | to_entries | map("\(.key) \(.value)") | join(", ")) |"
elif .first_write_after_start_ms then
    "| \(.cluster) | \(.row) \(.frameworks) | | | | | | | | | | | | the killed one held \(.held_by_killed), was started again after"
        + " \(.start_after_kill_ms) ms"
    + " and wrote \(.first_write_after_start_ms) ms later; longest pause of the others \(.others.longest_gap_before_ms) ms before,"
        + " \(.others.longest_gap_after_ms) ms after |"
elif .steps then
    "| \(.cluster) | \(.row) \(.frameworks)×\(.tasks) | | \(.steps[0].cpu_s | round(1)) | | | \(.steps[0].rest_mb | round(0)) | | | | | | |"
        + " \(.bytes_each | round(0)) bytes a Task at rest; " + ([.steps[] | "\(.step) \(.took_s[-1]) s"
        + ", \(.cpu_s | round(1)) s of CPU"] | join("; ")) + " |"
else
    "| \(.cluster) | \(.row) \(.frameworks)×\(.tasks) | \(.wall_s | round(2)) | \(.cpu_s | round(2)) (\(split(.cpu_s; 2)))"
    + " | \(share) | \(if .tasks > 0 then .switches / (.frameworks * .tasks) | round(1) else "" end) | \(.peak_pss_mb | round(1))"
        + " (\(split(.peak_pss_mb; 1)))"
    + " | \(if .status_writes > 0 then .status_writes / .frameworks | round(2) else "" end) | \(.reads) | \(.rounds) |"
        + " \(if .allocations > 0 then "\(.allocations / 1000 | round(0)) k" else "" end)"
    + " | \(.sent_mb | round(1)), \(.received_mb | round(1)) | \(requests) | \(more) |"
end
