# Processes that tests start and end, sourced by cluster.sh and the e2e harness. They are recorded in a file `pids` of a
# directory, by name, process id and start time, so that nothing else is ever ended, whatever became of the ids.

now_ms() { local now=${EPOCHREALTIME/[.,]/}; echo $((now / 1000)); }

# Waits without the start of a process.
exec {never}<> <(:)
pause() { read -rt "$1" -u "$never" || true; } # seconds

# When a process was started, in clock ticks since boot: with its id it names
# the process for good. Fails if there is none.
start_time() { # pid
    local stat fields
    read_stat "$1" || return
    echo "${fields[19]}"
}

# Sets `fields` to those of the process's stat from the third on: proc(5).
read_stat() { # pid
    local IFS=' '
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    stat=${stat##*) }
    # shellcheck disable=SC2206 # they are words
    fields=($stat)
    [[ ${fields[0]} != Z ]]
}

is_alive() { # pid start-time
    local stat fields
    [[ -n $2 ]] && read_stat "$1" && [[ ${fields[19]} == "$2" ]]
}

# Ends the recorded processes (of these names, or all) and nothing else: TERM, and KILL after so many seconds, or as many
# times that as whoever has PATIENCE waits.
end_processes() { # dir seconds [name...]
    [[ -f $1/pids ]] || return 0
    local dir=$1 name pid started deadline signal left
    deadline=$((${EPOCHREALTIME/[.,]/} + $2 * ${PATIENCE:-1} * 1000000))
    shift 2
    signal=TERM
    while :; do
        left=0
        while read -r name pid started; do
            (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
            is_alive "$pid" "$started" || continue
            left=1
            [[ -z $signal ]] || kill "-$signal" "$pid" 2>/dev/null || true
        done <"$dir/pids"
        ((left)) || break
        signal=
        if ((${EPOCHREALTIME/[.,]/} > deadline)); then signal=KILL; fi
        pause 0.02
    done
    (($#)) || rm "$dir/pids"
}

# Runs a server in the working directory, its output in NAME.log.
launch() { # name command...
    local name=$1 pid fd
    shift
    (
        # What the caller has open (locks, pipes someone waits on) is not ours to keep.
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            ((fd < 3)) || eval "exec $fd>&-"
        done
        exec setsid "$@"
    ) </dev/null >"$name.log" 2>&1 &
    pid=$!
    disown # no word from bash when it is killed
    echo "$name $pid $(start_time "$pid")" >>pids
}

running() { # name
    local name pid started
    while read -r name pid started; do
        if [[ $name == "$1" ]] && is_alive "$pid" "$started"; then return; fi
    done <pids
    return 1
}

# A port that was free a moment ago, chosen by the kernel.
free_port() {
    perl -MIO::Socket::INET -e '
        my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die "free port: $!\n";
        print $socket->sockport'
}
