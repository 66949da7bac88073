# What may happen while a gang waits (CONTRACT.md §16): the Framework is rescaled, retried, deleted and made anew, or
# its status compressed; processes and the API server go and come back; strangers fill the server's connections. Those
# who wait are frameworkbarrier beside the cluster, over TLS; Pods follow their script, but for those bound to a node
# that nobody runs, which get their IPs from the scenario.

changes_cluster() {
    own_cluster
    apply_gang_role "$NS"
    make_certificate 1
    start_changes_watcher 1 1
    start_changes_barrier
}

start_changes_watcher() { # number workers
    launch_watcher "watcher-$1" --workers "$2" --bus "ipc://$RUN/bus"
}

start_changes_barrier() {
    local options=()
    [[ $CLUSTER == kubernetes ]] || options+=(--insecure-no-auth)
    launch_barrier barrier --bus "ipc://$RUN/bus" --listen 127.0.0.1:0 --tls-cert server.pem --tls-key server-key.pem \
        --max-connections $((1200 / SLOWER)) --http 127.0.0.1:0 "${options[@]}"
    wait_for 10 "fc-barrier listens" grep -q 'listening on 127' barrier.log
    tls_address=$(sed -nE 's/.*listening on (127[0-9.:]+).*/\1/p' barrier.log)
    barrier_curl=(--cacert ca.pem)
    [[ $CLUSTER == embedded ]] || barrier_curl+=(-H "Authorization: Bearer $(<cluster/tokens/admin)")
    wait_for 15 "fc-barrier is ready" tls_get readyz
}

tls_get() { curl -sSf "${barrier_curl[@]}" "https://$tls_address/$1"; } # path

# A certificate of the scenario's own CA, with this serial number.
make_certificate() { # serial
    if [[ ! -e ca.pem ]]; then
        openssl ecparam -name prime256v1 -genkey -noout -out ca-key.pem
        openssl req -x509 -new -key ca-key.pem -subj /CN=barrier-ca -days 3 -out ca.pem
    fi
    {
        openssl ecparam -name prime256v1 -genkey -noout -out new-key.pem
        openssl req -new -key new-key.pem -subj /CN=fc-barrier -out new.csr
        openssl x509 -req -in new.csr -CA ca.pem -CAkey ca-key.pem -set_serial "$1" -days 3 -out new.pem \
            -extfile <(echo "subjectAltName=IP:127.0.0.1")
    } 2>openssl.log || { cat openssl.log; return 1; }
    mv new-key.pem server-key.pem
    mv new.pem server.pem
}

serial_is() { # number
    [[ $(openssl s_client -connect "$tls_address" </dev/null 2>/dev/null | openssl x509 -noout -serial) == "serial=0$1" ]]
}

tls_metric() { # name-with-labels
    tls_get metrics | awk -v name="$1" '$1 == name { print $2 }'
}

tls_metric_is() { # name-with-labels value
    [[ $(tls_metric "$1") == "$2" ]]
}

# Somebody who waits for the Framework as it is now; "" for the server's address: by asking the API server.
beside() { # name framework server-address
    local uid
    uid=$(framework "$2" .metadata.uid)
    mkdir "beside-$1"
    : >"beside-$1/log"
    (
        status=0
        env FC_FRAMEWORK_NAMESPACE="$NS" FC_FRAMEWORK_NAME="$2" FC_FRAMEWORK_UID="$uid" BARRIER_CHECK_INTERVAL_SEC=5 \
            BARRIER_CHECK_TIMEOUT_SEC=600 KUBECONFIG="$RUN/gang.kubeconfig" FRAMEWORK_BARRIER_ADDRESS="$3" \
            FRAMEWORK_BARRIER_CA_FILE="$RUN/ca.pem" "$BUILD/frameworkbarrier" --output-dir "beside-$1" \
            --shared-dir /nonexistent >"beside-$1/log" 2>&1 &
        trap 'kill $!' TERM
        wait $! || status=$?
        echo "$status" >"beside-$1/code"
    ) &
}

