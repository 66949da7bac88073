# Prometheus scrapes a run: the dashboard's queries find something, the alert rules hold and are quiet.

# It is ready, on another port when somebody was quicker: Prometheus does not take one of the kernel's choice.
prometheus_ready() {
    local port
    if ! running prometheus; then
        port=$(free_port)
        echo "http://127.0.0.1:$port" >prometheus.at
        launch prometheus "$bin/prometheus" --config.file=prometheus.yml --storage.tsdb.path=prometheus \
            --web.listen-address="127.0.0.1:$port"
    fi
    curl -sSf "$(<prometheus.at)/-/ready"
}

# What Prometheus finds: how many series.
series_of() { # query
    curl -sS --get --data-urlencode "query=$1" "$prometheus/api/v1/query" | jq -e 'if .status == "success"
        then .data.result | length else error(.error) end'
}

finds() { (($(series_of "$1") > 0)); }

start_prometheus() { # job=address...
    local bin job
    bin=$("$root/tests/kubernetes/assets.sh" prometheus)
    {
        printf 'global: {scrape_interval: 2s, evaluation_interval: 2s}\nrule_files: ["%s"]\nscrape_configs:\n' \
            "$root/manifests/dashboards/alerts.yaml"
        for job; do
            printf -- '- {job_name: "%s", static_configs: [{targets: ["%s"], labels: {job: "%s"}}]}\n' \
                "$job" "${job#*=http://}" "${job%%=*}"
        done
    } >prometheus.yml
    wait_for 20 "Prometheus is ready" prometheus_ready
    prometheus=$(<prometheus.at)
    "$bin/promtool" check rules "$root/manifests/dashboards/alerts.yaml"
    (cd "$root/manifests/dashboards" && "$bin/promtool" test rules alerts.test.yaml)
}

# The labels that a query of the dashboard groups by, or that its legend shows, and that no series has which it finds.
labels_missing() { # query legend
    local label
    curl -sS --get --data-urlencode "query=$1" "$prometheus/api/v1/query" >answer
    for label in $({ grep -oP '\bby \(\K[^)]*' <<<"$1"; grep -oP '{{\K[^}]*' <<<"$2"; } | tr -d ' ' | tr ',' '\n' | sort -u); do
        jq -e --arg name "$label" '.data.result | any(.metric | has($name))' answer >/dev/null || echo "$label"
    done
}

has_labels() { [[ -z $(labels_missing "$1" "$2" | tee /dev/stderr) ]]; } # query legend

# Waits until a query of the dashboard finds something.
wait_found() { # seconds query legend
    local query=${2//\$__rate_interval/20s}
    wait_for "$1" "the dashboard finds: $2" finds "$query"
    wait_for "$1" "series have all labels in: $2" has_labels "$query" "$3"
}

# What a process serves, as lines of "kind metric type what". The metrics that have values go to the file labelled, with labels.
metrics_served() { # kind address
    curl -sSf "$2/metrics" >page
    sed -E '/^#/d; s/"([^"\\]|\\.)*"//g; s/ .*//; s/_(bucket|sum|count)(\{.*)?$/\2/; s/=//g; s/\ble\b,?//; s/,\}/}/; s/\{\}//' page |
        sort -u >>labelled
    awk -v kind="$1" '/^# HELP / { what = $0; sub(/^# HELP [^ ]+ /, "", what) }
        /^# TYPE / { print kind, $3, $4, what }' page
}

# The same, of the table in manifests/METRICS.md.
metrics_documented() {
    awk -F ' [|] ' '/^[|] `/ { gsub(/^[|] `|`$/, "", $1); sub(/[{].*/, "", $1); sub(/ [|]$/, "", $4)
        count = split($3, kinds, ", "); for (i = 1; i <= count; i++) print kinds[i], $1, $2, $4 }' "$root/manifests/METRICS.md"
}

