# The deployments of manifests/deploy, and the original controller's: rendered by the oldest kubectl and by a current one, and
# on a real API server taken by it, and run as written. There are no controllers of Deployments and StatefulSets here and no
# images: the test makes their Pods, whose containers are processes.

DEPLOY_NAMESPACE=frameworkcontroller

# The manifests of a deployment, as the scenario's kubectl renders them.
deployment() { # onepod|namespaced|scaled
    kubectl kustomize "$RUN/manifests/deploy/$1" 2>/dev/null | of_this_server
}

# The manifests as the server knows them: PodDisruptionBudgets were v1beta1 before Kubernetes 1.21.
of_this_server() {
    local older='s,^apiVersion: policy/v1$,apiVersion: policy/v1beta1,'
    if kubectl api-versions | grep -x policy/v1 >/dev/null; then cat; else sed "$older"; fi
}

# A directory with manifests as their users have them: with secrets.
copy_manifests() { # directory
    cp -r "$root/manifests" "$1"
    FC_WATCHER=$BUILD/fc-watcher "$1/deploy/scaled/make-secrets.sh" >/dev/null
}

# What a kubectl makes of a directory, as JSON, an object a line; what it says besides is in FILE.said. Taking off a label
# that nothing has is how it is made JSON without a server.
rendered() { # kubectl directory file
    "$1" kustomize "$2" 2>"$3.said" | "$1" label --local -f - -o json no-label- 2>/dev/null | jq -Sc . >"$3"
}

# For a comparison: without the line breaks in base64, and without the hash that each version of kustomize computes in its
# own way, in the names of what it generates and in volumes. Nothing else may have one.
of_any_kubectl() { # file
    jq -Sc 'def unhashed: sub("-[0-9a-z]{10}$"; "-HASH");
        if .kind == "Secret" then .data |= map_values(gsub("\n"; "")) else . end |
        if .kind == "Secret" or .kind == "ConfigMap" then .metadata.name |= unhashed else . end |
        if .spec.template.spec.volumes then .spec.template.spec.volumes[] |= (
            if .configMap then .configMap.name |= unhashed else . end |
            if .secret then .secret.secretName |= unhashed else . end) else . end' "$1" | sort
}

# Everything in manifests/ that kubectl applies with -k: both kubectls make the same of it, and call nothing deprecated for
# which the other one has no word. (For whoever has manifests in a directory of his own: the kustomization of
# manifests/README.md.)
run_deploy_rendered() {
    local work=$RUN/out/$scenario.work directory name count=0 said lease
    [[ $CLUSTER == embedded ]] || not_here "it needs no cluster"
    mkdir -p "$work/own/frameworkcontroller"
    copy_manifests "$work/own/frameworkcontroller/manifests"
    blocks_of manifests/README.md "yaml kustomization" >"$work/own/kustomization.yaml"
    lease=$("$BUILD/fc-watcher" --help | sed -nE 's/^ *name of the Lease \(default ([a-z-]+)\)$/\1/p')
    while read -r directory; do
        count=$((count + 1))
        name=$work/$(tr / - <<<"${directory#"$work/"}")
        rendered "$OLDEST_KUBECTL" "$directory" "$name.oldest"
        rendered "$CURRENT_KUBECTL" "$directory" "$name.current"
        [[ -s $name.oldest ]] || fail "$directory: nothing is rendered"
        expect_lines "$directory, by the current kubectl" "$(of_any_kubectl "$name.current")" "$(of_any_kubectl "$name.oldest")"
        expect "$directory: what the oldest kubectl says" "$(<"$name.oldest.said")" ""
        said=$(grep -vE "$DEPRECATED" "$name.current.said" || true)
        expect "$directory: what the current kubectl says" "$said" ""
        check_names "$name.current" "$lease"
    done < <(find "$work/own" -name kustomization.yaml -printf '%h\n' | sort)
    ((count >= 11)) || fail "only $count directories were rendered"
    for name in onepod namespaced scaled jobs; do
        check_pods "$work/own-frameworkcontroller-manifests-deploy-$name.current"
    done
    expect "what the namespaces enforce" "$(cat "$work"/*-deploy-*.current "$work"/*-deploy-*.oldest |
        jq -r 'select(.kind == "Namespace").metadata.labels["pod-security.kubernetes.io/enforce"]' | tr '\n' ' ')" \
        "restricted restricted restricted restricted "
    check_restricted "$work/own-frameworkcontroller-manifests-deploy-onepod.current"
}

