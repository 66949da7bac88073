# What the work costs the API server: 200 Frameworks of five Tasks that run for one second, four reconcilers.

STATUS_WRITES_MEAN=6 # per Framework, on a machine that moves the Pods of one together: 5.05 were seen
STATUS_WRITES_MEAN_REAL=7 # 5 to 6.7
STATUS_WRITES_MAX=24 # of one whose Pods move one by one: four for each Task, four of its own
SWITCHES_WORKERS=8   # all of whom have to wake together as often as one would
SWITCHES_MAX=6       # for the life of a Pod, in all our processes: 2 to 4, 8 and more if each of them woke as often
SWITCHES_PACE_MS=20000 # a machine that takes longer has fewer events at a time
KEEPS_PACE_MS=20000  # a machine that takes longer does not: 104 s were seen with 11 writes each

# From here on requests count.
count_from_now() {
    audited_from=1
    if [[ $CLUSTER == embedded ]]; then
        curl -sf -X DELETE "$(k config view --minify -o jsonpath='{.clusters[0].cluster.server}')/fc-testapi/requests"
    else
        audited_from=$(($(wc -l <"$RUN/audit.log") + 1))
    fi
}

# A program's requests in the namespace since then, as lines "verb resource[/subresource] code name"; name is - where only
# counts are known. (Of what others left behind in theirs, held Pods above all, reconcilers read a little now and then.)
requests_of() { # program
    if [[ $CLUSTER == kubernetes ]]; then
        tail -n "+$audited_from" "$RUN/audit.log" | sed -n '/}$/p' |
            jq -r --arg namespace "$NS" --arg program "$1" \
                'select(.objectRef.namespace == $namespace and (.userAgent | startswith($program))) |
            .objectRef as $object | [.verb, $object.resource + (if $object.subresource then "/" + $object.subresource else "" end),
            .responseStatus.code, $object.name // "-"] | join(" ")'
    else
        kubectl get --raw /fc-testapi/requests | jq -r --arg namespace "$NS" --arg program "$1" '.[] |
            select(.userAgent == $program and .namespace == $namespace) |
            . as $row | range(.count) | [$row.verb, $row.resource, $row.code, "-"] | join(" ")'
    fi
}

# Runs Frameworks of these names; what was asked for is in $requests then, and $took tells how long it took.
count_requests() { # prefix
    local started audited_from
    count_from_now
    started=$(now_ms)
    submit_many "$1" $frameworks 1 5
    wait_for 60 "$frameworks Frameworks are Completed" completed_at_least $frameworks
    took=$(($(now_ms) - started))
    echo "$frameworks Frameworks of 5 Tasks: $took ms"
    requests_of fc-reconciler >"$requests"
    cut -d' ' -f1-3 "$requests" | sort | uniq -c | sort -rn
}

alone_counts() {
    local frameworks=200 took writes prefix mean=$STATUS_WRITES_MEAN requests=$RUN/out/$scenario.requests
    [[ $CLUSTER == embedded ]] || mean=$STATUS_WRITES_MEAN_REAL
    for prefix in f g h; do
        count_requests $prefix
        # A server that stood still has answered 500 or 504, and what follows is more than it costs otherwise: once more.
        awk '$3 >= 500 { found = 1 } END { exit !found }' "$requests" || break
        api DELETE "$(frameworks_path)" >/dev/null
        wait_for 30 "nothing is left of them" none_left frameworks,configmaps,pods
    done

    expect "conflicts" "$(awk '$3 == 409' "$requests")" ""
    expect "failed requests" "$(awk '$3 >= 400 && $2 != "events"' "$requests" | head -n 3)" ""
    expect "reads by reconcilers" "$(awk '$1 ~ /^(get|list|watch)$/' "$requests" | head -n 3)" ""
    expect "Pods created" "$(grep -c '^create pods 201' "$requests")" $((frameworks * 5))
    writes=$(grep -c '^update frameworks/status ' "$requests")
    ((took > KEEPS_PACE_MS || writes <= mean * frameworks)) ||
        fail "$writes status writes, expected at most $mean per Framework"
    if [[ $CLUSTER == kubernetes ]]; then
        writes=$(awk '$2 == "frameworks/status" { count[$4]++; if (count[$4] > max) max = count[$4] } END { print max }' "$requests")
        echo "most status writes of one Framework: $writes"
        ((writes <= STATUS_WRITES_MAX)) || fail "$writes status writes of one Framework, expected at most $STATUS_WRITES_MAX"
    fi
}

# How often the watcher and its reconcilers have gone to sleep, those of the libraries' threads among them. (Switches that
# other processes force on them are not theirs.)
switches() {
    local pid
    for pid in "$(watcher_pid)" $(pgrep -P "$(watcher_pid)"); do cat "/proc/$pid"/task/*/status; done |
        awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum }'
}

# Events that come one by one, at a limited rate, are handled several at a time.
alone_switches() {
    local frameworks=200 pods=1000 before each started took
    [[ $CLUSTER == embedded ]] || not_here "the fewer events a second there are, the fewer come together"
    own_cluster
    sed -i -E 's/^(kubeClientQps|kubeClientBurst): .*/\1: 400/' config.yaml
    launch_watcher watcher-1 --workers $SWITCHES_WORKERS
    wait_for 20 "all reconcilers have their shards" reconcilers_complete watcher-1.log $SWITCHES_WORKERS
    before=$(switches)
    started=$(now_ms)
    submit_many f $frameworks 1 5
    wait_for 60 "$frameworks Frameworks are Completed" completed_at_least $frameworks
    each=$((($(switches) - before) / pods))
    took=$(($(now_ms) - started))
    echo "context switches for the life of a Pod: $each ($took ms)"
    ((took > SWITCHES_PACE_MS || each <= SWITCHES_MAX)) ||
        fail "$each context switches for the life of a Pod, expected at most $SWITCHES_MAX"
}
