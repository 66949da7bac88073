#!/bin/bash
# gcc -fanalyzer and clang's static analyser (the one scan-build runs) over C files: analyze.sh FILE…, PARALLEL at a time.
# A finding that is wrong has its answer in analyze.answers; a file that takes longer than FILE_LIMIT_SEC of processor
# time is a finding, too. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C.UTF-8 # for the quotation marks in messages
answers=tests/hardening/analyze.answers
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export out BUILD
export FILE_LIMIT_SEC=${FILE_LIMIT_SEC:-120} # most take less than one
# Those that .clang-tidy leaves out as well, for its reasons.
without=$(printf -- '-Xclang -analyzer-disable-checker=%s ' core.NullDereference unix.Malloc valist.Uninitialized)
export without

# bounded FILE NAME COMMAND…: into $out; that it could not be compiled, or took too long, is said as a finding.
bounded() {
	local file=$1 log=$out/${1//\//-}.$2 name=$2 status
	shift 2
	(
		ulimit -c 0 -t "$FILE_LIMIT_SEC"
		"$@"
	) >"$log" 2>&1
	status=$?
	[ "$status" -eq 0 ] || echo "$file:1:1: warning: $name does not come to an end (status $status)" >>"$log"
}
run_one() {
	local flags=(-std=gnu11 -I. -I"$BUILD/generated")
	bounded "$1" gcc gcc "${flags[@]}" -O2 -fanalyzer -fanalyzer-verbosity=0 -c "$1" -o /dev/null
	# shellcheck disable=SC2086 # several words
	bounded "$1" clang clang "${flags[@]}" --analyze -Xclang -analyzer-output=text $without "$1" -o /dev/null
}
export -f run_one bounded
printf '%s\n' "$@" | xargs -P "${PARALLEL:-$(nproc)}" -I{} bash -c 'run_one {}'

# Without line and column, which move.
mapfile -t findings < <(cat "$out"/*.gcc "$out"/*.clang | grep -E '^[^ ]+: warning: ' |
		sed -E 's/^([^:]+):[0-9]+:[0-9]+: warning: /\1: /' | sort -u)
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
echo "$# files, ${#findings[@]} findings, $((${#findings[@]} - failed)) of them answered"
echo "$(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
