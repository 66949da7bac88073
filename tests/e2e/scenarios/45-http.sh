# Health and metrics of the processes (--http), on a cluster of the scenario's own.

# Where a process listens: its port was the kernel's choice.
http_address() { # name of the process
    wait_for 10 "$1 listens" grep -q 'listening on http://' "$1.log"
    sed -nE '/pool-/! s/.*listening on (http:[^ ]+)$/\1/p' "$1.log"
}

http_address_of_child() { # name of its watcher
    sed -nE 's/.*pool-0: listening on (http:[^ ]+)$/\1/p' "$1.log"
}

http_says() { # url pattern
    [[ $(curl -sS "$1") =~ $2 ]]
}

metric() { # address name-with-labels
    curl -sSf "$1/metrics" | awk -v name="$2" '$1 == name { print $2 }'
}

metric_is() { # address name-with-labels value
    [[ $(metric "$1" "$2") == "$3" ]]
}

# Prometheus takes no family and no value twice, and no value before its type.
expect_readable() { # address
    curl -sSf "$1/metrics" >"out/$scenario.metrics"
    expect "what Prometheus cannot read of $1" "$(awk '
        /^# HELP / { next }
        /^# TYPE / { if (types[$3]++) print "twice: " $3; type = $3; next }
        { name = $1; sub(/[{].*/, "", name); sub(/_(bucket|sum|count)$/, "", name)
          if (name != type) print "no type: " $0
          if (NF != 2 || $2 !~ /^[-+.0-9a-zA-Z]+$/) print "no value: " $0
          if (seen[$1]++) print "twice: " $1 }' "out/$scenario.metrics")" ""
}

# A second process that is given this address has one thing to say, and ends.
expect_unusable() { # exit-status address pattern
    local status=0
    timeout $((10 * PATIENCE)) "$BUILD/fc-watcher" --config config.yaml --kubeconfig \
        "$(kubeconfig_of frameworkcontroller)" --workers 1 --http "$2" \
        >"out/$scenario.stderr" 2>&1 || status=$?
    expect "exit status with --http $2" "$status" "$1"
    expect_match "fc-watcher --http $2" "$(<"out/$scenario.stderr")" "$3"
    expect "messages with --http $2" "$(grep -c '^E' "out/$scenario.stderr")" 1
    expect "children with --http $2" "$(grep -c 'pool-' "out/$scenario.stderr")" 0
}

run_http() {
    local at busy
    own_cluster
    launch_watcher watcher-1 --workers 1 --http 127.0.0.1:0 --workers-http 127.0.0.1:0
    at=$(http_address watcher-1)
    expect "healthz" "$(curl -sSf -o /dev/null -w '%{http_code}' "$at/healthz")" 200
    wait_for 15 "the watcher is ready" curl -sSf "$at/readyz"
    wait_for 15 "all shards are held" metric_is "$at" frameworkcontroller_shards_held "$(metric "$at" frameworkcontroller_shards)"
    create 'fw("hello"; [role("a"; 2; {})])'
    wait_running hello
    wait_for 5 "the Pods are counted" metric_is "$at" 'frameworkcontroller_cached_objects{kind="Pod"}' 2
    expect "running children" "$(metric "$at" frameworkcontroller_pool_workers_running)" 1
    # one request has their first state, where the server sends that as initial events, and what follows
    local how=LIST
    if [[ $CLUSTER == embedded ]]; then how=WATCH; fi
    expect "requests for the state of the Frameworks" \
        "$(metric "$at" "rest_client_requests_total{code=\"200\",method=\"$how\",resource=\"frameworks\"}")" 1
    # What only the reconcilers know is not shown as none.
    expect "Frameworks by state" "$(curl -sSf "$at/metrics" | grep -c '^frameworkcontroller_frameworks')" 0
    expect_readable "$at"
    # They say it themselves.
    wait_for 5 "a child knows" metric_is "$(http_address_of_child watcher-1)" 'frameworkcontroller_frameworks{state="AttemptRunning"}' 1

    busy=${at#http://}
    expect_unusable 1 "$busy" "--http: listen on \"$busy\": Address already in use"
    expect_unusable 2 0.0.0.0:0 '--http 0.0.0.0:0 can be reached from other machines: .*--http-insecure'

    kill -KILL "$(pgrep -P "$(watcher_pid)")"
    wait_for 15 "the restart is counted" metric_is "$at" frameworkcontroller_pool_restarts_total 1
    stop_watcher
}

# A reconciler on its own is ready as long as it may act.
run_http_reconciler() {
    local at
    own_cluster
    own_config <<<'memberLeaseSec: 10'
    launch_reconciler reconciler --name alone --bus "ipc://$RUN/bus" --http 127.0.0.1:0
    at=$(http_address reconciler)
    expect "healthz" "$(curl -sSf -o /dev/null -w '%{http_code}' "$at/healthz")" 200
    wait_for 5 "not ready without a watcher" http_says "$at/readyz" "holds no lease"
    launch_watcher watcher-1 --workers 0 --bus "ipc://$RUN/bus"
    wait_for 20 "the reconciler is ready" curl -sSf "$at/readyz"
    wait_for 20 "all shards are owned" metric_is "$at" frameworkcontroller_shards_owned 64
    create 'fw("hello"; [role("a"; 2; {})]), fw("other"; [role("a"; 3; ends(0; 0))])'
    wait_running hello
    wait_completed other
    wait_for 5 "the Tasks are counted" metric_is "$at" 'frameworkcontroller_tasks{state="AttemptRunning"}' 2
    wait_for 5 "completed Tasks are counted" metric_is "$at" 'frameworkcontroller_tasks{state="Completed"}' 3
    wait_for 5 "running Frameworks are counted" metric_is "$at" 'frameworkcontroller_frameworks{state="AttemptRunning"}' 1
    wait_for 5 "completed Frameworks are counted" metric_is "$at" 'frameworkcontroller_frameworks{state="Completed"}' 1
    expect "Pods created" "$(metric "$at" 'rest_client_requests_total{code="201",method="POST",resource="pods"}')" 5
    expect_readable "$at"
    stop_watcher KILL
    wait_for 10 "not ready once the lease is over" http_says "$at/readyz" "holds no lease"
    end_processes . 15 reconciler
}
