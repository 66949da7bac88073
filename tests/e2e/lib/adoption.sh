# What a controller that died had created is taken over, not made anew (CONTRACT.md §6). While it is away, the objects are
# made here just as it would have: a Framework held by executionType Create has its UIDs already. Sourced before the
# scenarios that use it; run_away of 60-own.sh is one.

# Makes the ConfigMap of the Framework's attempt; the patch changes it.
make_config_map() { # framework [jq-patch]
    api POST "/api/v1/namespaces/$NS/configmaps" "$(get_jq "$(frameworks_path)/$1" -c '{apiVersion: "v1", kind: "ConfigMap", metadata: {
        name: "\(.metadata.name)-attempt", labels: {FC_FRAMEWORK_NAME: .metadata.name}, finalizers: ["foregroundDeletion"],
        annotations: {FC_FRAMEWORK_NAMESPACE: .metadata.namespace, FC_FRAMEWORK_NAME: .metadata.name,
            FC_CONFIGMAP_NAME: "\(.metadata.name)-attempt", FC_FRAMEWORK_UID: .metadata.uid, FC_FRAMEWORK_ATTEMPT_ID: "0"},
        ownerReferences: [{apiVersion: .apiVersion, kind: .kind, name: .metadata.name, uid: .metadata.uid, controller: true,
            blockOwnerDeletion: true}]}} |
        '"${2:-.}")" | jq -r .metadata.uid
}

# Makes the Pod of a Task of the first role.
make_pod() { # framework index config-map-uid [jq-patch]
    api POST "/api/v1/namespaces/$NS/pods" "$(get_jq "$(frameworks_path)/$1" -c --argjson index "$2" --arg map "$3" '
        .metadata.name as $name | .status.attemptStatus.taskRoleStatuses[0] as $role | {apiVersion: "v1", kind: "Pod", metadata: {
            name: "\($name)-\($role.name)-\($index)", labels: {FC_FRAMEWORK_NAME: $name, FC_TASKROLE_NAME: $role.name,
            FC_TASK_INDEX: "\($index)"},
            annotations: {FC_FRAMEWORK_UID: .metadata.uid, FC_FRAMEWORK_ATTEMPT_ID: "0", FC_FRAMEWORK_ATTEMPT_INSTANCE_UID: "0_\($map)",
                FC_CONFIGMAP_UID: $map, FC_TASKROLE_UID: $role.instanceUID, FC_TASK_UID: $role.taskStatuses[$index].instanceUID,
            FC_TASK_ATTEMPT_ID: "0"},
            ownerReferences: [{apiVersion: "v1", kind: "ConfigMap", name: "\($name)-attempt", uid: $map, controller: true,
            blockOwnerDeletion: true}]},
        spec: {restartPolicy: "Never", containers: [{name: "c", image: "i"}]}} | '"${4:-.}")" | jq -r .metadata.uid
}

