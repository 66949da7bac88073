#!/usr/bin/env bash
# What the other tests take for granted of the control plane: where it comes
# from, Pods without a scheduler, kubelet or service account, garbage
# collection, rights, the end.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" >/dev/null && pwd)
dir=$(mktemp -d)
trap '"$here/cluster.sh" stop "$dir" && rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP

check() { # what command...
    local what=$1
    shift
    if "$@"; then echo "ok: $what"; else echo "FAILED: $what" >&2; exit 1; fi
}

eventually() { # command...
    local end=$((SECONDS + 90)) # an idle machine needs one
    until "$@"; do ((SECONDS < end)) || return 1; sleep 0.1; done
}

kubectl() { "$dir/kubectl" --request-timeout=90s "$@"; }
create() { kubectl create -o 'jsonpath={.metadata.uid}' -f -; } # prints the uid
gone() { [[ -z $(kubectl get "$@" --ignore-not-found -o name) ]]; }

owner() { # apiVersion kind name uid
    echo "[{\"apiVersion\":\"$1\",\"kind\":\"$2\",\"name\":\"$3\",\"uid\":\"$4\",\"controller\":true,\"blockOwnerDeletion\":true}]"
}

pod() { # name [ownerReferences] [nodeName]
    create <<EOF
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1", "ownerReferences": ${2:-[]}},
 "spec": {"nodeName": "${3:-}", "containers": [{"name": "main", "image": "none"}]}}
EOF
}

# A Widget owns a ConfigMap, as a Framework does, which owns a Pod.
family() { # name
    local widget map
    widget=$(create <<<"{\"apiVersion\": \"test.example/v1\", \"kind\": \"Widget\", \"metadata\": {\"name\": \"$1\"}}")
    map=$(create <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "$1", "finalizers": ["foregroundDeletion"],
 "ownerReferences": $(owner test.example/v1 Widget "$1" "$widget")}}
EOF
    )
    pod "$1" "$(owner v1 ConfigMap "$1" "$map")" >/dev/null
}

# Where assets.sh takes Debian 12's packages from, on a Debian 13 with other
# vendors' packages, in both formats of entries.
package_sources() (
    etc=$dir/etc
    mkdir -p "$etc/apt/sources.list.d" "$dir/sources"
    echo VERSION_CODENAME=trixie >"$etc/os-release"
    printf '%s\n' '# comment' 'deb [arch=amd64 signed-by=/x.gpg] http://mirror/debian trixie contrib main # ours' \
        'deb http://mirror/debian trixie-updates main' 'deb http://vendor/apt tools-trixie main' >"$etc/apt/sources.list"
    printf '%s\n' 'Types: deb' '# comment' 'URIs: http://other/debian' 'Suites: trixie trixie-updates' \
        'Components: contrib' ' main' 'Signed-By: /x.pgp' '' 'Types: deb' 'URIs: http://other/security' \
        'Suites: trixie-security' 'Components: main' >"$etc/apt/sources.list.d/debian.sources"
    eval "$(sed -n '/^write_sources()/,/^}/p' "$here/assets.sh")"
    write_sources "$dir/sources" bookworm
    diff - <(cat "$dir"/sources/*) <<'EOF'
deb [arch=amd64 signed-by=/x.gpg] http://mirror/debian bookworm main
deb-src [arch=amd64 signed-by=/x.gpg] http://mirror/debian bookworm main
Types: deb deb-src
Suites: bookworm
Components: main
URIs: http://other/debian
Signed-By: /x.pgp

EOF
)
check "packages come from the wanted release of Debian" package_sources
current=$("$here/assets.sh" kubectl-current)
check "there is a current kubectl" test 32 -le \
    "$("$current/kubectl" version --client -o json | jq -r .clientVersion.gitVersion | cut -d. -f2)"
check "there is a jq of 1.7 or later" test true = "$("$("$here/assets.sh" jq)/jq" -n '[3, 1] | pick(.[1]) | .[1] == 1')"

cat >"$dir/crd.yaml" <<'EOF'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.example}
spec:
  group: test.example
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
EOF
"$here/cluster.sh" start "$dir" "$dir/crd.yaml"

pod unbound >/dev/null
kubectl delete pod unbound --wait=false >/dev/null
check "a Pod without a node goes at once" gone pod unbound

pod bound "" node >/dev/null
kubectl delete pod bound --wait=false >/dev/null
check "a Pod on a node waits for its kubelet" test 30 = \
    "$(kubectl get pod bound -o 'jsonpath={.metadata.deletionGracePeriodSeconds}')"
kubectl delete pod bound --grace-period=0 --force --wait=false >/dev/null 2>&1
check "and goes when that confirms" gone pod bound

family map
kubectl delete configmap map --wait=false >/dev/null
check "a ConfigMap in foreground deletion takes its Pods along" eventually gone configmap/map pod/map
for policy in background foreground; do
    family "$policy"
    kubectl delete widget "$policy" --cascade="$policy" --wait=false >/dev/null
    check "a custom resource's $policy deletion takes all along" \
        eventually gone "widget/$policy" "configmap/$policy" "pod/$policy"
done

check "admin may do anything" test yes = "$(kubectl auth can-i '*' '*')"
check "alice may do nothing" test no = "$(kubectl --user=alice auth can-i list pods || true)"

# (the command of README.md)
kubectl create serviceaccount tester >/dev/null
token=$(sed -n '/^    DIR.kubectl create --raw/,/^$/p' "$here/README.md" | sed "s,NAMESPACE,default,; s,NAME,tester,; s,^ *DIR/,$dir/," |
        bash)
check "a service account has a token" test system:serviceaccount:default:tester = \
    "$(cut -d. -f2 <<<"$token" | tr _- /+ | sed 's/$/==/' | base64 -d 2>/dev/null | jq -r .sub)"

pids=$(awk '{print $2}' "$dir/pids")
"$here/cluster.sh" stop "$dir"
for pid in $pids; do check "process $pid has ended" eval "! grep -qs '^State:.[^Z]' /proc/$pid/status"; done