run_observability() {
    local query legend metric said i ofpool=()
    own_cluster
    launch_watcher watcher-1 --workers 0 --bus "ipc://$RUN/bus" --http 127.0.0.1:0
    launch_reconciler reconciler --name alone --bus "ipc://$RUN/bus" --http 127.0.0.1:0
    # (which asks whose a token is, as the deployments' do, and counts that)
    launch_barrier barrier --bus "ipc://$RUN/bus" --listen 127.0.0.1:0 --http 127.0.0.1:0
    launch_jobs jobs --http 127.0.0.1:0
    # A standby with a pool, for what only a leader with a pool knows.
    wait_for 20 "the first watcher leads" grep -q "leading as" watcher-1.log
    launch_watcher watcher-2 --workers 1 --http 127.0.0.1:0
    start_prometheus fc-watcher="$(http_address watcher-1)" fc-watcher="$(http_address watcher-2)" \
        fc-reconciler="$(http_address reconciler)" fc-barrier="$(http_address barrier)"
    create 'fw("short"; [role("a"; 2; ends(0; 0))]), fw("long"; [role("a"; 2; {})])'
    wait_completed short 40
    wait_running long
    # Something refused, so that there is something to see: the name is another's.
    k create configmap blocked-attempt >/dev/null
    create 'fw("blocked"; [role("a"; 1; {})])'
    wait_for 60 "the targets are up" finds 'count(up == 1) == 4'
    while IFS=$'\t' read -r query legend; do
        if [[ $query == *_pool_* ]]; then ofpool+=("$query" "$legend"); continue; fi
        wait_found 40 "$query" "$legend"
    done < <(jq -r '.panels[].targets[]? | "\(.expr)\t\(.legendFormat)"' "$root/manifests/dashboards/frameworkcontroller.json")
    # (what the alert rules take for granted of one that leads, and of one that stands by)
    expect "shards that the leader speaks of" "$(curl -sSf "$(http_address watcher-1)/metrics" | grep -c '^frameworkcontroller_shards ')" 1
    expect "shards that the standby speaks of" "$(curl -sSf "$(http_address watcher-2)/metrics" | grep -c '^frameworkcontroller_shards')" 0
    while read -r said; do
        grep -rqF "$said" "$root/watcher" "$root/common/leader" || fail "no watcher says \"$said\""
    done < <(sed -n '/Look for/p' "$root/manifests/dashboards/alerts.yaml" | grep -o '"[^"]*"' | tr -d '"')
    expect "alerts" "$(curl -sS "$prometheus/api/v1/alerts" | jq -r '.data.alerts[] | select(.state == "firing").labels.alertname')" ""
    metrics_served watcher "$(http_address watcher-1)" >served
    metrics_served reconciler "$(http_address reconciler)" >>served
    metrics_served barrier "$(http_address barrier)" >>served
    metrics_served jobs "$(http_address jobs)" >>served
    end_processes . 15 watcher-1
    for ((i = 0; i < ${#ofpool[@]}; i += 2)); do wait_found 60 "${ofpool[i]}" "${ofpool[i + 1]}"; done
    metrics_served watcher "$(http_address watcher-2)" >>served
    expect_lines "the metrics that are served" "$(LC_ALL=C sort -u served)" "$(metrics_documented | LC_ALL=C sort -u)"
    while read -r metric; do
        grep -qF "| \`$metric\` |" "$root/manifests/METRICS.md" || fail "METRICS.md does not have $metric"
    done < <(sort -u labelled)
    grep -q '{.*,' labelled
    # Who else speaks of metrics speaks of these. (In a table, _x is frameworkcontroller_x; of x_* there are some.)
    while read -r metric; do
        if [[ $metric != *_ ]]; then metric+=' '; fi
        grep -q "^[a-z]* $metric" served || fail "there is no metric $metric"
    done < <(sed 's,`_,`frameworkcontroller_,g' \
            "$root"/{README.md,{manifests,barrier,reconciler}/README.md,manifests/dashboards/alerts.yaml} |
        grep -oE '\<(frameworkcontroller|rest_client|workqueue|leader_election)_[a-z_]+' | sed -E 's/_(bucket|sum|count)$//' | sort -u)
}
