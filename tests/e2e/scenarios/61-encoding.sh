# Pods as protobuf, which is asked for where no snapshot of a deleted Pod is wanted: what becomes of Frameworks is what
# becomes of them when Pods come as JSON, as in all other scenarios.

run_pods_as_protobuf() {
    local name
    own_cluster
    own_config <<'EOT'
logObjectSnapshot:
  pod: {onPodDeletion: false}
EOT
    start_watcher
    watcher_logs | grep "Pods: the server sends protobuf" || fail "the Pods are not in protobuf"
    for name in succeed unknown_retry service_batch; do
        final_status_is_golden $name
        k delete framework f
    done
    for name in match_oom match_none; do
        completion_is_golden $name
        k delete framework f
    done
    expect "what could not be read" "$(watcher_logs | grep -E 'cannot be read|malformed|invalid' | head -n 3)" ""
}
