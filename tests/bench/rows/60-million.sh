# A million Tasks that run: what memory the watcher and a pool of four reconcilers take, and what a cold start, a relist, the
# loss of a reconciler and churn on top cost. With --frameworks fewer. Sourced by run.sh.

CHURNED=2000 # a hundred a second, of ten Tasks each

row_million() {
    only_on embedded
    setting 100000 10
    bench_cluster
    kubectl create namespace churn >/dev/null
    fill
    start_pool
    costs cold >cold.json
    lists_again
    costs relist >relist.json
    loses_one
    costs loss >loss.json
    churn_on_top
    costs churn >churned.json
    jq -cn --arg row "$row" --argjson frameworks "$frameworks" --argjson tasks "$tasks" --slurpfile cold cold.json \
        --slurpfile relist relist.json --slurpfile loss loss.json --slurpfile churn churned.json --slurpfile load churn.json '
        {row: $row, cluster: "embedded", frameworks: $frameworks, tasks: $tasks, steps: ($cold + $relist + $loss + $churn), load: $load[0],
        bytes_each: ($cold[0].rest_mb * 1048576 / ($frameworks * $tasks))}' >>figures
}

# Seconds since $begun.
since() { awk -v now="$(now_ms)" -v begun="$begun" 'BEGIN { printf "%.2f", (now - begun) / 1000 }'; }

# Counts CPU time and the most memory from now on.
step() {
    local name
    for name in $(ours); do echo 5 >"/proc/$(pid_of "$name")/clear_refs"; done
    our_cpus >cpu.before
    rm -f rest
    begun=$(now_ms)
}

# CPU seconds of each of our processes so far, "name seconds".
our_cpus() {
    local name
    for name in $(ours); do
        sed "s/.*) /$name /" "/proc/$(pid_of "$name")/stat"
    done | awk -v ticks="$(getconf CLK_TCK)" '{ print $1, ($13 + $14) / ticks }'
}

# One object of JSON about the step: its CPU time until now, the most that each process took, and what all take at rest.
costs() { # name
    local name
    our_cpus >cpu.after
    wait_for 600 "memory is at rest" memory_at_rest
    for name in $(ours); do
        awk -v name="$name" '/^VmHWM:/ { peak = $2 } /^Pss:/ { pss = $2 }
            END { printf "%s %.1f %.1f\n", name, peak / 1024, pss / 1024 }' \
            "/proc/$(pid_of "$name")/"{status,smaps_rollup}
    done >memory
    our_cpus >cpu.rest
    jq -n --arg name "$1" --arg took "$(cat took)" --rawfile before cpu.before --rawfile after cpu.after --rawfile rest cpu.rest \
        --rawfile memory memory '
        def table: split("\n") | map(select(. != "") | split(" ") | {key: .[0], value: .[1:] | map(tonumber)}) | from_entries;
        ($before | table) as $before | ($memory | table) as $memory
        | def spent: table | to_entries | map({key, value: (.value[0] - ($before[.key][0] // 0))}) | from_entries;
        {step: $name, took_s: ($took | split(" ") | map(tonumber)), cpu_s: ($after | spent | add), cpu_rest_s: ($rest | spent | add),
        cpu: ($rest | spent), rest_mb: ($memory | map(.[1]) | add), rest: ($memory | map_values(.[1])),
        peak_rss: ($memory | map_values(.[0])), load: ("'"$(cut -d ' ' -f 1 /proc/loadavg)"'" | tonumber)}'
}

# The pool, in whose log each reconciler says when its snapshot is complete; until all have everything.
start_pool() {
    : >cpu.before
    begun=$(now_ms)
    launch watcher env TMPDIR="$RUN" "$BUILD/fc-watcher" --config config.yaml --kubeconfig cluster/kubeconfig \
        --workers "$workers" --http 127.0.0.1:0
    wait_for 900 "the watcher is ready" is_ready watcher
    since >took
    wait_for 900 "all shards are complete" completed "$workers"
    echo " $(since)" >>took
    name_pool
}

# Whether so many snapshots are complete, and all shards are held.
completed() {
    (($(grep -c 'shards are complete' watcher.log) >= $1)) && all_shards_held
}

shards() { curl -sSf "$(http_of watcher)/debug/shards"; }
all_shards_held() { shards | jq -e '.held == .shardCount'; }

# Adds the reconcilers to our processes.
name_pool() {
    local i=0 pid
    sed -i '/^reconciler-/d' pids
    while read -r pid; do
        echo "reconciler-$i $pid $(start_time "$pid")" >>pids
        i=$((i + 1))
    done < <(shards | jq '.members[].pid')
}

# All watches end, and what happened meanwhile is no longer to be had (410).
lists_again() {
    step
    api POST /fc-testapi/compact >/dev/null
    api POST /fc-testapi/watches '{"do": "expire"}' >/dev/null
    wait_for 30 "the watches have ended" not_live
    wait_for 900 "the watcher has listed again" is_live
    since >took
    wait_for 900 "all shards are held" all_shards_held
    name_pool # a watcher whose Lease was not renewed in time starts its pool again
}

is_live() { curl -sSf "$(http_of watcher)/metrics" | grep -q '^frameworkcontroller_live 1'; }
not_live() { ! is_live; }

# kill -9 of one reconciler, which the pool starts again.
loses_one() {
    local pid before
    step
    before=$(grep -c 'shards are complete' watcher.log)
    pid=$(pid_of reconciler-0)
    kill -KILL "$pid"
    sed -i 's/^reconciler-0 .*/reconciler-0 0/' cpu.before
    wait_for 600 "the shards are complete" completed $((before + 1))
    since >took
    name_pool
}

# Frameworks in a namespace of their own come to run.
churn_on_top() {
    start_kubelet --only-namespace churn
    step
    "$BUILD/fc-bench" --kubeconfig cluster/kubeconfig --namespace churn --frameworks "$CHURNED" --tasks 10 --prefix c --seconds 900 \
        load --until running --latency --rate 100 >churn.json
    since >took
}
