# The roles of manifests/rbac: each process runs as the service account of its kind, and does its work (as the whole run
# does, under onepod's). Then each right is taken away, one at a time: there must be a request that it was for, refused
# now. So no role has a right that is not used. On clusters of their own, whose audit log is looked at.

constants_of 81-kueue
constants_of 85-jobs

rbac_cluster() { # [crd-file [line of the configuration]]
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded cluster has no roles"
    own_cluster "${@:1:1}"
    audit=plane/audit.log
    own_config <<<"frameworkCompletedRetainSec: 1"$'\n'"${2:-}"
    start_rbac_watcher
}

start_rbac_watcher() {
    launch_watcher watcher --workers 0 --bus "ipc://$RUN/bus"
}

# Takes the rights of a role away, one at a time; after each the function makes the process need it.
each_right() { # clusterroles|roles name function
    local kind=$1 name=$2 trigger=$3 account path right count refusal attempt
    account=${name%-crd}
    account=${account%-network}
    account=${account%-gang}
    account=${account%-kueue}
    account=${account%-lease}
    path=/apis/rbac.authorization.k8s.io/v1/$kind/$name
    [[ $kind == clusterroles ]] || path=/apis/rbac.authorization.k8s.io/v1/namespaces/$ROLES_NAMESPACE/$kind/$name
    get_jq "$path" -c '.rules |= [.[] | {apiGroups, resources: [.resources[]], verbs: [.verbs[]], resourceNames} as $rule |
        $rule.resources[] as $resource | $rule.verbs[] as $verb | $rule + {resources: [$resource], verbs: [$verb]} |
        if .resourceNames == null then del(.resourceNames) else . end]' >"$name.role"
    count=$(jq '.rules | length' "$name.role")
    for ((right = 0; right < count; right++)); do
        refusal=$(jq -r ".rules[$right] | \"\(.verbs[0]) \(.apiGroups[0])/\(.resources[0])\"" "$name.role")
        replace_role "$path" "del(.rules[$right])" "$name.role"
        since=$(wc -l <"$audit")
        for attempt in {1..9} last; do
            [[ $attempt != last ]] || fail "without the right to $refusal, $name is refused nothing"
            $trigger "${refusal% *}" "${refusal##*/}"
            ! comes_true 10 was_refused "$account" "$refusal" || break
        done
        replace_role "$path" . "$name.role"
        echo "$name: $refusal"
    done
    ((count > 0)) || fail "$name has no rights"
}

# The server takes a moment to see what became of a role, so that what was needed may still have been granted.
comes_true() { # seconds command...
    local deadline=$(($(now_ms) + $1 * 1000))
    shift
    until "$@"; do
        (($(now_ms) < deadline)) || return 1
        sleep 0.1
    done
}

replace_role() { # path jq-expression file
    api PUT "$1" "$(jq -c "del(.metadata.resourceVersion) | $2" "$3")" >/dev/null
}

# The right to update finalizers is not asked for by a request of its own, but when an object is created that names an
# owner; the audit log does not tell why, but an Event of the last round's Framework does.
was_refused() { # account "verb group/resource"
    case $2 in
    */frameworks/finalizers) has_event "end$round" FailedCreateConfigMap "cannot set blockOwnerDeletion" ;;
    */configmaps/finalizers) has_event "end$round" FailedCreatePod "cannot set blockOwnerDeletion" ;;
    *kubeflow.org/tfjobs/finalizers) has_event "tf$round" FailedCreate "cannot set blockOwnerDeletion" ;;
    */pytorchjobs/finalizers) has_event "py$round" FailedCreate "cannot set blockOwnerDeletion" ;;
    *caicloud.io/tfjobs/finalizers) has_event "cc$round" FailedCreate "cannot set blockOwnerDeletion" ;;
    *)
        tail -n "+$((since + 1))" "$audit" >refusals
        forbidden refusals | grep -xF "$1 $2"
        ;;
    esac
}

