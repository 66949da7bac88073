# Real control planes for scenarios that have a cluster of their own. Each is in a directory of planes/, with the service
# accounts of its roles, and its audit log, of which the lines from audited_from on are the scenario's; those that nobody has
# are links in planes/free, which is moved by whoever takes it. Only what a scenario has left as it was goes on: scenarios that
# keep theirs are the last ones of the file longest, so that they find used ones. Sourced by own_cluster.sh.

# What the rights on finalizers are for: whoever makes an owned object needs them.
PLANE_FLAGS=--enable-admission-plugins=OwnerReferencesPermissionEnforcement

# Sets up cluster and roles in the working directory.
take_control_plane() { # crd-file
    local free
    # Flags and CRDs of a scenario's own are nothing for others.
    if [[ -n ${KUBE_APISERVER_FLAGS:-} ]] || ! cmp -s "$1" crd.yaml; then
        keep_control_plane
    else
        for free in "$planes"/free/*; do
            mv "$free" plane 2>/dev/null || continue
            ln -s plane/cluster plane/roles .
            audited_from=$(($(wc -l <plane/audit.log) + 1))
            return
        done
    fi
    mkdir -p "$planes/free" "$planes/$scenario"
    ln -s "$planes/$scenario" plane
    ln -s plane/cluster plane/roles .
    # (with our own limit of time, as another control plane may be busy beside it)
    KUBE_APISERVER_FLAGS="$(audit_flags "$planes/../audit.yaml" "$planes/$scenario/audit.log") $PLANE_FLAGS ${KUBE_APISERVER_FLAGS:-}" \
        "$here/../kubernetes/cluster.sh" start "$planes/$scenario/cluster" "$1" >cluster.log
    audited_from=1
    find_api
    (cd plane && apply_roles)
}

# This one is not given to others: what a scenario does to it, cleaning does not undo.
keep_control_plane() { : >"$RUN/kept"; }

give_control_plane() { # exit status of the scenario
    if (($1 == 0)) && [[ ! -e kept ]] && clean_control_plane; then
        mv plane "$planes/free/$scenario"
    else
        "$here/../kubernetes/cluster.sh" stop cluster
    fi
}

# Takes away what the controller of another scenario would see. Fails when something stays.
clean_control_plane() {
    local namespace=/api/v1/namespaces/$NS deadline path
    api DELETE "$(frameworks_path)?propagationPolicy=Background" >/dev/null || return
    for path in "$NS" $ROLES_NAMESPACE; do
        api DELETE "/api/v1/namespaces/$path/pods?gracePeriodSeconds=0" >/dev/null || return
    done
    api DELETE "$namespace/configmaps?propagationPolicy=Background" >/dev/null || return
    api DELETE /api/v1/nodes >/dev/null || return
    for path in kube-system $ROLES_NAMESPACE; do
        api DELETE "/apis/coordination.k8s.io/v1/namespaces/$path/leases" >/dev/null || return
        # (both: nobody waits for who led; by its name, as others have ConfigMaps there)
        api DELETE "/api/v1/namespaces/$path/configmaps?fieldSelector=metadata.name=frameworkcontroller-epoch" >/dev/null || return
    done
    deadline=$(($(now_ms) + 15000))
    until find_seen && [[ ! -s seen ]]; do
        (($(now_ms) < deadline)) || { echo "still there:" && cat seen; return 1; }
        while read -r path; do
            api PATCH "$path" '{"metadata": {"finalizers": null}}' application/merge-patch+json
            api DELETE "$path?gracePeriodSeconds=0"
        done <seen >/dev/null 2>&1
    done
}

# Writes the paths of what a controller would see into the file seen.
find_seen() {
    local what
    for what in "$FRAMEWORK_API frameworks" "/api/v1 pods" "/api/v1 configmaps"; do
        api GET "${what/ //}$([[ $what == *frameworks ]] || echo '?labelSelector=FC_FRAMEWORK_NAME')" |
            jq -r --arg group "${what% *}" --arg resource "${what#* }" \
                '.items[].metadata | "\($group)/namespaces/\(.namespace)/\($resource)/\(.name)"' || return
    done >seen
}
