#!/usr/bin/env bash
# kill -9 of one of four reconcilers of a pool while all Frameworks run (ARCHITECTURE.md §11): how long until its successor acts
# on its Frameworks again, and whether the other three pause. All the while specs are changed at a steady rate, all over
# the key space; each change is answered by a status write (observedGeneration), which a watch shows.
#   failover.sh [FRAMEWORKS]   on the embedded cluster; 10000
#   BUILD=DIR: where the programs are (build). KEEP=1 leaves the logs behind.
# Prints one JSON object; exits with 1 when the successor takes more than a second from its start, or the others pause for
# more than half a second.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" >/dev/null && pwd)
root=$(cd "$here/../.." >/dev/null && pwd)
. "$here/../kubernetes/processes.sh"
. "$here/../e2e/lib/cluster.sh"
. "$here/../e2e/lib/api.sh"
. "$here/lib/row.sh"

CHANGES_PER_S=60
SAMPLES=100 # Frameworks of each reconciler that are changed in turn
BEFORE_S=5
AFTER_S=8

CLUSTER=embedded
NS=bench
frameworks=${1:-10000}
qps=10000
BUILD=$(realpath -e "${BUILD:-$root/build}")
RUN=$(mktemp -d "${TMPDIR:-/tmp}/fc-failover.XXXXXX")
CLUSTER_DIR=$RUN/cluster
mkdir "$RUN/out"
cd "$RUN"
: >pids

