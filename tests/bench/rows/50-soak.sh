# Churn: Frameworks come, run, complete and are deleted, again and again; nothing may grow. Sourced by run.sh.

row_soak() {
    only_on embedded
    setting 200 5
    bench_cluster
    start_kubelet
    start_controller
    measure churn
}

churn() {
    local end round=0 first=
    end=$(($(now_ms) + ${ask_minutes:-1} * 60000))
    while (($(now_ms) < end)); do
        round=$((round + 1))
        bench load --until completed --run-seconds 0 --prefix "r$round" >round.json
        api DELETE "$FRAMEWORK_API/namespaces/bench/frameworks" >/dev/null
        wait_for 60 "the round's objects are gone" nothing_left
        # the first rounds fill what is kept for a while on purpose: connections, buffers, tombstones
        ((round != 3)) || first=$(memory_now)
    done
    jq -n --argjson round "$round" --argjson frameworks "$((round * frameworks))" --argjson first "${first:-0}" --argjson last "$(memory_now)" \
        --argjson minutes "${ask_minutes:-1}" '{wall_s: ($minutes * 60), churned: $frameworks, rounds_of_churn: $round,
            pss_after_3_rounds_mb: $first, pss_at_end_mb: $last}'
}

nothing_left() {
    local kind
    for kind in api/v1/namespaces/bench/pods "${FRAMEWORK_API#/}/namespaces/bench/frameworks"; do
        [[ $(api GET "/$kind?limit=1" | jq '.items | length') == 0 ]] || return 1
    done
}

# Of our processes together, in MB.
memory_now() {
    local name
    for name in $(ours); do cat "/proc/$(pid_of "$name")/smaps_rollup"; done | awk '/^Pss:/ { kb += $2 } END { printf "%.1f", kb / 1024 }'
}
