# What the processes may do: on a real control plane each runs as the service account of its kind (manifests/rbac), and so
# do the init containers of gangs. check_roles fails the run, or the scenario that has a control plane of its own, when the
# audit log has a request of theirs that no role allowed, or one that was made as somebody else. The embedded cluster asks
# nobody who he is. Sourced by run.sh.

ROLES_NAMESPACE=frameworkcontroller

# What scenarios mean to be found: "WHERE | FINDING | WHY". WHERE is a pattern of the names of scenarios with a control plane
# of their own, or "run" for the one that all others share.
MEANT='
run | frameworkbarrier as alice | credentials* ask as somebody who has the one right
run | frameworkbarrier as eve | credentials_tls asks as somebody without rights
run | refused eve get frameworkcontroller.microsoft.com/frameworks | the same
run | frameworkbarrier as admin | credentials asks in the name of somebody else
run | refused admin get frameworkcontroller.microsoft.com/frameworks | the same, of somebody without rights
run | frameworkbarrier as system:anonymous | credentials asks as nobody
run | refused anonymous get frameworkcontroller.microsoft.com/frameworks | the same
rbac_watcher | refused fc-watcher * | each right is taken away
rbac_reconciler | refused fc-reconciler * | each right is taken away
rbac_network | refused fc-reconciler * | each right is taken away
rbac_gang | refused fc-reconciler * | each right is taken away
rbac_kueue | refused fc-reconciler * | each right is taken away
rbac_kueue | refused fc-watcher * | each right is taken away
kueue_missing | refused frameworkcontroller * kueue.x-k8s.io/* | the rights are taken away
network_forbidden | refused frameworkcontroller * /services | the rights are taken away
gang_forbidden | refused frameworkcontroller * scheduling.volcano.sh/podgroups | the rights are taken away
rbac_jobs | refused fc-jobs * | each right is taken away
rbac_barrier | refused fc-barrier * | each right is taken away
rbac_init | refused gang get frameworkcontroller.microsoft.com/frameworks | its right is taken away
namespaces_crd | refused frameworkcontroller list frameworkcontroller.microsoft.com/frameworks | a namespace without Roles
namespaces_crd | refused frameworkcontroller list /pods | the same
namespaces_crd | refused frameworkcontroller list /configmaps | the same
namespaces_crd | refused frameworkcontroller get /configmaps | the record of a Lease of a name that its Role does not have
namespaces_refused | refused frameworkcontroller * | a namespace without Roles
credentials_certificate | fc-watcher as nobody | a certificate of somebody without rights, until it is replaced
credentials_certificate | refused nobody * | the same
deploy_in_place | fc-* as default:frameworkcontroller | the service account, and the rights, that users of the original have
barrier_trouble | refused * | an API server that was started again knows no roles at first
documentation_cluster | fc-* as admin | whoever follows README.md has a kubeconfig of his own
documentation_cluster | frameworkbarrier as admin | the same, in its gangs
'

# The kubeconfig of a service account, or of whoever may do everything where there are no roles.
kubeconfig_of() { # service account
    if [[ -e $RUN/roles/$1 ]]; then echo "roles/$1"; else echo cluster/kubeconfig; fi
}

# Where the Lease of watchers is.
lease_namespace() { if [[ -e $RUN/roles ]]; then echo $ROLES_NAMESPACE; else echo kube-system; fi; }

# Runs fc-watcher under the roles of a watcher alone, or of one with a pool.
launch_watcher() { # name [arguments...]
    local name=$1 account=frameworkcontroller
    shift
    [[ " $* " != *" --workers 0 "* ]] || account=fc-watcher
    # TMPDIR: a watcher that is killed leaves its bus socket behind.
    launch "$name" env TMPDIR="$RUN" POD_NAMESPACE="$(lease_namespace)" "$BUILD/fc-watcher" \
        --config config.yaml --kubeconfig "$(kubeconfig_of $account)" "$@"
}

launch_reconciler() { # name [arguments...]
    launch "$1" "$BUILD/fc-reconciler" --config config.yaml --kubeconfig "$(kubeconfig_of fc-reconciler)" "${@:2}"
}

launch_barrier() { # name [arguments...]
    launch "$1" "$BUILD/fc-barrier" --config config.yaml --kubeconfig "$(kubeconfig_of fc-barrier)" "${@:2}"
}

launch_jobs() { # name [arguments...]
    launch "$1" env POD_NAMESPACE="$(lease_namespace)" "$BUILD/fc-jobs" --config config.yaml --kubeconfig "$(kubeconfig_of fc-jobs)" \
        "${@:2}"
}

# Makes the service accounts and a kubeconfig for each.
apply_roles() {
    local name
    [[ $CLUSTER == kubernetes ]] || return 0
    mkdir -p roles
    create_namespace "$ROLES_NAMESPACE"
    kubectl apply -k "$root/manifests/rbac" >/dev/null
    for name in frameworkcontroller fc-watcher fc-reconciler fc-barrier fc-jobs; do
        write_account_kubeconfig "$name" >"roles/$name"
    done
    for name in frameworkcontroller fc-watcher; do
        wait_may $name list "" pods
        wait_may $name get apiextensions.k8s.io customresourcedefinitions "" frameworks.frameworkcontroller.microsoft.com
        wait_may $name update coordination.k8s.io leases "$ROLES_NAMESPACE" frameworkcontroller
        wait_may $name update "" configmaps "$ROLES_NAMESPACE" frameworkcontroller-epoch
    done
    for name in frameworkcontroller fc-reconciler; do wait_may $name create "" pods; done
    wait_may fc-jobs create frameworkcontroller.microsoft.com frameworks
    wait_may fc-jobs update coordination.k8s.io leases "$ROLES_NAMESPACE" fc-jobs
    wait_may fc-barrier create authentication.k8s.io tokenreviews
}

# Waits until the server has seen what became of the roles.
wait_may() { # service-account verb group resource [namespace] [name]
    local account=$1
    [[ $account == *:* ]] || account=$ROLES_NAMESPACE:$account
    wait_for 20 "$account may $2 $4" is_allowed "system:serviceaccount:$account" "${@:2}"
}

# Takes a component's rights away from the reconcilers, and gives them back. The embedded API server has no rights to give: it
# refuses the requests.
take_right() { # component group resource
    if [[ $CLUSTER == kubernetes ]]; then
        kubectl delete -k "$root/manifests/rbac/$1" >/dev/null
        wait_for 20 "the right is gone" cannot_create "$2" "$3"
    else
        testapi_fault "{\"match\": {\"resource\": \"$3\", \"userAgent\": \"fc-reconciler\"}, \"action\": {\"status\": 403,
            \"reason\": \"Forbidden\", \"message\": \"$3 is forbidden: User \\\"x\\\" cannot do that\"}}"
    fi
}
give_right() { # component
    if [[ $CLUSTER == kubernetes ]]; then kubectl apply -k "$root/manifests/rbac/$1" >/dev/null; else testapi DELETE faults >/dev/null; fi
}
cannot_create() { ! is_allowed "system:serviceaccount:$ROLES_NAMESPACE:frameworkcontroller" create "$1" "$2" "$NS"; } # group resource

is_allowed() { # user verb group resource [namespace] [name]
    api POST /apis/authorization.k8s.io/v1/subjectaccessreviews "$(printf '{"apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview", "spec": {"user": "%s", "resourceAttributes": {"verb": "%s", "group": "%s", "resource": "%s",
        "namespace": "%s", "name": "%s"}}}' "$1" "$2" "$3" "$4" "${5:-}" "${6:-}")" | jq -e .status.allowed >/dev/null
}

# Makes gang.kubeconfig, of the service account "gang" in a namespace, which may do what init containers must: for Pods
# that are processes.
apply_gang_role() { # namespace
    if [[ $CLUSTER == embedded ]]; then cp cluster/kubeconfig gang.kubeconfig; return; fi
    api POST "/api/v1/namespaces/$1/serviceaccounts" '{"metadata": {"name": "gang"}}' >/dev/null
    kubectl -n "$1" create rolebinding gang --clusterrole=frameworkbarrier --serviceaccount="$1:gang" >/dev/null
    write_account_kubeconfig gang "$1" >gang.kubeconfig
    wait_may "$1:gang" get frameworkcontroller.microsoft.com frameworks "$1"
}

write_account_kubeconfig() { # service account [namespace]
    sed -e '/^contexts:/,$d' cluster/kubeconfig
    cat <<END
contexts:
- name: $1
  context: {cluster: test, user: $1, namespace: ${2:-$ROLES_NAMESPACE}}
current-context: $1
users:
- name: $1
  user: {token: $(account_token "$@")}
END
}

account_token() { # service account [namespace]
    api POST "/api/v1/namespaces/${2:-$ROLES_NAMESPACE}/serviceaccounts/$1/token" '{
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}}' | jq -r .status.token
}

# What an API server is to write down: whatever service accounts ask for, and whoever asks for Frameworks.
write_audit_policy() { # file
    cat >"$1" <<'END'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: [system:serviceaccounts]
- level: Metadata
  resources: [{group: frameworkcontroller.microsoft.com}]
END
}

audit_flags() { echo "--audit-policy-file=$1 --audit-log-path=$2 --audit-log-maxsize=10000"; } # policy log

# Requests of service accounts, and of our programs, that a role was missing for, each once: "account verb resource".
forbidden() { # audit-log
    jq -r 'select(.annotations["authorization.k8s.io/decision"] == "forbid") |
        select((.user.username | startswith("system:serviceaccount:")) or
        (.userAgent // "" | test("^(fc-(watcher|reconciler|barrier|jobs)|frameworkbarrier)/"))) |
        "\(.user.username | sub(".*:"; "")) \(.verb) \(.objectRef.apiGroup // "")/\(.objectRef.resource)\(
            if .objectRef.subresource then "/" + .objectRef.subresource else "" end)"' "$1" | sort -u
}

# Our programs that asked for something as somebody who has other roles than theirs, each once: "program as account". (As
# nobody at all: with a token or a certificate that was not taken.)
strangers() { # audit-log
    jq -r '(.userAgent // "" | split("/")[0] // "") as $program | (.user.username // "" | sub("^system:serviceaccount:"; "")) as $user |
        {"fc-watcher": "^frameworkcontroller:(frameworkcontroller|fc-watcher)$",
        "fc-reconciler": "^frameworkcontroller:(frameworkcontroller|fc-reconciler)$",
            "fc-barrier": "^frameworkcontroller:fc-barrier$", frameworkbarrier: ":gang$"}[$program] as $account |
        select($account != null and $user != "") | select($user | test($account) | not) | "\($program) as \($user)"' "$1" | sort -u
}

# What an audit log has against the roles, from a line on, but for what is meant to be there. (Of the line that is just
# being written there may be a part only.)
check_roles() { # run|scenario audit-log line
    local where=$1 found findings pattern what broken=0
    findings=$(tail -n "+$3" "$2" | sed -n '/}$/p' >"$2.part" && forbidden "$2.part" | sed 's/^/refused /' && strangers "$2.part") ||
        { echo "not ok: $2 cannot be read"; return 1; }
    while read -r found; do
        [[ -n $found ]] || continue
        while IFS='|' read -r pattern what _; do
            # shellcheck disable=SC2053 # they are patterns
            if [[ $where\  == $pattern && " $found " == $what ]]; then continue 2; fi
        done <<<"$MEANT"
        echo "not ok: under the roles of manifests/rbac: $found"
        broken=1
    done <<<"$findings"
    rm "$2.part"
    ((broken == 0))
}