# Roles name the Lease and the record that there are; what volumes are of is there by the name they have for it.
check_names() { # file lease
    expect "Leases that roles name, $1" \
        "$(jq -r 'select(.kind == "Role") | .rules[] | select(.resources == ["leases"]) | .resourceNames // [] | .[]' "$1")" \
        "$(jq -r --arg lease "$2" \
            'select(.kind == "Role") | {"fc-watcher-lease": $lease, "fc-jobs-lease": "fc-jobs"}[.metadata.name] // empty' "$1")"
    expect "records that roles name, $1" "$(jq -r 'select(.kind == "Role" and (.metadata.name | test("^fc-(watcher|jobs)-lease$"))) |
        .rules[] | select(.resources == ["configmaps"]) | .resourceNames // [] | .[]' "$1")" \
        "$(jq -r --arg lease "$2" \
            'select(.kind == "Role") | {"fc-watcher-lease": "\($lease)-epoch", "fc-jobs-lease": "fc-jobs-epoch"}[.metadata.name] // empty' \
            "$1")"
    expect "what volumes are of, and is not there, $1" \
        "$(jq -sr '[.[] | select(.kind == "ConfigMap" or .kind == "Secret").metadata.name] as $there |
        select(any(.[]; .kind == "ConfigMap")) | [.[].spec.template.spec.volumes // [] | .[] | .configMap.name, .secret.secretName |
            values] - $there | .[]' "$1")" ""
}

# All Pods are admitted where the profile restricted is enforced, and have probes and resources; those that are several
# are spread out, are taken away one by one, and only whom they are there for may connect to them.
check_pods() { # file
    jq -r -L "$here/lib" 'include "restricted"; select(.spec.template) | .metadata.name as $name | .spec.template |
        refused[] | "\($name): \(.)"' "$1" >"$1.refused"
    expect_lines "what is refused where the profile restricted is enforced" "$(<"$1.refused")" ""
    jq -sr '. as $all | $all[] | select(.kind == "StatefulSet" or .kind == "Deployment") |
        .metadata.name as $name | .spec as $spec | $spec.template as {metadata: {labels: $labels}, spec: $pod} |
        ($pod.containers[] | ["a root that is read-only", .securityContext.readOnlyRootFilesystem],
            ["probes", (.livenessProbe and .readinessProbe)],
        ["resources", (.resources | .requests.cpu and .requests.memory and .limits.memory)]),
        (select($spec.replicas > 1) | ["spread", any($pod.topologySpreadConstraints[]; .labelSelector == $spec.selector)],
            ["a PodDisruptionBudget", any($all[]; .kind == "PodDisruptionBudget" and .spec.selector == $spec.selector)],
            ["a NetworkPolicy", any($all[]; .kind == "NetworkPolicy" and (.spec.podSelector.matchLabels // {} | to_entries |
                length > 0 and all($labels[.key] == .value)))]) |
        "\($name): \(.[0]): \(.[1] == true)"' "$1" >"$1.checked"
    expect "what is missing" "$(grep -v ': true$' "$1.checked")" ""
    (($(wc -l <"$1.checked") >= 3)) || fail "only this was looked at: $(<"$1.checked")"
}

