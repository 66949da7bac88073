#!/bin/bash
# What holds of the programs as they are built (run.sh PROGRAM…): how they are hardened, that a build can be repeated,
# what they are made of; and that the tests that documents name are there. Ends with "N passed, N failed".
set -u
here=$(dirname "$0")
passed=0
failed=0

# add OUTPUT: shows what failed, adds up the last line.
add() {
	local p f
	grep -avE '^[0-9]+ passed, ' <<<"$1"
	read -r p _ f _ <<<"$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' <<<"$1" | tail -n 1)"
	passed=$((passed + ${p:-0}))
	failed=$((failed + ${f:-1}))
}
add "$("$here/map_test.sh" 2>&1)"
add "$("$here/binaries.sh" "$@" 2>&1)"
add "$("$here/reproducible.sh" 2>&1)"
add "$("$here/sbom_test.sh" "$@" 2>&1)"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
