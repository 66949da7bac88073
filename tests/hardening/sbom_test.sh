#!/bin/bash
# The bill of materials names every program with its hash and every library's package, and is the same twice:
# sbom_test.sh PROGRAM… Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0
check() {
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: sbom: $1: found $2, expected $3"
	fi
}
export SOURCE_DATE_EPOCH=1700000000
text=$(tests/hardening/sbom.sh "$@") || exit 1
check "twice the same" "$(tests/hardening/sbom.sh "$@" | sha256sum)" "$(sha256sum <<<"$text")"
check "version" "$(jq -r .spdxVersion <<<"$text")" SPDX-2.3
check "created" "$(jq -r .creationInfo.created <<<"$text")" 2023-11-14T22:13:20Z
check "programs" "$(jq '.files | length' <<<"$text")" $#
for program in "$@"; do
	check "$program" "$(jq -r --arg name "./$(basename "$program")" \
			'.files[] | select(.fileName == $name) | .checksums[0].checksumValue' <<<"$text")" \
		"$(sha256sum "$program" | cut -d' ' -f1)"
done
# The packages to build with bring the libraries to run with, by Debian's names for them; since Debian 13 some end in
# t64.
for library in libcurl4 libjansson4 libev4 libzmq5 libyaml-0-2 libmicrohttpd12 libgnutls30 libpcre2-8-0 zlib1g libuuid1 libc6; do
	check "$library" "$(jq --arg name $library \
			'[.packages[] | select((.name | rtrimstr("t64")) == $name and (.versionInfo | length) > 0)] | length' <<<"$text")" 1
done
check "ids are unique" "$(jq -r '[.packages[].SPDXID, .files[].SPDXID] | group_by(.) | map(select(length > 1)) | length' <<<"$text")" 0
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
