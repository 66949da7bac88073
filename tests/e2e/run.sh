#!/usr/bin/env bash
# Runs whole processes on a cluster and looks at what becomes of Frameworks. The scenarios are the functions in
# scenarios/*.sh; each is the same on both clusters. See ../README.md.
set -euo pipefail

usage() {
    cat >&2 <<'EOF'
usage: run.sh embedded|kubernetes [SCENARIO...]
Runs the scenarios (all, or those whose names match one of the patterns; @FILE: those that FILE beside this script names)
on the embedded cluster of tests/cluster or on a real control plane (tests/kubernetes), and exits with 0 when none failed.
  BUILD=DIR     where the programs are (build)
  PARALLEL=N    how many scenarios run at a time (six for each processor, as most of their time they wait; three where
                many have a real control plane of their own; 16 at most)
  SLOWER=N      the programs are so many times slower than usual (sanitizers): waits are longer
  KEEP=1        leave the logs behind; without it they stay only when something failed
EOF
    exit 2
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" >/dev/null && pwd)
root=$(cd "$here/../.." >/dev/null && pwd)
export SLOWER=${SLOWER:-1}
export LC_ALL=C.UTF-8 # what $'\u…' in a scenario means depends on it
AGAIN_MAX=3
scenario_limit_s=$((${SCENARIO_LIMIT:-600} * SLOWER)) # a scenario's own waits end long before
. "$here/../kubernetes/processes.sh"
. "$here/lib/cluster.sh"
. "$here/lib/api.sh"
. "$here/lib/roles.sh"

# Scenarios are processes of this script: `run.sh --scenario NAME`, started by run_scenario.
if [[ ${1:-} == --scenario ]]; then
    . "$here/lib/scenario.sh"
    scenario_main "$2"
    exit
fi

# `run_` scenarios go side by side, in the order of the file longest, in which * is all others; `alone_` ones, which count
# requests, one after the other.
list_scenarios() { # run|alone pattern...
    local kind=$1 name pattern names
    shift
    (($#)) || set -- '*'
    names=$(sed -nE "s/^${kind}_([a-z0-9_]+)\(\).*/\1/p" "$here"/scenarios/*.sh)
    # (none of them may be in there, or all)
    { sed '/^\*$/,$d' "$here/longest" | grep -xF "$names" || true
      grep -vxFf "$here/longest" <<<"$names" || true
      sed '1,/^\*$/d' "$here/longest" | grep -xF "$names" || true; } | while read -r name; do
        for pattern; do
            # shellcheck disable=SC2053 # it is a pattern
            if [[ $name == $pattern ]]; then echo "$name"; break; fi
        done
    done
}

# Functions that read the file with the real ones when one of them is called. A shell that had read all files of scenarios
# would take 50 % more time to start a process.
write_functions() {
    local file
    for file in "$here"/scenarios/*.sh "$here"/lib/{adoption,faults,original,webhook}.sh; do
        sed -nE "s|^([a-z0-9_]+)\(\).*|\1() { . '$file'; \1 \"\$@\"; }|p" "$file"
    done >"$RUN/functions.sh"
}

run_scenario() { # name
    local name=$1 started=${EPOCHREALTIME/[.,]/} status=0 tenths seconds
    timeout --kill-after=5 "$scenario_limit_s" bash "$here/run.sh" --scenario "$name" \
        >"$RUN/out/$name.log" 2>&1 </dev/null || status=$?
    tenths=$(((${EPOCHREALTIME/[.,]/} - started) / 100000))
    seconds=$((tenths / 10)).$((tenths % 10))
    case $status in
    0) echo "ok $name ($seconds s)" ;;
    "$NOT_HERE")
        echo "ok $name # SKIP not here: $(<"$RUN/out/$name.reason")"
        : >"$RUN/out/$name.skipped"
        ;;
    *)
        ((status != 124)) || echo "not over within $scenario_limit_s s" >"$RUN/out/$name.reason"
        : >"$RUN/out/$name.failed"
        echo "not ok $name: $(cat "$RUN/out/$name.reason" 2>/dev/null || echo "exit status $status") ($seconds s)"
        report_failure "$name"
        return 1
        ;;
    esac
}

report_failure() { # name
    tail -n 60 "$RUN/out/$1.log" | sed 's/^/    /'
    echo "    ---- the controller's last lines on it"
    grep -hF "$(namespace_of "$1")/" "$RUN"/watcher-*.log | cut -c1-400 | tail -n 15 | sed 's/^/    /' || true
}

run_all() { # kind parallel pattern...
    local kind=$1 parallel=$2 name running=0
    shift 2
    while read -r name; do
        if ((running == parallel)); then
            wait -n || failed=$((failed + 1))
            running=$((running - 1))
        fi
        run_scenario "$name" &
        running=$((running + 1))
        total=$((total + 1))
    done < <(list_scenarios "$kind" "$@")
    while ((running > 0)); do
        wait -n || failed=$((failed + 1))
        running=$((running - 1))
    done
}

# A few scenarios that failed beside all the others run once more by themselves, on a new cluster: what broke because the
# machine stood still passes then, and is counted as flaky. Only when nothing else is wrong.
run_again() {
    local names=()
    mapfile -t names < <(find "$RUN/out" -name '*.failed' -printf '%f\n' | sed 's/\.failed$//' | sort)
    ((${#names[@]} == failed && failed <= AGAIN_MAX)) || return 0
    echo "# failed beside others, and once more alone: ${names[*]}"
    if PARALLEL=1 "$here/run.sh" "$CLUSTER" "${names[@]}"; then
        failed=0
        flaky=("${names[@]}")
    fi
}

finish() {
    local status=$?
    trap - EXIT INT TERM HUP
    jobs -p | xargs -r kill 2>/dev/null || true
    wait 2>/dev/null || true
    ((stopped)) || stop_cluster || true
    stop_own_clusters || true
    if ((status == 0)) && [[ -z ${KEEP:-} ]]; then rm -rf "$RUN"; else echo "logs: $RUN"; fi
    exit "$status"
}

case ${1:-} in
embedded | kubernetes) CLUSTER=$1; shift ;;
*) usage ;;
esac
BUILD=$(realpath -e "${BUILD:-$root/build}")
named=$# # scenarios that are asked for by name do not run again
if [[ ${1:-} == @* ]]; then
    mapfile -t names < <(grep -v '^#' "$here/${1#@}")
    unknown=$(printf '%s\n' "${names[@]}" | grep -vxF "$(sed -nE 's/^(run|alone)_([a-z0-9_]+)\(\).*/\2/p' "$here"/scenarios/*.sh)" || true)
    [[ -z $unknown ]] || { echo "${1#@}: no scenario is called $unknown" >&2; exit 2; }
    set -- "${names[@]}"
    named=0
fi
RUN=$(mktemp -d "${TMPDIR:-/tmp}/fc-e2e.XXXXXX")
export CLUSTER BUILD RUN
mkdir "$RUN/out"
stopped=0
trap finish EXIT
trap 'exit 130' INT TERM HUP

write_functions
total=0 failed=0 flaky=()
started=$(now_ms)
start_cluster
echo "# $CLUSTER cluster up after $((($(now_ms) - started) / 1000)) s"
if [[ $CLUSTER == embedded ]]; then many=6; else many=3; fi
many=$((many * $(nproc)))
run_all run "${PARALLEL:-$((many < 16 ? many : 16))}" "$@"
run_all alone 1 "$@"
check_processes || failed=$((failed + 1))
stop_cluster || true
stopped=1
check_logs || failed=$((failed + 1))
((total > 0)) || { echo "no scenario is called $*" >&2; exit 2; }
if (($# == 0)) && ((total != $(cat "$here"/scenarios/*.sh | grep -cE '^(run|alone)_[a-z0-9_]+\(\)'))); then
    echo "only $total of the scenarios were run"
    failed=$((failed + 1))
fi
((named > 0 || failed == 0)) || run_again
skipped=$(find "$RUN/out" -name '*.skipped' | wc -l)
((${#flaky[@]} == 0)) || printf 'flaky: %s\n' "${flaky[@]}"
passed=$((total - failed - skipped - ${#flaky[@]})) seconds=$((($(now_ms) - started) / 1000))
echo "$passed passed, $failed failed, $skipped skipped, ${#flaky[@]} flaky, $seconds s"
((failed == 0))