# What check_pods goes by lets through what the profile allows, and nothing that it forbids. (Each line is about one rule.)
check_restricted() { # file
    jq -rs -L "$here/lib" 'include "restricted"; def one(f): .spec.containers[0] |= f; def pod(f): .spec.securityContext |= f;
        def own(f): one(.securityContext |= f);
        [.[] | select(.kind == "StatefulSet")][0].spec.template |
        ((.spec.hostNetwork = true), (.spec.hostPID = true), (.spec.hostIPC = true), own(.privileged = true), one(.ports[0].hostPort = 1),
            one(.livenessProbe.httpGet.host = "h"), own(.procMount = "Unmasked"), pod(.windowsOptions.hostProcess = true),
            own(.appArmorProfile.type = "Unconfined"),
        (.metadata.annotations["container.apparmor.security.beta.kubernetes.io/c"] = "unconfined"),
            pod(.seLinuxOptions.type = "spc_t"), pod(.seLinuxOptions.user = "u"), own(.seLinuxOptions.role = "r"),
            pod(.sysctls = [{name: "kernel.msgmax", value: "1"}]),
            (.spec.volumes += [{name: "v", hostPath: {path: "/"}}]), (.spec.volumes += [{name: "v", nfs: {server: "s", path: "/"}}]),
            own(del(.allowPrivilegeEscalation)), own(.allowPrivilegeEscalation = true), pod(del(.runAsNonRoot)), own(.runAsNonRoot = false),
            pod(.runAsUser = 0), own(.runAsUser = 0), pod(del(.seccompProfile)), own(.seccompProfile.type = "Unconfined"),
            own(del(.capabilities)), own(.capabilities.drop = ["NET_RAW"]), own(.capabilities.add = ["SYS_ADMIN"]),
        one(del(.securityContext)),
            (.spec.initContainers = [{name: "i"}]), (.spec.ephemeralContainers = [{name: "e"}]) |
            select(refused == []) | "admitted: \(tojson)"),
        ((.spec.hostNetwork = false), own(.privileged = false), one(.ports[0].hostPort = 0), one(.livenessProbe.httpGet.host = ""),
            own(.procMount = "Default"), own(.appArmorProfile.type = "Localhost"), pod(.seLinuxOptions.type = "container_t"),
            pod(.sysctls = [{name: "net.ipv4.tcp_syncookies", value: "1"}]), (.spec.volumes += [{name: "v", projected: {sources: []}}]),
            (pod(del(.runAsNonRoot)) | own(.runAsNonRoot = true)), own(.runAsUser = 1),
            (pod(del(.seccompProfile)) | own(.seccompProfile.type = "Localhost")), own(.capabilities.add = ["NET_BIND_SERVICE"]),
            (.spec.initContainers = .spec.containers) |
            select(refused != []) | "refused for \(refused): \(tojson)")' "$1" >"$1.restricted"
    expect "what the check of the profile restricted gets wrong" "$(<"$1.restricted")" ""
}

# What a kubelet puts into files for a Pod: ConfigMaps, Secrets, and the token of its service account.
project_files() {
    local kind name account
    for kind in configmap secret; do
        kubectl -n $DEPLOY_NAMESPACE get $kind -o json | jq -c '.items[]' | while read -r object; do
            name=$(jq -r .metadata.name <<<"$object")
            mkdir -p "$RUN/files/$kind/$name"
            jq -r '(.data // {} | keys[])' <<<"$object" | while read -r key; do
                jq -j --arg key "$key" '.data[$key]' <<<"$object" |
                    if [[ $kind == secret ]]; then base64 -d; else cat; fi >"$RUN/files/$kind/$name/$key"
            done
        done
    done
    for account in $(kubectl -n $DEPLOY_NAMESPACE get serviceaccount -o jsonpath='{.items[*].metadata.name}'); do
        mkdir -p "$RUN/files/account/$account"
        api POST "/api/v1/namespaces/$DEPLOY_NAMESPACE/serviceaccounts/$account/token" \
            '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}' |
            jq -j .status.token >"$RUN/files/account/$account/token"
        cp "$CLUSTER_DIR/ca.crt" "$RUN/files/account/$account/ca.crt"
        echo -n $DEPLOY_NAMESPACE >"$RUN/files/account/$account/namespace"
    done
}

