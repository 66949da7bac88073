#!/bin/bash
# Runs memory.c over stories: memory.sh STEP TARGET/INPUT… Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
step=$1
shift
passed=0
failed=0
for story in "$@"; do
	out=$("$BUILD/memory/${story%%/*}" -s "$step" "tests/fuzz/corpus/$story" 2>/dev/null)
	read -r p _ f _ <<<"$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' <<<"$out" | tail -n 1)"
	grep -a '^not ok' <<<"$out"
	passed=$((passed + ${p:-0}))
	failed=$((failed + ${f:-1}))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
