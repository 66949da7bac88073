#!/bin/bash
# What is run before each commit (make check: stage "check"), the whole test run (make test), or all that takes longer
# (make long: stage "long"): every stage, whatever the ones before it said, a line for each with its time, the ten slowest
# tests, what was flaky, and one sum at the end: "N passed, N failed, N skipped". Stages may be named, and then run one after
# the other: tests/run.sh unit embedded
set -u
cd "$(dirname "$0")/.." || exit 1

passed=0
failed=0
skipped=0
summary=()
tests=$(mktemp) # how long each took
flaky=$(mktemp)
failures=$(mktemp) # the lines that say what failed, repeated at the end
logs=$(mktemp -d)
background=0
finish() {
	[ "$background" -eq 0 ] || kill -- -"$background" 2>/dev/null
	rm -rf "$tests" "$flaky" "$failures" "$logs"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# The simulator's seeds end when the run is 24 minutes old, and have 2 minutes at least. (On a slow machine all seeds take
# longer than that, as the scenarios leave them little time.)
seconds_for_seeds() {
	local left=$((1440 - SECONDS))
	echo $((left < 120 ? 120 : left))
}

jobs=-j$(nproc)
command_of() { # stage
	case $1 in
	build) command=(make "$jobs" all) ;;
	lint) command=(make "$jobs" lint) ;;
	lint-all) command=(make "$jobs" lint LINT_ALL=1) ;;
	unit) command=(make "$jobs" test-unit) ;;
	unit-plain) command=(make "$jobs" test-unit-plain) ;;
	model) command=(make "$jobs" test-model) ;;
	protocol) command=(make test-protocol) ;;
	coverage) command=(make "$jobs" coverage) ;;
	assets) command=(tests/kubernetes/assets.sh) ;;
	sim) command=(make "$jobs" test-sim SECONDS="$(seconds_for_seeds)") ;;
	sanitized) command=(make "$jobs" test-unit SANITIZE=address,undefined BUILD=build/sanitized) ;;
	fuzz) command=(make "$jobs" test-fuzz SANITIZE=address,undefined BUILD=build/sanitized) ;;
	# without sanitizers: there an input may take 50 ms
	fuzz-time) command=(make "$jobs" test-fuzz) ;;
	memory) command=(make "$jobs" test-memory) ;;
	hardening) command=(make "$jobs" test-hardening) ;;
	images) command=(tests/images.sh) ;;
	embedded) command=(make "$jobs" test-e2e) ;;
	kubernetes) command=(make "$jobs" test-kubernetes SCENARIOS=@real) ;;
	seeds-few) command=(make "$jobs" sim SEEDS=5000) ;;
	smoke) command=(make "$jobs" test-e2e SCENARIOS=@smoke) ;;
	# the long ones
	kubernetes-all) command=(make "$jobs" test-kubernetes) ;;
	large) command=(make test-long) ;;
	half-open | crash-points | soak | mutants) command=(make "$1") ;;
	models) command=(make model) ;;
	seeds) command=(make "$jobs" sim SEEDS="${SEEDS:-1000000}") ;;
	memory-all) command=(make "$jobs" test-memory STEP=1) ;;
	valgrind | analyze) command=(make "$jobs" "$1") ;;
	campaign) command=(make "$jobs" fuzz) ;;
	debian-12) command=(tests/distro/run.sh 12 demo test compilers) ;;
	debian-13) command=(tests/distro/run.sh 13 demo test compilers arm64) ;;
	fuzz-valgrind | e2e-sanitized | e2e-valgrind) command=(make "$jobs" "test-$1") ;;
	*)
		echo "unknown stage $1" >&2
		exit 2
		;;
	esac
}

# Each "not ok" of a stage with what follows it; its last lines when it has none.
say_failures() { # stage
	echo "Failed in $1:"
	if grep -qE '(^|: )not ok ' "$logs/$1"; then
		grep -E -A 40 --no-group-separator '(^|: )not ok ' "$logs/$1" | grep -v '# SKIP' | head -n 150
	else
		tail -n 20 "$logs/$1"
	fi
}

