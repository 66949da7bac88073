# Objects deleted by others, in every state and by every propagation (CONTRACT.md §5, §6, §12).

ORPHAN='{"propagationPolicy": "Orphan"}'
BACKGROUND='{"propagationPolicy": "Background"}'
FOREGROUND='{"propagationPolicy": "Foreground"}'

# Of the status of a Framework or a Task. Whether the deletion itself is seen or only its end is a matter of time.
RETRIES_AND_CODE='[.retryPolicyStatus.totalRetriedCount, .retryPolicyStatus.accountableRetriedCount] + (.attemptStatus.completionStatus |
    if . then [.code, .type.attributes[0], (.diagnostics | sub(" (is being|was) deleted"; " DELETED"))] else [null] end) |
    map(tostring) | join(" ")'

# Pods: each deletion ends that TaskAttempt with -101, and the Task's policy decides.
run_delete_pods() {
    create '
        fw("fancy"; [role("a"; 2; {}) | task_retry(true; 0) | policy(1; -1)]),
        fw("normal"; [role("a"; 2; {}) | task_retry(false; 1) | policy(1; -1)]),
        fw("none"; [role("a"; 1; {}) | task_retry(false; 0) | policy(1; -1)]),
        fw("forced"; [role("a"; 1; {"ignore-termination": true}) | policy(1; -1)]),
        fw("preparing"; [role("a"; 1; {phase: "pending"}) | task_retry(true; 0) | policy(1; -1)])'
    local name uid
    for name in fancy normal none forced; do wait_running $name; done
    wait_framework preparing 15 'task.state == "AttemptPreparing"'
    uid=$(pod fancy-a-1 .metadata.uid)
    for name in fancy normal none forced preparing; do delete pods/$name-a-0; done
    wait_framework forced 15 'task.state == "AttemptDeleting"'
    delete pods/forced-a-0 '{"gracePeriodSeconds": 0}'
    wait_completed none
    wait_completed forced
    for name in fancy normal; do
        wait_framework $name 15 'task.state == "AttemptRunning" and task.attemptStatus.id == 1'
    done
    wait_framework preparing 15 'task.state == "AttemptPreparing" and task.attemptStatus.id == 1'
    expect "the sibling" "$(pod fancy-a-1 .metadata.uid)" "$uid"
    expect_frameworks "retries, code" "$TASK | $RETRIES_AND_CODE" <<EOT
fancy 1 0 null
forced 0 0 -101 Transient Pod DELETED by others
none 0 0 -101 Transient Pod DELETED by others
normal 1 1 null
preparing 1 0 null
EOT
    expect "diagnostics of one that was seen deleting" "$(framework forced 'task.attemptStatus.completionStatus.diagnostics')" \
        "Pod is being deleted by others"
}

# The ConfigMap, whose end is the attempt's: the next one starts when all is gone.
run_delete_configmap() {
    create '
        (fw("foreground", "background", "once"; [role("a"; 2; {}) | policy(1; -1)]) | .spec |= retry(true; 0)),
        (fw("preparing"; [role("a"; 1; {phase: "hold"})]) | .spec |= retry(false; 1)),
        (fw("final"; [role("a"; 1; {})]))'
    local name
    for name in foreground background once final; do wait_running $name; done
    wait_framework preparing 15 'task.state == "AttemptPreparing"'
    delete configmaps/foreground-attempt "$FOREGROUND"
    delete configmaps/background-attempt "$BACKGROUND"
    # (held, as the end of a ConfigMap may be seen before that of its Pods, which then end with the attempt)
    hold pods/final-a-0
    for name in once preparing final; do delete configmaps/$name-attempt; done
    for name in foreground background once; do
        wait_framework $name 20 '.status.attemptStatus.id == 1'
        wait_running $name 20
    done
    wait_framework preparing 15 '.status.attemptStatus.id == 1 and task.state == "AttemptPreparing"'
    wait_framework final 15 'task | .state == "AttemptDeleting" and .attemptStatus.completionStatus.code == -101'
    release pods/final-a-0
    wait_completed final
    expect_frameworks "retries, code" ".status | $RETRIES_AND_CODE" <<EOT
background 1 0 null
final 0 0 -100 Transient ConfigMap DELETED by others
foreground 1 0 null
once 1 0 null
preparing 1 1 null
EOT
    # Each Task went with its Pod, not with the attempt.
    expect "final: the Task" "$(framework final 'task | "\(.state) \(.attemptStatus.completionStatus.code)"')" "Completed -101"
}

