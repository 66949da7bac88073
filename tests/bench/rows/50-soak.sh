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
    local begin round=0 minute=0
    begin=$(now_ms)
    while (($(now_ms) < begin + ${ask_minutes:-1} * 60000)); do
        round=$((round + 1))
        bench load --until completed --run-seconds 0 --prefix "r$round" >round.json
        api DELETE "$FRAMEWORK_API/namespaces/bench/frameworks" >/dev/null
        wait_for 60 "the round's objects are gone" nothing_left
        # the first rounds fill what is kept for a while on purpose: connections, buffers, tombstones
        if ((round == 3 || ($(now_ms) - begin) / 60000 > minute)); then
            minute=$((($(now_ms) - begin) / 60000))
            memory_now
        fi
    done >memory
    jq -Rn --argjson round "$round" --argjson frameworks "$frameworks" --argjson minutes "${ask_minutes:-1}" '
        [inputs | split(" ") | map(tonumber) | {round: .[0], minute: .[1], pss_mb: .[2], watcher_mb: .[3], reconcilers_mb: .[4],
        held_mb: .[5]}] |
        {wall_s: ($minutes * 60), churned: ($round * $frameworks), rounds_of_churn: $round, memory: .}' <memory
}

nothing_left() {
    local kind
    for kind in api/v1/namespaces/bench/pods "${FRAMEWORK_API#/}/namespaces/bench/frameworks"; do
        [[ $(api GET "/$kind?limit=1" | jq '.items | length') == 0 ]] || return 1
    done
}

# The round, the minute, and in MB: what our processes take together, what the watcher and the reconcilers have allocated
# of it (anonymous memory: heaps, stacks, data), and what all of them hold of their heaps, as malloc/count.c counts it.
memory_now() {
    local name
    for name in $(ours); do
        sed "s/^/$name /" "/proc/$(pid_of "$name")/smaps_rollup"
        echo "$name Held: $(od -An -t u8 -j 8 -N 8 "counts/$(pid_of "$name")" | tr -d ' ')"
    done | awk -v round="$round" -v minute="$minute" '
        $2 == "Pss:" { pss += $3 }
        $2 == "Anonymous:" { anonymous[$1 == "watcher"] += $3 }
        $2 == "Held:" { held += $3 }
        END { printf "%d %d %.1f %.2f %.2f %.2f\n", round, minute, pss / 1024, anonymous[1] / 1024, anonymous[0] / 1024, held / 1048576 }'
}
