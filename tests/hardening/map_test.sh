#!/bin/bash
# Every test that HARDENING.md and SECURITY.md name exists. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0
exists() { # kind name
	case $1 in
	e2e) grep -qE "^(run|alone)_$2\(\)" tests/e2e/scenarios/*.sh ;;
	fuzz) [ -e "tests/fuzz/fuzz_$2.c" ] || [ -e "tests/fuzz/corpus/$2" ] ;;
	mutant) [ -e "tests/sim/mutants/$2.patch" ] ;;
	*) grep -qE "[( \t](test_)?$2[),]" "tests/unit/test_$1.c" 2>/dev/null ;;
	esac
}
while IFS=: read -r kind name; do
	if exists "$kind" "$name"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: $kind:$name is named, and not there"
	fi
done < <(cat tests/HARDENING.md manifests/SECURITY.md | grep -oE '`[a-z0-9_]+:[a-z0-9_][a-z0-9_/-]*`' | tr -d '`' | sort -u)
# every target has its row
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	if grep -qE "^\| .*\`fuzz:${name#fuzz_}\`" tests/HARDENING.md; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: $name has no row in HARDENING.md"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
