#!/bin/bash
# unit.sh KEY FILE.c...: clang's warnings, clang-tidy and clang's analyser over each file that has passed under its KEY
# (keys.pl). LINT_CACHE names the folder of what has passed, LINT_FLAGS the compiler's flags and warnings.
# LINT_ALL=1 gives the analyser as much time as it would take by itself, and the tests' files, too. Otherwise it follows
# 20 000 states of each function of the programs instead of 225 000: it reaches 94 to 95 % of all blocks either way (by
# debug.Stats, over every sixth file), in an eighth of the time.
set -u
read -ra flags <<<"$LINT_FLAGS"
status=0
while (($#)); do
	key=$1 file=$2
	shift 2
	checks='clang-diagnostic-*'
	limit=(-Xclang -analyzer-config -Xclang max-nodes=20000)
	[[ -z ${LINT_ALL:-} ]] || limit=()
	[[ $file != tests/* || ${LINT_ALL:-} ]] || checks+=',-clang-analyzer-*'
	# Unit tests have only the warnings: the analyser does not know that a failed assertion ends the test.
	case $file in
	tests/unit/*) clang "${flags[@]}" -fsyntax-only "$file" ;;
	*) clang-tidy --quiet --checks="$checks" --warnings-as-errors="*" "$file" -- "${flags[@]}" "${limit[@]}" 2>/dev/null ;;
	esac && : >"$LINT_CACHE/$key" || status=1
done
exit "$status"