# As kubectl does it, with background propagation: the ConfigMap goes first, which is the end of the attempt and of its
# Tasks at once. What stays of its Pods keeps no more than its own name.
run_delete_configmap_background() {
    create '
        (fw("again"; [role("a"; 2; {}) | policy(1; -1)]) | .spec |= retry(true; 0)),
        fw("over"; [role("a"; 2; {}) | policy(1; -1)])'
    local name uid
    for name in again over; do
        wait_running $name
        hold pods/$name-a-0
    done
    hold pods/over-a-1
    uid=$(pod again-a-0 .metadata.uid)
    for name in again over; do delete configmaps/$name-attempt "$BACKGROUND"; done
    wait_completed over 20
    expect "over: the attempt" "$(framework over ".status | $RETRIES_AND_CODE")" "0 0 -100 Transient ConfigMap DELETED by others"
    # (-101 for one whose Pod was seen deleting first: the two streams keep no order)
    expect "over: the Tasks" "$(framework over '[tasks | "\(.state) \(.attemptStatus.completionStatus.code)" | sub("-101"; "-220")] |
        join(", ")')" "Completed -220, Completed -220"
    wait_framework again 20 '.status.attemptStatus.id == 1 and .status.state == "AttemptRunning" and
        [tasks.state] == ["AttemptCreationPending", "AttemptRunning"]'
    expect "the Pod that stays" "$(pod again-a-0 .metadata.uid)" "$uid"
    for name in again-a-0 over-a-0 over-a-1; do release pods/$name; done
    wait_running again 20
    expect "again: retries" "$(framework again ".status | $RETRIES_AND_CODE")" "1 0 null"
    if has_event again NamingConflict .; then fail "its own former Pod is called a conflict"; fi
}

# Orphaned Pods are nobody's: left alone, waited for.
run_delete_configmap_orphan() {
    create 'fw("f"; [role("a"; 1; {})]) | .spec |= retry(true; 0)'
    wait_running f
    local uid
    uid=$(pod f-a-0 .metadata.uid)
    delete configmaps/f-attempt "$ORPHAN"
    wait_pod f-a-0 20 '(.metadata.ownerReferences // []) == []'
    wait_event f NamingConflict "f-a-0"
    expect "the orphan" "$(pod f-a-0 '"\(.metadata.uid) \(.metadata.deletionTimestamp)"')" "$uid null"
    delete pods/f-a-0
    wait_framework f 20 '.status.attemptStatus.id == 1'
    wait_running f 20
    [[ $(pod f-a-0 .metadata.uid) != "$uid" ]] || fail "the old Pod serves the new attempt"
}

# The Framework, while it runs: with Foreground and Background nothing stays, with Orphan all of it.
run_delete_framework() {
    create 'fw("foreground", "background", "orphan"; [role("a"; 2; {}) | policy(1; -1)])'
    local name before
    for name in foreground background orphan; do wait_running $name; done
    before=$(k get configmaps,pods -l FC_FRAMEWORK_NAME=orphan -o jsonpath='{.items[*].metadata.uid}')
    api DELETE "$(frameworks_path)/foreground" "$FOREGROUND" >/dev/null
    api DELETE "$(frameworks_path)/background" "$BACKGROUND" >/dev/null
    api DELETE "$(frameworks_path)/orphan" "$ORPHAN" >/dev/null
    for name in foreground background orphan; do
        wait_for 20 "$name is gone" is_absent "$(frameworks_path)/$name"
    done
    for name in foreground background; do wait_for 20 "nothing of $name is left" no_pod_of $name; done
    # What was orphaned is in the way of a namesake, until somebody removes it.
    create 'fw("orphan"; [role("a"; 1; {})])'
    wait_event orphan NamingConflict orphan-attempt
    expect "orphans" "$(k get configmaps,pods -l FC_FRAMEWORK_NAME=orphan -o jsonpath='{.items[*].metadata.uid}')" "$before"
    k delete pods -l FC_FRAMEWORK_NAME=orphan >/dev/null
    # the ConfigMap keeps its finalizer foregroundDeletion, which is the collector's to remove
    delete configmaps/orphan-attempt
    wait_running orphan 20
}

