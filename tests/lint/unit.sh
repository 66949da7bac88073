#!/bin/bash
# unit.sh FILE.c...: clang's warnings, clang-tidy and clang's analyser over each file, unless the same text has passed before:
# with the project's headers that it includes, the same checks and clang's version. LINT_CACHE names the folder of what has
# passed, LINT_FLAGS the compiler's flags, LINT_WARNINGS its warnings. Of the tests' files only LINT_ALL=1 has the analyser,
# which takes seconds for each.
set -u
read -ra flags <<<"$LINT_FLAGS"
read -ra warnings <<<"$LINT_WARNINGS"
status=0
for file; do
	# "x: file.c a.h \" over several lines; the headers of the system go with clang's version
	read -ra parts < <(clang "${flags[@]}" -MM -MT x "$file" 2>/dev/null | tr -d '\\\n')
	checks=
	[[ $file != tests/* || ${LINT_ALL:-} ]] || checks=-clang-analyzer-*
	key=$({ clang --version; echo "$LINT_FLAGS $LINT_WARNINGS $checks"; cat "$0" .clang-tidy "$file" "${parts[@]:1}"; } | sha256sum | cut -d ' ' -f 1)
	if [ -e "$LINT_CACHE/$key" ]; then
		touch "$LINT_CACHE/$key"
		continue
	fi
	passed=1
	clang "${flags[@]}" "${warnings[@]}" -fsyntax-only "$file" || passed=0
	# Not over unit tests: the analyser does not know that a failed assertion ends the test.
	case $file in
	tests/unit/*) ;;
	*) clang-tidy --quiet --checks="$checks" --warnings-as-errors="*" "$file" -- "${flags[@]}" 2>/dev/null || passed=0 ;;
	esac
	if [ "$passed" = 1 ]; then : >"$LINT_CACHE/$key"; else status=1; fi
done
exit "$status"