# The Pods that the controllers of a cluster would make of stdin. Beside what they say, each has a volume with its service
# account's token, as the admission plugin ServiceAccount adds, and finds the server of this test. Of their volumes only that
# for /tmp is not mounted, below which the programs and files of this test may be.
pods_of() {
    jq -c --arg files "$RUN/files" --arg port "${api_server##*:}" '.items[] | select(.kind == "StatefulSet" or .kind == "Deployment") |
        .metadata.name as $name | .spec as $spec | range(.spec.replicas) | "\($name)-\(.)" as $pod | {
        apiVersion: "v1", kind: "Pod", metadata: ($spec.template.metadata + {name: $pod}),
        spec: ($spec.template.spec | . + {hostname: $pod, subdomain: ($spec.serviceName // "")} |
            if .subdomain == "" then del(.subdomain) else . end |
            .volumes += [{name: "account", projected: {sources: [{serviceAccountToken: {path: "token"}}]}}] |
            .containers |= map(.volumeMounts |= map(select(.mountPath != "/tmp")) + [{name: "account",
        mountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}] |
                .env += [{name: "KUBERNETES_SERVICE_HOST", value: "127.0.0.1"}, {name: "KUBERNETES_SERVICE_PORT", value: $port},
                    {name: "TMPDIR", value: $files}]))}'
}

# A cluster whose Pods of DEPLOY_NAMESPACE are processes.
deploy_cluster() {
    local unused=()
    [[ $CLUSTER == kubernetes ]] || not_here "the embedded API server has neither StatefulSets nor ConfigMaps with data"
    own_cluster
    api_target unused
    end_processes . 5 kubelet
    launch kubelet-scripted "$BUILD/fc-testkubelet" --kubeconfig cluster/kubeconfig --nodes 4 --node-name node \
        --not-namespace $DEPLOY_NAMESPACE
    launch kubelet-real "$BUILD/fc-testkubelet" --kubeconfig cluster/kubeconfig --node-name node-real --mode real \
        --root "$RUN/pods" --image-bin "$BUILD" --volumes "$RUN/files" --only-namespace $DEPLOY_NAMESPACE
}

# Makes the Pods of the file deployment.yaml, which is applied; they are in the file deployed. As the server has completed
# them, one that enforces the profile restricted admits them.
start_pods() {
    project_files
    kubectl apply --dry-run=client -o json -f deployment.yaml | pods_of >deployed
    kubectl -n $DEPLOY_NAMESPACE create -f deployed -o json >created
    expect "what is refused where the profile restricted is enforced" "$(jq -r -L "$here/lib" 'include "restricted";
        if .kind == "List" then .items[] else . end | .metadata.name as $name | refused[] | "\($name): \(.)"' created)" ""
}

# What the server has of the deployment. (Each kubectl notes in its own words what it applied.)
deployed_objects() {
    kubectl get -f deployment.yaml -o json | jq -S '.items[] | del(.status, .metadata.resourceVersion, .metadata.managedFields,
        .metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"])'
}

# Brings a deployment up, by one of the kubectls; for the other one there is nothing left to do.
deploy() { # onepod|namespaced|scaled kubectl
    local other=$OLDEST_KUBECTL
    [[ $2 != "$other" ]] || other=$CURRENT_KUBECTL
    deploy_cluster
    # (its own: the next scenario has the control plane's)
    write_kubectl "$2" kubectl
    kubectl() { "$RUN/kubectl" "$@"; }
    copy_manifests manifests
    # The test has no time to wait.
    printf 'kubeClientQps: 1000\nkubeClientBurst: 1000\n' >>manifests/config/frameworkcontroller.yaml
    if [[ $1 == namespaced ]]; then
        keep_control_plane
        kubectl create namespace team-a
        kubectl create namespace team-b
        restrict_to team-a team-b # (77-namespaces.sh)
    fi
    deployment "$1" >deployment.yaml
    kubectl apply -f manifests/deploy/onepod/namespace.yaml >/dev/null
    kubectl apply --dry-run=server -f deployment.yaml
    kubectl apply -f deployment.yaml >/dev/null
    write_kubectl "$other" other-kubectl
    deployed_objects >deployed.before
    ./other-kubectl apply -f deployment.yaml >/dev/null
    diff -u deployed.before <(deployed_objects) || fail "the other kubectl changes what is deployed, see the diff"
    start_pods
}

# The secrets of deploy/scaled: made, kept, and completed; and no image is built from them.
run_deploy_secrets() {
    local work=$RUN/out/$scenario.work tool said status=0
    [[ $CLUSTER == embedded ]] || not_here "it needs no cluster"
    mkdir "$work" "$work/bin"
    cp "$root/manifests/deploy/scaled/make-secrets.sh" "$work"
    make_secrets() { (cd "$work" && FC_WATCHER=$BUILD/fc-watcher ./make-secrets.sh >"$RUN/out/$scenario.said" 2>&1); }
    sums() { (cd "$work" && find secrets -type f "$@" -exec sha256sum {} + | sort -k 2); }
    make_secrets
    said=$(sums)
    expect "how many files" "$(wc -l <<<"$said")" 8
    expect_match "the certificate" "$(openssl x509 -in "$work/secrets/tls/tls.crt" -noout -text)" \
        'CN ?= ?fc-barrier.*DNS:fc-barrier.frameworkcontroller.svc'
    expect "who may read them" "$(find "$work/secrets" -perm /077 -printf '%P ')" ""
    # (what is there stays)
    make_secrets || fail "it cannot be run twice: $(<"$RUN/out/$scenario.said")"
    expect "what it says the second time" "$(<"$RUN/out/$scenario.said")" ""
    expect_lines "the secrets after the second time" "$(sums)" "$said"
    # What is missing is made: the keys of one name, and the certificate of a key.
    rm -r "$work/secrets/bus/fc-barrier" "$work/secrets/tls/tls.crt"
    make_secrets
    expect_lines "what was not missing" "$(sums -not -path '*/fc-barrier/*' -not -name tls.crt -not -name clients)" \
        "$(grep -vE '/fc-barrier/|tls.crt|clients' <<<"$said")"
    expect "whom the certificate is of" "$(openssl x509 -in "$work/secrets/tls/tls.crt" -noout -pubkey)" \
        "$(openssl pkey -in "$work/secrets/tls/tls.key" -pubout)"
    [[ -s $work/secrets/bus/fc-barrier/client.secret && -s $work/secrets/bus/fc-barrier/server.public ]]
    # Without openssl it says so.
    rm -r "$work/secrets/tls"
    for tool in sh dirname mkdir; do ln -s "$(type -P $tool)" "$work/bin"; done
    said=$(cd "$work" && PATH=$work/bin FC_WATCHER=$BUILD/fc-watcher ./make-secrets.sh 2>&1) || status=$?
    expect_match "its exit status, and what it says, without openssl" "$status $said" '^[1-9][0-9]* .*openssl: .*not found'
    # What it makes, and what README.md has made in the root, is kept from "COPY . .".
    expect_lines "of .dockerignore" "$(grep -xE '(manifests/deploy/scaled/)?(secrets|keys)' "$root/.dockerignore" | sort)" \
        $'keys\nmanifests/deploy/scaled/secrets'
}

deployed_pod() { # name
    jq -c --arg name "$1" 'select(.metadata.name == $name)' deployed
}

pod_ip() { kubectl -n $DEPLOY_NAMESPACE get pod "$1" -o jsonpath='{.status.podIP}'; } # pod

pod_ready() { curl -sSf -m 10 "http://$(pod_ip "$1"):8080/readyz"; } # pod

# What the block "sh leader" of manifests/README.md says. This test's kubelets execute nothing in Pods: what kubectl shall
# gets the environment of the Pod's process.
ask_leader() {
    mkdir -p "$RUN/bin"
    cat >"$RUN/bin/kubectl" <<END
#!/bin/bash -eu
if [[ " \$* " != *" exec "* ]]; then exec "$RUN/kubectl" "\$@"; fi
[[ \$* =~ ^-n\ $DEPLOY_NAMESPACE\ exec\ ([^ ]+)\ --\ (.*)\$ ]]
pod=\${BASH_REMATCH[1]}
for pid in \$(pgrep -x fc-watcher); do
    # (one that has ended, and that nobody waits for, has none)
    mapfile -d '' -t environment 2>/dev/null <"/proc/\$pid/environ" || continue
    if [[ " \${environment[*]} " == *" HOSTNAME=\$pod "* && " \${environment[*]} " == *" TMPDIR=$RUN/files "* ]]; then
        exec env -i "\${environment[@]}" "$BUILD"/\${BASH_REMATCH[2]}
    fi
done
echo "no process of \$pod" >&2
exit 1
END
    chmod +x "$RUN/bin/kubectl"
    PATH=$RUN/bin:$PATH bash -eu <(blocks_of manifests/README.md "sh leader")
}

leader_says() { # pattern
    local said
    said=$(ask_leader)
    echo "$said"
    [[ $said =~ $1 ]]
}

shown_lease() { $(inline_commands manifests/README.md ' get lease ') --no-headers; }

# The Pod that has the Lease; fails when it is just given back.
lease_holder() { kubectl -n $DEPLOY_NAMESPACE get lease frameworkcontroller -o jsonpath='{.spec.holderIdentity}' | cut -d_ -f1 | grep .; }

run_deploy_onepod() {
    deploy onepod "$OLDEST_KUBECTL"
    wait_for 40 "the Pod is ready" pod_ready frameworkcontroller-0
    expect_match "who leads" "$(shown_lease)" '^frameworkcontroller +frameworkcontroller-0_'
    create 'fw("first"; [role("a"; 3; ends(0; 0))])'
    wait_completed first 40
    wait_for 20 "the leader speaks of all" leader_says '^This +frameworkcontroller-0_.*, leads.*pool-3 +[0-9]+ +present '
}

run_deploy_namespaced() {
    local elsewhere=$NS
    deploy namespaced "$CURRENT_KUBECTL"
    wait_for 40 "the Pod is ready" pod_ready frameworkcontroller-0
    for NS in "$elsewhere" team-a team-b; do create 'fw("first"; [role("a"; 3; ends(0; 0))])'; done
    for NS in team-a team-b; do wait_completed first 40; done
    expect "the status elsewhere" "$(NS=$elsewhere framework first .status)" null
}

run_deploy_scaled() {
    local pod
    deploy scaled "$CURRENT_KUBECTL"
    for pod in fc-watcher-{0,1} fc-reconciler-{0..3} fc-barrier-{0,1}; do
        wait_for 60 "$pod is ready" pod_ready "$pod"
    done
    create 'fw("first"; [role("a"; 3; ends(0; 0))]), fw("second"; [role("a"; 2; {})])'
    wait_completed first 40
    wait_running second 40
    # A reconciler is lost, and replaced by its StatefulSet.
    kubectl -n $DEPLOY_NAMESPACE delete pod fc-reconciler-1 --grace-period=0 --force 2>/dev/null
    deployed_pod fc-reconciler-1 | kubectl -n $DEPLOY_NAMESPACE create -f -
    # So is the watcher that leads.
    wait_for 20 "somebody leads" lease_holder
    pod=$(lease_holder)
    expect_match "who leads" "$pod" '^fc-watcher-[01]$'
    expect_match "who leads, as it is shown" "$(shown_lease)" '^frameworkcontroller +fc-watcher-[01]_'
    kubectl -n $DEPLOY_NAMESPACE delete pod "$pod" --wait=true >/dev/null
    deployed_pod "$pod" | kubectl -n $DEPLOY_NAMESPACE create -f -
    patch_framework second '{"spec": {"executionType": "Stop"}}'
    wait_completed second 60
    create 'fw("third"; [role("a"; 3; ends(0; 0))])'
    wait_completed third 60
    for pod in fc-watcher-{0,1} fc-reconciler-{0..3} fc-barrier-{0,1}; do
        wait_for 60 "$pod is ready" pod_ready "$pod"
    done
    wait_for 20 "the leader speaks of all" leader_says '^This +fc-watcher-[01]_.*, leads.*fc-reconciler-3 +- +present '
}

# In place of the original: its StatefulSet, as its users have it, with our image: what is in that is mounted where it is.
run_deploy_in_place() {
    local kubectl
    DEPLOY_NAMESPACE=default
    deploy_cluster
    keep_control_plane
    make -s -C "$root" BUILD="$BUILD" image-controller DESTDIR="$RUN/image"
    kubectl create serviceaccount frameworkcontroller
    kubectl create clusterrolebinding frameworkcontroller --clusterrole=cluster-admin \
        --user=system:serviceaccount:default:frameworkcontroller
    cat >deployment.yaml <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: frameworkcontroller-config, namespace: default}
data:
  frameworkcontroller.yaml: |
    workerNumber: 20
    kubeClientQps: 500
    podFailureSpec:
    - code: -2000
      phrase: MyOwn
      podPatterns:
      - containers:
        - codeRange: {min: 42, max: 42}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: frameworkcontroller, namespace: default}
spec:
  serviceName: frameworkcontroller
  replicas: 1
  selector:
    matchLabels: {app: frameworkcontroller}
  template:
    metadata:
      labels: {app: frameworkcontroller}
    spec:
      serviceAccountName: frameworkcontroller
      containers:
      - name: frameworkcontroller
        image: frameworkcontroller/frameworkcontroller
        workingDir: $RUN/image/opt/frameworkcontroller/frameworkcontroller # the image's own
        command: ["bash", "-c", "cp /frameworkcontroller-config/frameworkcontroller.yaml . && ./start.sh"]
        volumeMounts:
        - {name: frameworkcontroller-config, mountPath: /frameworkcontroller-config}
      volumes:
      - name: frameworkcontroller-config
        configMap: {name: frameworkcontroller-config}
END
    kubectl apply -f deployment.yaml
    blocks_of manifests/README.md "sh restricted" >commands
    for kubectl in "$CURRENT_KUBECTL" "$OLDEST_KUBECTL"; do
        write_kubectl "$kubectl" cluster/kubectl
        $(inline_commands manifests/README.md '^kubectl scale .* --replicas=0') # the original is stopped
        PATH=$CLUSTER_DIR:$PATH bash -eu commands
    done
    expect "Pods of the original" "$(kubectl get statefulset frameworkcontroller -o jsonpath='{.spec.replicas}')" 0
    kubectl scale statefulset/frameworkcontroller --replicas=1
    kubectl get statefulset,configmap -o yaml >deployment.yaml
    start_pods
    create 'fw("own"; [role("a"; 1; ends(0; 42))])'
    wait_completed own 60
    expect "how it ended" "$(framework own '.status.attemptStatus.completionStatus | "\(.code) \(.phrase)"')" "-2000 MyOwn"
}
