# Objects that are not ours, under our names or our ConfigMap (CONTRACT.md §6, §12).

# A same-named Pod that is not ours, with our label or without: never touched, reported, waited for; the Framework's
# other Tasks go on.
run_foreign_pod() {
    foreign_pod seen-a-0 '{"FC_FRAMEWORK_NAME": "seen"}'
    foreign_pod unseen-a-0 '{}'
    create 'fw("seen", "unseen"; [role("a"; 2; {})])'
    local name uid
    for name in seen unseen; do
        wait_event $name NamingConflict "Pod $name-a-0 "
        wait_framework $name 15 '[tasks.state] == ["AttemptCreationPending", "AttemptRunning"]'
        expect "the foreign Pod" "$(pod $name-a-0 '"\(.metadata.deletionTimestamp) \(.spec.containers[0].name)"')" "null foreign"
        uid=$(pod $name-a-1 .metadata.uid)
        delete pods/$name-a-0 '{"gracePeriodSeconds": 0}'
        wait_running $name
        expect "the Pod beside it" "$(pod $name-a-1 .metadata.uid)" "$uid"
        expect "its own Pod" "$(pod $name-a-0 '.spec.containers[0].name')" c
    done
}

foreign_pod() { # name labels
    api POST "/api/v1/namespaces/$NS/pods" "$(jq -cn --arg name "$1" --argjson labels "$2" '{apiVersion: "v1", kind: "Pod",
        metadata: {name: $name, labels: $labels}, spec: {containers: [{name: "foreign", image: "i"}]}}')" >/dev/null
}

# The same for the ConfigMap: with our label and somebody else as its controller; and Stop needs none.
run_foreign_config_map() {
    local name
    for name in taken stopped; do
        api POST "/api/v1/namespaces/$NS/configmaps" "$(jq -cn --arg name $name '{apiVersion: "v1", kind: "ConfigMap",
            metadata: {name: "\($name)-attempt", labels: {FC_FRAMEWORK_NAME: $name}, ownerReferences: [
                {apiVersion: "v1", kind: "Namespace", name: "'"$NS"'", uid: "'"$(api GET "/api/v1/namespaces/$NS" |
                    jq -r .metadata.uid)"'", controller: true}]},
            data: {mine: "1"}}')" >/dev/null
    done
    create 'fw("taken", "stopped"; [role("a"; 1; {})])'
    for name in taken stopped; do wait_event $name NamingConflict "ConfigMap $name-attempt"; done
    patch_framework stopped '{"spec": {"executionType": "Stop"}}'
    wait_completed stopped
    expect "stopped" "$(framework stopped '.status.attemptStatus | "\(.completionStatus.code) \(.configMapUID)"')" "-210 null"
    for name in taken stopped; do
        expect "$name: the ConfigMap" \
            "$(get_jq "/api/v1/namespaces/$NS/configmaps/$name-attempt" -r '"\(.data.mine) \(.metadata.deletionTimestamp)"')" "1 null"
    done
    delete configmaps/taken-attempt
    wait_running taken
}

# A Pod under our ConfigMap that no Task owns is deleted on sight; one under nobody's, or somebody else's, is not.
run_stray_pod() {
    create 'fw("f"; [role("a"; 1; {})])'
    wait_running f
    local owner
    owner=$(api GET "/api/v1/namespaces/$NS/configmaps/f-attempt" |
            jq -c '{apiVersion: "v1", kind: "ConfigMap", name: .metadata.name, uid: .metadata.uid, controller: true}')
    stray_pod f-a-7 "[$owner]"
    stray_pod f-z-0 "[$owner]"
    stray_pod unrelated "[$owner]"
    stray_pod f-a-8 "[]"
    stray_pod f-a-9 "[$(jq -c '.controller = false' <<<"$owner")]"
    local name
    for name in f-a-7 f-z-0 unrelated; do wait_absent pods/$name; done
    for name in f-a-8 f-a-9; do expect "$name" "$(pod $name .metadata.deletionTimestamp)" null; done
}

stray_pod() { # name owners
    api POST "/api/v1/namespaces/$NS/pods" "$(jq -cn --arg name "$1" --argjson owners "$2" '{apiVersion: "v1", kind: "Pod",
        metadata: {name: $name, labels: {FC_FRAMEWORK_NAME: "f"}, ownerReferences: $owners},
        spec: {containers: [{name: "c", image: "i"}]}}')" >/dev/null
}

