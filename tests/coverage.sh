#!/bin/bash
# How much of the pure core the unit tests reach: lines of reconciler/sync and common/framework by gcov, and the moves of
# the two state machines. Fails when a folder is below MINIMUM percent of its lines or a move is never made.
# Called by `make coverage`: tests/coverage.sh BUILD TEST…, with what is built with --coverage in BUILD.
set -eu
cd "$(dirname "$0")/.."

minimum=${MINIMUM:-90}
build=$1
shift
folders=(reconciler/sync common/framework)
report=$(mktemp)
trap 'rm -f "$report"' EXIT

find "$build" -name '*.gcda' -delete
for test; do
	"$test" >"$report" 2>&1 || { cat "$report"; echo "$(basename "$test") failed"; exit 1; }
	sed -n 's/.*\(moves made: .*\)/\1/p' "$report"
done

failed=0
for folder in "${folders[@]}"; do
	# "File 'x.c'" is followed by "Lines executed:97.30% of 120"; headers and what is elsewhere do not count.
	for object in "$build/obj/$folder"/*.o; do
		gcov --no-output --object-directory "$(dirname "$object")" "$object" 2>/dev/null
	done | awk -v folder="$folder" -v minimum="$minimum" '
		/^File / { file = $2; gsub(/\047/, "", file) }
		/^Lines executed:/ && index(file, folder "/") == 1 && file ~ /\.c$/ {
			split($2, part, /[:%]/)
			total += $4
			hit += part[2] * $4 / 100
			printf "%6.1f %% of %4d lines  %s\n", part[2], $4, file
		}
		/^Lines executed:/ { file = "" }
		END {
			if (total == 0) { print folder ": nothing was measured"; exit 1 }
			printf "%6.1f %% of %4d lines  %s: %s\n", 100 * hit / total, total, folder,
				100 * hit < minimum * total ? "below " minimum " %" : "ok"
			exit 100 * hit < minimum * total
		}' || failed=1
done
exit $failed