# A stage whose last line is "N passed, N failed[, N skipped]" adds these, any other counts as one.
count() { # name status
	local name=$1 status=$2 log=$logs/$1 line p f s real user system
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	sed -nE "s/^(ok|ran) ([^ ]+) \\(([0-9.]+) s\\)$/\\3 s $name \\2/p" "$log" >>"$tests"
	sed -nE "s/^flaky: (.*)/flaky: \\1 ($name)/p" "$log" >>"$flaky"
	if [ -n "$line" ]; then
		read -r p _ f _ s _ <<<"$line"
		[[ $line == *skipped* ]] || s=0
	else
		p=0 f=0 s=0
		[ "$status" -eq 0 ] && p=1
	fi
	[ "$status" -ne 0 ] && [ "$f" -eq 0 ] && f=1
	[ "$f" -eq 0 ] || say_failures "$name" >>"$failures"
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	read -r real user system <"$logs/$name.time"
	summary+=("$(printf '%-13s %5d passed %5d failed %6.0f s, CPU %5.0f s and %5.0f of the system%s' \
		"$name" "$p" "$f" "$real" "$user" "$system" "${3:-}")")
}

# Of processes that outlive the command nobody counts the time.
timed() { # stage command...
	local TIMEFORMAT='%R %U %S'
	{ time "${@:2}" 2>&1; } 2>"$logs/$1.time"
}

run() { # stage
	command_of "$1"
	echo "==== $1"
	timed "$1" "${command[@]}" | tee "$logs/$1"
	count "$1" "${PIPESTATUS[0]}"
}

# Stages that need the processors take them while others wait: one after the other, at the lowest priority, in a process
# group of their own. What they say follows when all are over.
run_beside() { # stage...
	(($#)) || return 0
	set -m
	for stage; do
		command_of "$stage"
		timed "$stage" nice -n 19 "${command[@]}" >"$logs/$stage" </dev/null
		echo $? >"$logs/$stage.end"
	done &
	set +m
	background=$!
}

join_beside() { # stage...
	local status
	(($#)) || return 0
	wait "$background"
	background=0
	for stage; do
		echo "==== $stage"
		cat "$logs/$stage"
		read -r status <"$logs/$stage.end" || status=1
		[ -s "$logs/$stage.time" ] || echo 0 0 0 >"$logs/$stage.time"
		count "$stage" "$status" " (beside)"
	done
}

# Whole processes mostly wait, and so do some unit tests: beside them runs what only computes. (Unit tests do not run beside:
# on a slow machine they would hardly run at that priority, and some of them wait for no more than a minute.)
beside=()
case "$*" in
'')
	first=(build)
	stages=(lint unit-plain sanitized fuzz embedded kubernetes)
	beside=(assets protocol memory hardening sim)
	export UNIT_AT_ONCE=3 # most of them wait
	;;
check)
	first=(build)
	stages=(lint unit)
	beside=(smoke seeds-few)
	export UNIT_AT_ONCE=3
	;;
long)
	first=()
	stages=(lint-all unit model coverage images fuzz-time kubernetes-all large half-open crash-points soak mutants models seeds
		memory-all valgrind fuzz-valgrind analyze campaign e2e-sanitized e2e-valgrind debian-12 debian-13)
	;;
*)
	first=()
	stages=("$@")
	;;
esac
for stage in "${first[@]}" "${stages[@]}" "${beside[@]}"; do command_of "$stage"; done
for stage in "${first[@]}"; do run "$stage"; done
run_beside "${beside[@]}"
for stage in "${stages[@]}"; do run "$stage"; done
join_beside "${beside[@]}"

echo "===="
printf '%s\n' "${summary[@]}"
echo "The slowest tests:"
sort -rn "$tests" | head -n 10
cat "$failures" "$flaky"
echo "$passed passed, $failed failed, $(wc -l <"$flaky") flaky"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
