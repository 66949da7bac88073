# What the documentation shows is run: in each README.md, YAML blocks are files (NAME.yaml after metadata.name), sh blocks
# are commands, in their order. Frameworks that no command creates are created in the end, and go as they say behind
# "# expect:". Who runs all else is in tests/documented, which tests/documented.sh compares with the documentation.

# Commands within the sentences of a document, one a line.
inline_commands() { # markdown-file pattern
    perl -0777 -ne 's/^ *```.*?^ *```$//gms; while (/`([^`]+)`/g) { print $1 =~ s/\s+/ /gr, "\n" }' "$root/$1" | grep -E -- "$2"
}

# Splits stdin into NUMBER.yaml and NUMBER.sh in the working directory.
split_blocks() {
    awk '/^```(yaml|sh)$/ { out = sprintf("%03d.%s", ++count, substr($0, 4)); next }
         /^```$/ { out = "" } out { print > out }'
}

# The lines of all blocks of a kind in a file.
blocks_of() { # markdown-file info-string
    awk -v begin="\`\`\`$2" '{ line = $0; sub(/^ +/, "", line) } line == begin { out = 1; next } line == "```" { out = 0 } out' "$root/$1"
}

# Runs the blocks of one file.
follow() { # markdown-file
    local block name created=()
    mkdir "$RUN/out/$scenario.$(tr / - <<<"$1")"
    cd "$RUN/out/$scenario.$(tr / - <<<"$1")"
    split_blocks <"$root/$1"
    for block in *.*; do
        case $block in
        *.yaml) cp "$block" "$(example_framework "$block").yaml" ;;
        *.sh) PATH=$RUN/out/$scenario.bin:$PATH bash -eu "$block" || fail "$1: these commands fail: $(cat "$block")" ;;
        esac
    done
    for block in [0-9]*.yaml; do
        name=$(example_framework "$block")
        grep -qs "create -f $name.yaml" ./*.sh || created+=(-f "$block")
    done
    ((${#created[@]} == 0)) || k create "${created[@]}"
    for block in [0-9]*.yaml; do
        if grep -q '^# expect:' "$block"; then check_example "$block"; fi
    done
    # What is said of any Framework, of the last one of them.
    while read -r block; do
        expect_match "$block" "$(PATH=$RUN/out/$scenario.bin:$PATH bash -eu -c "${block/NAME/$name}" </dev/null)" "$name"
    done < <(inline_commands "$1" '^kubectl .* NAME( |$)')
}

# The cluster's kubectl, whose "wait" waits as long as this machine may take, whatever the documentation says.
patient_kubectl() { # file [arguments...]
    cat >"$1" <<END
#!/bin/sh
# (kubectl takes no options before the name of a plugin)
if [ "\$1" = framework ]; then KUBECONFIG=$CLUSTER_DIR/kubeconfig PATH=$BUILD:\$PATH exec "$CURRENT_KUBECTL" "\$@" ${*:2}; fi
if [ "\$1" = wait ]; then set -- "\$@" --timeout=$((60 * PATIENCE))s; fi
exec "$CLUSTER_DIR/kubectl" ${*:2} "\$@"
END
    chmod +x "$1"
}

run_documentation() {
    NS=$REAL_NAMESPACE
    local file
    mkdir "$RUN/out/$scenario.bin"
    patient_kubectl "$RUN/out/$scenario.bin/kubectl" -n "$NS"
    for file in README.md reconciler/README.md; do (follow "$file"); done
    expect_nothing_deprecated
}

# Whoever is new, with a cluster: the blocks "sh cluster" of README.md as they stand, on a cluster that has seen nothing of
# ours. fc-watcher is started in a terminal of its own, and on a port that nobody else has.
run_documentation_cluster() {
    local home=$RUN/out/$scenario.home kubelet tls=s,DIR/server,cluster/server,g
    # (fc-testapi speaks no TLS)
    [[ $CLUSTER == kubernetes ]] || tls='s, --tls-[a-z]* [^ ]*,,g'
    own_cluster
    keep_control_plane
    end_processes . 5 kubelet
    # (of block "sh plane" of manifests/README.md, whose cluster is this one)
    mkdir DIR
    ln -s "$BUILD" build
    eval "kubelet=($(blocks_of manifests/README.md "sh plane" |
            sed -n '/^build\/fc-testkubelet/ {
                        :more; /\\$/ { s/\\$//; N; s/\n//; b more }
                        s,DIR/kubeconfig,cluster/kubeconfig,g; '"$tls"'; p
                    }'))"
    launch kubelet "${kubelet[@]}"
    mkdir -p "$home/.kube" "$home/bin"
    cp cluster/kubeconfig "$home/.kube/config"
    ln -s "$root/manifests" "$home/manifests"
    patient_kubectl "$home/bin/kubectl"
    cat >"$home/bin/fc-watcher" <<END
#!/bin/bash
set -eu
. "$root/tests/kubernetes/processes.sh"
address=\$(sed -n 's,.*listening on http://,,p' "$RUN/watcher-1.log" 2>/dev/null | head -n 1)
if [[ \$1 == status ]]; then exec "$BUILD/fc-watcher" "\$@" --http "\$address"; fi
cp frameworkcontroller.yaml "$RUN"
cd "$RUN"
export TMPDIR="$RUN"
launch watcher-1 "$BUILD/fc-watcher" "\${@//:8080/:0}"
END
    chmod +x "$home/bin/fc-watcher"
    blocks_of README.md "sh cluster" >"$home/commands"
    blocks_of README.md yaml >"$home/hello.yaml"
    expect "commands of README.md" "$(grep -c . "$home/commands")" 11
    # (the two terminals follow each other more quickly here than a person can type)
    sed -i '/^fc-watcher --/a until kubectl get fw >/dev/null 2>&1; do sleep 0.2; done' "$home/commands"
    (cd "$home" && HOME=$home PATH=$home/bin:$PATH timeout $((60 * PATIENCE)) bash -eux commands) >"$home/said" ||
        fail "these commands fail: $(cat "$home/commands")"
    # Who reads that knows why it failed, and that it is of no use to try again.
    expect_match "what is said of the one that failed" "$(sed -n '/^Name: *batchfailedpermanent/,$p' "$home/said" | tr -s ' ')" \
        'TaskFailed .*Task worker\[0\] failed with code 210 \(ContainerPermanentFailed\).*no such option: --learning-rte.*'\
'FrameworkCompleted .*would fail again: fix the cause'
    # The kubelet's flags are what gangs need.
    kubectl create -n default -f "$root/manifests/examples/frameworkbarrier.yaml"
    kubectl wait -n default --for=condition=Completed --timeout=$((60 * PATIENCE))s fw/frameworkbarrier
    kubectl create -n default -f "$root/manifests/examples/stateful-service.yaml"
    wait_for 60 "kubectl logs shows what a container prints" eval \
        '[[ $(kubectl logs -n default statefulservice-server-0) == "I am server-0.statefulservice-server, life 0" ]]'
    expect "code of the gang" "$(kubectl get -n default fw frameworkbarrier -o jsonpath='{.status.attemptStatus.completionStatus.code}')" 0
    wait_for 20 "the reconciler is back" grep -qE 'pool-1 .*was killed by signal 9' watcher-1.log
    wait_for 20 "it has its shards" eval '(($(grep -c "pool-1: .*shards are complete" watcher-1.log) == 2))'
    expect_nothing_deprecated
}

# Whoever deploys: the blocks "sh operator" of manifests/README.md in their order, what else it tells him to do with kubectl,
# and its kustomization, with the oldest kubectl and with a current one. No images are built, and nothing is rolled out: nobody
# here looks after StatefulSets.
run_documentation_operator() { operator "$OLDEST_KUBECTL"; }

run_documentation_operator_current() { operator "$CURRENT_KUBECTL"; }

operator() { # kubectl
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded API server has no StatefulSets"
    local work=$RUN/out/$scenario.work namespace
    own_cluster
    keep_control_plane
    mkdir -p "$work/bin"
    write_kubectl "$1" "$work/kubectl"
    kubectl() { "$RUN/out/$scenario.work/kubectl" "$@"; }
    cp -r "$root/manifests" "$work"
    ln -s "$BUILD/fc-watcher" "$work/bin"
    cat >"$work/bin/docker" <<'END'
#!/bin/sh -eu
[ "$1 $2 ${4} ${6}" = "build -f -t ." ] && cat "$3"
END
    # (what is said of versions before 1.21 is done where it is true)
    cat >"$work/bin/kubectl" <<END
#!/bin/bash -eu
theirs() { "$work/kubectl" "\$@"; }
case "\$*" in
"apply -k manifests/deploy/scaled")
    if theirs api-versions | grep -x policy/v1 >/dev/null; then
        theirs "\$@"
    else
        $(inline_commands manifests/README.md '^kubectl kustomize manifests/deploy/scaled ' | sed 's,kubectl,theirs,g')
    fi
    ;;
*" rollout status "*) theirs "\$1" "\$2" get "\$5" ;;
*) theirs "\$@" ;;
esac
END
    chmod +x "$work"/bin/*
    for namespace in team-a team-b; do kubectl create namespace $namespace; done
    blocks_of manifests/README.md "sh operator" >"$work/commands"
    inline_commands manifests/README.md '^kubectl -n frameworkcontroller scale ' >>"$work/commands"
    expect "commands of manifests/README.md" "$(grep -c . "$work/commands")" 25
    (cd "$work" && PATH=$work/bin:$PATH timeout $((60 * PATIENCE)) bash -eux commands) ||
        fail "these commands fail: $(cat "$work/commands")"
    for namespace in team-a team-b; do
        expect "may a gang of $namespace ask" \
            "$(kubectl -n $namespace auth can-i get frameworks --as=system:serviceaccount:$namespace:default)" yes
    done
    # (a controller manager adds them to view, edit and admin, by these labels)
    for role in view edit; do
        expect "aggregated to $role" "$(kubectl get clusterrole "frameworks-$role" -o json |
            jq -r ".metadata.labels.\"rbac.authorization.k8s.io/aggregate-to-$role\"")" true
        kubectl -n team-a create rolebinding "$role" "--clusterrole=frameworks-$role" "--user=$role"
    done
    expect "view may list, and create" "$(for verb in list create; do
        kubectl -n team-a auth can-i $verb frameworks --as=view || true
    done | tr '\n' ' ')" "yes no "
    expect "edit may create, and change statuses" "$({
        kubectl -n team-a auth can-i create frameworks --as=edit
        kubectl -n team-a auth can-i update frameworks --subresource=status --as=edit || true
    } | tr '\n' ' ')" "yes no "
    # (of Kueue, only its CRDs are here)
    kubectl apply -f "$root/tests/e2e/kueue/crds.yaml" >/dev/null
    wait_for 20 "the API server serves Workloads" kubectl get workloads.kueue.x-k8s.io -A
    blocks_of manifests/README.md "sh queues" >"$work/commands"
    (cd "$work" && PATH=$work/bin:$PATH bash -eux commands)
    kubectl apply -k "$work/manifests/deploy/onepod" >/dev/null
    blocks_of manifests/README.md "sh upgrade" >"$work/commands"
    (cd "$work" && PATH=$work/bin:$PATH bash -eux commands)
    blocks_of barrier/README.md "sh certificate" | sed s/NAMESPACE/team-a/ >"$work/commands"
    (cd "$work" && PATH=$work/bin:$PATH bash -eux commands)
    expect_match "the certificate of fc-barrier" "$(kubectl -n team-a get configmap fc-barrier -o jsonpath='{.data.ca\.crt}')" \
        "BEGIN CERTIFICATE"
    {
        printf '%s\n' 'apiVersion: v1' 'kind: Pod' 'metadata: {name: gang}' 'spec:' '  containers: [{name: main, image: x}]'
        blocks_of barrier/README.md "yaml certificate" | sed 's/^/  /'
    } >"$work/pod.yaml"
    kubectl -n team-a create --dry-run=client --validate=true -f "$work/pod.yaml"
    expect "reconcilers" "$(kubectl -n frameworkcontroller get statefulset fc-reconciler -o jsonpath='{.spec.replicas}')" 8

    mkdir -p "$work/own/frameworkcontroller"
    mv "$work/manifests" "$work/own/frameworkcontroller"
    blocks_of manifests/README.md "yaml kustomization" >"$work/own/kustomization.yaml"
    kubectl kustomize "$work/own" | grep 'image: REGISTRY/frameworkcontroller:v1$' || fail "the kustomization names no image"
    expect_nothing_deprecated
}

# The blocks "sh bus" of manifests/README.md: what they call HOST:PORT, NAME and FILE is put in, and "…" is what every process is
# told. Each block is a controller; the second one's gangs ask its barrier.
run_documentation_bus() {
    local line words bus=tcp://127.0.0.1:0 watchers=0 front
    own_cluster
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=barrier -addext subjectAltName=IP:127.0.0.1 \
        -days 2 -keyout key.pem -out cert.pem 2>/dev/null
    blocks_of manifests/README.md "sh bus" |
        sed -e 's/ *#.*//; s/ …//; s/--tls-cert FILE/--tls-cert cert.pem/; s/--tls-key FILE/--tls-key key.pem/' \
        -e 's/--listen HOST:PORT/--listen 127.0.0.1:0/; s/ NAME / one /' >commands
    expect "commands" "$(cut -d' ' -f1,2 commands | tr '\n' ' ')" \
        "fc-watcher keygen fc-watcher --workers fc-reconciler --name fc-watcher --bus fc-barrier --bus "
    while read -r line; do
        read -ra words <<<"$(sed -E "s,tcp://(HOST:PORT|127.0.0.1:8471),$bus," <<<"$line")"
        case $line in
        "fc-watcher keygen"*) "$BUILD/fc-watcher" "${words[@]:1}" ;;
        fc-watcher*)
            ((watchers == 0)) || { stop_watcher; end_processes . 15 reconciler; }
            watchers=$((watchers + 1))
            launch_watcher "watcher-$watchers" "${words[@]:1}"
            wait_for 10 "the watcher has a bus" grep -q 'the bus listens on tcp' "watcher-$watchers.log"
            bus=$(sed -nE 's/.*the bus listens on (tcp:.*)$/\1/p' "watcher-$watchers.log")
            wait_for 20 "Frameworks are served" k get frameworks
            ;;
        fc-reconciler*)
            launch_reconciler reconciler "${words[@]:1}"
            create 'fw("encrypted"; [role("a"; 2; ends(0; 0))])'
            wait_completed encrypted 60
            bus=tcp://127.0.0.1:0
            ;;
        fc-barrier*)
            launch_barrier barrier "${words[@]:1}" $([[ $CLUSTER == kubernetes ]] || echo --insecure-no-auth)
            wait_for 20 "the barrier listens" grep -q 'listening on 127' barrier.log
            front=$(sed -nE 's/.*listening on (127[0-9.:]+).*/\1/p' barrier.log)
            wait_for 20 "the barrier is ready" curl -sSf --cacert cert.pem "https://$front/readyz"
            create 'fw("beside"; [role("a"; 2; ends(0; 0))])'
            wait_completed beside 60
            ;;
        esac
    done <commands
}

