# What scenarios are written with. A scenario runs in a process of its own, with set -e, in a namespace of its own;
# the first command that fails ends it. Sourced by run.sh.

FRAMEWORKS=$here/frameworks
EXPECTED=$here/expected
EXAMPLES=$root/manifests/examples
CLUSTER_DIR=$RUN/cluster
. "$here/lib/api.sh"
. "$here/lib/own_cluster.sh"

# Ends the scenario. The first word counts.
fail() { # message
    [[ -s $RUN/out/$scenario.reason ]] || echo "$*" >"$RUN/out/$scenario.reason"
    echo "FAILED: $*" >&2
    exit 1
}

# This cannot be shown here.
not_here() { # reason
    echo "$*" >"$RUN/out/$scenario.reason"
    trap - EXIT
    exit "$NOT_HERE"
}

on_exit() {
    local status=$?
    jobs -p | xargs -r kill 2>/dev/null || true
    ((status != 0)) || return 0
    [[ -s $RUN/out/$scenario.reason ]] || echo "a command failed: $last_failed" >"$RUN/out/$scenario.reason"
    echo "---- what is in the namespace"
    k get frameworks,configmaps,pods 2>&1 | head -n 40 || true
    k get events --sort-by=.lastTimestamp 2>&1 | tail -n 10 || true
}

scenario_main() { # name
    scenario=$1
    NS=$(namespace_of "$scenario")
    last_failed=
    local file
    for file in "$here"/scenarios/*.sh; do . "$file"; done
    cd "$RUN"
    set -E
    trap 'last_failed="line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND"' ERR
    trap on_exit EXIT
    kubectl create namespace "$NS" >/dev/null
    if declare -F "run_$scenario" >/dev/null; then "run_$scenario"; else "alone_$scenario"; fi
}

# Whether the programs are built to find mistakes: they keep more memory, and can be looked into.
sanitized() { grep -q __asan_init "$BUILD/fc-watcher"; }

# kubectl in the scenario's namespace.
k() { kubectl -n "$NS" "$@"; }

# Submits frameworks/NAME.yaml.
submit() { # name...
    local name
    for name; do k create -f "$FRAMEWORKS/$name.yaml"; done
}

# Submits Frameworks PREFIX0, PREFIX1, … of one role, whose Pods run for so long (times SLOWER) and succeed.
submit_many() { # prefix count seconds tasks
    jq -n --arg prefix "$1" --argjson count "$2" --arg seconds "$(($3 * SLOWER))" --argjson tasks "$4" '{
        apiVersion: "v1", kind: "List", items: [range($count) | {
            apiVersion: "frameworkcontroller.microsoft.com/v1", kind: "Framework",
            metadata: {name: "\($prefix)\(.)"},
            spec: {taskRoles: [{name: "a", taskNumber: $tasks, task: {pod: {
                metadata: {annotations: {"testkubelet/run-seconds": $seconds}},
                spec: {restartPolicy: "Never", containers: [{name: "c", image: "i"}]}}}}]}}]}' |
        k create --validate=false -f - >/dev/null
}

# Conditions for wait_for.
completed_at_least() { # number of Frameworks
    (($(k get frameworks --no-headers 2>/dev/null | awk '$2 == "Completed"' | wc -l) >= $1))
}
running_at_least() { # number of Pods
    (($(k get pods --no-headers 2>/dev/null | awk '$3 == "Running"' | wc -l) >= $1))
}

# Waits for condition Completed.
wait_completed() { # framework [seconds]
    local seconds=$((${2:-30} * SLOWER))
    k wait --for=condition=Completed --timeout="${seconds}s" "framework/$1" >/dev/null ||
        fail "Framework $1 is not Completed within $seconds s but $(k get framework "$1" -o jsonpath='{.status.state}')"
}

# What a jq expression gives for the Framework.
framework() { # name expression
    get_framework "$1" | jq -r "$2"
}

# Waits until a jq expression is true of the Framework.
wait_framework() { # name seconds expression
    wait_for "$2" "Framework $1: $3" framework_is "$1" "$3"
}

framework_is() { # name expression
    get_framework "$1" | jq -e "$2"
}

# Nothing of this kind is left in the namespace.
none_left() { # resources
    [[ -z $(k get "$1" --ignore-not-found -o name) ]]
}

expect() { # what found expected
    [[ $2 == "$3" ]] || fail "$1: found \"$2\", expected \"$3\""
}

expect_match() { # what found pattern
    [[ $2 =~ $3 ]] || fail "$1: found \"$2\", expected to match \"$3\""
}

# Compares stdin, normalised, with expected/NAME.json.
expect_golden() { # name
    jq -S --arg namespace "$NS" -f "$here/lib/normalise.jq" >"$RUN/out/$scenario.found"
    jq -S . "$EXPECTED/$1.json" >"$RUN/out/$scenario.expected"
    diff -u "$RUN/out/$scenario.expected" "$RUN/out/$scenario.found" || fail "differs from expected/$1.json, see the diff"
}
