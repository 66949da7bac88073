# The clusters that scenarios run on, and the processes beside them. Sourced by run.sh; RUN is the directory of the
# run, and the working directory of everything started here.

REAL_NAMESPACE=real # Pods of this namespace are processes; those of all others follow their script
JOB_CRDS=$here/../jobs/crds.yaml
GANG_CRDS=$here/../cluster/gang/crds.yaml
OTHER_CRDS=("$JOB_CRDS" "$GANG_CRDS") # of the cluster that scenarios share
NOT_HERE=77         # exit status of a scenario that this machine or cluster cannot show

kubectl() { "$RUN/cluster/kubectl" "$@"; }

# The namespace of a scenario.
namespace_of() { # scenario
    echo "e2e-${1//_/-}"
}

# scenario.sh has another one.
fail() { # message
    echo "run.sh: $*" >&2
    exit 1
}

# Every wait may take so many times what an idle machine needs at most, and its programs at their usual speed: this one
# has other things to do.
PATIENCE=$((6 * ${SLOWER:-1}))
# Between two looks that are further apart than this, the machine stood still, and whoever is waited for with it.
STOOD_STILL_MS=5000

# Waits until a command succeeds; fails, with the command's last words, when it does not within so many seconds.
wait_for() { # seconds what command...
    # (named before the command is forked, whose BASHPID would be another one)
    local seconds=$1 what=$2 left last now said=$RUN/out/wait.$BASHPID looks=0
    shift 2
    left=$((seconds * PATIENCE * 1000)) last=${EPOCHREALTIME/[.,]/}
    until "$@" >"$said" 2>&1; do
        if ((left <= 0)); then
            tail -n 20 "$said" >&2
            fail "not within $((seconds * PATIENCE)) s: $what"
        fi
        # what takes long is looked at less often
        pause "0.$((++looks < 5 ? 1 : looks < 10 ? 2 : 4))"
        now=${EPOCHREALTIME/[.,]/}
        left=$((left - ((now - last) / 1000 < STOOD_STILL_MS ? (now - last) / 1000 : STOOD_STILL_MS))) last=$now
    done
}

# The oldest kubectl that is supported, and a current one; and a jq that starts quickly, as scenarios start it thousands of
# times.
find_tools() {
    local jq
    # (where it cannot be downloaded, the machine's does the same, and is slower)
    if jq=$("$here/../kubernetes/assets.sh" jq) && [[ :$PATH: != *":$jq:"* ]]; then PATH=$jq:$PATH; fi
    OLDEST_KUBECTL=$("$here/../kubernetes/assets.sh" kubectl)/kubectl
    CURRENT_KUBECTL=$("$here/../kubernetes/assets.sh" kubectl-current)/kubectl
    export OLDEST_KUBECTL CURRENT_KUBECTL
}

# Sets JQ to the command that find_tools' jq, a script, executes: that saves the start of a shell.
find_tool_jq() {
    local lib
    JQ=("$(type -P jq)")
    lib=${JQ[0]%/bin/jq}/lib
    [[ ! -e $lib/jq ]] || JQ=("$lib"/ld-linux-* --library-path "$lib" "$lib/jq")
}

# Writes a program that is this kubectl for the cluster in the working directory. (Go's collector is a fifth of the processor time
# that its start takes.)
write_kubectl() { # kubectl file
    cat >"$2" <<EOF
#!/bin/sh
export GOGC=400
exec "$1" --kubeconfig="$PWD/cluster/kubeconfig" --cache-dir="$PWD/cluster/kubectl-cache" "\$@"
EOF
    chmod +x "$2"
}

# Its kubectl is the current one; that of a real control plane is as old as it is.
start_embedded() { # [crd-file...]
    local crds
    mkdir cluster
    (cd cluster && launch fc-testapi "$BUILD/fc-testapi" --kubeconfig kubeconfig)
    write_kubectl "${CURRENT_KUBECTL:-$("$here/../kubernetes/assets.sh" kubectl-current)/kubectl}" cluster/kubectl
    wait_for 10 "fc-testapi is ready" embedded_ready
    for crds; do kubectl create -f "$crds" >/dev/null; done
}

embedded_ready() { curl -sSf "$(sed -n 's/^ *server: *//p' cluster/kubeconfig)/readyz"; }

# Requests are counted in the audit log: who asks is in the user agent.
start_kubernetes() { # [crd-file...]
    local crds
    { "$BUILD/fc-watcher" --print-crd; for crds; do echo ---; cat "$crds"; done; } >crd.yaml
    write_audit_policy audit.yaml
    # The collector looks for new kinds every 30 s only: it gets ours before it starts.
    KUBE_APISERVER_FLAGS=$(audit_flags "$PWD/audit.yaml" "$PWD/audit.log") \
        "$here/../kubernetes/cluster.sh" start cluster crd.yaml >cluster.log
}

