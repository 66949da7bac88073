#!/bin/bash
# Runs every target over its corpus, on all processors: corpus.sh DIRECTORY-OF-PROGRAMS, by $UNDER if that is set. Ends with
# "N passed, N failed"; a target without inputs fails.
set -u
cd "$(dirname "$0")/../.." || exit 1
programs=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
passed=0
failed=0

run_one() { # name
	# shellcheck disable=SC2086 # several words
	timeout -k 5 300 ${UNDER:-} "$programs/$1" "tests/fuzz/corpus/$1" >"$out/$1" 2>&1 </dev/null
	echo $? >"$out/$1.status"
}
export -f run_one
export programs out

mapfile -t names < <(basename -as .c tests/fuzz/fuzz_*.c | sed 's/^fuzz_//')
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'run_one {}'
for name in "${names[@]}"; do
	status=$(cat "$out/$name.status" 2>/dev/null || echo 127)
	read -r p _ f _ <<<"$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$out/$name" | tail -n 1)"
	p=${p:-0} f=${f:-0}
	[ "$status" -ne 0 ] && [ "$f" -eq 0 ] && f=1
	[ "$f" -gt 0 ] && grep -avE '^[IWE][0-9]{4} ' "$out/$name" | tail -n 60 | sed "s/^/$name: /"
	passed=$((passed + p))
	failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