# One by the server and one by the API server.
both_beside() { # name framework
    beside "$1" "$2" "https://$tls_address"
    beside "$1-api" "$2" ""
    wait_for 15 "$1 waits" waits_at_server "$2"
    wait_for 15 "$1-api waits" says "$1-api" 'according to the API server'
}

waits_at_server() { # framework
    (($(tls_metric frameworkcontroller_barrier_frameworks_waited_for) >= 1))
}

says() { # name pattern
    grep -qE "$2" "beside-$1/log"
}

expect_end() { # name code
    local name
    for name in "$1" "$1-api"; do
        [[ -e beside-$name/log ]] || continue
        wait_for 30 "$name ends" test -s "beside-$name/code"
        [[ $(<"beside-$name/code") == "$2" ]] ||
            { cat "beside-$name/log"; fail "exit code of $name: found $(<"beside-$name/code"), expected $2"; }
    done
}

expect_still() { # name
    local name
    for name in "$1" "$1-api"; do
        [[ ! -e beside-$name/code ]] || { cat "beside-$name/log"; fail "$name ended with $(<"beside-$name/code")"; }
    done
}

# What an app container would see.
injected() { # name variable
    sh -c "FB_APP_PORT=7; FB_LATE_PORT=8; FB_LAST_PORT=9; . ./beside-$1/injector.sh >/dev/null; echo \"\$$2\""
}

# A role whose Pods nobody runs.
HELD='def held($name; $number): role($name; $number; {}) | policy(-1; -1) | .task.podGracefulDeletionTimeoutSec = 0 |
    .task.pod.spec.nodeName = "nowhere";'

give_ip() { # pod ip
    wait_for 15 "Pod $1" get_pod "$1"
    api PATCH "/api/v1/namespaces/$NS/pods/$1/status" \
        "{\"status\": {\"podIP\": \"$2\", \"podIPs\": [{\"ip\": \"$2\"}]}}" application/merge-patch+json >/dev/null
}

set_tasks() { # framework role-index number
    api PATCH "$(frameworks_path)/$1" "[{\"op\": \"replace\", \"path\": \"/spec/taskRoles/$2/taskNumber\", \"value\": $3}]" \
        application/json-patch+json >/dev/null
}

task_is() { # role-index task-index jq-expression
    echo ".status.attemptStatus.taskRoleStatuses[$1].taskStatuses[$2] | $3"
}

run_barrier_rescale() {
    changes_cluster
    # Up: one more of those who come by themselves, then the one that was missing.
    create "$HELD"'fw("up"; [role("app"; 2; {}), held("late"; 1)])'
    wait_framework up 20 "$(task_is 0 1 '.attemptStatus.podIP != null')"
    both_beside up up
    set_tasks up 0 3
    wait_framework up 20 "$(task_is 0 2 '.attemptStatus.podIP != null')"
    expect_still up
    give_ip up-late-0 10.9.8.7
    expect_end up 0
    expect "addresses" "$(injected up FB_APP_ADDRESSES | tr -cd ,)" ",,"
    expect "the same from both" "$(injected up FB_APP_ADDRESSES)" "$(injected up-api FB_APP_ADDRESSES)"

    # Down: nobody waits any more for one that is gone from the spec.
    create "$HELD"'fw("down"; [role("app"; 1; {}), held("late"; 2)])'
    give_ip down-late-0 10.9.8.1
    wait_framework down 20 "$(task_is 1 0 '.attemptStatus.podIP != null')"
    both_beside down down
    set_tasks down 1 1
    expect_end down 0
    expect "addresses" "$(injected down FB_LATE_ADDRESSES)" 10.9.8.1:8

    # Down and up again: a Task that is on its way out has an IP and is not ready; its successor is waited for.
    create "$HELD"'fw("back"; [role("app"; 1; {}), held("late"; 2), held("last"; 1)])'
    wait_for 15 "Pod back-late-1" get_pod back-late-1
    hold pods/back-late-1
    give_ip back-late-0 10.9.8.1
    give_ip back-late-1 10.9.8.2
    wait_framework back 20 "$(task_is 1 1 '.attemptStatus.podIP == "10.9.8.2"')"
    both_beside back back
    set_tasks back 1 1
    wait_framework back 20 "$(task_is 1 1 .deletionPending)"
    set_tasks back 1 2
    give_ip back-last-0 10.9.8.3
    wait_framework back 20 "$(task_is 2 0 '.attemptStatus.podIP != null')"
    wait_for 20 "late-1 is waited for" says back-api '3 of 4 Tasks have an IP according to the API server; waiting for late-1'
    expect_still back
    release pods/back-late-1
    wait_framework back 20 "$(task_is 1 1 '.deletionPending == false and .attemptStatus.podUID != null')"
    give_ip back-late-1 10.9.8.4
    expect_end back 0
    expect "addresses" "$(injected back FB_LATE_IPS)" 10.9.8.1,10.9.8.4
    expect "looks" "$(tls_metric frameworkcontroller_barrier_reads_failed_total)" 0
}

