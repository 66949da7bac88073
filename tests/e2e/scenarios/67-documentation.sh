# What the documentation shows is run: in each README.md, YAML blocks are files (NAME.yaml after metadata.name), sh blocks
# are commands, in their order. Frameworks that no command creates are created in the end, and go as they say behind
# "# expect:".

# Splits stdin into NUMBER.yaml and NUMBER.sh in the working directory.
split_blocks() {
    awk '/^```(yaml|sh)$/ { out = sprintf("%03d.%s", ++count, substr($0, 4)); next }
         /^```$/ { out = "" } out { print > out }'
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
    awk '/^```sh cluster$/ { out = 1; next } /^```$/ { out = 0 } out' "$root/README.md" >"$home/commands"
    awk '/^```yaml$/ { out = 1; next } /^```$/ { out = 0 } out' "$root/README.md" >"$home/hello.yaml"
    expect "commands of README.md" "$(grep -c . "$home/commands")" 8
    # (the two terminals follow each other more quickly here than a person can type)
    sed -i '/^fc-watcher --/a until kubectl get fw >/dev/null 2>&1; do sleep 0.2; done' "$home/commands"
    (cd "$home" && HOME=$home PATH=$home/bin:$PATH timeout 120 bash -eux commands) || fail "these commands fail: $(cat "$home/commands")"
    wait_for 20 "the reconciler is back" grep -qE 'pool-1 .*was killed by signal 9' watcher-1.log
    wait_for 20 "it has its ranges" eval '(($(grep -c "pool-1: .*ranges are complete" watcher-1.log) == 2))'
}
