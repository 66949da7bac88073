# `make soak`: SOAK Frameworks that come and go on a real Kubernetes, one a second, while every two seconds one of the
# processes is killed: a leading or a waiting watcher, a reconciler, the barrier. Every Framework ends as it should, no
# Task ran twice at a time, nothing is left.

. "$here/lib/faults.sh"

run_soak() {
    [[ -n ${SOAK:-} ]] || not_here "takes minutes: make soak"
    local begun load name total=0
    declare -A rounds=() kills=()
    soak_cluster
    record pods frameworks
    begun=$(now_ms)
    soak_load "$begun" &
    load=$!
    while kill -0 "$load" 2>/dev/null; do
        soak_kill "$(printf '%s\n' "${soak_processes[@]}" | shuf -n 1)"
        total=$((total + 1))
        soak_wait
    done
    wait "$load"
    echo "$total kills in $((($(now_ms) - begun) / 1000)) s"
    for name in "${soak_processes[@]}"; do echo "killed $name ${kills[$name]:-0} times"; done
    wait_for 120 "all Frameworks have ended" soak_settled
    end_records
    soak_check_ends
    soak_check_pods
    api DELETE "$(frameworks_path)" >/dev/null
    wait_for 90 "nothing is left" none_left frameworks,configmaps,pods
}

soak_processes=(watcher1 watcher2 one two three barrier)

# Between two kills.
soak_wait() { sleep 2; }

soak_cluster() {
    own_cluster
    own_config <<<'memberLeaseSec: 3'
    "$BUILD/fc-watcher" keygen keys >/dev/null
    soak_bus_1=tcp://127.0.0.1:0
    soak_bus_2=tcp://127.0.0.1:0
    soak_start watcher1
    soak_start watcher2
    soak_bus_1=$(soak_bus watcher1)
    soak_bus_2=$(soak_bus watcher2)
    local name
    for name in one two three barrier; do soak_start "$name"; done
    wait_for 60 "all reconcilers have their shards" soak_ready
}

soak_bus() { # watcher
    wait_for 15 "$1 has a bus" grep -q 'the bus listens on' "$1-1.log"
    sed -nE 's/.*the bus listens on (tcp:.*)$/\1/p' "$1-1.log"
}

soak_ready() { [[ $(cat one-1.log two-1.log three-1.log | grep -c 'shards are complete') -ge 3 ]]; }

# Starts a process, each time with a log of its own.
soak_start() { # process
    local name=$1
    rounds[$name]=$((${rounds[$name]:-0} + 1))
    case $name in
    watcher*)
        local bus=soak_bus_${name#watcher}
        launch_watcher "$name-${rounds[$name]}" --workers 0 --bus "${!bus}" --bus-keys keys/server \
            --leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s --leader-elect-retry-period 400ms
        ;;
    barrier)
        launch_barrier "$name-${rounds[$name]}" --bus "$soak_bus_1,$soak_bus_2" --bus-keys keys/barrier \
            --listen 127.0.0.1:0 --insecure-no-auth
        ;;
    *)
        launch_reconciler "$name-${rounds[$name]}" --name "$name" --bus "$soak_bus_1,$soak_bus_2" --bus-keys keys/reconciler
        ;;
    esac
}

soak_kill() { # process
    local pid
    pid=$(pid_of "$1-${rounds[$1]}")
    kill -KILL "$pid" 2>/dev/null || fail "$1 ended by itself: $(tail -n 3 "$1-${rounds[$1]}.log")"
    kills[$1]=$((${kills[$1]:-0} + 1))
    soak_start "$1"
}

# The kinds of Frameworks, each of which ends in one way whatever happens meanwhile.
SOAK_KINDS='
def soak($name; $kind):
    if $kind == "quick" then fw($name; [role("a"; 2; ends(1; 0))])
    elif $kind == "retried" then fw($name; [role("a"; 2; {"run-seconds": 1, "attempt-exit-code": "1,0"}) | policy(1; 2)]) |
        .spec |= retry(false; 1)
    elif $kind == "task" then fw($name; [role("a"; 2; {"run-seconds": 1, "exit-code": "1,0"}) | task_retry(false; 1)])
    elif $kind == "scaled" then fw($name; [(role("a"; 3; {}) | policy(-1; -1)), (role("b"; 0; ends(0; 0)) | policy(-1; 1))])
    else fw($name; [role("a"; 2; {})]) end;
