# Credentials that change while fc-watcher and its reconcilers run: they go on, and nobody restarts them. On a cluster of
# their own; the processes are those of manifests/rbac.

# A token of the service account that is good as long as a Secret of the scenario is there.
bound_token() { # name
    local secret
    secret=$(api POST "/api/v1/namespaces/$ROLES_NAMESPACE/secrets" "{\"metadata\": {\"name\": \"$NS-$1\"}}" | jq -r .metadata.uid)
    api POST "/api/v1/namespaces/$ROLES_NAMESPACE/serviceaccounts/frameworkcontroller/token" \
        "$(jq -n --arg name "$NS-$1" --arg uid "$secret" '{
        apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {expirationSeconds: 86400,
            boundObjectRef: {apiVersion: "v1", kind: "Secret", name: $name, uid: $uid}}}')" | jq -r .status.token
}

# The Secret goes; waits until the server has noticed, which keeps what it knows of a token for 10 s.
revoke_token() { # name token
    api DELETE "/api/v1/namespaces/$ROLES_NAMESPACE/secrets/$NS-$1" >/dev/null
    wait_for 40 "the token $1 is refused" is_refused "$2"
}

is_refused() { # token
    [[ $(curl -s -o /dev/null -w '%{http_code}' --cacert "$CLUSTER_DIR/ca.crt" -H "Authorization: Bearer $1" "$api_server/api") == 401 ]]
}

# A Framework of three Tasks runs to its end.
still_works() { # framework
    create 'fw($name; [role("a"; 3; ends(1; 0))])' --arg name "$1"
    wait_completed "$1" 60
}

launch_renewing() { # name [VARIABLE=VALUE...] -- [arguments...]
    local name=$1 environment=()
    shift
    while [[ $1 != -- ]]; do environment+=("$1"); shift; done
    shift
    launch "$name" env -u KUBECONFIG HOME="$RUN" TMPDIR="$RUN" POD_NAMESPACE="$ROLES_NAMESPACE" \
        "${environment[@]}" "$BUILD/fc-watcher" --config config.yaml --workers 1 "$@"
}

at_work() { # log
    grep -q 'pool-0: .*shards are complete' "$1"
}

# In a Pod: the mount of a service account, whose files are replaced by renaming a symbolic link.
run_credentials_in_cluster() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded server knows no bound tokens"
    local unused=() first second mount pid
    own_cluster
    api_target unused
    mount=$RUN/serviceaccount
    first=$(bound_token first)
    second=$(bound_token second)
    mkdir -p "$mount/1" "$mount/2"
    echo -n "$first" >"$mount/1/token"
    echo -n "$second" >"$mount/2/token"
    echo -n "$ROLES_NAMESPACE" | tee "$mount/1/namespace" >"$mount/2/namespace"
    ln -s 1 "$mount/..data"
    ln -s ..data/token ..data/namespace "$mount"
    # the authority is somebody else's at first
    ln -s ..data/ca.crt "$mount"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout other.key -subj /CN=other -days 2 \
        -out "$mount/1/ca.crt" 2>/dev/null
    cp cluster/ca.crt "$mount/2/ca.crt"
    launch_renewing in-cluster KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT="${api_server##*:}" \
        KUBERNETES_SERVICE_ACCOUNT_DIR="$mount" --
    wait_for 20 "a complaint about the authority" grep -q 'SSL certificate problem' in-cluster.log
    cp cluster/ca.crt "$mount/ca.new"
    mv "$mount/ca.new" "$mount/1/ca.crt"
    wait_for 60 "the authority is read again" at_work in-cluster.log
    still_works before

    ln -s 2 "$mount/..data.new"
    mv -T "$mount/..data.new" "$mount/..data"
    revoke_token first "$first"
    still_works after
    # over HTTP/2 the calls of a process share one connection, however many they are; a stream has its own
    create 'fw("f\(range(20))"; [role("a"; 5; {})])'
    pid=$(pgrep -P "$(awk '$1 == "in-cluster" { print $2 }' pids)" -f fc-reconciler)
    wait_for 30 "all of them run" running_at_least 100
    (($(connections "$pid") <= 2)) || fail "the reconciler has $(connections "$pid") connections"
    # (the complaint about the authority is an error; so is a Lease that this machine did not get to renew)
    expect "errors but for the authority's" "$(grep -E '^E' in-cluster.log | grep -vcE 'SSL certificate problem|leading no longer')" 0
    running in-cluster || fail "it has ended"
}