# Deleted and made again under the same name: the old Pods go first, and the new Framework has nothing of the old one.
run_recreate() {
    create 'fw("f"; [role("a"; 2; {})])'
    wait_running f
    local uid pod
    uid=$(framework f .metadata.uid)
    pod=$(pod f-a-0 .metadata.uid)
    hold pods/f-a-0
    api DELETE "$(frameworks_path)/f" "$BACKGROUND" >/dev/null
    wait_for 10 "f is gone" is_absent "$(frameworks_path)/f"
    create 'fw("f"; [role("a"; 2; {})])'
    wait_pod f-a-0 15 '.metadata.deletionTimestamp != null'
    wait_framework f 15 '.status.state != null'
    expect "the old Pod" "$(pod f-a-0 .metadata.uid)" "$pod"
    release pods/f-a-0
    wait_running f 20
    [[ $(framework f .metadata.uid) != "$uid" && $(pod f-a-0 .metadata.uid) != "$pod" ]] || fail "the old one is back"
    expect "its Pod's Framework" "$(pod f-a-0 .metadata.annotations.FC_FRAMEWORK_UID)" "$(framework f .metadata.uid)"
    if has_event f NamingConflict .; then fail "what is left of the old one is called a conflict"; fi
    # The same in the other states: pending, and completed.
    create 'fw("g"; [role("a"; 1; ends(0; 0))]) | .spec.executionType = "Create"'
    wait_observed g
    api DELETE "$(frameworks_path)/g" '{}' >/dev/null
    create 'fw("g"; [role("a"; 1; ends(0; 0))])'
    wait_completed g
    uid=$(framework g .metadata.uid)
    api DELETE "$(frameworks_path)/g" '{}' >/dev/null
    create 'fw("g"; [role("a"; 1; ends(0; 4))])'
    wait_completed g
    expect "the third g" "$(framework g '.status.attemptStatus.completionStatus.code')" 4
}

# A Framework that is being deleted starts nothing new; all else goes on.
run_deleting_starts_nothing() {
    create 'fw("f"; [(role("a"; 1; {}) | policy(1; -1)), (role("b"; 1; {"run-seconds": "0.2", "exit-code": "1"}) | policy(-1; -1))]) |
        .metadata.finalizers = ["test/hold"] | .spec |= retry(false; -2)'
    wait_framework f 15 'task.state == "AttemptRunning"'
    api DELETE "$(frameworks_path)/f" "$BACKGROUND" >/dev/null
    delete configmaps/f-attempt
    wait_framework f 20 '.status.state == "AttemptCreationPending" and .status.attemptStatus.id == 1'
    patch_framework f '{"spec": {"description": "look again"}}'
    wait_observed f
    expect "state" "$(framework f .status.state)" AttemptCreationPending
    is_absent "/api/v1/namespaces/$NS/configmaps/f-attempt" || fail "a Framework that is being deleted was started again"
    patch_framework f '{"metadata": {"finalizers": null}}'
    wait_for 10 "f is gone" is_absent "$(frameworks_path)/f"
}

# A namespace goes with all that is in it, also with Frameworks that are retried for ever, wait for something, or are over;
# those of other namespaces stay.
run_delete_namespace() {
    create 'fw("stays"; [role("a"; 1; {})])'
    local NS=$NS-going name
    kubectl create namespace "$NS" >/dev/null
    create '
        (fw("again"; [role("a"; 2; {}) | task_retry(false; -2)]) | .spec |= retry(false; -2)),
        (fw("held"; [role("a"; 1; {})]) | .spec.executionType = "Create"),
        fw("pending"; [role("a"; 1; {phase: "hold"})]),
        fw("over"; [role("a"; 1; ends(0; 0))])'
    wait_running again
    wait_completed over
    wait_framework pending 15 'task.state == "AttemptPreparing"'
    wait_observed held
    kubectl delete namespace "$NS" --wait=false >/dev/null
    wait_for 60 "the namespace is gone" is_absent "/api/v1/namespaces/$NS"
    NS=${NS%-going}
    wait_running stays
}
