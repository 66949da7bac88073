# What people do with kubectl (CONTRACT.md §18), with the oldest one and with a current one.

run_kubectl() { kubectl_user "$OLDEST_KUBECTL"; }

run_kubectl_current() { kubectl_user "$CURRENT_KUBECTL"; }

tasks_running() { # number
    wait_framework running 15 "[.status.attemptStatus.taskRoleStatuses[0].taskStatuses[].state] |
        length == $1 and all(. == \"AttemptRunning\")"
}

rescale() { # framework number
    k patch framework "$1" --type=json -p "[{\"op\": \"replace\", \"path\": \"/spec/taskRoles/0/taskNumber\", \"value\": $2}]"
}

# Members that the schema does not know, in each place that a typo would make ineffective.
refuses_typos() {
    local typo
    for typo in 'retryPolicy.maxRetries=1' 'taskRoles[0].taskCount=1' 'taskRoles[0].frameworkAttemptCompletionPolicy.minFailTaskCount=1' \
        'taskRoles[0].task.retryPolcy={}'; do
        jq -cn "$JQ_WORDS"'fw("typo"; [role("a"; 1; {}) | policy(1; 1)]) | .spec.'"$typo" >"$RUN/out/$scenario.typo"
        expect_match "$typo" "$(k create -f "$RUN/out/$scenario.typo" 2>&1 || true)" "unknown field .*$(sed 's/.*\.//;s/=.*//' <<<"$typo")"
    done
    expect_match "explain" "$(k explain fw.spec.taskRoles.task.pendingPolicy)" "When a Pod that does not start ends its attempt"
}

kubectl_user() { # kubectl
    local watch uid generation output
    write_kubectl "$1" "$RUN/out/$scenario.kubectl"
    kubectl() { "$RUN/out/$scenario.kubectl" "$@"; }
    # (it has begun when it shows what was there before)
    create 'fw("before"; []) | .spec.executionType = "Create"'
    k get frameworks -w --output-watch-events >"$RUN/out/$scenario.watch" 2>&1 &
    watch=$!
    wait_for 15 "kubectl watches" grep -q before "$RUN/out/$scenario.watch"
    k delete framework before

    # Whoever creates the CRD by hand: it has nothing that this kubectl or this server does not know.
    [[ $CLUSTER == embedded ]] || expect_match "apply of the CRD" "$(k apply --dry-run=server -f "$root/manifests/crd.yaml" 2>&1)" \
        "(configured|unchanged) .server dry run."
    [[ $CLUSTER == embedded ]] || refuses_typos
    expect_match "apply" "$(k apply -f "$FRAMEWORKS/running.yaml")" "running created"
    k wait --for=condition=Running --timeout=$((15 * PATIENCE))s framework/running >/dev/null
    tasks_running 2
    # kubectl patches lists of custom resources as a whole, so it says "configured"; but nothing may change.
    generation=$(framework running .metadata.generation)
    expect_match "apply again" "$(k apply -f "$FRAMEWORKS/running.yaml")" "running (unchanged|configured)"
    expect "the generation after it" "$(framework running .metadata.generation)" "$generation"
    expect "get fw: columns" "$(k get fw | sed -n '1{s/  */ /g;s/ $//;p}')" "NAME STATE TASKS RETRIES CODE PHRASE AGE"
    expect_match "get fw: row" "$(k get fw running --no-headers)" "^running +AttemptRunning +2/2 +0 +[0-9][0-9dhms]*\$"
    expect_match "get all" "$(k get all -o name)" "framework.frameworkcontroller.microsoft.com/running"
    output=$(k get framework running -o yaml)
    expect_match "get -o yaml" "$output" "kind: Framework"
    expect_match "get -o yaml: defaults" "$output" "maxRetryCount: 0"
    wait_for 5 "describe shows the Events" describes running AttemptStarted

    uid=$(k get pod running-a-0 -o jsonpath='{.metadata.uid}')
    rescale running 4
    tasks_running 4
    printf '#!/bin/sh\nexec sed -i "s/taskNumber: 4/taskNumber: 1/" "$1"\n' >"$RUN/out/$scenario.editor"
    chmod +x "$RUN/out/$scenario.editor"
    KUBE_EDITOR=$RUN/out/$scenario.editor k edit framework running
    tasks_running 1
    expect "the Task that stayed" "$(k get pod running-a-0 -o jsonpath='{.metadata.uid}')" "$uid"
    wait_for 5 "the surplus Pods are gone" pods_are running-a-0

    k patch framework running --type=merge -p '{"spec": {"executionType": "Stop"}}'
    wait_completed running
    expect "code after Stop" "$(framework running .status.attemptStatus.completionStatus.code)" -210
    expect_match "get fw: row after Stop" "$(k get fw running --no-headers)" \
        "^running +Completed +0/1 +0 +-210 +StopFrameworkRequested +[0-9][0-9dhms]*\$"
    wait_for 5 "describe shows the end" describes running FrameworkCompleted
    # An edit of a completed Framework: whoever waits for its conditions must not hang.
    k patch framework running --type=merge -p '{"spec": {"description": "over"}}'
    generation=$(framework running .metadata.generation)
    wait_framework running 5 ".status.observedGeneration == $generation"
    k wait --for=condition=Completed --timeout=$((20 * PATIENCE))s framework/running >/dev/null
    expect "condition Succeeded" \
        "$(framework running '.status.conditions[] | select(.type == "Succeeded").status')" False

    # Deleted in the background, while it runs, by its label.
    k delete framework running
    submit running
    tasks_running 2
    k delete frameworks -l app=users
    wait_for 15 "a background deletion leaves nothing" none_left frameworks,configmaps,pods
    # Deleted in the foreground: kubectl returns when all is gone.
    submit running
    tasks_running 2
    k delete framework running --cascade=foreground --timeout=$((20 * PATIENCE))s
    expect "left by a foreground deletion" "$(k get frameworks,configmaps,pods --ignore-not-found -o name)" ""

    output="ADDED +running .*MODIFIED +running +AttemptRunning +2/2.*MODIFIED +running +Completed +0/1"
    # (one that was too slow is ended by the server)
    wait_for 15 "the watch shows the end" watch_ends
    if kill "$watch"; then output+=".*DELETED +running"; fi
    wait "$watch" || true
    expect_match "get -w" "$(<"$RUN/out/$scenario.watch")" "$output"
    expect_nothing_deprecated
}

watch_ends() { ! kill -0 "$watch" || grep -E 'DELETED +running' "$RUN/out/$scenario.watch"; }

describes() { # framework reason
    k describe framework "$1" | grep -E "^  (Normal|Warning) +$2 "
}

pods_are() { # names
    [[ $(k get pods -o jsonpath='{.items[*].metadata.name}') == "$1" ]]
}
