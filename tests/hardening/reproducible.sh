#!/bin/bash
# Two builds in two directories, in two languages and time zones, beside each other: what is installed must be the same to the
# byte. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
passed=0
failed=0

# build DIRECTORY ENVIRONMENT…: from a copy of the sources.
build() {
	local there=$room/$1
	shift
	mkdir -p "$there"
	git ls-files -z | xargs -0 cp --parents -t "$there" 2>/dev/null
	env -u MAKEFLAGS -u MAKELEVEL "$@" make -s -C "$there" BUILD=out install PREFIX=/usr DESTDIR="$there/root" >"$there/log" 2>&1 || {
		tail -n 20 "$there/log"
		echo "not ok: the build failed"
		return 1
	}
}
# (what would differ at another time, of which two builds at once may have the same)
if git grep -nE '__(DATE|TIME|TIMESTAMP)__' -- '*.[ch]'; then
	echo "not ok: these sources name the time of the build"
	exit 1
fi
build first LC_ALL=C TZ=UTC MAKEFLAGS="-j$(nproc)" &
build another/place/with/a-longer-name LC_ALL=C.UTF-8 TZ=Asia/Tokyo MAKEFLAGS= || failed=1
wait $! && [ "$failed" -eq 0 ] || exit 1
while IFS= read -r file; do
	if cmp "$room/first/root/$file" "$room/another/place/with/a-longer-name/root/$file"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: $file differs"
	fi
	if grep -qF "$room" "$room/first/root/$file"; then
		failed=$((failed + 1))
		echo "not ok: $file names the directory it was built in"
	fi
done < <(cd "$room/first/root" && find . -type f | sort)
[ "$passed" -gt 4 ] || { echo "not ok: only $passed files were installed"; failed=$((failed + 1)); }
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
