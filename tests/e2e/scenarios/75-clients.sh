# The clients that must keep working as they are (CONTRACT.md §19): what they send, and what they read.

# OpenPAI's REST server: a merge PATCH of the whole object, and POST when that is answered with 404; annotations of
# hundreds of KB; templates with fields that no Pod has; unpaged lists by label; watches that are to last for ever;
# executionType patched alone.
run_openpai() {
    local body code path
    path=$(frameworks_path)
    body=$(jq -cn "$JQ_WORDS"'fw("job0"; [role("worker"; 2; {}) | retry(false; 0) | policy(1; 2) |
            .task |= (retry(false; 0) | .podGracefulDeletionTimeoutSec = 1800 |
            .pod.spec |= (.privileged = false | .gpus = 2 | .containers[0].lifecyle = {preStop: {}}))]) |
        .metadata |= (.labels = {userName: "admin", jobName: "j"} | .annotations = {config: ("x" * 240000), totalGpuNumber: "0"}) |
        .spec |= (retry(true; 0) | .executionType = "Start" | .description = "")')
    code=$( (api PATCH "$path/job0" "$body" application/merge-patch+json 2>/dev/null || true) | jq -r .code)
    expect "PATCH of what is not there" "$code" 404
    api POST "$path" "$body" >/dev/null
    wait_running job0
    expect "unknown fields on the server" \
        "$(framework job0 '.spec.taskRoles[0].task.pod.spec | "\(.privileged) \(.gpus) \(.containers[0].lifecyle)"')" \
        'false 2 {"preStop":{}}'
    # A watch that is to last for an hour, and longer.
    local arguments=() watch
    api_target arguments
    curl -sSN "${arguments[@]}" "$api_server$path?watch=true&timeoutSeconds=36000000&labelSelector=userName%3Dadmin" \
        >"$RUN/out/$scenario.watch" &
    watch=$!
    expect "list by label" "$(get_jq "$path?labelSelector=userName%3Dadmin" -r '"\(.kind) \([.items[].metadata.name])"')" \
        'FrameworkList ["job0"]'
    expect "list by another label" "$(get_jq "$path?labelSelector=userName%3Dnobody" '.items | length')" 0
    # The same PATCH again changes nothing, neither does it harm.
    api PATCH "$path/job0" "$body" application/merge-patch+json >/dev/null
    expect "annotations" "$(framework job0 '.metadata.annotations.config | length')" 240000
    patch_framework job0 '{"spec": {"executionType": "Stop"}}'
    wait_completed job0
    expect "what it reads" \
        "$(framework job0 '.status | [.attemptStatus.completionStatus.code, .state, (.startTime, .runTime, .completionTime | . != null),
            .retryPolicyStatus.retryDelaySec] | tostring')" \
        '[-210,"Completed",true,true,true,null]'
    expect "what it reads of Tasks" \
        "$(framework job0 '[tasks | [.index, .attemptStatus.podName, .attemptStatus.completionStatus.code,
            (.attemptStatus | .podUID, .podIP, .podNodeName, .podHostIP | . != null)]] | tostring')" \
        '[[0,"job0-worker-0",-220,true,true,true,true],[1,"job0-worker-1",-220,true,true,true,true]]'
    wait_for 10 "the watch shows the end" watch_shows_end
    kill "$watch"
    wait "$watch" || true
}

# A merge patch replaces lists: one of taskRoles that names no template takes it away. The Tasks that are there go on,
# those that come have no containers, which their completionStatus says; with the template back, all is well again.
run_merge_patch() {
    create 'fw("f"; [role("a"; 2; {}) | policy(-1; -1)])'
    wait_running f
    local before template
    before=$(tasks_of f)
    template=$(framework f .spec.taskRoles | jq -c .)
    patch_framework f '{"spec": {"taskRoles": [{"name": "a", "taskNumber": 3, "frameworkAttemptCompletionPolicy": {}}]}}'
    wait_framework f 15 '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[2].state == "Completed"'
    expect_match "the new Task" \
        "$(framework f '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[2].attemptStatus.completionStatus |
            "\(.code) \(.diagnostics)"')" \
        '^-200 Failed to create Pod: .*spec.containers: Required value'
    wait_event f FailedCreatePod "spec.containers: Required value"
    expect_lines "the Tasks before" "$(tasks_of f '.index < 2')" "$before"
    wait_framework f 5 '.status.state == "AttemptRunning"'
    patch_framework f "{\"spec\": {\"taskRoles\": $template}}"
    wait_framework f 15 '.status.attemptStatus.taskRoleStatuses[0].taskStatuses | length == 2'
    patch_framework f "{\"spec\": {\"taskRoles\": $(jq -c '.[0].taskNumber = 3' <<<"$template")}}"
    wait_running f
    expect_lines "the Tasks before" "$(tasks_of f '.index < 2')" "$before"
}

