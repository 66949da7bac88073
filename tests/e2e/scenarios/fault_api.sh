# Faults of the API server (common/README.md §11): the embedded one is told to have them, a real one is brought
# to have those that it can.

. "$here/lib/faults.sh"

lists() { testapi_count '.userAgent == "fc-watcher" and .verb == "list"'; }

# Versions that are too old: in streams, on the watches that follow, again and again. Each costs initial events, or a list
# where the server has none, with some time between them, and nothing is missed. (A real server forgets what etcd has
# compacted; the streams stand still meanwhile, and end.)
run_fault_gone() {
    local i before rounds=5
    if [[ $CLUSTER == kubernetes ]]; then
        export KUBE_APISERVER_FLAGS="--watch-cache=false --etcd-compaction-interval=1s"
        rounds=3
        proxied_watcher
    else
        apart_cluster one
        record_pods
        before=$(lists)
    fi
    for ((i = 0; i < rounds; i++)); do
        if [[ $CLUSTER == kubernetes ]]; then proxy proxy hold; fi
        if [[ $CLUSTER == embedded ]] && ((i == 2)); then
            expect "lists beside initial events" "$(lists)" "$before"
            without_initial_events
        fi
        submit_many "f$i" 4 0 2
        "forget_versions_$CLUSTER"
        wait_for 30 "the Frameworks are Completed" completed_at_least $((i * 4 + 4))
    done
    expect_all_once $((rounds * 4)) 2
    # three kinds, three rounds with lists; a second list where a watch came too late as well
    if [[ $CLUSTER == kubernetes ]]; then
        (($(lists_again) >= rounds)) || fail "$(lists_again) lists for $rounds times 410"
    else
        (($(lists) - before >= 3 * 3)) || fail "$(($(lists) - before)) lists for 3 times 410"
        (($(lists) - before <= 3 * 3 * 2)) || fail "$(($(lists) - before)) lists for 3 times 410"
    fi
}

forget_versions_embedded() {
    testapi POST compact >/dev/null
    testapi POST watches '{"match": {"userAgent": "fc-watcher"}, "do": "expire"}' >/dev/null
}

forget_versions_kubernetes() {
    local version
    version=$(get_jq "$(frameworks_path)" -r .metadata.resourceVersion)
    wait_for 20 "version $version is forgotten" is_forgotten "$version"
    proxy proxy reset
    proxy proxy pass
}

# (as a list of that version alone is answered: with 410; something has to be written meanwhile, as it is at all times)
is_forgotten() { # version
    patch_framework f00 "{\"metadata\": {\"annotations\": {\"at\": \"$(now_ms)\"}}}" &&
        [[ $(api GET "$(frameworks_path)?resourceVersion=$1&resourceVersionMatch=Exact&limit=1" 2>/dev/null | jq -r .code) == 410 ]]
}

lists_again() { grep -c 'listing again: ' watcher-2.log; }

# A replica that lags behind shows a Framework as it was before all that was done with it: the first write finds out, and
# nothing is created or deleted.
run_fault_stale_replica() {
    only_embedded
    apart_cluster one
    kill -KILL "$(pid_of watcher-1)"
    wait_for 10 "the watcher has ended" watcher_gone
    create 'fw("done"; [role("a"; 1; ends(0; 0))]), fw("running"; [role("a"; 1; {})])'
    without_initial_events
    # (lists show what is there now, and nothing later)
    testapi_fault '{"match": {"userAgent": "fc-watcher", "verb": "list"}, "action": {"staleReads": true}}'
    record pods configmaps
    start_apart_watcher 2
    wait_running running 60
    wait_completed done
    wait_for 20 "nothing of it is left" is_absent "/api/v1/namespaces/$NS/configmaps/done-attempt"
    kill -KILL "$(pid_of watcher-2)"
    wait_for 10 "the watcher has ended" watcher_gone
    end_processes . 5 one
    testapi_fault '{"match": {"userAgent": "fc-watcher", "verb": "watch"}, "action": {"freezeWatches": true}}'
    testapi DELETE requests >/dev/null
    start_apart_watcher 3
    start_reconciler two
    wait_for 60 "the reconciler is shown what was" grep -q 'shards are complete, 2 Frameworks cached' two.log
    wait_for 30 "its writes of both are refused" conflicts 2
    testapi DELETE faults >/dev/null
    wait_for 30 "the watcher has caught up" metric_is "$WATCHER" 'frameworkcontroller_cached_objects{kind="Pod"}' 1
    wait_running running
    end_records
    expect "Pods and ConfigMaps made" "$(jq -r 'select(.type == "ADDED") | .object.metadata.name' \
        "$RUN/out/$scenario".{pods,configmaps} | sort | tr '\n' ' ')" "done-a-0 done-attempt running-a-0 running-attempt "
    expect "Pods and ConfigMaps deleted" "$(jq -r 'select(.type == "DELETED") | .object.metadata.name' \
        "$RUN/out/$scenario".{pods,configmaps} | sort | tr '\n' ' ')" "done-a-0 done-attempt "
}

conflicts() { (($(testapi_count '.userAgent == "fc-reconciler" and .code == 409') >= $1)); } # times

