#!/usr/bin/env bash
# Measures what ARCHITECTURE.md §11 sets goals for. Rows are the functions row_NAME in rows/*.sh; see README.md.
set -euo pipefail

usage() {
    cat <<'END'
usage: run.sh [options] [ROW...]
Runs the rows whose names match one of the patterns (without any: all but the long ones) and prints a line for each.
  --cluster NAME      embedded, kubernetes or both (both)
  --frameworks N      instead of each row's own number
  --tasks N           of a Framework, likewise
  --workers N         reconcilers (4)
  --qps N             kubeClientQps (10000, or the row's own)
  --minutes N         how long the soak takes (1)
  --no-calibration    leave out the first row, which the others are compared with
  --json FILE         all figures of all rows
  --plots DIR         diagrams of the rows scale_*
  --all               the long rows too
  --list              the rows' names
BUILD=DIR: where the programs are (build). KEEP=1 leaves logs behind.
END
    exit "$1"
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" >/dev/null && pwd)
root=$(cd "$here/../.." >/dev/null && pwd)
export SLOWER=${SLOWER:-1} # what tests/e2e waits by
. "$here/../kubernetes/processes.sh"
. "$here/../e2e/lib/cluster.sh"
. "$here/../e2e/lib/api.sh"
for file in "$here"/lib/*.sh "$here"/rows/*.sh; do . "$file"; done

# A row is a process of this script, so that the first command that fails ends it: `run.sh --row NAME`, by run_row.
if [[ ${1:-} == --row ]]; then
    row=$2
    CLUSTER_DIR=$RUN/cluster
    cd "$RUN"
    "row_$row"
    exit
fi

list_rows() { # pattern...
    local name pattern
    (($#)) || set -- '*'
    sed -nE 's/^row_([a-z0-9_]+)\(\).*/\1/p' "$here"/rows/*.sh | while read -r name; do
        for pattern; do
            # shellcheck disable=SC2053 # it is a pattern
            if [[ $name == $pattern ]]; then echo "$name"; break; fi
        done
    done
}

clusters=(embedded kubernetes)
calibrate=(calibrate)
long='^(scale_wide_.*|soak|million)$'
json=
plots=
while (($#)); do
    case $1 in
    --cluster) [[ $2 == both ]] || clusters=("$2"); shift ;;
    --frameworks) ask_frameworks=$2; shift ;;
    --tasks) ask_tasks=$2; shift ;;
    --workers) ask_workers=$2; shift ;;
    --qps) ask_qps=$2; shift ;;
    --minutes) ask_minutes=$2; shift ;;
    --json) json=$(realpath -m "$2"); shift ;;
    --no-calibration) calibrate=() ;;
    --plots) plots=$(realpath -m "$2"); shift ;;
    --all) long='' ;;
    --list) list_rows; exit ;;
    --help) usage 0 ;;
    -*) usage 2 >&2 ;;
    *) break ;;
    esac
    shift
done
export CLUSTER BUILD BENCH RUN ask_frameworks ask_tasks ask_workers ask_qps ask_minutes

finish() {
    local status=$?
    trap - EXIT INT TERM HUP
    end_row || true
    if ((status == 0)) && [[ -z ${KEEP:-} ]]; then rm -rf "$BENCH"; else echo "logs: $BENCH"; fi
    exit "$status"
}

BUILD=$(realpath -e "${BUILD:-$root/build}")
BENCH=$(mktemp -d "${TMPDIR:-/tmp}/fc-bench.XXXXXX")
trap finish EXIT
trap 'exit 130' INT TERM HUP
(($# == 0)) || long=''
mapfile -t rows < <(list_rows "$@" | grep -vx calibrate | grep -vE "${long:-^$}")
((${#rows[@]})) || { echo "no row is called $*" >&2; exit 2; }

failed=0
: >"$BENCH/results"
print_head
for CLUSTER in "${clusters[@]}"; do
    for row in "${calibrate[@]}" "${rows[@]}"; do run_row "$row" || failed=$((failed + 1)); done
done
print_gangs
[[ -z $plots ]] || plot_all "$plots"
[[ -z $json ]] || jq -s . "$BENCH/results" >"$json"
((failed == 0))
