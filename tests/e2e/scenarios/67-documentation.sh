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
