#!/bin/bash
# Prints the Debian packages of the libraries that programs link to, by their names in this release:
# packages.sh PROGRAM…; packages.sh --all PROGRAM…: also of the libraries that those load.
set -euo pipefail
all=
if [ "${1:-}" = --all ]; then
	all=1
	shift
fi

libraries=$(for program in "$@"; do
	needed=$(readelf -d "$program" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
	ldd "$program" | while read -r name _ path _; do
		[ "${path:0:1}" = / ] || continue # the kernel's own
		[ -n "$all" ] || grep -qxF "$name" <<<"$needed" || continue
		readlink -f "$path"
	done
done | sort -u)
[ -n "$libraries" ] || exit 0
# dpkg reads the file lists of all packages for each call: one call asks for all libraries. A library may be recorded below / or
# below /usr, so that dpkg does not find one of its two names.
owners=$(sed 'p; s|^/usr||' <<<"$libraries" | sort -u | xargs dpkg-query -S 2>/dev/null) || true
for library in $libraries; do
	awk -v path="$library" -v short="${library#/usr}" '
		BEGIN { status = 1 }
		$NF == path || $NF == short { sub(/:.*/, "", $1); print $1; status = 0 }
		END { exit status }' <<<"$owners" || { echo "packages.sh: no package owns $library" >&2; exit 1; }
done | sort -u