finish() {
    local status=$?
    trap - EXIT INT TERM HUP
    jobs -p | xargs -r kill 2>/dev/null || true
    end_processes . 20 watcher
    stop_cluster || true
    if ((status == 0)) && [[ -z ${KEEP:-} ]]; then rm -rf "$RUN"; else echo "logs: $RUN" >&2; fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

shards() { curl -sSf "$(http_of watcher)/debug/shards"; }
all_shards_held() { shards | jq -e '.held == .shardCount'; }

# The shard of a key: its CRC-32, which gzip writes at the end, scaled to the number of shards.
shard_of() { # namespace/name shards
    local crc
    crc=$(printf %s "$1" | gzip -c | tail -c 8 | od -An -N4 -tu4)
    echo $((crc * $2 >> 32))
}

# Lines "member name" of the Frameworks that are changed, members in turn.
choose_samples() {
    local i=0 count
    local -A owner=() found=()
    count=$(jq .shardCount shards.json)
    while read -r shard member; do owner[$shard]=$member; done < <(jq -r '.members[] | .name as $name | .shards |
        split(",")[] | split("-") | map(tonumber) | range(.[0]; .[-1] + 1) | "\(.) \($name)"' shards.json)
    while ((i < frameworks)); do
        member=${owner[$(shard_of "$NS/f$i" "$count")]}
        found[$member]=$((${found[$member]:-0} + 1))
        ((found[$member] > SAMPLES)) || echo "${found[$member]} $member f$i"
        i=$((i + 1))
        ((i % 50)) || [[ $(printf '%s\n' "${found[@]}" | sort -n | head -n 1) -lt $SAMPLES ]] || break
    done | sort -n -k1,1 -k2,2 | cut -d' ' -f2-
}

# Requests for curl: one change of each sample in turn, for as long as the measurement takes.
write_changes() {
    local round total=$(((BEFORE_S + AFTER_S) * CHANGES_PER_S)) made=0
    for ((round = 1; made < total; round++)); do
        while read -r _ name; do
            ((made++ == 0)) || echo next
            printf 'url = "%s%s/%s"\nrequest = PATCH\nheader = "Content-Type: application/merge-patch+json"\n' \
                "$api_server" "$(frameworks_path)" "$name"
            printf 'data = "{\\"spec\\": {\\"description\\": \\"%s\\"}}"\noutput = /dev/null\nsilent\n' "$round"
            ((made < total)) || break
        done <samples
    done
}

# Lines "milliseconds name generation observedGeneration" of what the watch shows.
stamp() {
    local line
    while IFS= read -r line; do
        [[ $line =~ \"name\":\"(f[0-9]+)\" ]] || continue
        local name=${BASH_REMATCH[1]}
        [[ $line =~ \"generation\":([0-9]+) ]] || continue
        local generation=${BASH_REMATCH[1]}
        [[ $line =~ \"observedGeneration\":([0-9]+) ]] || continue
        echo "$(now_ms) $name $generation ${BASH_REMATCH[1]}"
    done
}

all_answered() {
    awk -v total="$(grep -c '^url' changes)" '{ key = $2 " " $3; if (!(key in asked)) { asked[key] = 1; made++ } }
        $4 == $3 && !(key in done) { done[key] = 1; answered++ }
        END { print made + 0, answered + 0, "of", total; exit !(made >= total && answered == made) }' seen
}

# When a line of the watcher's log was written, in milliseconds of today's epoch.
logged_ms() { # pattern: of the last such line
    local time
    time=$(grep -E "$1" watcher.log | tail -n 1 | sed -E 's/^I[0-9]{4} ([0-9:.]+) .*/\1/')
    echo $(($(date -u -d "$(date -u +%F) $time" +%s%N) / 1000000))
}

# Reads samples, then what the watch showed.
evaluate() {
    awk -v killed="$1" -v started="$2" -v complete="$3" -v victim="$4" -v frameworks="$frameworks" -v held="$5" '
        FNR == NR { member[$2] = $1; next }
        !($2 in member) { next }
        { key = $2 " " $3 }
        !(key in asked) { asked[key] = $1 }
        $4 == $3 && !(key in done) {
            done[key] = 1
            took = $1 - asked[key]
            after = $1 >= killed
            if (member[$2] == victim) {
                # (what the killed one had sent may be seen later)
                if (asked[key] >= killed && first == 0) first = $1
                if (after) { if (took > slowest_own) slowest_own = took } else own++
            } else {
                if (last > 0) { gap = $1 - last; if (gap > gaps[after]) gaps[after] = gap }
                last = $1
                count[after]++
                if (took > slowest[after]) slowest[after] = took
            }
        }
        END {
            printf "{\"row\": \"failover\", \"cluster\": \"embedded\", \"frameworks\": %d, \"held_by_killed\": %d, ", frameworks, held
            printf "\"start_after_kill_ms\": %d, \"complete_after_start_ms\": %d, \"first_write_after_start_ms\": %d, ", \
                started - killed, complete - started, first - started
            printf "\"killed_slowest_answer_ms\": %d, \"killed_writes_before\": %d, ", slowest_own, own
            printf "\"others\": {\"writes_before\": %d, \"writes_after\": %d, ", count[0], count[1]
            printf "\"longest_gap_before_ms\": %d, \"longest_gap_after_ms\": %d, ", gaps[0], gaps[1]
            printf "\"slowest_answer_before_ms\": %d, \"slowest_answer_after_ms\": %d}}\n", slowest[0], slowest[1]
        }' samples seen
}

bench_cluster
api_target arguments
start_kubelet
launch watcher env TMPDIR="$RUN" "$BUILD/fc-watcher" --config config.yaml \
    --kubeconfig cluster/kubeconfig --workers 4 --http 127.0.0.1:0
wait_for 60 "all shards are held" all_shards_held
"$BUILD/fc-bench" --kubeconfig cluster/kubeconfig --frameworks "$frameworks" --tasks 1 load --until running >loaded.json
shards >shards.json
choose_samples >samples
write_changes >changes
victim=$(jq -r '.members[0].name' shards.json)
pid=$(jq -r '.members[0].pid' shards.json)
held=$((frameworks / 4)) # its shards are a quarter of the key space

version=$(api GET "$(frameworks_path)?limit=1" | jq -r .metadata.resourceVersion)
curl -sSN "$api_server$(frameworks_path)?watch=1&resourceVersion=$version" | stamp >seen &
curl -sS --rate "$CHANGES_PER_S/s" --config changes &
changing=$!
sleep "$BEFORE_S"
killed=$(now_ms)
kill -KILL "$pid"
wait "$changing"
wait_for 30 "all shards are held again" all_shards_held
wait_for 30 "every change is answered" all_answered

evaluate "$killed" "$(logged_ms "started $victim, pid")" "$(logged_ms "$victim: .* shards are complete")" "$victim" "$held" |
    tee figures.json
jq -e '.first_write_after_start_ms <= 1000 and .others.longest_gap_after_ms <= 500' figures.json >/dev/null
