#!/bin/bash
# way.pl follows a way through the code, and finds each of its gaps. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")" || exit 1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
passed=0
failed=0

plant() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/watcher" "$tree/reconciler"
	cat >"$tree/watcher/ARCHITECTURE.md" <<-'END'
		| watcher/a.c | `on_bytes`, `cut` | callback `take` |
		| watcher/b.c | `on_line` | calls |
		| watcher/c.c | `keep` | waits in watcher/q.c: `q_put`, `q_take` |
		| watcher/c.c | `on_turn` | kept in `box` |
		| watcher/d.c | `on_box` | the plan |
	END
	printf 'static void cut(struct a *a)\n{\n\ta->take(1);\n}\n\nvoid on_bytes(struct a *a)\n{\n\tcut(a);\n}\n' >"$tree/watcher/a.c"
	printf 'static void on_line(int n)\n{\n\tkeep(n);\n}\nstruct a a = {.take = on_line};\n' >"$tree/watcher/b.c"
	printf 'void keep(int n)\n{\n\tq_put(n);\n}\nstatic void on_turn(void)\n{\n\tbox = q_take();\n}\nstruct b b = {.turn = on_turn};\n' \
		>"$tree/watcher/c.c"
	printf 'void q_put(int n)\n{\n\tq = n;\n}\nint q_take(void)\n{\n\treturn q;\n}\n' >"$tree/watcher/q.c"
	printf 'static void on_box(void)\n{\n}\nvoid start(void)\n{\n\twait_for(1, on_box, 2);\n}\n' >"$tree/watcher/d.c"
}

# expect STATUS TEXT NAME: what way.pl ends with, and says; then the tree is planted anew.
expect() {
	local said status
	said=$(perl ./way.pl "$tree" 2>&1)
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
expect 0 "passes 4 files, in 5 steps" "a way without gaps"
sed -i 's/static void on_line/static void on_text/' "$tree/watcher/b.c"
expect 1 "watcher/b.c does not define on_line" "a function of another name"
sed -i 's/keep(n)/middle(n)/' "$tree/watcher/b.c"
expect 1 "on_line does not call keep of the next row" "a file between two rows"
sed -i 's/\tcut(a)/\t\/* cut(a) *\//' "$tree/watcher/a.c"
expect 1 "on_bytes does not call cut" "a call in a comment"
sed -i 's/->take(1)/->give(1)/' "$tree/watcher/a.c"
expect 1 "cut does not call the callback take" "another callback"
sed -i 's/= on_line/= other/' "$tree/watcher/b.c"
expect 1 "on_line of the next row is no callback" "a callback that nobody sets"
sed -i 's/q_take()/q_other()/' "$tree/watcher/c.c"
expect 1 "no later row calls q_take" "a queue that nobody empties"
sed -i 's/box = /bag = /' "$tree/watcher/c.c"
expect 1 "on_turn does not name box" "another place"
sed -i 's/| calls |/| somehow |/' "$tree/watcher/ARCHITECTURE.md"
expect 1 "is none of the ways" "an unknown way"
for n in $(seq 12); do
	printf 'void on_more(void)\n{\n\ton_more();\n}\n' >"$tree/watcher/more$n.c"
	sed -i "1i | watcher/more$n.c | \`on_more\` | calls |" "$tree/watcher/ARCHITECTURE.md"
done
sed -i 's/on_more();/on_more(), on_bytes(a);/' "$tree/watcher/more1.c"
expect 1 "passes 16 files, expected at most 15" "too many files"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
