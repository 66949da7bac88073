# What runs out under whole processes: file descriptors. (Memory: fuzz/memory.c; disk and forks: unit test resources.)

. "$here/lib/faults.sh"

# A process can open no descriptor any more, as all below the limit are in use, or as many as before: poll(2) takes no more
# than the limit either, so that it must not be 0.
limit_descriptors() { # limit process
    prlimit --pid "$(pid_of "$2")" --nofile="$1:"
}

# The highest descriptor with which a process listens on TCP.
last_listener() { # process
    local fd last=-1
    for fd in "/proc/$(pid_of "$1")"/fd/*; do
        awk -v socket="$(readlink "$fd")" '$4 == "0A" && socket == "socket:[" $10 "]" { found = 1 } END { exit !found }' \
            /proc/net/tcp || continue
        ((last > ${fd##*/})) || last=${fd##*/}
    done
    echo "$last"
}

cpu_ms_of() { # process
    awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / ticks) }' "/proc/$(pid_of "$1")/stat"
}

complains() { grep -q "^[WE].*there are no file descriptors left" "$1"; } # log

# A watcher, a reconciler and their connections to the API server, which are reset and cannot be made anew: nobody ends,
# nobody spins, strangers on HTTP get nowhere, and all goes on when there are descriptors again.
run_no_descriptors() {
    ((EUID == 0)) || not_here "only root sees the descriptors of a watcher, which hides its memory"
    local process used files now
    local -A begun
    apart_cluster
    stop_watcher
    start_proxy proxy fc-watcher
    start_proxy other fc-reconciler
    PROXIED=proxy.kubeconfig
    start_apart_watcher 2
    start_reconciler one --kubeconfig other.kubeconfig
    wait_for 30 "all shards are held" all_shards_held
    record_pods
    submit_many f 10 1 3
    wait_for 20 "Pods run" running_at_least 5

    files=$(prlimit --pid "$(pid_of watcher-2)" --nofile --output SOFT --noheadings)
    # connections to the API server came after the listeners
    limit_descriptors $(($(last_listener watcher-2) + 1)) watcher-2
    limit_descriptors 8 one
    for process in watcher-2 one; do begun[$process]=$(cpu_ms_of $process); done
    now=$(now_ms)
    proxy proxy reset
    proxy other reset
    submit_many g 10 1 3
    for _ in {1..20}; do
        curl -sS -m 0.1 "$WATCHER/healthz" >/dev/null 2>&1 || true
    done
    wait_for 20 "it is said what is missing" complains watcher-2.log
    for process in watcher-2 one; do
        used=$(($(cpu_ms_of $process) - begun[$process]))
        ((used < ($(now_ms) - now) / 3)) || fail "$process used $used ms of processor time in $(($(now_ms) - now)) ms"
    done

    for process in watcher-2 one; do limit_descriptors "$files" "$process"; done
    expect_all_once 20 3
    for process in watcher-2 one; do
        kill -0 "$(pid_of $process)" || fail "$process has ended"
    done
}
