#!/bin/bash
# Runs the unit test programs given (each a cmocka program), UNIT_AT_ONCE (2) for each processor at a time, because the longest
# ones wait, and these first (the file longest); and ends with "N passed, N failed, N skipped, N flaky".
# EMULATOR=qemu-aarch64 runs those that were built for another processor.
# A program that crashes or hangs counts as a failure of its own, whatever it had printed before.
set -u

limit_sec=$((300 * ${TEST_SLOW:-1}))
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

run_one() {
	local program=$1 out=$2 name begin
	name=$(basename "$program")
	begin=$(date +%s%N)
	TMPDIR=$out CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 "$limit_sec" ${EMULATOR:-} "$program" >"$out/$name.tap" 2>"$out/$name.err" </dev/null
	echo $? >"$out/$name.status"
	echo "ran $name ($((($(date +%s%N) - begin) / 100000000 * 100)) ms)" >"$out/$name.time"
}
export -f run_one
export limit_sec

longest=$(sed 's|.*|/test_&$|' "$(dirname "$0")/longest")
{ for name in $longest; do printf '%s\n' "$@" | grep "$name"; done; printf '%s\n' "$@" | grep -v "$longest"; } |
	xargs -r -P $((${UNIT_AT_ONCE:-2} * $(nproc))) -I{} bash -c 'run_one {} '"$out"

passed=0
failed=0
skipped=0
flaky=0

# What the program said: adds to the sums, and prints what failed. False: something has.
judge() { # program
	local name status ok skip not_ok
	name=$(basename "$1")
	status=$(cat "$out/$name.status" 2>/dev/null || echo 127)
	ok=$(grep -c '^ok ' "$out/$name.tap")
	# (as cmocka writes it)
	skip=$(grep -cE '^not ok [0-9]+ # SKIP ' "$out/$name.tap")
	not_ok=$(($(grep -c '^not ok ' "$out/$name.tap") - skip))
	if [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then
		not_ok=1
		echo "not ok $name: ended with status $status"
	elif [ "$ok" -eq 0 ] && [ "$not_ok" -eq 0 ] && [ "$skip" -eq 0 ]; then
		not_ok=1
		echo "not ok $name: ran no test"
	fi
	if [ "$not_ok" -gt 0 ]; then
		grep -v '^ok ' "$out/$name.tap" | sed "s/^/$name: /"
		tail -n 60 "$out/$name.err" | sed "s/^/$name: /"
	fi
	[ "$skip" -eq 0 ] || sed -nE "s/^not ok [0-9]+ # SKIP (.*)/$name: skipped \1/p" "$out/$name.tap"
	passed=$((passed + ok))
	skipped=$((skipped + skip))
	failed=$((failed + not_ok))
	[ "$not_ok" -eq 0 ]
}

again=()
for program in "$@"; do judge "$program" || again+=("$program"); done
cat "$out"/*.time | sed -nE 's/^(ran .*\()([0-9]+)([0-9])00 ms\)$/\1\2.\3 s)/p'

# A program or two that failed beside all the others run once more by themselves: what broke because the machine stood
# still passes then, and is counted as flaky.
if [ ${#again[@]} -gt 0 ] && [ ${#again[@]} -le 2 ] && [ $# -gt ${#again[@]} ]; then
	sums=("$passed" "$failed" "$skipped")
	for program in "${again[@]}"; do
		echo "# failed beside others, and once more alone: $(basename "$program")"
		run_one "$program" "$out"
		judge "$program" && printf 'flaky: %s\n' "$(basename "$program")"
	done
	if [ "$failed" -eq "${sums[1]}" ]; then
		sums[1]=0
		flaky=${#again[@]}
	fi
	passed=${sums[0]} failed=${sums[1]} skipped=${sums[2]}
fi
echo "$passed passed, $failed failed, $skipped skipped, $flaky flaky"
[ "$failed" -eq 0 ]
