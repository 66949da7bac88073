# Kueue for the tests: its kinds (kueue/crds.yaml), and a process that does what it does (kueue/kueue.jq) with one ClusterQueue
# whose quota is a number of Pods. Sourced by scenario.sh.

KUEUE_API=/apis/kueue.x-k8s.io/v1beta2

workloads_path() { echo "$KUEUE_API/namespaces/$NS/workloads"; }

# The Workload of a Framework, and what an expression gives for it.
workload() { # framework expression
    get_jq "$(workloads_path)/framework-$1" -r "$2"
}

wait_workload() { # framework seconds expression
    wait_object "$(workloads_path)" "metadata.name=framework-$1" "$2" "$3"
}

patch_workload() { # framework patch [/status]
    api PATCH "$(workloads_path)/framework-$1${3:-}" "$2" application/merge-patch+json >/dev/null
}

# The CRDs of a cluster that serves them from the beginning.
kueue_crds() {
    local file=$RUN/out/$scenario.crds
    { "$BUILD/fc-watcher" --print-crd; echo ---; cat "$here/kueue/crds.yaml"; } >"$file"
    echo "$file"
}

install_kueue() {
    kubectl apply -f "$here/kueue/crds.yaml" >/dev/null
    wait_for 20 "Workloads are served" api GET "$(workloads_path)"
    wait_for 20 "ResourceFlavors are served" api GET "$KUEUE_API/resourceflavors"
    wait_for 20 "WorkloadPriorityClasses are served" api GET "$KUEUE_API/workloadpriorityclasses"
    api POST "$KUEUE_API/resourceflavors" '{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor",
        "metadata": {"name": "default"}, "spec": {"nodeLabels": {"flavor": "default"},
        "tolerations": [{"key": "queue", "operator": "Exists"}]}}' >/dev/null
    api POST "$KUEUE_API/workloadpriorityclasses" '{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
        "metadata": {"name": "urgent"}, "value": 77}' >/dev/null
}

# A control plane goes on to the next scenario: without Kueue.
remove_kueue() {
    local name
    k delete frameworks --all --wait=true --timeout=60s >/dev/null 2>&1 || true
    for name in $(api GET "$(workloads_path)" 2>/dev/null | jq -r '.items[]?.metadata.name'); do
        api PATCH "$(workloads_path)/$name" '{"metadata": {"finalizers": null}}' application/merge-patch+json >/dev/null 2>&1 || true
    done
    kubectl delete -f "$here/kueue/crds.yaml" --ignore-not-found --wait=true >/dev/null
}

# Has Kueue's part played from now on, until the scenario ends or stop_kueue.
start_kueue() { # Pods [admission checks]
    play_kueue "$1" "${2:-[]}" &
    kueue_pid=$!
}

stop_kueue() {
    kill "$kueue_pid"
    wait "$kueue_pid" 2>/dev/null || true
}

play_kueue() { # Pods checks
    set +eE
    trap - ERR EXIT
    local path list line answer asked code again
    path=$(workloads_path)
    while :; do
        list=$(api GET "$path") || return 0
        while read -r line; do
            # (somebody else was faster, or has deleted it: the next list shows that)
            answer=$(api PATCH "$KUEUE_API/namespaces/$(jq -r .path <<<"$line")" \
                "$(jq -c '{metadata: {resourceVersion: .version}, status}' <<<"$line")" application/merge-patch+json 2>&1) ||
                [[ $answer == *"the answer is 4"0[49] ]] || echo "what Kueue does is refused: $answer" >&2
        done < <(jq -c --argjson quota "$1" --argjson checks "$2" --arg now "$(date -u +%FT%TZ)" -f "$here/kueue/kueue.jq" <<<"$list")
        # until something happens to one of them
        http_ask GET "$path?watch=1&timeoutSeconds=4&resourceVersion=$(jq -r .metadata.resourceVersion <<<"$list")" || continue
        read -r -u "$asked" _ || true
        exec {asked}>&-
    done
}

# Kueue evicts it for one of a higher priority.
evict() { # framework
    local now
    now=$(date -u +%FT%TZ)
    patch_workload "$1" "$(get_jq "$(workloads_path)/framework-$1" -c --arg now "$now" '{status: {conditions: ([.status.conditions[] |
        select(.type != "Evicted")] + [{type: "Evicted", status: "True", reason: "Preempted",
            message: "Preempted to accommodate a workload",
        lastTransitionTime: $now}])}}')" /status
}
