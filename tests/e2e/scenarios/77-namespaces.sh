# A controller that is restricted to some namespaces: on a real control plane it has Roles in these and in no others, and
# no ClusterRole.

# A cluster whose CRD is not the watcher's doing.
given_cluster() {
    own_cluster "$root/manifests/crd.yaml"
    keep_control_plane
}

# The only rights: those of manifests/rbac/namespaced in each of the namespaces, and the Lease.
restrict_to() { # namespace...
    local namespace
    [[ $CLUSTER == kubernetes ]] || return 0
    kubectl delete -k "$root/manifests/rbac" >/dev/null
    wait_for 20 "there are no ClusterRoles any more" no_cluster_roles
    kubectl kustomize "$root/manifests/rbac/lease" | kubectl apply -f - >/dev/null
    kubectl apply -f "$root/manifests/deploy/namespaced/account.yaml" >/dev/null
    for namespace; do kubectl -n "$namespace" apply -f "$root/manifests/rbac/namespaced/roles.yaml" >/dev/null; done
    write_account_kubeconfig frameworkcontroller >roles/frameworkcontroller
    for namespace; do
        wait_may frameworkcontroller list "" pods "$namespace"
        wait_may frameworkcontroller create "" pods "$namespace"
    done
    wait_may frameworkcontroller update coordination.k8s.io leases "$ROLES_NAMESPACE" frameworkcontroller
    wait_may frameworkcontroller update "" configmaps "$ROLES_NAMESPACE" frameworkcontroller-epoch
}

no_cluster_roles() {
    local account=system:serviceaccount:$ROLES_NAMESPACE:frameworkcontroller
    ! is_allowed "$account" list "" pods && ! is_allowed "$account" create "" pods
}

expect_same_other_rights() {
    expect "rights of Role fc-reconciler-network" "$(rules_of Role fc-reconciler-network "$root/manifests/rbac/namespaced/network.yaml")" \
        "$(rules_of ClusterRole fc-reconciler-network "$root/manifests/rbac/network/services.yaml")"
    expect "rights of Role frameworkbarrier" "$(rules_of Role frameworkbarrier "$root/manifests/rbac/namespaced/init.yaml")" \
        "$(rules_of ClusterRole frameworkbarrier "$root/manifests/rbac/roles/init.yaml")"
}