# Connections of a process to the API server.
connections() { # pid
    local port
    port=$(printf %04X "${api_server##*:}")
    { find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' |
        tr -dc '0-9\n'; echo; awk -v port=":$port" 'index($3, port) && $4 == "01" { print "has", $10 }' "/proc/$1/net/tcp"; } |
        awk '$1 == "has" { if ($2 in ours) count++; next } { ours[$1] = 1 } END { print count + 0 }'
}

# Without HTTP/2, as behind proxies that break it: each call under way has a connection, which the next one uses again.
run_http1() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded server speaks nothing else"
    ((EUID == 0)) || not_here "only root sees the descriptors of a reconciler, which hides its memory"
    local pid
    own_cluster
    launch_renewing http1 DISABLE_HTTP2=1 -- --kubeconfig "$(kubeconfig_of frameworkcontroller)"
    wait_for 60 "all shards are held" at_work http1.log
    create 'fw("f\(range(20))"; [role("a"; 5; {})])'
    pid=$(pgrep -P "$(awk '$1 == "http1" { print $2 }' pids)" -f fc-reconciler)
    wait_for 60 "all of them run" running_at_least 100
    (($(connections "$pid") >= 3)) || fail "the reconciler has $(connections "$pid") connections"
    (($(connections "$pid") <= 34)) || fail "the reconciler has $(connections "$pid") connections"
    still_works after
    expect "errors" "$(grep -E '^E' http1.log | grep -vc 'leading no longer')" 0
}

# A plugin that gives tokens for three seconds each: before that it is asked again, and once the server refuses one.
run_credentials_expiry() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded server knows no bound tokens"
    local unused=() first second
    own_cluster
    api_target unused
    first=$(bound_token first)
    second=$(bound_token second)
    echo "$first" >token
    cat >login <<'END'
#!/bin/sh
cd "$(dirname "$0")"
echo x >>runs
[ ! -e seconds ] || expiry=", \"expirationTimestamp\": \"$(date -u -d "+$(cat seconds) seconds" +%FT%TZ)\""
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "'"$(cat token)"'"'"$expiry"'}}'
END
    chmod +x login
    jq -n --arg server "$api_server" --arg ca "$(base64 -w0 cluster/ca.crt)" '{"current-context": "x",
        contexts: [{name: "x", context: {cluster: "c", user: "u"}}],
        clusters: [{name: "c", cluster: {server: $server, "certificate-authority-data": $ca}}],
        users: [{name: "u", user: {exec: {apiVersion: "client.authentication.k8s.io/v1", command: "./login",
        interactiveMode: "Never"}}}]}' >plugin
    echo 3 >seconds
    launch_renewing expiring -- --kubeconfig plugin
    wait_for 30 "it is at work" at_work expiring.log
    still_works short
    # watcher and reconciler each, several times
    wait_for 30 "the plugin runs again" ran_at_least 6
    # from now on without an end, but for the server's
    rm seconds
    wait_for 30 "the plugin gives one for good" gave_for_good
    echo "$second" >token
    revoke_token first "$first"
    still_works refused
    ! grep '^E' expiring.log | grep -v 'leading no longer' || fail "it reports errors"
    running expiring || fail "it has ended"
}

ran_at_least() { (($(wc -l <runs) >= $1)); } # times

# No more runs for longer than what it gave before lives.
gave_for_good() {
    local before
    before=$(wc -l <runs)
    sleep 4
    (($(wc -l <runs) == before))
}

# A client certificate is replaced by another one: first it is somebody's who may do nothing.
run_credentials_certificate() {
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded server speaks plain HTTP"
    local unused=()
    own_cluster
    keep_control_plane
    api_target unused
    work=$RUN
    client_certificate nobody /CN=nobody
    client_certificate controller "/CN=system:serviceaccount:$ROLES_NAMESPACE:frameworkcontroller"
    cp nobody.crt mine.crt
    cp nobody.key mine.key
    jq -n --arg server "$api_server" '{"current-context": "x", contexts: [{name: "x", context: {cluster: "c", user: "u"}}],
        clusters: [{name: "c", cluster: {server: $server, "certificate-authority": "cluster/ca.crt"}}],
        users: [{name: "u", user: {"client-certificate": "mine.crt", "client-key": "mine.key"}}]}' >certificates
    launch_renewing certified -- --kubeconfig certificates
    wait_for 20 "it may do nothing" grep -q '403 .*"nobody"' certified.log
    cp controller.key mine.key
    cp controller.crt mine.crt
    wait_for 60 "the certificate is read again" at_work certified.log
    still_works certified
    running certified || fail "it has ended"
}
