#!/bin/bash
# circles.pl finds circles of calls and of includes, and nothing else. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")" || exit 1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
passed=0
failed=0

plant() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/watcher" "$tree/barrier"
	printf '#include "watcher/b.h"\nint a(int n);\n' >"$tree/watcher/a.h"
	printf 'int b(int n);\nstruct table {\n\tint (*call)(int n);\n};\n' >"$tree/watcher/b.h"
	printf '#include "watcher/a.h"\n/* c() calls */\nint a(int n)\n{\n\treturn b(n);\n}\n' >"$tree/watcher/a.c"
	printf '#include "watcher/a.h"\nstatic int same(int n)\n{\n\treturn n;\n}\nint b(int n)\n{\n\treturn same(c(n));\n}\n' >"$tree/watcher/b.c"
	printf 'static int same(int n)\n{\n\treturn n;\n}\nint c(int n)\n{\n\tputs("a(1)");\n\treturn same(n);\n}\n' >"$tree/watcher/c.c"
	printf 'const struct table table = {.call = a};\n' >"$tree/watcher/d.c"
}

# expect STATUS TEXT NAME: what circles.pl ends with, and says; then the tree is planted anew.
expect() {
	local said status
	said=$(perl ./circles.pl "$tree" 2>&1)
	status=$?
	if [ "$status" -eq "$1" ] && [[ $said == *"$2"* ]]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: $3: ended with $status and said: $said"
	fi
	plant
}

plant
expect 0 "4 files, 3 functions, 3 calls and includes" "a sound tree"
sed -i 's/return same(n)/return a(n)/' "$tree/watcher/c.c"
expect 1 "circles: watcher/a watcher/b watcher/c" "a circle of three"
sed -i 's/puts("a(1)")/b(1)/' "$tree/watcher/c.c"
expect 1 "watcher/c calls b (watcher/b)" "a circle of two"
sed -i '1i #include "watcher/a.h"' "$tree/watcher/b.h"
expect 1 "watcher/b watcher/b.h includes it (watcher/a)" "headers that include each other"
sed -i 's/puts("a(1)")/if (n > 0)\n\t\tn = a(n)/' "$tree/watcher/c.c"
mv "$tree/watcher/c.c" "$tree/barrier/c.c"
expect 0 "4 files" "another room"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
