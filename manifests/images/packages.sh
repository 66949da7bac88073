#!/bin/bash
# Prints the Debian packages of the libraries that programs link to, by their names in this release:
# packages.sh PROGRAM…; packages.sh --all PROGRAM…: also of the libraries that those load.
set -euo pipefail
all=
if [ "${1:-}" = --all ]; then
	all=1
	shift
fi

# A library may be recorded below / or below /usr.
owner() { # path
	local path
	path=$(readlink -f "$1")
	dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}" 2>/dev/null ||
		{ echo "packages.sh: no package owns $1" >&2; return 1; }
}

for program in "$@"; do
	needed=$(readelf -d "$program" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
	ldd "$program" | while read -r name _ path _; do
		[ "${path:0:1}" = / ] || continue # the kernel's own
		[ -n "$all" ] || grep -qxF "$name" <<<"$needed" || continue
		owner "$path" | cut -d: -f1
	done
done | sort -u
