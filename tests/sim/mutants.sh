#!/bin/bash
# Shows that the simulator sees: builds it with each deliberate bug of tests/sim/mutants/*.patch in turn, and runs seeds
# until one finds the bug. MUTANTS="name …" picks some, SEEDS is how many are tried at most (10000).
set -u
cd "$(dirname "$0")/../.." || exit 1

build=${BUILD:-build}
seeds=${SEEDS:-10000}
jobs=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

make -s -j"$jobs" BUILD="$build" "$build/fc-sim" || exit 1
# The objects come along, so that only what a patch changes is compiled again.
cp -a --parents Makefile common watcher reconciler barrier tests/sim "$work/"
mkdir "$work/build"
cp -a "$build/obj" "$build"/lib*.a "$build/.settings" "$work/build/"
find "$work/build" -name '*.d' -delete

for patch in tests/sim/mutants/*.patch; do
	name=$(basename "$patch" .patch)
	[ -z "${MUTANTS:-}" ] || [[ " $MUTANTS " == *" $name "* ]] || continue
	rm -rf "$work/$name"
	mkdir "$work/$name"
	cp -a "$work"/{Makefile,common,watcher,reconciler,barrier,tests,build} "$work/$name/"
	if ! patch -s -p1 -d "$work/$name" <"$patch"; then
		echo "$name: the patch does not fit any more"
		failed=$((failed + 1))
		continue
	fi
	make -s -C "$work/$name" BUILD=build build/fc-sim -j"$jobs" >"$work/log" 2>&1 || {
		echo "$name: does not build"
		tail -n 5 "$work/log"
		failed=$((failed + 1))
		continue
	}
	if "$work/$name/build/fc-sim" --seeds "$seeds" --jobs "$jobs" --stop >"$work/log" 2>&1; then
		echo "$name: NOT CAUGHT in $seeds seeds"
		failed=$((failed + 1))
	else
		printf '%-24s %s\n' "$name" "$(grep -m 1 '^seed' "$work/log")"
		passed=$((passed + 1))
	fi
	rm -rf "${work:?}/$name"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