# The first command of README.md, and what it says can be done when KEEP=1 leaves its cluster up.
run_documentation_demo() {
    [[ $CLUSTER == embedded ]] || not_here "it needs no cluster"
    local said=$RUN/out/$scenario.said next=$RUN/out/$scenario.next status=0
    cd "$root"
    KEEP=1 "$BUILD/fc-demo" --timeout $((60 * PATIENCE)) tests/jobs/crds.yaml tests/cluster/gang/crds.yaml \
        manifests/examples/*.yaml manifests/examples/jobs/*.yaml \
        >"$said" || status=$?
    sed -n '/stays up/,$ s/^  //p' "$said" >"$next"
    ((status != 0)) || HOME=$RUN/out/$scenario.home PATH=${CURRENT_KUBECTL%/*}:$PATH timeout \
        $((60 * PATIENCE)) bash -eux <(sed '$d' "$next") || status=$?
    bash -eu <(tail -n 1 "$next")
    ((status == 0)) || fail "$(tail -n 20 "$said")"
    expect_match "what it says" "$(<"$said")" '[0-9]+ of [0-9]+ examples ended as expected'
    expect_match "what kubectl framework shows" "$(<"$said")" \
        '\$ kubectl framework tree ([a-z]+).*worker.*\$ kubectl framework timeline ([a-z]+).*0 Succeeded'
    expect "what is next" "$(sed -E 's,=.*,,; s,[^ ]*/(fc-demo),\1,' "$next" | cut -d' ' -f1,2 | tr '\n' ' ')" \
        "export KUBECONFIG export PATH kubectl get kubectl get kubectl framework kubectl framework kubectl describe kubectl delete "\
"kubectl framework kubectl delete kubectl patch fc-demo --stop "
    expect "what is left" "$(sed -n 's,^export KUBECONFIG=\(.*\)/kubeconfig,\1,p' "$next" | xargs ls -d 2>/dev/null)" ""
}