'

# One of each kind, and again, about one a second; what is to be done with them later is done 12 later.
soak_load() { # since
    local i later kinds=(quick retried task scaled stopped deleted)
    trap - ERR EXIT
    for ((i = 0; i < SOAK; i += 6)); do
        create "$SOAK_KINDS \$kinds | split(\" \") | to_entries[] | soak(\"\(.value)\(\$i + .key)\"; .value)" \
            --argjson i "$i" --arg kinds "${kinds[*]}"
        for ((later = i - 12; later >= 0 && later < i - 6; later++)); do soak_later "${kinds[later % 6]}$later"; done
        until (($(now_ms) >= $1 + i * 1000)); do sleep 0.05; done
    done
    for ((later = i - 12; later < i; later++)); do soak_later "${kinds[later % 6]}$later"; done
    echo "$i" >"out/$scenario.count"
}

soak_later() { # Framework
    case $1 in
    scaled*) patch_roles "$1" '.[0].taskNumber = 1 | .[1].taskNumber = 1' ;;
    stopped*) patch_framework "$1" '{"spec": {"executionType": "Stop"}}' ;;
    deleted*) api DELETE "$(frameworks_path)/$1" >/dev/null ;;
    esac
}

soak_settled() {
    all_completed && [[ -z $(k get frameworks -o name | grep '/deleted') ]] && none_left configmaps,pods
}

soak_check_ends() {
    local count
    count=$(<"out/$scenario.count")
    echo "$count Frameworks"
    expect "Frameworks that are there" "$(k get frameworks -o name | wc -l)" "$((count - count / 6))"
    expect_frameworks_of_kinds <<'EOT'
quick 0 0 [0]
retried 0 1 [0]
scaled 0 0 [0]
stopped -210 0 [0]
task 0 0 [1]
EOT
}

# Each kind has one end: code, retries of the Framework, retries of the first TaskRole's Tasks. (How many Tasks are left
# of those that were scaled down depends on what was first, their end or the Framework's.)
expect_frameworks_of_kinds() {
    expect_lines "how they ended" "$(get_jq "$(frameworks_path)" -r '.items[] | (.metadata.name | sub("[0-9]+$"; "")) as $kind |
        .status | "\($kind) \(.attemptStatus.completionStatus.code) \(.retryPolicyStatus.totalRetriedCount) \([
        .attemptStatus.taskRoleStatuses[0].taskStatuses[].retryPolicyStatus.totalRetriedCount] | unique | tostring)"' | LC_ALL=C sort -u)" \
        "$(cat)"
}

# Of what the server's watch has shown: one Pod for each attempt of a Task, and no Pods of two attempts of a Framework at
# a time.
soak_check_pods() {
    jq -r 'select(.type == "ADDED" or .type == "DELETED") | .object.metadata | [input_line_number, .name, .uid,
        .annotations.FC_FRAMEWORK_UID, .annotations.FC_FRAMEWORK_ATTEMPT_ID,
        .annotations.FC_TASK_UID, .annotations.FC_TASK_ATTEMPT_ID] | map(tostring) | join(" ")' "out/$scenario.pods" >"out/$scenario.seen"
    jq -r 'select(.type == "ADDED" or .type == "DELETED") | .type' "out/$scenario.pods" | paste -d' ' - "out/$scenario.seen" |
        awk '
        $1 == "ADDED" {
            pods++
            task = $5 " " $6 " " $7 " " $8
            if ((task in pod_of) && pod_of[task] != $4) print "two Pods of one attempt of a Task: " $0
            pod_of[task] = $4
            for (uid in attempt)
                if (framework[uid] == $5 && attempt[uid] != $6) print "Pods of two attempts of a Framework: " $0
            framework[$4] = $5; attempt[$4] = $6
        }
        $1 == "DELETED" { delete framework[$4]; delete attempt[$4] }
        END { print pods + 0 " Pods" > "/dev/stderr" }' >"out/$scenario.wrong"
    expect "what should never be" "$(head -n 5 "out/$scenario.wrong")" ""
}