# Two servers behind one address, of which first the one and then the other lags behind. After all versions are
# forgotten, the watcher asks for lists that are not older than what it knows: the one that lags refuses them until it has
# caught up, and nothing is missed.
run_fault_lagging_replica() {
    only_embedded
    local number refused=0
    apart_cluster one
    record_pods
    without_initial_events
    for number in 0 1; do
        testapi_fault "{\"match\": {\"userAgent\": \"fc-watcher\", \"verb\": \"list\",
            \"replica\": {\"number\": $number, \"of\": 2}}, \"action\": {\"staleReads\": true}}"
        submit_many "f$number" 4 0 2
        wait_for 30 "the Frameworks are Completed" completed_at_least $((number * 8 + 4))
        forget_versions_embedded
        submit_many "g$number" 4 0 2
        wait_for 30 "lists are refused, or not needed" refused_or_completed $((number * 8 + 8))
        refused=$((refused + $(lists_refused)))
        testapi DELETE requests >/dev/null
        testapi DELETE faults >/dev/null
        wait_for 30 "the Frameworks are Completed" completed_at_least $((number * 8 + 8))
    done
    ((refused > 0)) || fail "no list was refused"
    expect_all_once 16 2
}

lists_refused() { testapi_count '.userAgent == "fc-watcher" and .verb == "list" and .code == 504'; }
refused_or_completed() { (($(lists_refused) > 0)) || completed_at_least "$1"; } # number of Frameworks

# A server that has too much to do says so: fewer requests follow, spread out, and all is well afterwards.
run_fault_storm() {
    local first second status done=0
    if [[ $CLUSTER == kubernetes ]]; then crowded_server; return; fi
    apart_cluster one
    record_pods
    for status in 429 503; do
        testapi_fault "{\"match\": {\"userAgent\": \"fc-reconciler\"}, \"action\": {\"status\": $status, \"retryAfter\": 1}}"
        submit_many "f$status" 20 0 3
        wait_for 20 "requests are sent away" sent_away "$status" 20
        first=$(testapi_count ".code == $status")
        wait_for 20 "more of them are" sent_away "$status" $((first + 20))
        second=$(now_ms)
        first=$(testapi_count ".code == $status")
        wait_for 5 "three seconds are over" three_seconds_since "$second"
        # 20 Frameworks, each a request a second at most
        first=$(($(testapi_count ".code == $status") - first))
        second=$(($(now_ms) - second))
        ((first <= second / 1000 * 20 + 40)) || fail "$first requests within $second ms"
        testapi DELETE faults >/dev/null
        wait_for 90 "the Frameworks are Completed" completed_at_least $((done += 20))
    done
    expect_all_once 40 3
}

# Every request is answered 404 for a while, as by an API server that does not serve Frameworks yet: that says nothing of
# what is there. Nobody is forgotten, and no Task ends by it.
run_fault_not_found() {
    only_embedded
    apart_cluster one
    record_pods
    testapi_fault '{"match": {"userAgent": "fc-reconciler"}, "skip": 45, "action": {"status": 404}}'
    submit_many f 10 0 3
    wait_for 30 "requests are answered 404" sent_away 404 30
    wait_for 10 "the log says so" grep -q "expected a Status of the API server that names the object" ./*.log
    testapi DELETE faults >/dev/null
    wait_for 90 "the Frameworks are Completed" completed_at_least 10
    expect_all_once 10 3
}

# A real server that carries out one write at a time, and answers 429 to all that come meanwhile: creations of Pods and
# ConfigMaps, too.
crowded_server() {
    export KUBE_APISERVER_FLAGS="--max-mutating-requests-inflight=1"
    apart_cluster one
    record_pods
    submit_many f 20 0 3
    wait_for 90 "the Frameworks are Completed" completed_at_least 20
    (($(refused_as_too_many) >= 10)) || fail "only $(refused_as_too_many) requests were sent away"
    expect_all_once 20 3
}

refused_as_too_many() {
    curl -sSf "$(http_address one)/metrics" | awk '/^rest_client_requests_total.*code="429"/ { sum += $2 } END { print sum + 0 }'
}

sent_away() { (($(testapi_count ".code == $1") >= $2)); } # status times

# A token and a CA that are not taken (yet): as they are replaced in their files, the process goes on with them.
run_fault_rotated() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded server asks for no token and has no certificate"
    local account
    own_cluster
    account=$(kubeconfig_of frameworkcontroller)
    mkdir old new
    echo nonsense >old/token
    # (a certificate, but of somebody else)
    openssl req -x509 -newkey rsa:2048 -nodes -keyout old/key -out old/ca.crt -subj /CN=other -days 2 2>/dev/null
    cp cluster/ca.crt new/ca.crt
    kubectl --kubeconfig="$account" config view --raw -o json | jq -r '.users[0].user.token' >new/token
    ln -s old current
    kubectl --kubeconfig="$account" config view --raw -o json | jq --arg dir "$PWD/current" '
        .users[0].user = {tokenFile: "\($dir)/token"} | .clusters[0].cluster |= (del(."certificate-authority-data") |
        ."certificate-authority" = "\($dir)/ca.crt")' >rotated.kubeconfig
    launch_watcher watcher-1 --kubeconfig rotated.kubeconfig --workers 1 --http 127.0.0.1:0
    WATCHER=$(http_address watcher-1)
    wait_for 15 "it says that the certificate is not known" grep -q '^E.*certificate' watcher-1.log
    rotate ca.crt
    wait_for 90 "it says that the token is not taken" grep -q '^E.*401 Unauthorized' watcher-1.log
    rotate token
    wait_for 90 "it is at work" all_shards_held
    create 'fw("f"; [role("a"; 1; ends(0; 0))])'
    wait_completed f
}

# The file becomes the new one, as kubelet does it: another directory, by one rename of a link.
rotate() { # file
    local directory
    directory=$(mktemp -d "$PWD/state.XXXXXX")
    cp "$(readlink -f current)"/* "$directory"
    cp "new/$1" "$directory/$1"
    ln -s "$directory" next
    mv -T next current
}