run_barrier_identity() {
    local looks
    changes_cluster
    # A new attempt has no IPs: those of the old one let nobody pass.
    create "$HELD"'fw("again"; [role("app"; 1; {}), held("late"; 2)]) | .spec.retryPolicy = {fancyRetryPolicy: true, maxRetryCount: 0}'
    give_ip again-late-0 10.9.8.1
    wait_framework again 20 "$(task_is 1 0 '.attemptStatus.podIP != null')"
    both_beside again again
    delete configmaps/again-attempt
    wait_framework again 30 ".status.attemptStatus.id == 1 and ($(task_is 1 1 '.attemptStatus.podUID != null'))"
    give_ip again-late-1 10.9.8.3
    wait_framework again 20 "$(task_is 1 1 '.attemptStatus.podIP != null')"
    expect_still again
    give_ip again-late-0 10.9.8.2
    expect_end again 0
    expect "addresses" "$(injected again FB_LATE_IPS)" 10.9.8.2,10.9.8.3

    # A namesake is somebody else: whoever waited for the first is told so.
    create "$HELD"'fw("twice"; [held("late"; 1)])'
    wait_framework twice 20 "$(task_is 0 0 '.attemptStatus.podUID != null')"
    both_beside first twice
    api DELETE "$(frameworks_path)/twice" >/dev/null
    # Nobody runs it; where the garbage collector was faster, it is gone.
    api DELETE "/api/v1/namespaces/$NS/pods/twice-late-0?gracePeriodSeconds=0" >/dev/null || true
    wait_absent_framework twice
    create "$HELD"'fw("twice"; [held("late"; 1)])'
    expect_end first 210
    wait_framework twice 20 "$(task_is 0 0 '.attemptStatus.podUID != null')"
    both_beside second twice
    give_ip twice-late-0 10.9.8.9
    expect_end second 0

    # Without a controller, statuses are the scenario's own: compressed from the first to the last. One look in all, as
    # fc-barrier has been sent the first one before anybody asks (of what it does not know it asks the API server).
    end_processes . 5 watcher-1
    create 'fw("packed"; [role("app"; 2; {})])'
    write_packed null null
    start_changes_watcher 2 0
    wait_for 20 "fc-barrier has been sent packed" grep -q ' 3 Frameworks cached' barrier.log
    expect_match "what it counts" "$(tls_get "v1/namespaces/$NS/frameworks/packed/barrier?timeoutSeconds=0")" '^\{"ready":0,"total":2'
    looks=$(tls_metric frameworkcontroller_barrier_reads_total)
    both_beside packed packed
    write_packed '"10.9.8.1"' null
    wait_for 20 "app-1 is waited for" says packed-api '1 of 2 Tasks have an IP according to the API server; waiting for app-1'
    expect_still packed
    write_packed '"10.9.8.1"' '"10.9.8.2"'
    expect_end packed 0
    expect "looks" "$(tls_metric frameworkcontroller_barrier_reads_total)" $((looks + 1))
    expect "the Framework, decompressed" \
        "$(jq -c '[.status.attemptStatus.taskRoleStatuses[0].taskStatuses[].attemptStatus.podIP]' beside-packed/framework.json)" \
        '["10.9.8.1","10.9.8.2"]'
}

