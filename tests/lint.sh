#!/bin/bash
# What the compiler does not check: the format, the direction of includes (ARCHITECTURE.md §2), circles of files, citations,
# clang's warnings, clang-tidy with its analyser, cppcheck. Ends non-zero when anything is found; says how many files it looked at.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

mapfile -t sources < <(git ls-files '*.c' '*.h' 2>/dev/null)
[ ${#sources[@]} -gt 0 ] || mapfile -t sources < <(find common watcher reconciler barrier jobs cli tests -name '*.[ch]')
[ ${#sources[@]} -gt 0 ] || { echo "lint: no sources found"; exit 1; }
mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep '\.c$')
status=0
found() {
	echo "lint: $*"
	status=1
}

# may_include ROOM ALLOWED…: files under ROOM include only what lies under ROOM or ALLOWED, or is a header ALLOWED.
may_include() {
	local room=$1 pattern
	shift
	pattern=$(printf '|%s' "$room" "$@")
	while IFS= read -r line; do
		found "wrong way: $line"
	done < <(printf '%s\n' "${sources[@]}" | grep "^$room/" |
		xargs -r grep -nE '^#include "(common|watcher|reconciler|barrier|jobs|cli|tests)/' |
		grep -vE "#include \"(${pattern:1})[/\"]")
}
may_include common/base
may_include common/kube common/base
may_include common/kube/config common/base common/kube/kubeconfig.h
may_include common/kube/client common/base common/kube/config common/kube/client.h
may_include common/framework common/base
may_include common/serve common/base
may_include common/config common/base common/framework
may_include common/bus common/base common/framework
may_include common/health common/base common/bus common/kube common/serve
may_include common/leader common/base common/config common/kube
may_include common/process common/base common/bus common/config common/kube common/serve
may_include reconciler/sync common/base common/framework common/config/failure.h
may_include watcher/view common
may_include watcher/shards common watcher/view
may_include watcher/pool common
may_include watcher common
may_include reconciler common
may_include barrier common
may_include cli/view common/base common/framework common/config/failure.h
may_include cli common
may_include jobs/kinds common/base common/framework
may_include jobs common

clang-format --dry-run -Werror "${sources[@]}" 2>&1 | head -n 40
[ "${PIPESTATUS[0]}" -eq 0 ] || found "clang-format: run make format"

# What was found to be sound is not looked at again (tests/lint/unit.sh); what it was found by is kept with the build.
LINT_CACHE=${BUILD:-build}/lint
mkdir -p "$LINT_CACHE/cppcheck"
# (a long string in a table may take two lines)
export LINT_CACHE LINT_FLAGS="-std=gnu11 -I. -D_FORTIFY_SOURCE=2 -O1 -Wall -Wextra -Wshadow -Wconversion \
-Wstrict-prototypes -Wmissing-prototypes -Werror -Wno-enum-float-conversion -Wno-string-concatenation"
salt=$(clang --version; echo "$LINT_FLAGS ${LINT_ALL:-}"; cat tests/lint/unit.sh .clang-tidy)
# (the largest ones first: they take the longest)
ls -S -- "${units[@]}" | xargs tests/lint/keys.pl "$salt" | while read -r key file; do
	if [ -e "$LINT_CACHE/$key" ]; then touch "$LINT_CACHE/$key"; else echo "$key" "$file"; fi
done | xargs -r -n 2 -P "$(nproc)" tests/lint/unit.sh || found "clang or clang-tidy"
# (what nobody has asked for in a month goes)
find "$LINT_CACHE" -maxdepth 1 -type f -mtime +30 -delete

# tests/cluster only with LINT_ALL=1: clang-tidy looks at it each time, and `make long` runs it sanitized.
rooms=(common watcher reconciler barrier jobs cli)
# Of the system's headers it sees those whose macros are loops; only our files' #if make configurations (for each of those
# headers', for compilers that we do not have, it would look at all once more: eight times as long).
headers=$LINT_CACHE/headers
mkdir -p "$headers"
ln -sf /usr/include/{uthash,utlist,jansson}.h /usr/include/*/jansson_config.h /usr/include/jansson_config.h "$headers" 2>/dev/null
# Suppressed, because cppcheck does not know what they rest on: uninitvar (uthash's loops; clang's analyser looks at the
# same), resourceLeak and memleak (cleanup attributes; ASan looks at the same), varFuncNullUB (NULL is a pointer in C11
# with glibc).
[ -z "${LINT_ALL:-}" ] || rooms+=(tests/cluster)
cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability --inline-suppr -j "$(nproc)" -I. \
	--cppcheck-build-dir="$LINT_CACHE/cppcheck" \
	--suppress=missingIncludeSystem --suppress=uninitvar --suppress=resourceLeak --suppress=memleak \
	--suppress=varFuncNullUB --suppress=identicalInnerCondition --library=posix \
	--suppress=readdirCalled --suppress=normalCheckLevelMaxBranches -I"$headers" --config-exclude="$headers" --suppress="*:$headers/*" \
	"${rooms[@]}" || found "cppcheck"

tests/rules.sh || found "tests/RULES.md"
tests/documented.sh || found "tests/documented"
tests/model/reviewed.sh || found "tests/model/reviewed"
tests/lint/citations.pl || found "citations"
tests/lint/citations_test.sh || found "tests/lint/citations_test.sh"
tests/lint/circles.pl || found "circles"
tests/lint/circles_test.sh || found "tests/lint/circles_test.sh"
tests/lint/way.pl || found "the way of a Pod event"
tests/lint/way_test.sh || found "tests/lint/way_test.sh"

# clang-format knows C only.
while IFS= read -r line; do
	found "more than 140 characters: $line"
done < <(git ls-files '*.sh' '*.jq' '*.awk' '*.pl' | xargs perl -CSD -ne \
	'chomp; print "$ARGV:$.\n" if length > 140; close ARGV if eof')

# Scenarios have each other's functions: of two of one name the last would serve both. (fail is meant so.)
while IFS= read -r name; do
	found "two functions of the scenarios are called $name"
done < <(cat tests/e2e/lib/*.sh tests/e2e/scenarios/*.sh | grep -oE '^[a-z_0-9]+\(\)' | sort | uniq -d | grep -v '^fail()')

echo "lint: ${#sources[@]} files looked at"
exit "$status"
