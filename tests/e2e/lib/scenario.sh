# What scenarios are written with. A scenario runs in a process of its own, with set -e, in a namespace of its own;
# the first command that fails ends it. Sourced by run.sh.

FRAMEWORKS=$here/frameworks
EXPECTED=$here/expected
EXAMPLES=$root/manifests/examples
CLUSTER_DIR=$RUN/cluster
. "$here/lib/own_cluster.sh"
. "$here/lib/browser.sh"
. "$here/lib/kueue.sh"

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

# The constants of another file of scenarios; its functions are there anyway.
constants_of() { # file
    . "$here/scenarios/$1.sh"
}

scenario_main() { # name
    scenario=$1
    NS=$(namespace_of "$scenario")
    last_failed=
    . "$RUN/functions.sh"
    cd "$RUN"
    set -E
    trap 'last_failed="line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND"' ERR
    trap on_exit EXIT
    trap : PIPE # a server that has gone is an error of the request
    find_tool_jq
    find_api
    create_namespace "$NS"
    if declare -F "run_$scenario" >/dev/null; then "run_$scenario"; else "alone_$scenario"; fi
}

# Whether the programs are built to find mistakes: they keep more memory, and can be looked into.
sanitized() { grep -q __asan_init "$BUILD/fc-watcher"; }

# Whether the memory of processes is what they use themselves: neither sanitizers nor memcheck (a script) keep shadows of it.
memory_is_plain() { ! sanitized && [[ $(head -c 2 "$BUILD/fc-watcher") != '#!' ]]; }

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
        created_all "$1" "$2"
}

# Creates the Frameworks of the List on stdin, of which some may be there already when a server has failed in between.
created_all() { # prefix count
    local list=$RUN/out/$scenario.list
    cat >"$list"
    k create --validate=false -f "$list" >/dev/null && return
    k create --validate=false -f "$list" >/dev/null || true
    expect "Frameworks $1…" \
        "$(get_jq "$(frameworks_path)" --arg prefix "$1" '[.items[].metadata.name | select(test("^\($prefix)[0-9]+$"))] | length')" \
        "$2"
}

# Conditions for wait_for.
completed_at_least() { # number of Frameworks
    table_jq -e "[.rows[] | select(.cells[1] == \"Completed\")] | length >= $1"
}
running_at_least() { # number of Tasks whose Pods run, or whose Framework is over: on a busy machine nobody sees them run
    table_jq -e "[.rows[].cells | (.[2] // \"0/0\" | split(\"/\")) as \$tasks |
        if .[1] == \"Completed\" then \$tasks[1] else \$tasks[0] end | tonumber] | add // 0 | . >= $1"
}

# What jq makes of what kubectl shows of the Frameworks: name, state, running/all Tasks. Whole ones would be some kilobytes
# each.
table_jq() { # jq-arguments...
    local accept="application/json;as=Table;g=meta.k8s.io;v=v1"
    get_jq "$FRAMEWORK_API/namespaces/$NS/frameworks?includeObject=None" "$@"
}

# Waits for condition Completed.
wait_completed() { # framework [seconds]
    wait_framework "$1" "${2:-30}" '.status.conditions | any(.type == "Completed" and .status == "True")'
}

# What a jq expression gives for the Framework.
framework() { # name expression
    get_jq "$FRAMEWORK_API/namespaces/$NS/frameworks/$1" -r "$JQ_STATUS $2"
}

# Waits until a jq expression is true of the Framework.
wait_framework() { # name seconds expression
    wait_object "$FRAMEWORK_API/namespaces/$NS/frameworks" "metadata.name=$1" "$2" "$3"
}

framework_is() { # name expression
    get_jq "$FRAMEWORK_API/namespaces/$NS/frameworks/$1" -e "$JQ_STATUS $2"
}

# Nothing of this kind is left in the namespace.
none_left() { # resources, separated by commas
    local resource path
    for resource in ${1//,/ }; do
        path=/api/v1/namespaces/$NS/$resource
        [[ $resource != frameworks ]] || path=$FRAMEWORK_API/namespaces/$NS/frameworks
        [[ $(get_jq "$path?limit=1" '.items | length') == 0 ]] || return 1
    done
}

expect() { # what found expected
    [[ $2 == "$3" ]] || fail "$1: found \"$2\", expected \"$3\""
}

expect_match() { # what found pattern
    [[ $2 =~ $3 ]] || fail "$1: found \"$2\", expected to match \"$3\""
}

# What current kubectls call deprecated, and kubectl 1.20 has no other word for.
DEPRECATED="^# Warning: '(bases|patchesJson6902)' is deprecated\\."

# Besides that, kubectl has called nothing deprecated in what the scenario has said so far.
expect_nothing_deprecated() {
    expect "what kubectl calls deprecated" "$(grep -i deprecat "$RUN/out/$scenario.log" | grep -vE "$DEPRECATED" | sort -u)" ""
}

# Compares stdin, normalised, with expected/NAME.json.
expect_golden() { # name
    jq -S --arg namespace "$NS" -f "$here/lib/normalise.jq" >"$RUN/out/$scenario.found"
    jq -S . "$EXPECTED/$1.json" >"$RUN/out/$scenario.expected"
    diff -u "$RUN/out/$scenario.expected" "$RUN/out/$scenario.found" || fail "differs from expected/$1.json, see the diff"
}

# A command may take half as much processor time again as curl takes for its version, which loads about the same libraries.
# Of all runs the cheapest counts: on a busy machine each takes more, none less.
START_TRIES=40
START_PERCENT=150
starts_quickly() { # what command...
    local ours=1000000 curls=1000000 spent tries
    for ((tries = 0; tries < 5 || (tries < START_TRIES && ours * 100 > curls * START_PERCENT); tries++)); do
        spent=$(cpu_ms "${@:2}")
        ((spent >= ours)) || ours=$spent
        spent=$(cpu_ms curl --version)
        ((spent >= curls)) || curls=$spent
    done
    echo "$1: $ours ms of processor time; curl --version: $curls"
    ((ours * 100 <= curls * START_PERCENT)) || fail "$1 takes $ours ms of processor time at best, of $tries runs, and curl --version $curls"
}

# User and system time of a command.
cpu_ms() { # command...
    local TIMEFORMAT='%U %S'
    { { time "$@" >/dev/null 2>&1 || true; } 2>&3; } 3>"$RUN/out/$scenario.time"
    awk '{ print int(($1 + $2) * 1000) }' "$RUN/out/$scenario.time"
}