# The shipped configuration, made quick. The delays are apart from everything else that takes time.
write_config() {
    cat "$root/manifests/config/frameworkcontroller.yaml" - >config.yaml <<'EOF'
kubeClientQps: 10000
kubeClientBurst: 10000
frameworkMinRetryDelaySecForTransientConflictFailed: 300
frameworkMaxRetryDelaySecForTransientConflictFailed: 310
EOF
}

start_kubelets() {
    mkdir image-bin
    ln -s "$BUILD/frameworkbarrier" "$here"/standins/* image-bin
    # For logs: kube-apiserver speaks TLS only, fc-testapi does not.
    local tls=()
    [[ $CLUSTER == embedded ]] || tls=(--tls-cert cluster/server.crt --tls-key cluster/server.key)
    launch kubelet "$BUILD/fc-testkubelet" --kubeconfig cluster/kubeconfig --nodes 4 --node-name node \
        --not-namespace "$REAL_NAMESPACE" "${tls[@]}"
    launch kubelet-real "$BUILD/fc-testkubelet" --kubeconfig cluster/kubeconfig --node-name node-real \
        --mode real --root "$RUN/pods" --image-bin "$RUN/image-bin" --only-namespace "$REAL_NAMESPACE" \
        --pod-env "KUBECONFIG=$RUN/gang.kubeconfig" "${tls[@]}"
}

# Times that nobody here lives to see: who leads goes on to do so, whatever this machine does.
# shellcheck disable=SC2034 # scenarios use it
STEADY_ELECTION=(--leader-elect-lease-duration 900s --leader-elect-renew-deadline 800s --leader-elect-retry-period 2s)

# Each start has a log of its own: watcher-1.log, …
start_watcher() { # [arguments...]
    local number=1
    while [[ -e $RUN/watcher-$number.log ]]; do number=$((number + 1)); done
    (cd "$RUN" && launch_watcher "watcher-$number" --workers 4 "$@")
    wait_for 20 "all reconcilers have their shards" reconcilers_complete "$RUN/watcher-$number.log"
}

reconcilers_complete() { # log [reconcilers]
    (($(grep -oE 'pool-[0-9]+: .*shards are complete' "$1" | cut -d: -f1 | sort -u | wc -l) == ${2:-4}))
}

watcher_pid() {
    local name pid started found=
    while read -r name pid started; do
        if [[ $name == watcher-* ]] && is_alive "$pid" "$started"; then found=$pid; fi
    done <"$RUN/pids"
    [[ -n $found ]] && echo "$found"
}

start_cluster() {
    cd "$RUN"
    CLUSTER_DIR=$RUN/cluster
    : >pids
    find_tools
    "start_$CLUSTER" "${OTHER_CRDS[@]}"
    apply_roles
    write_config
    create_namespace "$REAL_NAMESPACE"
    apply_gang_role "$REAL_NAMESPACE"
    start_kubelets
    start_watcher
    launch_jobs jobs --qps 10000 --burst 10000 "${STEADY_ELECTION[@]}"
}

stop_cluster() {
    cd "$RUN"
    # The controller needs the server to its end, and so do the kubelets.
    end_processes . 5 watcher-{1..9}
    end_processes . 5
    if [[ $CLUSTER == kubernetes ]]; then "$here/../kubernetes/cluster.sh" stop cluster; else end_processes cluster 2; fi
}

# The clusters of scenarios that were killed, and control planes that waited for another one.
stop_own_clusters() {
    local dir
    cd "$RUN"
    for dir in own-*; do
        end_processes "$dir" 5
        [[ -h $dir/cluster ]] || end_processes "$dir/cluster" 2
    done
    for dir in planes/*/cluster; do
        [[ ! -e $dir/pids ]] || "$here/../kubernetes/cluster.sh" stop "$dir"
    done
}

# At the end of a run every process that should run still does.
check_processes() {
    local name broken=0
    for name in kubelet kubelet-real jobs; do
        running "$name" || { echo "not ok: $name has ended:"; tail -n 5 "$name.log"; broken=1; }
    done
    watcher_pid >/dev/null || { echo "not ok: fc-watcher has ended"; broken=1; }
    [[ $CLUSTER == embedded ]] || check_roles run audit.log 1 || broken=1
    ((broken == 0))
}

# None has said that something broke, to its very end, nor have those of scenarios' own clusters. (==PID==ERROR is a
# sanitizer's, ==PID== and a blank memcheck's. Under memcheck, containers in which the program has the same pid try the
# same names for a temporary file; the one that comes late says so and takes the next name.)
check_logs() {
    if grep -hE 'ended by signal (6|11)' "$RUN"/*.log || find "$RUN" -name '*.log' -exec \
        grep -HE '^==[0-9]+==( |ERROR)|runtime error:|Assertion .* failed' {} + |
        grep -vF 'VG_(mkstemp): failed' | cut -c1-300 | head -n 100 | grep .; then
        echo "not ok: a process broke, see above"
        return 1
    fi
}
