#!/bin/bash
# Runs memory.c over stories, on all processors: memory.sh STEP TARGET/INPUT… Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
export step=$1
shift
out=$(mktemp -d)
export out
trap 'rm -rf "$out"' EXIT
passed=0
failed=0

run_one() { # story
	"$BUILD/memory/${1%%/*}" -s "$step" "tests/fuzz/corpus/$1" >"$out/${1//\//.}" 2>/dev/null
}
export -f run_one
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c 'run_one {}'
for story; do
	said=$out/${story//\//.}
	read -r p _ f _ <<<"$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$said" | tail -n 1)"
	grep -a '^not ok' "$said"
	passed=$((passed + ${p:-0}))
	failed=$((failed + ${f:-1}))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
