#!/bin/bash
# Checks the models of the lease protocol: tests/model/run.sh small (seconds) or full (minutes). Each line below is one
# exhaustive search, which has to find nothing, or has to find what a named error makes wrong. Ends with
# "N passed, N failed". A counterexample is printed, as the steps that lead to it. run.sh counterexample MODEL DEFINITION…
# prints the shortest one, and the variables at its end.
set -u
cd "$(dirname "$0")" || exit 1
size=${1:-small}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
checks=0
# A search may take all the memory there is, but for the small ones.
parallel=1
[ "$size" = full ] || parallel=$(nproc)

# search MODEL FLAG DEFINITION…: in the directory; FLAG is of the compiler.
search() {
	local model=$1 flag=$2
	local -a defines=("${@:3}")
	cp "$model.pml" "$directory/" && cd "$directory" && rm -f ./*.trail pan && spin "${defines[@]/#/-D}" -a "$model.pml" &&
		"${CC:-gcc}" -O1 -w -DSAFETY "$flag" -DMEMLIM="${MODEL_MEGABYTES:-6000}" -o pan pan.c && ./pan -m2000000 -n
}

# replay MODEL DEFINITION…: what the search found.
replay() {
	local model=$1
	shift
	(cd "$directory" && spin "${@/#/-D}" -t "$model.pml")
}

# check holds|fails MODEL DEFINITION…: beside others, each in a directory of its own.
check() {
	[ "$(jobs -rp | wc -l)" -lt "$parallel" ] || wait -n
	checks=$((checks + 1))
	(
		directory=$directory/$checks
		mkdir "$directory"
		said=$(check_alone "$@") && : >"$directory/passed"
		echo "$said"
		find "$directory" -type f -not -name passed -delete
	) &
}

check_alone() {
	local expected=$1 model=$2 log=$directory/log status=fails begin=$SECONDS
	(search "$model" "${HASHED:--DNOHASHED}" "${@:3}") >"$log" 2>&1
	grep -q 'errors: 0$' "$log" && ! grep -qE 'search not completed|max search depth too small|out of memory' "$log" && status=holds
	grep -q 'errors: 1$' "$log" || [ "$status" = holds ] || status=unfinished
	printf '%-10s %-10s %10s states %4d s  %s %s\n' "$model" "$status" \
		"$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$log")" $((SECONDS - begin)) "${*:3}" "${HASHED:+(hashed)}"
	[ "$status" != "$expected" ] || return 0
	echo "expected: $expected"
	if [ "$status" = fails ]; then
		replay "${@:2}" | sed '/^spin: trail ends/q'
	else
		tail -n 20 "$log"
	fi
	return 1
}

if [ "$size" = counterexample ]; then
	shift
	(search "$1" -DBFS "${@:2}") | grep -E 'errors:|states, stored'
	replay "$@"
	exit
fi

fence=(ATTEMPTS=2 HANDOVERS=1 LOSSES=2)
elected=(DELETIONS=0 DEATHS=1 EPOCHS=2)
deleted=(DELETIONS=1 DEATHS=0 EPOCHS=3)
one=(SHARDS=1 STARTS=0 OLDEST=1)

check holds election "${elected[@]}"
check holds election "${deleted[@]}"
check fails election DELETIONS=0 DEATHS=0 EPOCHS=2 MARGIN=0 # one tick less
check fails election DELETIONS=0 DEATHS=0 EPOCHS=2 LEASE=1  # no longer than the leader leads
check fails election DELETIONS=0 DEATHS=0 EPOCHS=2 TERM_FROM_ANSWER
check fails election "${deleted[@]}" RECORD_IGNORED
check fails election "${deleted[@]}" IMPATIENT # one tick less
check fails election "${deleted[@]}" RECORD_OVERWRITTEN
check holds assignment "${one[@]}"
check holds assignment "${one[@]}" MEMBER_FORMER=2 # memberLeaseSec is lowered
check holds assignment "${one[@]}" MEMBER=2 MEMBER_FORMER=1
check holds assignment "${one[@]}" CALM # a shard without holder is held again
check fails assignment "${one[@]}" CALM PATIENCE=2
check fails assignment "${one[@]}" MARGIN=0 # one tick less
check fails assignment "${one[@]}" EPOCH_IGNORED
check fails assignment "${one[@]}" LEASE_FROM_ANSWER
check fails assignment "${one[@]}" VERSION_IGNORED
check fails assignment "${one[@]}" DRAINING_IGNORED
check fails assignment "${one[@]}" FREED_AT_ONCE
check holds fence "${fence[@]}"
check fails fence "${fence[@]}" LATE_HARMLESS # what the manual says may happen
check holds fence "${fence[@]}" LEASES LATE_HARMLESS
check fails fence ATTEMPTS=2 HANDOVERS=2 LOSSES=1 LEASES LATE_HARMLESS FENCE_IGNORED
check fails fence "${fence[@]}" LEASES LATE_HARMLESS UNPERSISTED
check fails fence "${fence[@]}" VERSION_IGNORED
check fails fence "${fence[@]}" UID_IGNORED
check fails fence "${fence[@]}" ADOPTS_ANY

if [ "$size" = full ]; then
	check holds election DELETIONS=1 DEATHS=1 EPOCHS=3
	check holds election DELETIONS=1 DEATHS=1 EPOCHS=3 MEMBER_OTHER=2
	check holds election DELETIONS=2 DEATHS=0 EPOCHS=4
	check holds election DELETIONS=2 DEATHS=0 EPOCHS=3 LOSSES=2
	check holds election DELETIONS=4 DEATHS=0 EPOCHS=3
	check fails election DELETIONS=3 DEATHS=0 EPOCHS=3 LOSSES=0 HOLDS_ON
	check fails election DELETIONS=2 DEATHS=0 EPOCHS=4 UNCONFIRMED
	check fails election DELETIONS=2 DEATHS=0 EPOCHS=4 OVERWRITES
	check holds assignment SHARDS=1 STARTS=1
	check holds assignment SHARDS=1 STARTS=1 CALM
	check holds assignment SHARDS=2 STARTS=0 OLDEST=1
	check holds assignment SHARDS=2 STARTS=0 OLDEST=1 CUT # the number of shards is changed
	check fails assignment SHARDS=2 STARTS=0 OLDEST=1 CUT_IGNORED
	HASHED=-DHC4 check holds assignment SHARDS=2 STARTS=1 OLDEST=1
	check holds fence
	check holds fence LEASES LATE_HARMLESS
fi
wait
passed=$(find "$directory" -name passed | wc -l)
echo "$passed passed, $((checks - passed)) failed"
[ "$passed" -eq "$checks" ]
