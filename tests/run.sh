#!/bin/bash
# What is run before each commit (make check: stage "check"), the whole test run (make test), or all that takes longer
# (make long: stage "long"): every stage, whatever the ones before it said, a line for each with its time, the ten slowest
# tests, what was flaky, and one sum at the end: "N passed, N failed, N skipped". Stages may be named:
# tests/run.sh unit embedded
set -u
cd "$(dirname "$0")/.." || exit 1

passed=0
failed=0
skipped=0
summary=()
tests=$(mktemp) # how long each took
flaky=$(mktemp)
trap 'rm -f "$tests" "$flaky"' EXIT

# run NAME COMMAND…: one stage.
run() {
	local name=$1 log begin=$SECONDS
	shift
	log=$(mktemp)
	echo "==== $name"
	"$@" 2>&1 | tee "$log"
	count "$name" "${PIPESTATUS[0]}" $((SECONDS - begin)) "$log"
}

# A stage whose last line is "N passed, N failed[, N skipped]" adds these, any other counts as one.
count() { # name status seconds log
	local name=$1 status=$2 log=$4 line p f s
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	sed -nE "s/^(ok|ran) ([^ ]+) \\(([0-9.]+) s\\)$/\\3 s $name \\2/p" "$log" >>"$tests"
	sed -nE "s/^flaky: (.*)/flaky: \\1 ($name)/p" "$log" >>"$flaky"
	rm -f "$log"
	if [ -n "$line" ]; then
		read -r p _ f _ s _ <<<"$line"
		[[ $line == *skipped* ]] || s=0
	else
		p=0 f=0 s=0
		[ "$status" -eq 0 ] && p=1
	fi
	[ "$status" -ne 0 ] && [ "$f" -eq 0 ] && f=1
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	summary+=("$(printf '%-13s %5d passed %5d failed %6d s' "$name" "$p" "$f" "$3")")
}

stages=("$@")
[ ${#stages[@]} -eq 0 ] && stages=(build lint unit protocol sim sanitized fuzz memory hardening embedded kubernetes)
jobs=-j$(nproc)
[ "${stages[*]}" = check ] && stages=(build lint unit seeds-few smoke)
[ "${stages[*]}" = long ] && stages=(lint-all model coverage images fuzz-time kubernetes-all large half-open crash-points soak mutants models seeds
	memory-all valgrind fuzz-valgrind analyze campaign e2e-sanitized e2e-valgrind debian-12 debian-13)
for stage in "${stages[@]}"; do
	case $stage in
	build) run build make "$jobs" all ;;
	lint) run lint make "$jobs" lint ;;
	lint-all) run lint-all make "$jobs" lint LINT_ALL=1 ;;
	unit) run unit make "$jobs" test-unit ;;
	model) run model make "$jobs" test-model ;;
	protocol) run protocol make test-protocol ;;
	coverage) run coverage make "$jobs" coverage ;;
	sim) run sim make "$jobs" test-sim ;;
	sanitized) run sanitized make "$jobs" test-unit SANITIZE=address,undefined BUILD=build/sanitized ;;
	fuzz) run fuzz make "$jobs" test-fuzz SANITIZE=address,undefined BUILD=build/sanitized ;;
	# without sanitizers: there an input may take 50 ms
	fuzz-time) run fuzz-time make "$jobs" test-fuzz ;;
	memory) run memory make "$jobs" test-memory ;;
	hardening) run hardening make "$jobs" test-hardening ;;
	images) run images tests/images.sh ;;
	embedded) run embedded make "$jobs" test-e2e ;;
	kubernetes) run kubernetes make "$jobs" test-kubernetes SCENARIOS=@real ;;
	seeds-few) run seeds-few make "$jobs" sim SEEDS=5000 ;;
	smoke) run smoke make "$jobs" test-e2e SCENARIOS=@smoke ;;
	# the long ones
	kubernetes-all) run kubernetes-all make "$jobs" test-kubernetes ;;
	large) run large make test-long ;;
	half-open | crash-points | soak | mutants) run "$stage" make "$stage" ;;
	models) run models make model ;;
	seeds) run seeds make "$jobs" sim SEEDS="${SEEDS:-1000000}" ;;
	memory-all) run memory-all make "$jobs" test-memory STEP=1 ;;
	valgrind | analyze) run "$stage" make "$jobs" "$stage" ;;
	campaign) run campaign make "$jobs" fuzz ;;
	debian-12) run debian-12 tests/distro/run.sh 12 demo test compilers ;;
	debian-13) run debian-13 tests/distro/run.sh 13 demo test compilers arm64 ;;
	fuzz-valgrind | e2e-sanitized | e2e-valgrind) run "$stage" make "$jobs" "test-$stage" ;;
	*)
		echo "unknown stage $stage" >&2
		exit 2
		;;
	esac
done

echo "===="
printf '%s\n' "${summary[@]}"
echo "The slowest tests:"
sort -rn "$tests" | head -n 10
cat "$flaky"
echo "$passed passed, $failed failed, $(wc -l <"$flaky") flaky"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
