#!/bin/bash
# The programs as they are built, and built once more: in another directory, language and time zone. What is installed must be
# the same to the byte. BUILD, CC and CFLAGS say how they were built. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
passed=0
failed=0

# install_from DIRECTORY BUILD ROOT ENVIRONMENT…
install_from() {
	local directory=$1 build=$2 root=$3
	shift 3
	env -u MAKEFLAGS -u MAKELEVEL "$@" make -s -j"$(nproc)" -C "$directory" CC="${CC:-gcc}" CFLAGS="${CFLAGS:-}" BUILD="$build" \
		install PREFIX=/usr DESTDIR="$room/$root" >"$room/log" 2>&1 || {
		tail -n 20 "$room/log"
		echo "not ok: the build failed"
		exit 1
	}
}
# (what would differ at another time, of which two builds at once may have the same)
if git grep -nE '__(DATE|TIME|TIMESTAMP)__' -- '*.[ch]'; then
	echo "not ok: these sources name the time of the build"
	exit 1
fi
copy=$room/another/place/with/a-longer-name
mkdir -p "$copy"
git ls-files -z | xargs -0 cp --parents -t "$copy" 2>/dev/null
install_from . "${BUILD:-build}" first
install_from "$copy" out second LC_ALL=C.UTF-8 TZ=Asia/Tokyo
while IFS= read -r file; do
	if cmp "$room/first/$file" "$room/second/$file"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: $file differs"
	fi
	if grep -qF "$room" "$room/second/$file"; then
		failed=$((failed + 1))
		echo "not ok: $file names the directory it was built in"
	fi
done < <(cd "$room/first" && find . -type f | sort)
[ "$passed" -gt 4 ] || { echo "not ok: only $passed files were installed"; failed=$((failed + 1)); }
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
