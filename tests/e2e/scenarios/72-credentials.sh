# Credentials as client-go has them (common/kube/kubeconfig.h). Most are shown by frameworkbarrier, which makes one
# request and ends with 0 when it is answered: a Framework without Tasks lets it pass. Whoever tries has one right, in the
# namespace of the scenario: alice may get Frameworks.

# A server that asks who one is, a Framework to be asked for, and alice's token in $token. On the embedded cluster that
# is another server, as the cluster's own lets everybody in.
credentials_world() {
    work=$RUN/out/$scenario.work
    mkdir "$work"
    if [[ $CLUSTER == embedded ]]; then
        CLUSTER_DIR=$work/server
        mkdir -p "$CLUSTER_DIR/tokens"
        echo admin-token >"$CLUSTER_DIR/tokens/admin"
        printf '%s\n' 'admin-token,admin,admin,"system:masters"' 'alice-token,alice,alice,"testapi:get:frameworks"' \
            >"$CLUSTER_DIR/tokens.csv"
        launch "$scenario-server" "$BUILD/fc-testapi" --token-auth-file "$CLUSTER_DIR/tokens.csv" \
            --kubeconfig "$CLUSTER_DIR/kubeconfig"
        wait_for 5 "a server" test -s "$CLUSTER_DIR/kubeconfig"
        api POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions \
            "$("$BUILD/fc-watcher" --print-crd | kubectl create --dry-run=client -o json -f -)" >/dev/null
        api POST /api/v1/namespaces "{\"metadata\": {\"name\": \"$NS\"}}" >/dev/null
        token=alice-token
    else
        token=$(<"$CLUSTER_DIR/tokens/alice")
        k create role reader --verb=get --resource=frameworks.frameworkcontroller.microsoft.com >/dev/null
        k create rolebinding reader --role=reader --user=alice >/dev/null
    fi
    local unused=()
    api_target unused
    wait_for 10 "a Framework" create 'fw("gate"; [])'
}

# Writes a kubeconfig: context x, cluster c and user u, changed by a jq expression.
config() { # file jq-expression [jq arguments...]
    local file=$1 expression=$2 ca=
    shift 2
    [[ $CLUSTER == embedded ]] || ca=$(base64 -w0 "$CLUSTER_DIR/ca.crt")
    mkdir -p "$(dirname "$work/$file")"
    jq -n --arg server "$api_server" --arg ca "$ca" --arg token "$token" "$@" '{
        apiVersion: "v1", kind: "Config", "current-context": "x",
        contexts: [{name: "x", context: {cluster: "c", user: "u"}}],
        clusters: [{name: "c", cluster: ({server: $server} +
            if $ca == "" then {} else {"certificate-authority-data": $ca} end)}],
        users: [{name: "u", user: {}}]} | '"$expression" >"$work/$file"
}

ask() { # kubeconfigs [VARIABLE=VALUE...]
    local kubeconfigs=$1
    shift
    cd "$work"
    exec env -u KUBE_CONTEXT KUBECONFIG="$kubeconfigs" FC_FRAMEWORK_NAMESPACE="$NS" FC_FRAMEWORK_NAME=gate "$@" \
        "$BUILD/frameworkbarrier" --shared-dir "$work/none"
}

# frameworkbarrier gets through with it.
passes() { # what kubeconfigs [VARIABLE=VALUE...]
    local what=$1 pid status=0
    shift
    (ask "$@") >"$work/log" 2>&1 &
    pid=$!
    wait_for 30 "$what lets one through" process_over "$pid"
    wait "$pid" || status=$?
    ((status == 0)) || fail "$what: $(tail -n 3 "$work/log")"
}

process_over() { ! start_time "$1"; } # pid

# It does not, and says why.
refuses() { # what pattern kubeconfigs [VARIABLE=VALUE...]
    local what=$1 pattern=$2 pid
    shift 2
    (ask "$@") >"$work/log" 2>&1 &
    pid=$!
    wait_for 30 "$what: $pattern" grep -qE "$pattern" "$work/log"
    kill "$pid" 2>/dev/null || true
    wait "$pid" || return 0
    fail "$what lets one through"
}

script() { # name line...
    local name=$1
    shift
    mkdir -p "$(dirname "$work/$name")"
    printf '%s\n' '#!/bin/sh' "$@" >"$work/$name"
    chmod +x "$work/$name"
}

