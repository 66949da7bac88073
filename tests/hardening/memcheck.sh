#!/bin/bash
# Whole processes under valgrind's memcheck, on the embedded cluster: memcheck.sh SCENARIO…. The programs of $BUILD are
# those of tests; in the place of ours stand scripts that run them under valgrind, and the reconcilers that a watcher
# starts. What it finds is in the logs, where run.sh sees it.
set -eu
cd "$(dirname "$0")/../.."
command -v valgrind >/dev/null || { echo "valgrind is not installed: make deps"; exit 1; }
programs=$(realpath "$BUILD")
rooms=$programs/memcheck
rm -rf "$rooms"
mkdir "$rooms"
ln -s "$programs"/fc-* "$programs"/kubectl-framework "$rooms"
for program in fc-watcher fc-reconciler fc-barrier frameworkbarrier fc-jobs; do
	rm -f "$rooms/$program"
	cat >"$rooms/$program" <<EOF
#!/bin/sh
exec valgrind --quiet --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=99 \\
	--trace-children=yes --trace-children-skip='/bin/*,/usr/bin/*' --suppressions='$PWD/tests/hardening/valgrind.supp' \\
	'$programs/$program' "\$@"
EOF
	chmod +x "$rooms/$program"
done
SLOWER=10 PARALLEL=${PARALLEL:-2} BUILD=$rooms tests/e2e/run.sh embedded "$@"