# The status of packed with these IPs, as JSON.
write_packed() { # ip ip
    local roles packed
    roles=$(jq -cn '[{name: "app", taskStatuses: ($ARGS.positional | to_entries | map({index: .key, state: "AttemptPreparing",
        startTime: "2026-01-01T00:00:00Z", deletionPending: false, retryPolicyStatus: {},
        attemptStatus: {id: 0, podIP: .value}}))}]' --jsonargs "$1" "$2")
    packed=$(gzip -c <<<"$roles" | base64 -w0)
    api PATCH "$(frameworks_path)/packed/status" "$(jq -cn --arg packed "$packed" '{status: {startTime: "2026-01-01T00:00:00Z",
        state: "AttemptRunning", transitionTime: "2026-01-01T00:00:00Z", retryPolicyStatus: {}, attemptStatus: {id: 0,
        startTime: "2026-01-01T00:00:00Z", instanceUID: "0_x", taskRoleStatuses: null, taskRoleStatusesCompressed: $packed}}}')" \
        application/merge-patch+json >/dev/null
}

run_barrier_trouble() {
    local begun away_ms
    changes_cluster
    keep_control_plane
    create "$HELD"'fw("f"; [role("app"; 1; {}), held("late"; 1)])'
    wait_framework f 20 "$(task_is 0 0 '.attemptStatus.podIP != null')"
    wait_framework f 20 "$(task_is 1 0 '.attemptStatus.podUID != null')"
    beside waiter f "https://$tls_address"
    wait_for 15 "it waits" tls_metric_is frameworkcontroller_barrier_waiting 1

    # A certificate that is replaced: newcomers see the new one, who waits is not disturbed.
    serial_is 1 || fail "not the first certificate"
    make_certificate 2
    wait_for 20 "the second certificate" serial_is 2
    wait_for 10 "it waits" tls_metric_is frameworkcontroller_barrier_waiting 1

    # More connections than the server takes, none of which asks anything.
    "$BUILD/fc-bench" flood --address "$tls_address" --count $((2000 / SLOWER)) 2>flood.log &
    wait_for 20 "the flood is there" grep -q flooding flood.log

    begun=$(now_ms)
    restart_api_server
    away_ms=$(($(now_ms) - begun))
    expect_still waiter
    give_ip f-late-0 10.9.8.7
    expect_end waiter 0
    # (unless it was away so long that the barrier did not trust its own view any more, and said so)
    ((away_ms > 10000)) && says waiter '503 Service Unavailable: the view of the cluster' ||
        says waiter 'all 2 Tasks have an IP according to the barrier server' ||
        { cat beside-waiter/log; fail "it was not the server that let it go"; }
    kill %?flood || true # (which the server may have been rid of)
    # And when the flood is over, others come in.
    wait_for 30 "fc-barrier serves again" tls_get readyz
    beside after f "https://$tls_address"
    expect_end after 0
    expect "lines per question" "$(grep -c 'Tasks have an IP' beside-after/log)" 1
}

# (somebody's connection may have its port for a moment)
api_server_is_back() { # command...
    (cd cluster && { running kube-apiserver || launch kube-apiserver "$@"; })
    kubectl get --raw /readyz
}

fault_met() { get_jq /fc-testapi/faults -e "any(.[]; .id == $1 and .hits >= $2)"; } # id times

# The embedded server keeps everything in memory: it only answers nobody for a while.
restart_api_server() {
    local pid fault
    local -a command
    if [[ $CLUSTER == kubernetes ]]; then
        pid=$(awk '$1 == "kube-apiserver" { pid = $2 } END { print pid }' cluster/pids)
        mapfile -d '' command <"/proc/$pid/cmdline"
        (cd cluster && end_processes . 1 kube-apiserver)
        wait_for 60 "the API server is back" api_server_is_back "${command[@]}"
        return
    fi
    fault=$(api POST /fc-testapi/faults '{"match": {"path": "^/apis?/"}, "action": {"cut": true}}' | jq .id)
    api POST /fc-testapi/watches '{"do": "reset"}' >/dev/null
    wait_for 30 "requests find no API server" fault_met "$fault" 6
    api DELETE "/fc-testapi/faults/$fault" >/dev/null
}