# The Roles of a namespace give what the ClusterRoles of the same names give, and nothing gives more.
expect_same_rights() { # role
    expect "rights of Role $1" "$(rules_of Role "$1" "$root/manifests/rbac/namespaced/roles.yaml")" \
        "$(rules_of ClusterRole "$1" "$root/manifests/rbac/roles/${1#fc-}.yaml")"
}

rules_of() { # kind name file
    kubectl create --dry-run=client -o json -f "$3" |
        jq -cS --arg kind "$1" --arg name "$2" 'select(.kind == $kind and .metadata.name == $name).rules'
}

# Every request of the controller that was for none of these namespaces, nor for its Lease, once.
requests_elsewhere() { # namespace...
    jq -r --args 'select(.user.username | endswith(":frameworkcontroller")) |
        select(.verb != "watch" or .stage == "ResponseStarted") | # (those of who had this cluster before may end late)
        select(.objectRef.resource != "leases" and all($ARGS.positional[] != .objectRef.namespace; .)) |
        "\(.verb) \(.requestURI)"' "$@" < <(tail -n "+$audited_from" plane/audit.log) | sort -u
}

none_left_of_ours() { [[ -z $(kubectl -n "$NS" get pods,configmaps -l FC_FRAMEWORK_NAME -o name) ]]; }

run_namespaces() {
    local one=$NS-one two=$NS-two other=$NS-other own namespace
    given_cluster
    for namespace in "$one" "$two" "$other"; do kubectl create namespace "$namespace" >/dev/null; done
    expect_same_rights fc-watcher
    expect_same_rights fc-reconciler
    expect_same_other_rights
    # its own namespace, where the Lease is, may be one of them
    own=$(lease_namespace)
    restrict_to "$one" "$two" "$own"
    launch_watcher watcher-1 --namespaces "$one,$two,$own" --workers 2 --http 127.0.0.1:0
    # one of the same name in each; the one elsewhere is left alone
    for NS in "$other" "$one" "$two"; do
        create 'fw("same"; [role("a"; 2; ends(1; 0))]), fw("stopped"; [role("a"; 2; {})]),
            (fw("retried"; [role("a"; 1; ends(0; 1))]) | .spec |= retry(false; 1))'
    done
    NS=$own
    create 'fw("own"; [role("a"; 1; ends(0; 0))])'
    wait_completed own 40
    api DELETE "$(frameworks_path)/own" >/dev/null
    for NS in "$one" "$two"; do
        wait_completed same 40
        wait_completed retried 40
        expect "$NS/retried" "$(framework retried .status.retryPolicyStatus.totalRetriedCount)" 1
        wait_running stopped
        patch_framework stopped '{"spec": {"executionType": "Stop"}}'
        wait_completed stopped
        kubectl -n "$NS" delete framework same retried stopped --wait=true >/dev/null
        wait_for 20 "nothing is left in $NS" none_left_of_ours
    done
    NS=$other
    expect "statuses in $other" "$(get_jq "$(frameworks_path)" -c '[.items[].status]')" "[null,null,null]"
    expect "objects in $other" "$(kubectl -n "$other" get pods,configmaps -l FC_FRAMEWORK_NAME -o name)" ""
    if [[ $CLUSTER == kubernetes ]]; then
        expect "requests elsewhere" "$(requests_elsewhere "$one" "$two" "$own")" "get /apis/frameworkcontroller.microsoft.com/v1"
    fi
    # Taken over by one that looks after fewer: what the other namespace has is left as it is.
    NS=$two
    create 'fw("left"; [role("a"; 1; {})])'
    wait_running left
    stop_watcher
    launch_watcher watcher-2 --namespaces "$one" --workers 2
    patch_framework left '{"spec": {"executionType": "Stop"}}'
    NS=$one
    create 'fw("next"; [role("a"; 1; ends(0; 0))])'
    wait_completed next 60
    NS=$two
    expect "the state of what it does not look after" "$(framework left .status.state)" AttemptRunning
}

# Without the CRD it says who has to do what, and goes on when that is done. (Of others' namespaces it says so, too.)
run_namespaces_crd() {
    given_cluster
    restrict_to "$NS"
    kubectl delete crd frameworks.frameworkcontroller.microsoft.com >/dev/null
    launch_watcher watcher-1 --namespaces "$NS" --workers 1
    wait_for 20 "it says what is missing" grep -q 'cannot use the CRD .*: it does not exist; .*crd.yaml' watcher-1.log
    kubectl apply -f "$root/manifests/crd.yaml" >/dev/null
    wait_for 40 "it has seen all" grep -q 'synced: ' watcher-1.log
    create 'fw("first"; [role("a"; 1; ends(0; 0))])'
    wait_completed first 40
    [[ $CLUSTER == kubernetes ]] || return 0
    stop_watcher
    launch_watcher watcher-2 --namespaces "$NS,default" --workers 1
    wait_for 20 "it says what it may not" grep -q 'Frameworks in default: cannot list: .*403' watcher-2.log
    # A Lease of another name takes rights on that name and its record's.
    stop_watcher
    launch_watcher watcher-3 --namespaces "$NS" --workers 1 --leader-elect-resource-name second
    wait_for 20 "it says that it may not lead" \
        grep -q "the Lease $ROLES_NAMESPACE/second: .*403.* cannot get resource" watcher-3.log
    kubectl create --dry-run=client -o json -f "$root/manifests/rbac/lease/role.yaml" |
        jq '.rules |= map(if .resourceNames then .resourceNames |= map(., sub("^frameworkcontroller"; "second")) else . end)' |
        kubectl apply -f - >/dev/null
    wait_for 40 "it leads" grep -q 'leading as ' watcher-3.log
}

# A namespace without a RoleBinding, as after somebody deleted it, does not hold up the other ones. Access that comes back is used.
run_namespaces_refused() {
    given_cluster
    restrict_to "$NS"
    [[ $CLUSTER == kubernetes ]] || testapi_fault '{"match": {"namespace": "default"}, "action": {"status": 403}}'
    launch_watcher watcher-1 --namespaces "default,$NS" --workers 1
    wait_for 20 "it says what it may not" grep -q 'Frameworks in default: cannot .*403' watcher-1.log
    wait_for 90 "it goes on without" grep -q 'namespace default: the API server refuses all access' watcher-1.log
    create 'fw("meanwhile"; [role("a"; 1; ends(0; 0))])'
    wait_completed meanwhile 40
    if [[ $CLUSTER == kubernetes ]]; then
        kubectl -n default apply -f "$root/manifests/rbac/namespaced/roles.yaml" >/dev/null
    else
        testapi DELETE faults >/dev/null
    fi
    wait_for 60 "it watches there" grep -q 'namespace default: the API server no longer refuses access' watcher-1.log
    NS=default
    create 'fw("again"; [role("a"; 1; ends(0; 0))])'
    wait_completed again 60
    api DELETE "$(frameworks_path)/again" >/dev/null
    [[ $CLUSTER != kubernetes ]] || kubectl -n default delete -f "$root/manifests/rbac/namespaced/roles.yaml" >/dev/null
}

# A namespace loses its rights while its watches run, which the API server does not end: the first one that ends is refused, and the
# others do not go on for the rest of their time (300 to 600 s), for which the other namespaces would wait.
run_namespaces_lost() {
    [[ $CLUSTER == embedded ]] || not_here "a real API server does not end one watch alone"
    given_cluster
    launch_watcher watcher-1 --namespaces "default,$NS" --workers 1
    create 'fw("before"; [role("a"; 1; ends(0; 0))])'
    wait_completed before 40
    testapi_fault '{"match": {"namespace": "default"}, "action": {"status": 403}}'
    testapi POST watches '{"match": {"namespace": "default", "resource": "configmaps"}, "do": "end"}' >/dev/null
    # (with six times the patience still before the other watches end by themselves)
    wait_for 45 "it goes on without" grep -q 'namespace default: the API server refuses all access' watcher-1.log
    create 'fw("after"; [role("a"; 1; ends(0; 0))])'
    wait_completed after 40
}
