#!/bin/bash
# Shows that the simulator sees: builds it with each deliberate bug of tests/sim/mutants/*.patch in turn, and runs seeds
# until one finds the bug: first the seed in the table of tests/README.md, then all from 1 on. MUTANTS="name …" picks
# some, SEEDS is how many are tried at most (10000). A patch that does not fit any more, or does not build, is a failure
# like a bug that is not found.
set -u
cd "$(dirname "$0")/../.." || exit 1

patches=$PWD/tests/sim/mutants
seeds=${SEEDS:-10000}
jobs=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# One copy, patched and put right again, so that only what a patch changes is compiled again.
git ls-files -z Makefile common watcher reconciler barrier manifests tests | xargs -0 cp -a --parents -t "$work"
cd "$work" || exit 1
make -s -j"$jobs" BUILD=build build/fc-sim >log 2>&1 || {
	cat log
	exit 1
}

# known NAME: the seed in the table, which has a space in thousands; 1 without one.
known() {
	local seed
	seed=$(sed -n "s/^| $1 |.*| \([0-9 ]*\) |\$/\1/p" tests/README.md)
	echo "${seed// /}" | grep . || echo 1
}

# try NAME: builds and runs; prints the seed that fails, and why it fails.
try() {
	local found
	if ! make -s -j"$jobs" BUILD=build build/fc-sim >log 2>&1; then
		echo "$1: does not build"
		tail -n 5 log
		return 1
	fi
	if build/fc-sim --seeds 1 --first "$(known "$1")" >log 2>&1 &&
		build/fc-sim --seeds "$seeds" --jobs "$jobs" --stop >log 2>&1; then
		echo "$1: NOT CAUGHT in $seeds seeds"
		return 1
	fi
	found=$(grep -m 1 '^seed' log)
	[[ $found =~ ^seed\ ([0-9]+)[^:]*:\ (.*) ]] || return 1
	printf '%-24s %5d  %s\n' "$1" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
}

for patch in "$patches"/*.patch; do
	name=$(basename "$patch" .patch)
	[ -z "${MUTANTS:-}" ] || [[ " $MUTANTS " == *" $name "* ]] || continue
	if ! patch -s -p1 --dry-run <"$patch" >log 2>&1; then
		echo "$name: the patch does not fit any more"
		failed=$((failed + 1))
		continue
	fi
	patch -s -p1 <"$patch"
	if try "$name"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	patch -s -R -p1 <"$patch"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