run_credentials() {
    credentials_world
    config none .
    refuses "nobody" '40[13] ' none
    config token '.users[0].user = {token: $token}'
    passes "a token" token
    config wrong '.users[0].user = {token: "wrong"}'
    refuses "a wrong token" '401 Unauthorized' wrong
    # a tokenFile goes before a token, is beside its kubeconfig, and may end with a line break
    config sub/file '.users[0].user = {token: "wrong", tokenFile: "my.token"}'
    echo "$token" >"$work/sub/my.token"
    passes "a tokenFile" sub/file
    config contexts '."current-context" = "y" | .contexts += [{name: "y", context: {cluster: "c", user: "w"}}] |
        .users = [{name: "u", user: {token: $token}}, {name: "w", user: {token: "wrong"}}]'
    refuses "the current context" '401 Unauthorized' contexts
    passes "another context" contexts KUBE_CONTEXT=x
    refuses "a context that is none" 'context "z": contexts: found no such context' contexts KUBE_CONTEXT=z
    config password '.users[0].user = {username: "alice", password: $token}'
    refuses "a password" 'username: found one, expected a token' password
    config as '.users[0].user = {token: $admin, as: "alice", "as-groups": ["some"]}' --arg admin "$(<"$CLUSTER_DIR/tokens/admin")"
    passes "impersonation" as
    if [[ $CLUSTER == kubernetes ]]; then
        config as '.users[0].user = {token: $admin, as: "eve"}' --arg admin "$(<"$CLUSTER_DIR/tokens/admin")"
        refuses "impersonation of somebody without rights" '403 .*"eve" cannot get' as
    fi
}

# Each entry is the first file's that has it; paths are relative to their file.
run_credentials_merged() {
    credentials_world
    config one '{users: [{name: "u", user: {tokenFile: "one.token"}}]}'
    echo "$token" >"$work/one.token"
    if [[ $CLUSTER == kubernetes ]]; then
        config far/two '.users[0].user = {token: "wrong"} | .clusters[0].cluster |=
            (del(."certificate-authority-data") | ."certificate-authority" = "pki/ca.crt")'
        mkdir "$work/far/pki"
        cp "$CLUSTER_DIR/ca.crt" "$work/far/pki"
    else
        config far/two '.users[0].user = {token: "wrong"}'
    fi
    config three '."current-context" = "nonesuch" | .clusters[0].cluster.server = "http://127.0.0.1:9"'
    passes "several files" "$work/none:one:far/two:three"
    refuses "the last of them" '401 Unauthorized' far/two
    echo ']' >"$work/broken"
    refuses "a file that is broken" 'broken:1:1: ' "one:broken:far/two"
}

# A plugin's token; what it is told, and what is said when it does not give one.
run_credentials_exec() {
    credentials_world
    local version
    for version in v1 v1beta1; do
        script bin/login 'echo "$KUBERNETES_EXEC_INFO" >info' 'cat' 'echo "$*" >arguments' \
            "printf '{\"kind\": \"ExecCredential\", \"apiVersion\": \"client.authentication.k8s.io/$version\",
                \"status\": {\"token\": \"%s\"}}' \"\$TOKEN\""
        config exec '.users[0].user.exec = {apiVersion: "client.authentication.k8s.io/\($version)", command: "bin/login",
            args: ["a b", "c"], env: [{name: "TOKEN", value: $token}], interactiveMode: "IfAvailable",
            provideClusterInfo: true} | .clusters[0].cluster.extensions =
            [{name: "client.authentication.k8s.io/exec", extension: {audience: "x"}}]' --arg version $version
        passes "a plugin of $version" ./exec
        expect "its arguments" "$(<"$work/arguments")" "a b c"
        jq -e --arg version $version --arg server "$api_server" '.apiVersion == "client.authentication.k8s.io/\($version)" and
            .spec.cluster.server == $server and .spec.cluster.config == {audience: "x"} and .spec.interactive == false and
            (.spec.cluster."certificate-authority-data" | . == null or test("^[A-Za-z0-9+/=]+$"))' "$work/info"
    done
    script bin/login 'echo "please sign in" >&2' 'exit 3'
    refuses "a plugin that fails" 'no credentials: users\["u"\].user.exec of ./exec: ./bin/login exited with 3: please sign in' ./exec
    config exec '.users[0].user.exec = {apiVersion: "client.authentication.k8s.io/v1beta1", command: "nonesuch-login",
        installHint: "See example.com."}'
    refuses "a plugin that is missing" 'command nonesuch-login: not found; See example.com.' exec
}

