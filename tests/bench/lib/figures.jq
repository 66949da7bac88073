# The figures of one row from what lib/measure.sh gathered.

# {"process metric": value}
def by_name: split("\n") | map(select(. != "") | split(" ") | {key: "\(.[0]) \(.[1])", value: (.[2] | tonumber)}) | from_entries;
def minus($old): with_entries(.value -= ($old[.key] // 0) | select(.value != 0));
def column($i): split("\n") | map(select(. != "") | split(" ")[$i] | tonumber) | add // 0;

($after | by_name | minus($before | by_name)) as $counted |
# Requests as {"create pods": 1000}, of all processes together; reads of the watcher are its list and watch.
def requests($of): $counted | to_entries | map(select(.key | test($of)) |
    (.key | capture("code=\"(?<code>[^\"]*)\",method=\"(?<method>[^\"]*)\",resource=\"(?<resource>[^\"]*)\"")) + {value}) |
    group_by([.method, .resource]) | map({key: ("\(.[0].method) \(.[0].resource)" | rtrimstr(" ")), value: (map(.value) | add)})
    | from_entries;
def sum($pattern): $counted | to_entries | map(select(.key | test($pattern)) | .value) | add // 0;

{row: $row, cluster: $cluster, frameworks: $frameworks, tasks: $tasks, workers: $workers, qps: $qps}
+ $measured[0] + ($sample[0] | {cpu_s, peak_pss_mb, switches, processes, others})
+ {
    requests: requests("rest_client_requests_total"),
    failed_requests: sum("rest_client_requests_total\\{code=\"[^2]"),
    reads: (requests("^(reconciler|job-controller).*method=\"(GET|LIST|WATCH)\"") | add // 0),
    # (the Job controller puts nothing else)
    status_writes: sum("rest_client_requests_total.*(resource=\"frameworks/status\"|method=\"PUT\",resource=\"\")"),
    release_mean_ms: ((sum("barrier_release_seconds_sum") / (sum("barrier_release_seconds_count") | if . == 0 then 1 else . end)) * 1000),
    rounds: sum("frameworkcontroller_reconciles_total"),
    allocations: sum(" allocations$"),
    sent_mb: ((($bytes_after | column(1)) - ($bytes_before | column(1))) / 1048576),
    received_mb: ((($bytes_after | column(2)) - ($bytes_before | column(2))) / 1048576)
}