# Starts the watcher again, on a cluster that lacks what it has to make. (It may lack it since the last time.)
need_watcher() { # verb resource
    local record=/api/v1/namespaces/$ROLES_NAMESPACE/configmaps/frameworkcontroller-epoch
    end_processes . 5 watcher
    case "$1 $2" in
    "create leases") # with its record, so that nobody waits for who led
        api DELETE "/apis/coordination.k8s.io/v1/namespaces/$ROLES_NAMESPACE/leases/frameworkcontroller" >/dev/null || true
        api DELETE "$record" >/dev/null || true
        ;;
    "create configmaps") api DELETE "$record" >/dev/null || true ;;
    "update customresourcedefinitions")
        kubectl patch crd frameworks.frameworkcontroller.microsoft.com --type json \
            -p '[{"op": "add", "path": "/spec/names/shortNames", "value": []}]' >/dev/null
        kubectl annotate --overwrite crd frameworks.frameworkcontroller.microsoft.com \
            "$(kubectl get crd frameworks.frameworkcontroller.microsoft.com -o json |
                jq -r '.metadata.annotations | keys[] | select(test("frameworkcontroller"))')=changed" >/dev/null
        ;;
    "create customresourcedefinitions") kubectl delete --ignore-not-found crd frameworks.frameworkcontroller.microsoft.com >/dev/null ;;
    esac
    start_rbac_watcher
}

run_rbac_watcher() {
    rbac_cluster
    keep_control_plane # the collector looks for the new CRD every 30 s only
    wait_for 20 "it leads" grep -q 'synced: ' watcher.log
    each_right clusterroles fc-watcher need_watcher
    each_right roles fc-watcher-lease need_watcher
    each_right clusterroles fc-watcher-crd need_watcher
}

# A Framework that runs to its end and is deleted, one whose ConfigMap's name is taken, and one whose Pod's is; and
# somebody who changes them all the time, so that writes of their status conflict.
need_reconciler() { # verb resource
    round=$((${round:-0} + 1))
    api POST "/api/v1/namespaces/$NS/configmaps" "{\"metadata\": {\"name\": \"map$round-attempt\"}}" >/dev/null
    api POST "/api/v1/namespaces/$NS/pods" \
        "{\"metadata\": {\"name\": \"pod$round-a-0\"}, \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"i\"}]}}" >/dev/null
    create 'fw("end\($round)"; [role("a"; 1; ends(0; 0))]), fw("map\($round)"; [role("a"; 1; {})]),
        fw("pod\($round)"; [role("a"; 1; {})])' --arg round "$round"
    case "$1 $2" in
    "patch events") repeats_event ;;
    "get frameworks") conflict ;;
    esac
}

# What is refused again and again is told in one Event, which is counted up.
repeats_event() {
    api POST "$FRAMEWORK_API/namespaces/$NS-full/frameworks" \
        "$(jq -cn "$JQ_WORDS"'fw("full\($round)"; [role("a"; 1; {})])' --arg round "$round")" >/dev/null
    comes_true 30 was_refused fc-reconciler "patch /events" || true
}

# Tasks that are retried for ever, in a Framework that others change all the time.
conflict() {
    local i pids=()
    create 'fw("busy\($round)"; [role("a"; 5; ends(0; 1)) | task_retry(false; -2)])' --arg round "$round"
    for i in 1 2 3; do
        (trap - ERR EXIT; while patch_framework "busy$round" "{\"metadata\": {\"annotations\": {\"a\": \"$RANDOM$i\"}}}"; do :; done) &
        pids+=($!)
    done
    comes_true 30 was_refused fc-reconciler "get frameworkcontroller.microsoft.com/frameworks" || true
    kill "${pids[@]}" || true
    wait "${pids[@]}" || true
    api DELETE "$(frameworks_path)/busy$round" >/dev/null
}

run_rbac_reconciler() {
    local quota
    rbac_cluster
    launch_reconciler reconciler --name r0 --bus "ipc://$RUN/bus"
    wait_for 30 "the reconciler has its shards" grep -q 'shards are complete' reconciler.log
    kubectl create namespace "$NS-full" >/dev/null
    kubectl -n "$NS-full" create quota q --hard=pods=0 >/dev/null
    quota=/api/v1/namespaces/$NS-full/resourcequotas
    set_quota 0 0 # (59-creation.sh)
    each_right clusterroles fc-reconciler need_reconciler
    # with all of them back it works
    create 'fw("last"; [role("a"; 1; ends(0; 0))])'
    wait_absent_framework last
}

