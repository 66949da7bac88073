# What the processes may do: on a real control plane they run as the service accounts of manifests/rbac, so that a right
# that is missing fails the run, and check_roles tells of it. The embedded cluster asks nobody who he is. Sourced by
# run.sh.

ROLES_NAMESPACE=frameworkcontroller

# The kubeconfig of a service account, or of whoever may do everything where there are no roles.
kubeconfig_of() { # service account
    if [[ -e $RUN/roles/$1 ]]; then echo "roles/$1"; else echo cluster/kubeconfig; fi
}

# Runs fc-watcher with a pool as its service account, whose Lease is where that may write it.
launch_watcher() { # name [arguments...]
    local name=$1 lease_namespace=kube-system
    shift
    [[ ! -e $RUN/roles ]] || lease_namespace=$ROLES_NAMESPACE
    # TMPDIR: a watcher that is killed leaves its bus socket behind.
    launch "$name" env -u XDG_RUNTIME_DIR TMPDIR="$RUN" POD_NAMESPACE="$lease_namespace" "$BUILD/fc-watcher" \
        --config config.yaml --kubeconfig "$(kubeconfig_of frameworkcontroller)" "$@"
}

# Makes the service accounts and a kubeconfig for each.
apply_roles() {
    local name
    [[ $CLUSTER == kubernetes ]] || return 0
    mkdir -p roles
    create_namespace "$ROLES_NAMESPACE"
    kubectl apply -k "$root/manifests/rbac" >/dev/null
    for name in frameworkcontroller fc-watcher fc-reconciler fc-barrier; do
        write_account_kubeconfig "$name" >"roles/$name"
    done
}

write_account_kubeconfig() { # service account
    sed -e '/^contexts:/,$d' cluster/kubeconfig
    cat <<END
contexts:
- name: $1
  context: {cluster: test, user: $1, namespace: $ROLES_NAMESPACE}
current-context: $1
users:
- name: $1
  user: {token: $(account_token "$1")}
END
}

account_token() { # service account [namespace]
    api POST "/api/v1/namespaces/${2:-$ROLES_NAMESPACE}/serviceaccounts/$1/token" '{
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}}' | jq -r .status.token
}

# Requests of service accounts that a role was missing for, each once: "account verb resource".
forbidden() { # audit-log
    jq -r 'select(.annotations["authorization.k8s.io/decision"] == "forbid") |
        select(.user.username | startswith("system:serviceaccount:")) |
        "\(.user.username | sub(".*:"; "")) \(.verb) \(.objectRef.apiGroup // "")/\(.objectRef.resource)\(
            if .objectRef.subresource then "/" + .objectRef.subresource else "" end)"' "$1" | sort -u
}

# At the end of a run: nobody was refused anything.
check_roles() {
    local found
    [[ $CLUSTER == kubernetes ]] || return 0
    found=$(forbidden audit.log)
    [[ -z $found ]] || { printf 'not ok: refused for want of a role in manifests/rbac:\n%s\n' "$found"; return 1; }
}
