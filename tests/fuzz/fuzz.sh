#!/bin/bash
# Runs targets under libFuzzer: fuzz.sh SECONDS TARGET…, one after the other ($PARALLEL at a time), from the corpus in
# the tree and what earlier runs found ($BUILD/found/TARGET). Says for each how often it ran, in how much processor time,
# how much code it reached and what it found; inputs that break something are left in $BUILD/broken. After all of them, what
# was found is run without sanitizers ($REPLAYS/TARGET), where an input has 50 ms. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=$1
shift
mkdir -p "$BUILD/broken" "$BUILD/log"
# ASan keeps 256 MiB of freed memory by default, and their page faults take a quarter of the time.
export ASAN_OPTIONS=quarantine_size_mb=16:thread_local_quarantine_size_kb=64${ASAN_OPTIONS:+:$ASAN_OPTIONS}

run_one() {
	local name=$1 seconds=$2 log=$BUILD/log/$1
	mkdir -p "$BUILD/found/$name"
	# of sanitizers, coverage and a busy machine: the 50 ms of an input are looked at afterwards
	local TIMEFORMAT='%U %S'
	{ time "$BUILD/fuzzer/$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 \
		-dict="tests/fuzz/dictionaries/$name.dict" -artifact_prefix="$BUILD/broken/$name-" \
		"$BUILD/found/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 </dev/null; } 2>"$log.cpu"
	echo $? >"$log.status"
}
export -f run_one

printf '%s\n' "$@" | xargs -P "${PARALLEL:-1}" -I{} bash -c 'run_one {} '"$seconds"
passed=0
failed=0
for name in "$@"; do
	log=$BUILD/log/$name
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	reached=$(grep -aoE 'cov: [0-9]+' "$log" | tail -n 1)
	used=$(awk '{print int($1 + $2)}' "$log.cpu")
	inputs=$(find "$BUILD/found/$name" -type f | wc -l)
	# alone, as it looks at times
	if ! timeout -k 5 600 "$REPLAYS/$name" "$BUILD/found/$name" "tests/fuzz/corpus/$name" >"$log.replay" 2>&1 </dev/null; then
		failed=$((failed + 1))
		grep -a '^not ok' "$log.replay" | sed "s/^/$name: /"
	fi
	if [ "$(cat "$log.status")" -eq 0 ]; then
		passed=$((passed + 1))
		echo "$name: ${runs:-?} runs in $used s of processor time, edges reached: ${reached#cov: }, $inputs inputs kept"
	else
		failed=$((failed + 1))
		grep -avE '^INFO: |^[IWE][0-9]{4} |^#[0-9]+[[:space:]]+(NEW|REDUCE|pulse|RELOAD)' "$log" | tail -n 60 | sed "s/^/$name: /"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
