#!/bin/bash
# gcc -fanalyzer and clang's static analyser (the one scan-build runs) over C files: analyze.sh FILE… A finding that is
# wrong has its answer in analyze.answers, which must not have more than there are. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C.UTF-8 # for the quotation marks in messages
answers=tests/hardening/analyze.answers
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export out BUILD
# Those that .clang-tidy leaves out as well, for its reasons.
without=$(printf -- '-Xclang -analyzer-disable-checker=%s ' core.NullDereference unix.Malloc valist.Uninitialized)
export without

run_one() {
	local name=${1//\//-}
	gcc -std=gnu11 -O2 -I. -I"$BUILD/generated" -fanalyzer -fanalyzer-verbosity=0 -c "$1" -o /dev/null >"$out/$name.gcc" 2>&1 ||
		echo "$1:1:1: warning: gcc cannot compile it" >>"$out/$name.gcc"
	# shellcheck disable=SC2086 # several words
	clang -std=gnu11 -I. -I"$BUILD/generated" --analyze -Xclang -analyzer-output=text $without "$1" -o /dev/null >"$out/$name.clang" 2>&1 ||
		echo "$1:1:1: warning: clang cannot compile it" >>"$out/$name.clang"
}
export -f run_one
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c 'run_one {}'

# Without line and column, which move.
mapfile -t findings < <(cat "$out"/*.gcc "$out"/*.clang | grep -E '^[^ ]+: warning: ' | sed -E 's/^([^:]+):[0-9]+:[0-9]+: warning: /\1: /' | sort -u)
failed=0
for finding in "${findings[@]}"; do
	grep -vE '^(#|$)' "$answers" | grep -qxF -- "$finding" && continue
	failed=$((failed + 1))
	echo "not ok: $finding"
done
while IFS= read -r answer; do
	printf '%s\n' "${findings[@]}" | grep -qxF -- "$answer" && continue
	# what another version of a compiler does not find is no fault
	echo "answered, not found any more: $answer"
done < <(grep -vE '^(#|$)' "$answers")
echo "$(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