run_credentials_proxy() {
    credentials_world
    local port scheme
    launch "$scenario-proxy" perl "$root/tests/e2e/lib/proxy.pl" "$work/port"
    wait_for 10 "the proxy" test -s "$work/port"
    port=$(<"$work/port")
    # the name is one of the server's certificate, and the proxy's to look up
    for scheme in http socks5; do
        config proxy '.users[0].user = {token: $token} | .clusters[0].cluster |=
            (.server |= sub("127.0.0.1"; "kubernetes") | ."proxy-url" = "\($scheme)://127.0.0.1:\($port)")' \
            --arg scheme $scheme --arg port "$port"
        passes "a $scheme proxy" proxy http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 no_proxy='*'
    done
    grep -q "^socks5-name kubernetes:${api_server##*:}\$" "$scenario-proxy.log"
    grep -qE "^(connect|get) kubernetes:${api_server##*:}\$" "$scenario-proxy.log"
    if [[ $CLUSTER == kubernetes ]]; then
        config proxy '.users[0].user = {token: $token} | .clusters[0].cluster |= (."tls-server-name" = "kubernetes.default.svc" |
            .server |= sub("127.0.0.1"; "elsewhere") | ."proxy-url" = "http://me:secret@127.0.0.1:\($port)")' --arg port "$port"
        passes "a proxy with a password and tls-server-name" proxy
        grep -q "^connect (Basic bWU6c2VjcmV0) elsewhere:" "$scenario-proxy.log"
        # NO_PROXY is about where the server is, not about its certificate's name
        config proxy '.users[0].user = {token: $token} | .clusters[0].cluster |= (."tls-server-name" = "kubernetes.default.svc" |
            .server |= sub("127.0.0.1"; "elsewhere"))'
        passes "NO_PROXY and tls-server-name" proxy "HTTPS_PROXY=127.0.0.1:$port" NO_PROXY=kubernetes.default.svc
        refuses "NO_PROXY" "Could not resolve host: elsewhere" proxy "HTTPS_PROXY=127.0.0.1:$port" NO_PROXY=elsewhere
        https_proxy
    fi
    # Without a word of it in the kubeconfig, the environment's: for the server's scheme, and not for this machine.
    config proxy '.users[0].user = {token: $token} | .clusters[0].cluster.server |= sub("127.0.0.1"; "kubernetes")'
    scheme=${api_server%%:*}
    passes "a proxy of the environment" proxy "${scheme^^}_PROXY=127.0.0.1:$port" NO_PROXY=10.0.0.0/8,kubernetes.example,kubernetes:1
    refuses "NO_PROXY" "Could not resolve host: kubernetes" proxy "${scheme}_proxy=http://127.0.0.1:$port" \
        "NO_PROXY=example, Kubernetes:${api_server##*:}"
    config local '.users[0].user = {token: $token}'
    passes "this machine" local HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9
    config proxy '.users[0].user = {token: $token} | .clusters[0].cluster."proxy-url" = "http://127.0.0.1:9"'
    refuses "a proxy that is not there" '(Connection refused|Could not connect|Failed to connect)' proxy
    end_processes "$RUN" 2 "$scenario-proxy"
}

# TLS in front of the proxy: its certificate is looked at as the server's is.
https_proxy() {
    launch "$scenario-tls" socat \
        -d -d "OPENSSL-LISTEN:0,bind=127.0.0.1,fork,cert=$CLUSTER_DIR/server.crt,key=$CLUSTER_DIR/server.key,verify=0" \
        "TCP:127.0.0.1:$port"
    wait_for 10 "TLS in front of the proxy" grep -q 'listening on' "$scenario-tls.log"
    https_proxy_config
    passes "an https proxy" proxy
    (($(grep -c "accepting connection" "$scenario-tls.log") == 1)) || fail "not one connection by the https proxy"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
        -days 2 -keyout "$work/own.key" -out "$work/own.crt" 2>/dev/null
    end_processes "$RUN" 2 "$scenario-tls"
    launch "$scenario-tls" socat -d -d "OPENSSL-LISTEN:0,bind=127.0.0.1,fork,cert=$work/own.crt,key=$work/own.key,verify=0" \
        "TCP:127.0.0.1:$port"
    wait_for 10 "another certificate of it" grep -q 'listening on' "$scenario-tls.log"
    https_proxy_config
    refuses "an https proxy that nobody vouches for" 'SSL certificate problem' proxy
    end_processes "$RUN" 2 "$scenario-tls"
}