# A Framework that needs a Service, and one whose Service's name is taken.
need_services() { # verb resource
    round=$((${round:-0} + 1))
    api POST "/api/v1/namespaces/$NS/services" "{\"metadata\": {\"name\": \"taken$round\"}, \"spec\": {\"ports\": [{\"port\": 80}]}}" \
        >/dev/null
    create '(fw("free\($round)", "taken\($round)"; [role("a"; 1; ends(0; 0))]) | .spec.network = {})' --arg round "$round"
}

run_rbac_network() {
    rbac_cluster
    launch_reconciler reconciler --name r0 --bus "ipc://$RUN/bus"
    wait_for 30 "the reconciler has its shards" grep -q 'shards are complete' reconciler.log
    each_right clusterroles fc-reconciler-network need_services
    create 'fw("last"; [role("a"; 1; ends(0; 0))]) | .spec.network = {}'
    wait_absent_framework last
}

# A gang of which one Task completes before the other, and one whose PodGroup's name is taken.
need_pod_groups() { # verb resource
    round=$((${round:-0} + 1))
    api POST "$(groups_path)" \
        "{\"apiVersion\": \"scheduling.volcano.sh/v1beta1\", \"kind\": \"PodGroup\", \"metadata\": {\"name\": \"taken$round-0\"}}" \
        >/dev/null
    create '(fw("free\($round)", "taken\($round)"; [role("a"; 1; ends(0; 0)), role("b"; 1; ends(5; 0))]) |
        .spec.gang = {scheduler: "Volcano"})' --arg round "$round"
}

run_rbac_gang() {
    rbac_cluster "$(gang_crds)"
    launch_reconciler reconciler --name r0 --bus "ipc://$RUN/bus"
    wait_for 30 "the reconciler has its shards" grep -q 'shards are complete' reconciler.log
    each_right clusterroles fc-reconciler-gang need_pod_groups
    create 'fw("last"; [role("a"; 1; ends(0; 0))]) | .spec.gang = {scheduler: "Volcano"}'
    wait_absent_framework last
}