# Who takes our label off a Pod or ConfigMap makes it invisible to the watch, but not gone: it is deleted and waited for
# before the next one is made.
run_label_removed() {
    create 'fw("pod"; [role("a"; 1; {}) | task_retry(true; 0)]), (fw("configmap"; [role("a"; 1; {})]) | .spec |= retry(true; 0))'
    wait_running pod
    wait_running configmap
    local uid map
    uid=$(pod pod-a-0 .metadata.uid)
    map=$(framework configmap .status.attemptStatus.configMapUID)
    hold pods/pod-a-0
    api PATCH "/api/v1/namespaces/$NS/pods/pod-a-0" '{"metadata": {"labels": {"FC_FRAMEWORK_NAME": null}}}' application/merge-patch+json \
        >/dev/null
    api PATCH "/api/v1/namespaces/$NS/configmaps/configmap-attempt" \
        '{"metadata": {"labels": {"FC_FRAMEWORK_NAME": null}}}' application/merge-patch+json >/dev/null
    wait_pod pod-a-0 15 '.metadata.deletionTimestamp != null'
    expect "pod: attempt" "$(framework pod 'task.attemptStatus.id')" 0
    release pods/pod-a-0
    wait_framework pod 20 'task.attemptStatus.id == 1'
    wait_running pod
    [[ $(pod pod-a-0 .metadata.uid) != "$uid" ]] || fail "the Pod without a label is still there"
    wait_framework configmap 20 '.status.attemptStatus.id == 1'
    wait_running configmap
    [[ $(framework configmap .status.attemptStatus.configMapUID) != "$map" ]] || fail "the ConfigMap without a label is still used"
}

# What others add to our objects stays: annotations that a scheduler writes on a Pod, a finalizer, another owner in the
# template.
run_others_additions() {
    create 'fw("f"; [role("a"; 1; {}) | .task.pod.metadata += {labels: {app: "x", FC_TASK_INDEX: "99"}, name: "other", namespace: "other",
        finalizers: ["test/hold"]}])'
    wait_running f
    expect "what the template says" "$(pod f-a-0 '.metadata | "\(.labels.app) \(.labels.FC_TASK_INDEX) \(.finalizers)"')" \
        'x 0 ["test/hold"]'
    api PATCH "/api/v1/namespaces/$NS/pods/f-a-0" '{"metadata": {"annotations": {"scheduler/isolation": "0,1"}, "labels": {"more": "1"}}}' \
        application/merge-patch+json >/dev/null
    patch_framework f '{"spec": {"description": "look again"}}'
    wait_observed f
    expect "what was added" \
        "$(pod f-a-0 '.metadata | "\(.annotations["scheduler/isolation"]) \(.labels.more) \(.annotations.FC_TASK_INDEX)"')" "0,1 1 0"
    patch_framework f '{"spec": {"executionType": "Stop"}}'
    wait_pod f-a-0 15 '.metadata.deletionTimestamp != null'
    # The attempt is not over while its Pod is there.
    wait_framework f 15 '.status.state | test("Deleti")'
    release pods/f-a-0
    wait_completed f
}

# A status that somebody else writes is overwritten.
run_foreign_status() {
    create 'fw("f"; [role("a"; 1; {})])'
    wait_running f
    local uid before
    uid=$(pod f-a-0 .metadata.uid)
    before=$(get_jq "$(frameworks_path)/f" -cS .status)
    wait_for 15 "a status is written" overwrite_status f '.status.state = "Completed" | .status.retryPolicyStatus.totalRetriedCount = 7'
    wait_framework f 15 '.status.state == "AttemptRunning" and .status.retryPolicyStatus.totalRetriedCount == 0'
    expect "the status" "$(get_jq "$(frameworks_path)/f" -cS .status)" "$before"
    wait_for 15 "the status is taken away" overwrite_status f 'del(.status)'
    wait_framework f 15 '.status.state == "AttemptRunning"'
    expect "the Pod" "$(pod f-a-0 .metadata.uid)" "$uid"
}

# (409 where the controller has just written it)
overwrite_status() { # framework jq-expression
    api PUT "$(frameworks_path)/$1/status" "$(get_jq "$(frameworks_path)/$1" -c "$2")" >/dev/null
}
