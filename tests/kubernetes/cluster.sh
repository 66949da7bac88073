#!/usr/bin/env bash
# Starts and stops a Kubernetes control plane for tests: etcd, kube-apiserver
# and kube-controller-manager (garbage collector, namespaces) on loopback. No
# scheduler, no kubelet: those are the tests'. See README.md.
set -euo pipefail

usage() {
    cat >&2 <<'EOF'
usage: cluster.sh start DIR [MANIFEST...]   start a control plane that keeps all it has in DIR
       cluster.sh stop DIR                  stop it; only its logs stay
MANIFESTs are applied, and their CRDs established, before the garbage collector starts.
KUBE_APISERVER_FLAGS, KUBE_CONTROLLER_MANAGER_FLAGS: more flags, split at blanks.
EOF
    exit 2
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" >/dev/null && pwd)
start_deadline_s=180 # forty times what one takes on two cores: a run starts many at a time
stop_deadline_s=1   # kube-apiserver itself would wait 60 s for open watches
. "$here/processes.sh"
bind_attempts=5     # another process may take the port before the server does
users=(alice bob)   # known to the server, without any rights

say() { echo "cluster.sh: $*" >&2; }

# Waits until a command succeeds; gives up if the server has ended or at the deadline.
await() { # server what command...
    local server=$1 what=$2
    shift 2
    until "$@" >/dev/null 2>await.log; do
        running "$server" || { say "$server ended while waiting for $what"; return 1; }
        (($(now_ms) < deadline_ms)) || {
            say "$what: not within $start_deadline_s s"
            tail -n 3 await.log >&2
            return 1
        }
        pause 0.1
    done
    rm await.log
}

fail() { # server message
    say "$2"
    if [[ -s $1.log ]]; then
        say "the end of $PWD/$1.log:"
        tail -n 25 "$1.log" >&2
    fi
    exit 1
}

make_identities() {
    local user
    {
        openssl ecparam -name prime256v1 -genkey -noout -out ca.key
        openssl req -x509 -new -key ca.key -subj /CN=test-ca -days 30 -out ca.crt \
            -addext keyUsage=critical,keyCertSign,cRLSign
        openssl ecparam -name prime256v1 -genkey -noout -out server.key
        openssl req -new -key server.key -subj /CN=kube-apiserver -out server.csr
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out server.crt \
            -extfile <(echo "subjectAltName=IP:127.0.0.1,IP:10.0.0.1,DNS:localhost,"\
"DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc")
        openssl ecparam -name prime256v1 -genkey -noout -out service-account.key
        openssl ec -in service-account.key -pubout -out service-account.pub
    } 2>openssl.log || fail openssl "could not make certificates"
    rm openssl.log server.csr

    mkdir tokens
    for user in admin "${users[@]}"; do openssl rand -hex 16 >"tokens/$user"; done
    {
        echo "$(<tokens/admin),admin,admin,system:masters"
        for user in "${users[@]}"; do echo "$(<"tokens/$user"),$user,$user,testers"; done
    } >tokens.csv
}

write_kubeconfig() { # port
    local user
    cat >kubeconfig <<EOF
apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: https://127.0.0.1:$1
    certificate-authority-data: $(base64 -w0 ca.crt)
contexts:
- name: test
  context: {cluster: test, user: admin, namespace: default}
current-context: test
users:
EOF
    for user in admin "${users[@]}"; do
        printf -- '- name: %s\n  user: {token: %s}\n' "$user" "$(<"tokens/$user")"
    done >>kubeconfig
    echo "https://127.0.0.1:$1" >server
}

start_etcd() {
    # Unix sockets, which etcd makes in its working directory: no ports to choose.
    launch etcd "$bin/etcd" --name=test --data-dir=etcd --unsafe-no-fsync --log-level=warn --logger=zap \
        --listen-client-urls=unix://etcd:0 --advertise-client-urls=unix://etcd:0 \
        --listen-peer-urls=unix://etcd:1 --initial-advertise-peer-urls=unix://etcd:1 \
        --initial-cluster=test=unix://etcd:1 --quota-backend-bytes=$((4 << 30))
    await etcd "etcd's socket" test -S etcd:0 || fail etcd "etcd did not start"
}

start_apiserver() {
    local port attempt
    for ((attempt = 1; ; attempt++)); do
        port=$(free_port)
        write_kubeconfig "$port"
        # shellcheck disable=SC2086 # flags are to be split
        launch kube-apiserver "$bin/kube-apiserver" --etcd-servers=unix://etcd:0 \
            --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$port" \
            --tls-cert-file=server.crt --tls-private-key-file=server.key --cert-dir=. \
            --client-ca-file=ca.crt --token-auth-file=tokens.csv --authorization-mode=RBAC \
            --service-account-issuer=https://kubernetes.default.svc --api-audiences=https://kubernetes.default.svc \
            --service-account-key-file=service-account.pub --service-account-signing-key-file=service-account.key \
            --service-cluster-ip-range=10.0.0.0/24 --disable-admission-plugins=ServiceAccount --allow-privileged \
            --enable-priority-and-fairness=false --max-requests-inflight=2000 --max-mutating-requests-inflight=1000 \
            --endpoint-reconciler-type=none --kubelet-preferred-address-types=InternalDNS ${KUBE_APISERVER_FLAGS:-}
        if await kube-apiserver "kube-apiserver to be ready" get /readyz; then break; fi
        if ! grep -qi "address already in use" kube-apiserver.log || ((attempt >= bind_attempts)); then
            fail kube-apiserver "kube-apiserver did not start"
        fi
        say "port $port was taken in between; choosing another"
    done
    await kube-apiserver "the namespace default" get /api/v1/namespaces/default &&
        await kube-apiserver "the namespace kube-system" get /api/v1/namespaces/kube-system ||
        fail kube-apiserver "kube-apiserver made no namespaces"
}

# Serves the API to clients that speak no TLS, as the user admin.
start_proxy() {
    launch kubectl-proxy "$bin/kubectl" --kubeconfig=kubeconfig proxy --port=0
    await kubectl-proxy "kubectl proxy" grep -q "^Starting to serve on " kubectl-proxy.log ||
        fail kubectl-proxy "kubectl proxy did not start"
    sed -n 's,^Starting to serve on ,http://,p' kubectl-proxy.log >proxy
}

# By curl: a kubectl costs ten times as much, and the server has much to do while it starts.
get() { # path
    curl -sSf --max-time 20 --cacert ca.crt -H "Authorization: Bearer $(<tokens/admin)" "$(<server)$1"
}

apply_manifests() { # manifest...
    (($#)) || return 0
    local manifest arguments=()
    for manifest; do arguments+=(-f "$manifest"); done
    "${kubectl[@]}" apply "${arguments[@]}" >&2 || fail kubectl "could not apply the manifests"
    if [[ $(get /apis/apiextensions.k8s.io/v1/customresourcedefinitions) == *'"name"'* ]]; then
        "${kubectl[@]}" wait --for=condition=Established --timeout="${start_deadline_s}s" crd --all >/dev/null ||
            fail kubectl "the CRDs were not established"
    fi
}

start_controller_manager() {
    local version serve=(--secure-port=0)
    # Older ones also serve plain HTTP, on a fixed port; newer ones know no such flag.
    version=$("$bin/kube-controller-manager" --version) # Kubernetes v1.20.2
    if [[ $version =~ v1\.([0-9]+) ]] && ((BASH_REMATCH[1] < 24)); then serve+=(--port=0); fi
    # shellcheck disable=SC2086
    launch kube-controller-manager "$bin/kube-controller-manager" --kubeconfig=kubeconfig "${serve[@]}" \
        --controllers=garbagecollector,namespace --leader-elect=false --kube-api-qps=1000 --kube-api-burst=2000 \
        ${KUBE_CONTROLLER_MANAGER_FLAGS:-}
    await kube-controller-manager "garbage collection" collects_garbage ||
        fail kube-controller-manager "kube-controller-manager does not collect garbage"
}

# The proof that it does: an object whose owner never was disappears. (One that was there before the collector may wait
# for long.)
collects_garbage() {
    local name=garbage-$RANDOM
    curl -sSf --cacert ca.crt -H "Authorization: Bearer $(<tokens/admin)" -H "Content-Type: application/json" --data-binary @- \
        "$(<server)/api/v1/namespaces/kube-system/configmaps" <<EOF || return
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "$name", "namespace": "kube-system", "ownerReferences": [
  {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "00000000-0000-0000-0000-000000000000"}]}}
EOF
    for _ in {1..20}; do
        sleep 0.1
        if ! get "/api/v1/namespaces/kube-system/configmaps/$name" && get /readyz; then return; fi
    done
    return 1
}

start() { # dir [manifest...]
    local dir=$1 manifest manifests=()
    shift
    for manifest; do manifests+=("$(realpath -e "$manifest")"); done
    mkdir -p "$dir"
    cd "$dir"
    [[ ! -e pids ]] || { say "$PWD is in use already; cluster.sh stop $PWD first"; exit 1; }
    command -v openssl >/dev/null || { say "openssl is needed, and missing"; exit 1; }
    bin=$("$here/assets.sh")

    deadline_ms=$(($(now_ms) + start_deadline_s * 1000))
    trap '(($? == 0)) || stop .' EXIT
    trap 'exit 1' INT TERM HUP
    umask 077
    # Go's collector, a tenth of the processor time at its default of 100, gets along with half the work.
    export GOGC=${GOGC:-200}
    : >pids
    cat >kubectl <<EOF
#!/bin/sh
export GOGC=400
exec "$bin/kubectl" --kubeconfig="$PWD/kubeconfig" --cache-dir="$PWD/kubectl-cache" "\$@"
EOF
    chmod +x kubectl
    kubectl=(./kubectl --request-timeout="${start_deadline_s}s")

    make_identities
    start_etcd
    start_apiserver
    start_proxy
    apply_manifests "${manifests[@]}"
    start_controller_manager
}

stop() { # dir
    cd "$1"
    end_processes . $stop_deadline_s
    rm -rf etcd etcd:0 etcd:1 tokens tokens.csv ca.key ca.crt ca.srl server.key server.crt \
        service-account.key service-account.pub kubeconfig kubectl kubectl-cache server proxy await.log
}

case ${1:-} in
start) (($# >= 2)) || usage; shift; start "$@" ;;
stop) (($# == 2)) || usage; stop "$2" ;;
*) usage ;;
esac
