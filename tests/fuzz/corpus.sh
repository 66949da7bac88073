#!/bin/bash
# Runs every target over its corpus: corpus.sh DIRECTORY-OF-PROGRAMS, by $UNDER if that is set. Ends with "N passed, N
# failed"; a target without inputs fails.
set -u
cd "$(dirname "$0")/../.." || exit 1
programs=$1
passed=0
failed=0
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	name=${name#fuzz_}
	# shellcheck disable=SC2086 # several words
	out=$(timeout -k 5 300 ${UNDER:-} "$programs/$name" "tests/fuzz/corpus/$name" 2>&1 </dev/null)
	status=$?
	read -r p _ f _ <<<"$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' <<<"$out" | tail -n 1)"
	p=${p:-0} f=${f:-0}
	[ "$status" -ne 0 ] && [ "$f" -eq 0 ] && f=1
	[ "$f" -gt 0 ] && grep -avE '^[IWE][0-9]{4} ' <<<"$out" | tail -n 60 | sed "s/^/$name: /"
	passed=$((passed + p))
	failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