watch_shows_end() { jq -s -e 'any(.[]; .object.metadata.name == "job0" and .object.status.state == "Completed")' \
    "$RUN/out/$scenario.watch"; }

# NNI: POST with no retryPolicy at all and members of task that nobody knows, GET by name, DELETE of the collection by
# label in the background.
run_nni() {
    local body path id
    path=$(frameworks_path)
    for id in 1 2; do
        body=$(jq -cn --arg id "$id" \
                "$JQ_WORDS"'fw("nniexp\($id)"; [role("worker"; 1; {"run-seconds": 0.5, "exit-code": 0}) | policy(1; 1) |
                .task += {cpuNum: 1, memorySize: "8gb"}]) |
            .metadata.labels = {app: "nni", expId: "e", trialId: $id} |
                .spec |= (.executionType = "Start" | .taskRoles += [{name: "ps", taskNumber: 1,
            frameworkAttemptCompletionPolicy: {minFailedTaskCount: 1, minSucceededTaskCount: 1},
                task: {pod: {spec: {restartPolicy: "Never", containers: [{name: "c", image: "i"}]}}}}])')
        api POST "$path" "$body" >/dev/null
    done
    for id in 1 2; do
        wait_completed nniexp$id
        expect "what it reads" \
            "$(framework nniexp$id \
                '.status | "\(.state) \(.startTime != null) \(.completionTime != null) \(.attemptStatus.completionStatus.type.name)"')" \
            "Completed true true Succeeded"
    done
    create 'fw("other"; [role("a"; 1; {})]), (fw("running"; [role("a"; 1; {})]) | .metadata.labels = {app: "nni", expId: "e"})'
    wait_running running
    api DELETE "$path?labelSelector=app%3Dnni%2CexpId%3De" '{"propagationPolicy": "Background"}' >/dev/null
    wait_for 20 "the experiment is gone, with all it had" experiment_gone
    wait_running other
}

experiment_gone() {
    [[ $(k get frameworks,configmaps,pods -l '!none' -o name | grep -E 'nniexp|running' | wc -l) == 0 ]]
}

# DLWorkspace: completion policies {} and partial ones, a retryPolicy without maxRetryCount, and values of the wrong type:
# only that Framework's Pods are refused, and no other notices.
run_dlworkspace() {
    create '
        fw("empty"; [role("a"; 1; ends(0; 9)) | .frameworkAttemptCompletionPolicy = {}]),
        fw("partial"; [(role("a"; 1; ends(0; 0)) | .frameworkAttemptCompletionPolicy = {minSucceededTaskCount: 1}), role("b"; 1; {})]),
        (fw("retry"; [role("a"; 1; ends(0; "200,1")) | .task.retryPolicy = {fancyRetryPolicy: true}]) |
        .spec.retryPolicy = {fancyRetryPolicy: true}),
        fw("stringbool"; [role("a"; 1; {}) | .task.pod.spec.hostIPC = "true"]),
        fw("numberenv"; [role("a"; 1; {}) | .task.pod.spec.containers[0].env = [{name: "N", value: 1}]]),
        fw("numberannotation"; [role("a"; 1; {}) | .task.pod.metadata.annotations.gpu = 2])'
    wait_all_completed
    expect_frameworks "codes" '.status | "\(.attemptStatus.completionStatus.code) \(.attemptStatus.completionStatus.phrase)"' <<EOT
empty 0 Succeeded
numberannotation -310 PodCreationUnknownError
numberenv -310 PodCreationUnknownError
partial 0 Succeeded
retry 1 ContainerUnrecognizedFailed
stringbool -310 PodCreationUnknownError
EOT
    expect "retry: retries of the Task" \
        "$(framework retry 'task.retryPolicyStatus | "\(.totalRetriedCount) \(.accountableRetriedCount)"')" "1 0"
}