https_proxy_config() {
    config proxy '.users[0].user = {token: $token} | .clusters[0].cluster |=
        (.server |= sub("127.0.0.1"; "kubernetes") | ."proxy-url" = "https://127.0.0.1:\($port)")' \
        --arg port "$(sed -nE 's/.*listening on .*:([0-9]+)$/\1/p' "$scenario-tls.log")"
}

# A certificate of the cluster's authority: $work/NAME.crt and .key.
client_certificate() { # name subject
    openssl ecparam -name prime256v1 -genkey -noout -out "$work/$1.key"
    openssl req -new -key "$work/$1.key" -subj "$2" -out "$work/$1.csr"
    openssl x509 -req -in "$work/$1.csr" -CA "$CLUSTER_DIR/ca.crt" -CAkey "$CLUSTER_DIR/ca.key" \
        -set_serial "$RANDOM" -days 2 -out "$work/$1.crt" 2>/dev/null
}

run_credentials_tls() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded server speaks plain HTTP"
    local port pid
    credentials_world
    client_certificate alice /CN=alice
    client_certificate eve /CN=eve
    config files '.users[0].user = {"client-certificate": "alice.crt", "client-key": "alice.key"}'
    passes "a client certificate" files
    config data '.users[0].user = {"client-certificate-data": ($cert | @base64), "client-key-data": ($key | @base64)}' \
        --rawfile cert "$work/alice.crt" --rawfile key "$work/alice.key"
    passes "a client certificate inline" data
    config eve '.users[0].user = {"client-certificate": "eve.crt", "client-key": "eve.key"}'
    refuses "somebody else's" '403 .*"eve" cannot get' eve
    config mixed '.users[0].user = {"client-certificate": "alice.crt", "client-key": "eve.key"}'
    refuses "one with another one's key" 'frameworks/gate: .*(key|certificate)' mixed
    jq -n --rawfile cert "$work/alice.crt" --rawfile key "$work/alice.key" '{kind: "ExecCredential",
        apiVersion: "client.authentication.k8s.io/v1", status: {clientCertificateData: $cert, clientKeyData: $key}}' >"$work/given"
    script login "cat $work/given"
    config exec '.users[0].user.exec = {apiVersion: "client.authentication.k8s.io/v1", command: "./login",
        interactiveMode: "Never"}'
    passes "a plugin that gives a certificate" ./exec

    config untrusted '.users[0].user = {token: $token} | .clusters[0].cluster |= del(."certificate-authority-data")'
    refuses "a server that nobody vouches for" 'SSL certificate problem' untrusted
    config insecure '.users[0].user = {token: $token} | .clusters[0].cluster |=
        (del(."certificate-authority-data") | ."insecure-skip-tls-verify" = true)'
    passes "insecure-skip-tls-verify" insecure
    config name '.users[0].user = {token: $token} | .clusters[0].cluster."tls-server-name" = "kubernetes.default.svc"'
    passes "tls-server-name" name
    config name '.users[0].user = {token: $token} | .clusters[0].cluster."tls-server-name" = "other.example"'
    refuses "another tls-server-name" "other.example" name

    # TLS 1.1 is too old
    openssl s_server -accept 127.0.0.1:0 -www -tls1_1 -cipher 'ALL:@SECLEVEL=0' -cert "$CLUSTER_DIR/server.crt" \
        -key "$CLUSTER_DIR/server.key" >"$work/s_server" 2>&1 &
    pid=$!
    wait_for 10 "a server of TLS 1.1" grep -q '^ACCEPT 127.0.0.1:' "$work/s_server"
    port=$(sed -n 's/^ACCEPT 127.0.0.1://p' "$work/s_server")
    config old '.users[0].user = {token: $token} | .clusters[0].cluster.server = "https://127.0.0.1:\($port)"' --arg port "$port"
    refuses "TLS 1.1" '(protocol version|unsupported protocol)' old
    kill "$pid"
}
