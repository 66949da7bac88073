# What the documentation shows is run: in each README.md, YAML blocks are files (NAME.yaml after metadata.name), sh blocks
# are commands, in their order. Frameworks that no command creates are created in the end, and go as they say behind
# "# expect:".

# Splits stdin into NUMBER.yaml and NUMBER.sh in the working directory.
split_blocks() {
    awk '/^```(yaml|sh)$/ { out = sprintf("%03d.%s", ++count, substr($0, 4)); next }
         /^```$/ { out = "" } out { print > out }'
}

# The lines of all blocks of a kind in a file.
blocks_of() { # markdown-file info-string
    awk -v begin="\`\`\`$2" '$0 == begin { out = 1; next } /^```$/ { out = 0 } out' "$root/$1"
}

# Runs the blocks of one file.
follow() { # markdown-file
    local block name
    mkdir "$RUN/out/$scenario.$(tr / - <<<"$1")"
    cd "$RUN/out/$scenario.$(tr / - <<<"$1")"
    split_blocks <"$root/$1"
    for block in *.*; do
        case $block in
        *.yaml) cp "$block" "$(sed -nE '/^metadata:/,/^[^ m]/ s/^  name: ([a-z0-9-]+).*/\1/p' "$block" | head -n 1).yaml" ;;
        *.sh) PATH=$RUN/out/$scenario.bin:$PATH bash -eu "$block" || fail "$1: these commands fail: $(cat "$block")" ;;
        esac
    done
    for block in [0-9]*.yaml; do
        name=$(sed -nE '/^metadata:/,/^[^ m]/ s/^  name: ([a-z0-9-]+).*/\1/p' "$block" | head -n 1)
        grep -qs "create -f $name.yaml" ./*.sh || k create -f "$block"
    done
    for block in [0-9]*.yaml; do
        if grep -q '^# expect:' "$block"; then check_example "$block"; fi
    done
}

run_documentation() {
    NS=$REAL_NAMESPACE
    local file
    mkdir "$RUN/out/$scenario.bin"
    printf '#!/bin/sh\nexec "%s" -n "%s" "$@"\n' "$CLUSTER_DIR/kubectl" "$NS" >"$RUN/out/$scenario.bin/kubectl"
    chmod +x "$RUN/out/$scenario.bin/kubectl"
    for file in README.md reconciler/README.md; do (follow "$file"); done
}

# Whoever is new, with a cluster: the blocks "sh cluster" of README.md as they stand, on a cluster that has seen nothing of
# ours. fc-watcher is started in a terminal of its own, and on a port that nobody else has.
run_documentation_cluster() {
    local home=$RUN/out/$scenario.home
    own_cluster
    keep_control_plane
    end_processes . 5 kubelet
    launch kubelet "$BUILD/fc-testkubelet" --kubeconfig cluster/kubeconfig --node-name node --mode real --root "$RUN/pods"
    mkdir -p "$home/.kube" "$home/bin"
    cp cluster/kubeconfig "$home/.kube/config"
    ln -s "$root/manifests" "$home/manifests"
    ln -s "$CLUSTER_DIR/kubectl" "$home/bin/kubectl"
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
    expect "commands of README.md" "$(grep -c . "$home/commands")" 8
    # (the two terminals follow each other more quickly here than a person can type)
    sed -i '/^fc-watcher --/a until kubectl get fw >/dev/null 2>&1; do sleep 0.2; done' "$home/commands"
    (cd "$home" && HOME=$home PATH=$home/bin:$PATH timeout 120 bash -eux commands) || fail "these commands fail: $(cat "$home/commands")"
    wait_for 20 "the reconciler is back" grep -qE 'pool-1 .*was killed by signal 9' watcher-1.log
    wait_for 20 "it has its ranges" eval '(($(grep -c "pool-1: .*ranges are complete" watcher-1.log) == 2))'
}

# Whoever deploys: the blocks "sh operator" of manifests/README.md in their order, what else it tells him to do with kubectl,
# and its kustomization. No images are built, and nothing is rolled out: nobody here looks after StatefulSets.
run_documentation_operator() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded API server has no StatefulSets"
    local work=$RUN/out/$scenario.work namespace
    own_cluster
    mkdir -p "$work/bin"
    cp -r "$root/manifests" "$work"
    ln -s "$BUILD/fc-watcher" "$work/bin"
    cat >"$work/bin/docker" <<'END'
#!/bin/sh -eu
[ "$1 $2 ${4} ${6}" = "build -f -t ." ] && cat "$3"
END
    # (PodDisruptionBudgets were v1beta1 before Kubernetes 1.21)
    cat >"$work/bin/kubectl" <<END
#!/bin/bash -eu
theirs() { "$CLUSTER_DIR/kubectl" "\$@"; }
case "\$*" in
"apply -k "*) theirs kustomize "\$3" | sed 's,^apiVersion: policy/v1$,apiVersion: policy/v1beta1,' | theirs apply -f - ;;
"create namespace "*) theirs get namespace "\$3" || theirs create namespace "\$3" ;;
*" rollout status "*) theirs "\$1" "\$2" get "\$5" ;;
*) theirs "\$@" ;;
esac
END
    chmod +x "$work"/bin/*
    for namespace in team-a team-b; do kubectl create namespace $namespace; done
    blocks_of manifests/README.md "sh operator" >"$work/commands"
    grep -oE '`kubectl -n frameworkcontroller [^`]*`' "$root/manifests/README.md" | tr -d '`' | grep -v ' get lease ' >>"$work/commands"
    expect "commands of manifests/README.md" "$(grep -c . "$work/commands")" 12
    (cd "$work" && PATH=$work/bin:$PATH timeout 120 bash -eux commands) || fail "these commands fail: $(cat "$work/commands")"
    expect "reconcilers" "$(kubectl -n frameworkcontroller get statefulset fc-reconciler -o jsonpath='{.spec.replicas}')" 8

    mkdir -p "$work/own/frameworkcontroller"
    mv "$work/manifests" "$work/own/frameworkcontroller"
    blocks_of manifests/README.md "yaml kustomization" >"$work/own/kustomization.yaml"
    kubectl kustomize "$work/own" | grep -q 'image: REGISTRY/frameworkcontroller:v1$' || fail "the kustomization names no image"
}

# Configuration is read, the options of our programs exist, and no field of a Framework goes without a word.
run_documentation_options() {
    local file program option field status=0 fields=0 options=0
    create '(fw("ends"; [role("a"; 1; {"run-seconds": 0, "exit-code": 1})]))'
    wait_completed ends
    wait_framework ends 10 '.status.observedGeneration == 1'
    while read -r field; do
        fields=$((fields + 1))
        grep -qE "[\`.]$field([]\`.[]|$)" "$root/reconciler/README.md" || fail "reconciler/README.md says nothing of $field"
    done < <({
        get_framework ends | jq -r '.status | .conditions |= [] | .. | objects | keys[]'
        "$BUILD/fc-watcher" --print-crd | kubectl create --dry-run=client -o json -f - | jq -r '.spec.versions[0].schema.openAPIV3Schema |
            .properties.spec | .. | .properties? // {} | keys[]'
    } | sort -u)
    ((fields > 45)) || fail "only $fields fields were found"
    blocks_of reconciler/README.md "yaml config" >"$RUN/out/$scenario.yaml"
    grep -q podFailureSpec "$RUN/out/$scenario.yaml"
    "$BUILD/fc-watcher" --strict-config --config "$RUN/out/$scenario.yaml" --kubeconfig none >"$RUN/out/$scenario.said" 2>&1 || status=$?
    expect "what is wrong with the configuration" "$status $(<"$RUN/out/$scenario.said")" "1 $(grep 'kubeconfig: open none' "$RUN/out/$scenario.said")"
    while read -r file program option; do
        options=$((options + 1))
        "$BUILD/$program" --help | grep -qE -- "$option([ =,]|$)" || fail "$file: $program has no $option"
    done < <(cd "$root" && grep -HoP '(?<![/a-z])(fc-watcher|fc-reconciler|fc-barrier) [^`#]*' {.,manifests,reconciler,barrier}/*.md |
        sed -nE 's/^([^:]*):([a-z-]+) (.*)/\1 \2 \3/p' | awk '{ for (i = 3; i <= NF; i++) if ($i ~ /^--[a-z-]+/) {
            match($i, /^--[a-z-]+/); print $1, $2, substr($i, 1, RLENGTH) } }')
    ((options > 20)) || fail "only $options options were found"
}
