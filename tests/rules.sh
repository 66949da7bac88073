#!/bin/bash
# Looks whether the tests that RULES.md, and the differences in manifests/README.md, name exist: each word of a row's last two
# columns is a scenario, or a unit test as FILE or FILE:TEST.
set -uf # *e* is no pattern of file names
cd "$(dirname "$0")" || exit 1

status=0
missing() {
	echo "RULES.md: there is no $1 $2"
	status=1
}

scenarios=" $(sed -nE 's/^(run|alone)_([a-z0-9_]+)\(\).*/\2/p' <(find e2e/scenarios -name '*.sh' -exec cat {} +) | tr '\n' ' ')"
rows=0
while IFS='|' read -r _ _ shown units _; do
	rows=$((rows + 1))
	for name in $shown; do
		[ "${name#\*}" != "$name" ] || [[ $scenarios == *" $name "* ]] || missing scenario "$name"
	done
	for name in $units; do
		file=unit/test_${name%%:*}.c
		[ -e "$file" ] || { missing file "$file"; continue; }
		[ "${name#*:}" = "$name" ] || grep -qE "\b(test_)?${name#*:}\(" "$file" || missing "unit test" "$name"
	done
	[ -n "${shown// /}${units// /}" ] || { echo "RULES.md: no test in row $rows"; status=1; }
done < <(grep '^|' RULES.md | grep -vE '^\|(---| rule )'
	sed -n '/^### Differences/,/^## /s/^| //p' ../manifests/README.md | sed 1d | cut -d'|' -f1,3-)
[ "$rows" -gt 100 ] || { echo "RULES.md: only $rows rows were read"; status=1; }
exit $status
