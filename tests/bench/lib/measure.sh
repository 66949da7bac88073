# What a row costs: time as a client sees it, CPU and memory of our processes, their requests and bytes. Sourced by
# run.sh.

# Runs a command that prints its own figures as JSON, and adds a line with these and the costs to the row's figures.
measure() { # command...
    sampler_start
    metrics >metrics.before
    bytes >bytes.before
    "$@" >measured.json
    bytes >bytes.after
    metrics >metrics.after
    sampler_end
    figures
}

bench() { # subcommand [options...]
    "$BUILD/fc-bench" --kubeconfig cluster/kubeconfig --frameworks "$frameworks" --tasks "$tasks" "$@"
}

# Adds the API server's processes to fc-bench's arguments.
servers() { # name of the array
    local -n added=$1
    local name file=cluster/pids
    for name in fc-testapi etcd kube-apiserver kube-controller-manager; do
        [[ -z $(pid_of "$name" $file) ]] || added+=(--other "$name=$(pid_of "$name" $file)")
    done
}

# Of everybody else the CPU time is enough to tell who was busy.
sampler_start() {
    local name arguments=()
    for name in $(ours); do arguments+=(--process "$name=$(pid_of "$name")"); done
    [[ -z $(pid_of kubelet) ]] || arguments+=(--other "kubelet=$(pid_of kubelet)")
    servers arguments
    "$BUILD/fc-bench" sample "${arguments[@]}" >sample.json 2>sample.log &
    sampler=$!
    echo "sampler $sampler $(start_time "$sampler")" >>pids # ended with the others when the row fails
    wait_for 10 "the sampler has begun" grep -q sampling sample.log
}

sampler_end() {
    kill "$sampler"
    wait "$sampler"
}

# What the processes say of their work, as lines "process metric value".
metrics() {
    local name
    for name in $(ours); do
        curl -sSfk "$(http_of "$name")/metrics" | awk -v name="$name" '
            # Kubernetes counts requests by host, not by resource.
            /^rest_client_requests_total.*,host=/ { sub(/,host="[^"]*"/, ""); sub(/}/, ",resource=\"\"}") }
            /^(rest_client_requests_total|frameworkcontroller_reconciles_total|frameworkcontroller_barrier_)/ { print name, $1, $2 }'
        if [[ -e counts/$(pid_of "$name") ]]; then
            echo "$name allocations $(od -An -t u8 -N 8 "counts/$(pid_of "$name")" | tr -d ' ')"
        fi
    done
}

# Bytes on the wire of each process's TCP connections, as the kernel counts them: "process sent received". Those that
# were closed before the end are not in it (watches live for minutes, other connections too).
bytes() {
    local name
    for name in $(ours); do
        ss -tinHp | awk -v name="$name" -v pid="pid=$(pid_of "$name")," '
            /^[A-Z]/ { mine = index($0, pid) }
            mine { for (i = 1; i <= NF; i++) { if (split($i, pair, ":") == 2) value[pair[1]] += pair[2] } }
            END { print name, value["bytes_sent"] + 0, value["bytes_received"] + 0 }'
    done
}

# One line of JSON of what was gathered.
figures() {
    jq -cn --arg row "$row" --arg cluster "$CLUSTER" --argjson frameworks "$frameworks" --argjson tasks "$tasks" \
        --argjson workers "$workers" --argjson qps "$qps" --slurpfile measured measured.json --slurpfile sample sample.json \
        --rawfile before metrics.before --rawfile after metrics.after \
        --rawfile bytes_before bytes.before --rawfile bytes_after bytes.after -f "$here/lib/figures.jq" >>figures
}
