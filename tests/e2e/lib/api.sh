# Requests of scenarios; Frameworks written in jq; clusters of a scenario's own. Sourced by scenario.sh.

FRAMEWORK_API=/apis/frameworkcontroller.microsoft.com/v1
JQ=(jq)

# Bash itself asks a server without TLS, which a proxy by kubectl removes: on some machines curl takes 60 ms of processor time
# for its start. Sets `code`, and `asked`: the rest to be read there is the answer's body. A server whose etcd stood still
# answers 500 or 504 although it may have done what it was asked for: it is asked again, and `again` is not empty.
http_ask() { # METHOD PATH [BODY [CONTENT-TYPE]]
    local LC_ALL=C IFS=' ' address=${api_plain#http://} body=${3:-} line
    again=
    while :; do
        exec {asked}<>"/dev/tcp/${address%:*}/${address##*:}" || return
        printf '%s %s HTTP/1.0\r\nHost: %s\r\nAccept: %s\r\nContent-Type: %s\r\n%bContent-Length: %d\r\n\r\n%s' \
            "$1" "$2" "$address" "${accept:-application/json}" "${4:-application/json}" \
            "${api_token:+Authorization: Bearer $api_token\r\n}" "${#body}" "$body" >&"$asked"
        code=
        read -r line code line <&"$asked" || true
        while read -r line <&"$asked" && [[ $line != $'\r' ]]; do :; done
        [[ $code == 5?? || $code == 429 ]] && ((${#again} < 5)) || break
        exec {asked}>&-
        again+=x
        pause 1
    done
}

# METHOD PATH [BODY [CONTENT-TYPE]]: prints the answer; fails when it is not a 2xx. CLUSTER_DIR says which cluster, and
# `accept` which media type is wanted.
api() {
    local asked code again
    [[ $api_of == "$CLUSTER_DIR" ]] || find_api
    http_ask "$@" || return
    if [[ $again && $1$code == POST409 ]]; then
        exec {asked}>&-
        api GET "$2/$(jq -r .metadata.name <<<"$3")"
        return
    fi
    [[ /dev/stdout -ef /dev/null ]] || cat <&"$asked"
    exec {asked}>&-
    [[ $code == 2?? || ($again && $1$code == DELETE404) ]] || { echo "$1 $2: the answer is $code" >&2; return 22; }
}

# What jq makes of the answer to a GET, of a watch as far as jq reads it. Fails when that is not a 2xx, or jq does.
get_jq() { # path jq-arguments...
    local asked code again status=0
    [[ $api_of == "$CLUSTER_DIR" ]] || find_api
    http_ask GET "$1" || return
    "${JQ[@]}" "${@:2}" <&"$asked" || status=$?
    exec {asked}>&-
    [[ $code == 2?? ]] || status=22
    return "$status"
}

# Finds out how to speak to the cluster, once in a process and those it forks: api_server, and arguments of curl; api_plain,
# its address without TLS, and api_token.
find_api() {
    local line
    while read -r line; do
        [[ $line != server:* ]] || api_server=${line##* }
    done <"$CLUSTER_DIR/kubeconfig"
    api_plain=$api_server
    [[ ! -e $CLUSTER_DIR/proxy ]] || api_plain=$(<"$CLUSTER_DIR/proxy")
    api_identity=()
    [[ ! -e $CLUSTER_DIR/ca.crt ]] || api_identity+=(--cacert "$CLUSTER_DIR/ca.crt")
    api_token=
    if [[ -e $CLUSTER_DIR/tokens/admin ]]; then
        api_token=$(<"$CLUSTER_DIR/tokens/admin")
        api_identity+=(-H "Authorization: Bearer $api_token")
    fi
    api_of=$CLUSTER_DIR
}
api_of=

# Adds these arguments to an array.
api_target() { # name of the array
    local -n target=$1
    find_api
    target+=("${api_identity[@]}")
}

create_namespace() { api POST /api/v1/namespaces "{\"metadata\": {\"name\": \"$1\"}}" >/dev/null; } # name

frameworks_path() { echo "$FRAMEWORK_API/namespaces/$NS/frameworks"; }

# The PodGroups of Volcano, or of another API.
groups_path() { echo "/apis/${1:-scheduling.volcano.sh/v1beta1}/namespaces/$NS/podgroups"; } # [group/version]

# The Framework as JSON.
get_framework() { api GET "$FRAMEWORK_API/namespaces/$NS/frameworks/$1"; } # name

# The merge patch of a Framework.
patch_framework() { # name patch
    api PATCH "$FRAMEWORK_API/namespaces/$NS/frameworks/$1" "$2" application/merge-patch+json >/dev/null
}

get_pod() { api GET "/api/v1/namespaces/$NS/pods/$1"; } # name

# What a jq expression gives for a Pod.
pod() { get_jq "/api/v1/namespaces/$NS/pods/$1" -r "$2"; } # name expression

# The names of the Pods, of a Framework or of all, a line each.
pod_names() { # [framework]
    get_jq "/api/v1/namespaces/$NS/pods${1:+?labelSelector=FC_FRAMEWORK_NAME=$1}" -r '[.items[].metadata.name] | sort[]'
}

pod_is() { get_jq "/api/v1/namespaces/$NS/pods/$1" -e "$2"; } # name expression

# Waits until a jq expression is true of the Pod.
wait_pod() { # name seconds expression
    wait_object "/api/v1/namespaces/$NS/pods" "metadata.name=$1" "$2" "$3"
}

# The Framework's only, or first, Task, and all its Tasks.
TASK='.status.attemptStatus.taskRoleStatuses[0].taskStatuses[0]'
TASKS='.status.attemptStatus.taskRoleStatuses[].taskStatuses[]'
# The same as words of the jq expressions of wait_object, framework and expect_frameworks.
JQ_STATUS="def task: $TASK; def tasks: $TASKS;"

# Waits until a jq expression is true of an object that the field selector finds: as a list shows it, or a watch from
# there on. (A look every tenth of a second, by as many scenarios as go side by side, is more than a machine can do.)
wait_object() { # collection field-selector seconds expression
    local what="$1?fieldSelector=$2" test="([try ($4) catch false] | last)" left last now state
    left=$(($3 * PATIENCE * 1000)) last=${EPOCHREALTIME/[.,]/}
    while :; do
        state=$(get_jq "$what" -r "$JQ_STATUS if any(.items[]; $test) then \"\" else .metadata.resourceVersion end") || state=none
        [[ -n $state ]] || return 0
        if ((left <= 0)); then
            get_jq "$what" -c '.items[] | del(.metadata.managedFields)' >&2 || true
            fail "not within $(($3 * PATIENCE)) s: $2: $4"
        fi
        if [[ $state != none ]]; then
            ! get_jq "$what&watch=1&timeoutSeconds=4&resourceVersion=$state" -en \
                "$JQ_STATUS first(inputs | select(.type != \"DELETED\").object | select($test)) | true" >/dev/null 2>&1 || return 0
        fi
        pause 0.1
        now=${EPOCHREALTIME/[.,]/}
        left=$((left - ((now - last) / 1000 < STOOD_STILL_MS ? (now - last) / 1000 : STOOD_STILL_MS))) last=$now
    done
}

is_absent() { # path
    [[ $(api GET "$1" 2>/dev/null) =~ '"reason":'\ ?'"NotFound"' ]]
}

wait_absent() { # pods/NAME or configmaps/NAME [seconds]
    wait_for "${2:-15}" "$1 is gone" is_absent "/api/v1/namespaces/$NS/$1"
}

wait_absent_framework() { # name
    wait_for 60 "Framework $1 is gone" is_absent "$FRAMEWORK_API/namespaces/$NS/frameworks/$1"
}

# The jq words that Frameworks are written with: fw(name; roles) and role(name; taskNumber; annotations of its Pods).
# Pods that nothing says otherwise of run until they are deleted.
JQ_WORDS='
def role($name; $number; $annotations): {name: $name, taskNumber: $number, task: {pod: {
    metadata: {annotations: ($annotations | with_entries(.key = "testkubelet/" + .key | .value |= tostring))},
    spec: {restartPolicy: "Never", containers: [{name: "c", image: "i"}]}}}};
def policy($failed; $succeeded): .frameworkAttemptCompletionPolicy =
    {minFailedTaskCount: $failed, minSucceededTaskCount: $succeeded};
def retry($fancy; $max): .retryPolicy = {fancyRetryPolicy: $fancy, maxRetryCount: $max};
def task_retry($fancy; $max): .task |= retry($fancy; $max);
def fw($name; $roles): {apiVersion: "frameworkcontroller.microsoft.com/v1", kind: "Framework", metadata: {name: $name},
    spec: {taskRoles: $roles}};
def ends($seconds; $code): {"run-seconds": $seconds, "exit-code": $code};
'

# Submits each Framework that the jq program makes. (Of a process substitution, bash 5.2 loses the status now and then.)
create() { # jq-program [jq arguments...]
    local program=$1 bodies body
    shift
    bodies=$(jq -cn "$@" "$JQ_WORDS $program")
    while read -r body; do
        api POST "$FRAMEWORK_API/namespaces/$NS/frameworks" "$body" >"$RUN/out/$scenario.created" ||
            { cat "$RUN/out/$scenario.created"; return 1; }
    done <<<"$bodies"
}

# Waits until the controller has looked at the present spec; what it did not do by then, it does not do.
wait_observed() { # framework
    wait_framework "$1" 15 '.status.observedGeneration == .metadata.generation'
}

# Waits until all Frameworks of the namespace are Completed.
wait_all_completed() { # [seconds]
    wait_for "${1:-40}" "all Frameworks are Completed" all_completed
}

all_completed() {
    table_jq -e \
        '[.rows[].cells | select(.[1] != "Completed") | "\(.[0]) is \(.[1])"] | if . == [] then true else error(join(", ")) end'
}

# Compares what a jq expression gives for each Framework of the namespace, sorted by name, with the lines of stdin.
expect_frameworks() { # what expression
    local expected
    expected=$(LC_ALL=C sort)
    expect_lines "$1" "$(get_jq "$FRAMEWORK_API/namespaces/$NS/frameworks" -r "$JQ_STATUS .items[] | \"\\(.metadata.name) \\($2)\"" |
        LC_ALL=C sort)" "$expected"
}

expect_lines() { # what found expected
    diff -u <(echo "$3") <(echo "$2") || fail "$1: not as expected, see the diff (+ is what was found)"
}

# Waits until all Tasks of the Framework run.
wait_running() { # framework [seconds]
    wait_framework "$1" "${2:-15}" '[tasks.state] | length > 0 and all(. == "AttemptRunning")'
}

# Waits for an Event of the Framework that has this reason and whose message matches.
wait_event() { # framework reason pattern
    wait_object "/api/v1/namespaces/$NS/events" "involvedObject.name=$1,reason=$2" 15 \
        ".message | test($(jq -n --arg pattern "$3" '$pattern'))"
}

has_event() { # framework reason pattern
    get_jq "/api/v1/namespaces/$NS/events" -e --arg name "$1" --arg reason "$2" --arg pattern "$3" '
        any(.items[]; .involvedObject.name == $name and .reason == $reason and (.message | test($pattern)))'
}

# An object that is being deleted stays until release is called for it.
hold() { # pods/NAME
    api PATCH "/api/v1/namespaces/$NS/$1" '{"metadata": {"finalizers": ["test/hold"]}}' \
        application/merge-patch+json >/dev/null
}

release() { # pods/NAME
    api PATCH "/api/v1/namespaces/$NS/$1" '{"metadata": {"finalizers": null}}' application/merge-patch+json >/dev/null
}

# Deletes an object, as a client that says nothing of how, unless a body does.
delete() { # path below the namespace, [options]
    api DELETE "/api/v1/namespaces/$NS/$1" "${2:-{\}}" >/dev/null
}

# Everything that happens to the resources of the namespace from now on, as lines of JSON in files.
record() { # resource...
    local resource list version file arguments=()
    api_target arguments
    for resource; do
        list="/api/v1/namespaces/$NS/$resource"
        [[ $resource != frameworks ]] || list=$FRAMEWORK_API/namespaces/$NS/frameworks
        [[ $resource != workloads ]] || list=$(workloads_path)
        [[ $resource != podgroups ]] || list=$(groups_path)
        file=$RUN/out/$scenario.$resource
        # before anything else happens, not when curl comes to run
        version=$(get_jq "$list" -r .metadata.resourceVersion)
        rm -f "$file.head"
        : >"$file"
        record_from "$version" "$list" "$file" &
        recorders+=($!)
        recorded+=("$version $list $file")
        # (a server may forget so old a version, if the watch came much later)
        wait_for 15 "$resource are recorded" test -s "$file.head"
    done
}

# A watch, and the next one from there on when a server ends it (as a busy one does with those it cannot serve in time).
record_from() { # version list file
    local version=$1 watch=
    trap - ERR EXIT
    set +e
    trap 'kill "$watch" 2>/dev/null; exit' TERM
    while [[ -n $version ]]; do
        curl -sSN -D "$3.head" "${arguments[@]}" "$api_server$2?watch=1&resourceVersion=$version" >>"$3" &
        watch=$!
        wait "$watch"
        [[ ! -s $3 ]] || version=$(tail -n 1 "$3" | jq -r '.object.metadata.resourceVersion // empty')
        pause 0.1
    done
}

# What happened up to now is in the files: what is there as it is, and that what is not has gone.
are_recorded() {
    local what version list file
    for what in "${recorded[@]}"; do
        read -r version list file <<<"$what"
        get_jq "$list" -e --argjson since "$version" --slurpfile events "$file" '
            (reduce $events[] as $event ({}; .[$event.object.metadata.uid] = $event)) as $last | [.items[].metadata] as $there |
            all($there[]; (.resourceVersion | tonumber) as $at | $at <= $since or
                ($last[.uid] | . != null and (.object.metadata.resourceVersion | tonumber) >= $at)) and
            all($last[] | select(.type != "DELETED").object.metadata.uid; IN($there[].uid))' || return
    done
}

end_records() {
    wait_for 15 "the records are complete" are_recorded
    kill "${recorders[@]}" 2>/dev/null || true
    wait "${recorders[@]}" 2>/dev/null || true
    recorders=() recorded=()
}
recorders=() recorded=()