# A Framework that comes to its end in a queue, one whose Workload's name is taken, and one that needs its Workload no more.
need_workloads() { # verb resource
    round=$((${round:-0} + 1))
    api POST "$(workloads_path)" '{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"name": "framework-taken'"$round"'"}, "spec": {"podSets": [{"name": "a", "count": 1, "template": {}}]}}' >/dev/null
    create "fw(\"free\(\$round)\", \"taken\(\$round)\"; [role(\"a\"; 1; ends(0; 0))]) | $IN_QUEUE |
        .metadata.labels[\"kueue.x-k8s.io/priority-class\"] = \"urgent\"" --arg round "$round"
    [[ "$1 $2" == "delete workloads" ]] || return 0
    create "fw(\"left\(\$round)\"; [role(\"a\"; 1; {})]) | $IN_QUEUE" --arg round "$round"
    wait_workload "left$round" 20 .spec
    patch_framework "left$round" '{"spec": {"suspend": true}}'
}

run_rbac_kueue() {
    rbac_cluster "$(kueue_crds)" 'kueue: true'
    install_kueue
    start_kueue 1000
    wait_for 30 "the watcher watches Workloads" grep -q 'watching Workloads' watcher.log
    each_right clusterroles fc-watcher-kueue need_watcher
    launch_reconciler reconciler --name r0 --bus "ipc://$RUN/bus"
    wait_for 30 "the reconciler has its shards" grep -q 'shards are complete' reconciler.log
    each_right clusterroles fc-reconciler-kueue need_workloads
    # with all of them back it works
    create "fw(\"last\"; [role(\"a\"; 1; ends(0; 0))]) | $IN_QUEUE"
    wait_absent_framework last
    wait_for 30 "no finalizer is left of those that are gone" is_absent "$(workloads_path)/framework-last"
}

# Somebody new asks for a Framework that exists: what others may is remembered for a while.
need_barrier() { echo "asked without a right: $(ask_barrier)"; }

ask_barrier() {
    local account=asker-$RANDOM-$RANDOM
    k create serviceaccount "$account" >/dev/null
    curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $(account_token "$account" "$NS")" \
        "http://$barrier/v1/namespaces/$NS/frameworks/gate/barrier?timeoutSeconds=1"
}

passes_barrier() { (($(ask_barrier) == 200)); }

run_rbac_barrier() {
    local status
    rbac_cluster
    launch_reconciler reconciler --name r0 --bus "ipc://$RUN/bus"
    launch_barrier barrier --bus "ipc://$RUN/bus" --listen 127.0.0.1:0
    wait_for 30 "the reconciler has its shards" grep -q 'shards are complete' reconciler.log
    wait_for 20 "fc-barrier listens" grep -q 'listening on' barrier.log
    barrier=$(sed -nE 's/.*listening on ([0-9.:]+).*/\1/p' barrier.log)
    wait_for 20 "fc-barrier is ready" curl -sSf "http://$barrier/readyz"
    create 'fw("gate"; [])'
    k create rolebinding gate --clusterrole=frameworkbarrier --group="system:serviceaccounts:$NS" >/dev/null
    wait_for 20 "the gang passes" passes_barrier
    each_right clusterroles fc-barrier need_barrier
    wait_for 20 "the gang passes again" passes_barrier
}

# The init container as the service account of a gang's Pods. A gang of no Tasks is passed at once.
start_init() { # writes what it says to init.said
    (cd init-files && env -i PATH="$PATH" KUBECONFIG="$RUN/gang.kubeconfig" FC_FRAMEWORK_NAMESPACE="$NS" FC_FRAMEWORK_NAME=gate \
        BARRIER_CHECK_INTERVAL_SEC=5 BARRIER_CHECK_TIMEOUT_SEC=60 "$BUILD/frameworkbarrier") >init.said 2>&1
}

passes_init() { start_init; }

# Its one right is the one it uses, and it uses no other; without it, it says what it may not, in a minute.
run_rbac_init() {
    local status=0 requests account
    rbac_cluster
    account="system:serviceaccount:$NS:gang"
    apply_gang_role "$NS"
    mkdir init-files
    create 'fw("gate"; [])'
    wait_for 20 "the gang passes" passes_init
    expect "what it wrote" "$(ls init-files)" $'framework.json\ninjector.sh'
    expect "the rules of its role" "$(get_jq /apis/rbac.authorization.k8s.io/v1/clusterroles/frameworkbarrier -c .rules)" \
        '[{"verbs":["get"],"apiGroups":["frameworkcontroller.microsoft.com"],"resources":["frameworks"]}]'
    requests=$(jq -r --arg account "$account" 'select(.user.username == $account) | "\(.verb) \(.requestURI)"' "$audit" | sort -u)
    expect "its requests" "$requests" "get $(frameworks_path)/gate"
    k delete rolebinding gang >/dev/null
    wait_for 20 "the right is gone" is_forbidden "$account"
    start_init || status=$?
    expect "its exit status without a role" "$status" 1
    grep -q 'cannot get resource \\*"frameworks\\*"' init.said || fail "it does not say what it may not: $(cat init.said)"
}

is_forbidden() { ! is_allowed "$1" get frameworkcontroller.microsoft.com frameworks "$NS"; } # user

# fc-jobs starts again, and there is a job of each kind, one that is refused and soon deleted, one whose name is taken, and one
# that changes.
need_jobs() { # verb resource
    local record=/api/v1/namespaces/$ROLES_NAMESPACE/configmaps/fc-jobs-epoch
    round=$((${round:-0} + 1))
    end_processes . 5 jobs
    [[ "$1 $2" != "create leases" ]] || api DELETE "/apis/coordination.k8s.io/v1/namespaces/$ROLES_NAMESPACE/leases/fc-jobs" >/dev/null ||
        true
    [[ "$1 $2" != "create leases" && "$1 $2" != "create configmaps" ]] || api DELETE "$record" >/dev/null || true
    set_caicloud_status "$1 $2"
    launch_jobs jobs
    create 'fw("taken\($round)"; [])' --arg round "$round"
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "taken'"$round"'"'
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "tf'"$round"'"'
    submit_job "$TFJOBS" tfjob-simple \
        '.metadata.name = "tfgone'"$round"'" | .spec.runPolicy = {schedulingPolicy: {queue: "q"}, ttlSecondsAfterFinished: 0}'
    submit_job "$PYTORCHJOBS" pytorch-processes '.metadata.name = "py'"$round"'"'
    submit_job "$PYTORCHJOBS" pytorch-processes \
        '.metadata.name = "pygone'"$round"'" | .spec.runPolicy = {schedulingPolicy: {queue: "q"}, ttlSecondsAfterFinished: 0}'
    submit_job "$CAICLOUD" caicloud-local '.metadata.name = "cc'"$round"'" | del(.spec.runtimeID)'
    patch_job "$PYTORCHJOBS" base "{\"spec\": {\"pytorchReplicaSpecs\": {\"Worker\": {\"replicas\": $((round + 1))}}}}"
    [[ "$1 $2" != "patch events" ]] || repeats_refusal
    [[ "$1 $2" != "get tfjobs" && "$1 $2" != "get pytorchjobs" ]] || begins_anew
}

# Before a job whose Framework somebody has deleted begins anew, it is looked for.
begins_anew() {
    local name
    for name in "tf$round" "py$round" "cc$round"; do
        wait_framework "$name" 40 .spec
        api DELETE "$FRAMEWORK_API/namespaces/$NS/frameworks/$name" >/dev/null
    done
}

# caicloud's CRD has a status subresource while the right to write one is away, so that it is needed.
set_caicloud_status() { # "verb resource"
    local wanted='' crd=tfjobs.kubeflow.caicloud.io
    [[ $1 != "patch status" ]] || wanted=1
    [[ ${caicloud_status:-} != "$wanted" ]] || return 0
    if [[ $wanted ]]; then
        kubectl patch crd $crd --type json -p '[{"op": "add", "path": "/spec/versions/0/subresources", "value": {"status": {}}}]' >/dev/null
    else
        kubectl patch crd $crd --type json -p '[{"op": "remove", "path": "/spec/versions/0/subresources"}]' >/dev/null
    fi
    caicloud_status=$wanted
    wait_for 30 "the server serves caicloud's statuses, or not" serves_caicloud_status "${wanted:-0}"
}

serves_caicloud_status() { # 1 or 0
    [[ $(get_jq "/apis/${CAICLOUD%/*}" '[.resources[] | select(.name == "tfjobs/status")] | length') == "$1" ]]
}

# An Event that comes again, ten seconds after the last time, is counted up: two changes that are refused, in turns.
repeats_refusal() {
    wait_framework "tf$round" 40 .spec
    comes_true 60 refused_in_turns "tf$round" || true
}

refused_in_turns() { # job
    local policy
    for policy in Luck Chance; do
        patch_job "$TFJOBS" "$1" "{\"spec\": {\"successPolicy\": \"$policy\"}}"
        comes_true 10 has_event "$1" FailedValidation "$policy" || true
    done
    was_refused fc-jobs "patch /events"
}

run_rbac_jobs() {
    rbac_cluster
    keep_control_plane # of the jobs' CRDs
    kubectl create -f "$JOB_CRDS" >/dev/null
    wait_for 20 "PyTorchJobs are served" api GET "$(jobs_path "$PYTORCHJOBS")"
    wait_for 20 "TFJobs are served" api GET "$(jobs_path "$CAICLOUD")"
    launch_jobs jobs
    submit_job "$PYTORCHJOBS" pytorch-processes '.metadata.name = "base"'
    wait_framework base 40 .spec
    each_right clusterroles fc-jobs need_jobs
    each_right roles fc-jobs-lease need_jobs
    # with all of them back it works
    need_jobs no right
    wait_for 60 "a refused job is gone" is_absent "$(jobs_path "$TFJOBS")/tfgone$round"
}
