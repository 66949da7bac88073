#!/bin/bash
# Unit tests under valgrind's memcheck: valgrind.sh PROGRAM… Errors and definite leaks fail. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v valgrind >/dev/null || { echo "valgrind is not installed: make deps"; exit 1; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export out

run_one() {
	local name
	name=$(basename "$1")
	TMPDIR=$out CMOCKA_MESSAGE_OUTPUT=TAP TEST_MEMCHECK=1 TEST_SLOW=20 timeout -k 5 1200 valgrind --quiet --error-exitcode=99 \
		--leak-check=full \
		--show-leak-kinds=definite --errors-for-leak-kinds=definite --trace-children=no --child-silent-after-fork=yes \
		--suppressions=tests/hardening/valgrind.supp "$1" >"$out/$name" 2>&1 </dev/null
	echo $? >"$out/$name.status"
}
export -f run_one
printf '%s\n' "$@" | xargs -r -P "${PARALLEL:-$(nproc)}" -I{} bash -c 'run_one {}'
passed=0
failed=0
for program in "$@"; do
	name=$(basename "$program")
	if [ "$(cat "$out/$name.status")" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		grep -aE '^==|^not ok|^#' "$out/$name" | head -n 60 | sed "s/^/$name: /"
		echo "not ok: $name: status $(cat "$out/$name.status")"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