# Figures of one row, small ones, with the options that are shown.
run_documentation_bench() {
    [[ $CLUSTER == embedded ]] || not_here "the embedded cluster shows as much"
    ((SLOWER == 1)) || not_here "allocations of programs built or run otherwise cannot be counted"
    local words help option
    help=$("$root/tests/bench/run.sh" --help)
    for option in $(grep -hE 'run\.sh|BENCH_FLAGS' "$root"/tests/bench/*.md | grep -oE -- '--[a-z-]+'); do
        [[ $option == --help ]] || grep -q "^  $option " <<<"$help" || fail "tests/bench/run.sh has no $option"
    done
    read -ra words <<<"$(sed -nE 's,^    tests/bench/run.sh (--cluster) kubernetes (--frameworks) [0-9]+ ,\1 embedded \2 3 ,p' \
            "$root/tests/bench/README.md")"
    TMPDIR=$RUN/out "$root/tests/bench/run.sh" --no-calibration "${words[@]}" >"$RUN/out/$scenario.said"
    expect_match "what it says" "$(<"$RUN/out/$scenario.said")" '[|] embedded [|] batch 3×5 [|]'
}

# Configuration is read, the options of our programs exist, and no field of a Framework goes without a word.
run_documentation_options() {
    local file program option field policy status=0 fields=0 policies=0 options=0
    create '(fw("ends"; [role("a"; 1; {"run-seconds": 0, "exit-code": 1})]))'
    wait_completed ends
    wait_framework ends 10 '.status.observedGeneration == 1'
    while read -r field; do
        fields=$((fields + 1))
        grep -qE "[\`.]$field([]\`.[]|$)" "$root/reconciler/README.md" || fail "reconciler/README.md says nothing of $field"
    done < <({
        get_jq "$(frameworks_path)/ends" -r '.status | .conditions |= [] | .. | objects | keys[]'
        "$BUILD/fc-watcher" --print-crd | kubectl create --dry-run=client -o json -f - | jq -r '.spec.versions[0].schema.openAPIV3Schema |
            .properties.spec | .. | .properties? // {} | keys[]'
    } | sort -u)
    ((fields > 45)) || fail "only $fields fields were found"
    # Policies within sentences: each is taken, and kept as it is.
    inline_commands reconciler/README.md '^[{].*Count: ' | sort -u >"$RUN/out/$scenario.policies"
    while read -r policy; do
        policies=$((policies + 1))
        field="taskRoles: [{name: a, frameworkAttemptCompletionPolicy: $policy}]"
        if [[ $policy == *Retry* ]]; then field="retryPolicy: $policy"; fi
        printf -- '---\napiVersion: frameworkcontroller.microsoft.com/v1\nkind: Framework\n'
        printf 'metadata: {name: policy%d}\nspec: {executionType: Create, %s}\n' $policies "$field"
    done <"$RUN/out/$scenario.policies" | k create -f - -o json >"$RUN/out/$scenario.kept"
    expect_lines "the policies" "$(jq -r '.spec.taskRoles[0].frameworkAttemptCompletionPolicy // .spec.retryPolicy | to_entries |
        map("\(.key): \(.value)") | "{\(join(", "))}"' "$RUN/out/$scenario.kept" | sort)" "$(<"$RUN/out/$scenario.policies")"
    (($(wc -l <"$RUN/out/$scenario.policies") >= 5)) || fail "only these policies were found: $(<"$RUN/out/$scenario.policies")"
    blocks_of reconciler/README.md "yaml config" >"$RUN/out/$scenario.yaml"
    grep -q podFailureSpec "$RUN/out/$scenario.yaml"
    "$BUILD/fc-watcher" --strict-config --config "$RUN/out/$scenario.yaml" --kubeconfig none >"$RUN/out/$scenario.said" 2>&1 || status=$?
    expect "what is wrong with the configuration" "$status $(<"$RUN/out/$scenario.said")" \
        "2 $(grep 'kubeconfig: open none' "$RUN/out/$scenario.said")"
    while read -r file program option; do
        [[ -x $BUILD/$program ]] || continue # not all of them are built for a run
        options=$((options + 1))
        "$BUILD/$program" --help | grep -qE -- "$option([ =,]|$)" || fail "$file: $program has no $option"
    done < <(cd "$root" && grep -HoP '(?:^|`|build/|    )\K(fc-[a-z]+|frameworkbarrier) [^`#]*' \
            $(find . -name '*.md' -not -path './build/*') |
        sed -nE 's/^([^:]*):([a-z-]+) (.*)/\1 \2 \3/p' | awk '{ for (i = 3; i <= NF; i++) if ($i ~ /^--[a-z-]+/) {
            match($i, /^--[a-z-]+/); print $1, $2, substr($i, 1, RLENGTH) } }')
    ((options > 20)) || fail "only $options options were found"
    # And those within sentences, which one of them has, or kubectl.
    {
        for program in fc-watcher fc-reconciler fc-barrier frameworkbarrier fc-testkubelet; do "$BUILD/$program" --help; done
        kubectl delete --help
    } >"$RUN/out/$scenario.help"
    while read -r option; do
        grep -qE -- "$option([ =,]|$)" "$RUN/out/$scenario.help" || fail "nobody has $option"
    done < <(for file in README.md {manifests,barrier,reconciler}/README.md; do inline_commands "$file" '^--[a-z]'; done |
        grep -oE '^--[a-z-]+' | sort -u)
}
