#!/bin/bash
# Looks at built programs, not at flags: binaries.sh PROGRAM… Each must be position-independent, with its relocations
# read-only before main, bound at once, with no executable stack, no memory both writable and executable, no search
# path of its own, stack canaries, fortified libc calls, landing pads for indirect calls (x86-64), and start no thread.
# Ends with "N passed, N failed".
set -u
passed=0
failed=0

# check WHAT COMMAND…: counts whether the command succeeds.
check() {
	local what=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: $program: $what"
	fi
}
has() { grep -qE -- "$1" <<<"$2"; }
lacks() { ! grep -qE -- "$1" <<<"$2"; }

[ $# -gt 0 ] || { echo "usage: binaries.sh PROGRAM…"; exit 2; }
for program in "$@"; do
	header=$(readelf -hW "$program") || { echo "not ok: $program cannot be read"; exit 1; }
	dynamic=$(readelf -dW "$program")
	segments=$(readelf -lW "$program")
	symbols=$(readelf -W --dyn-syms "$program")
	check "PIE" has 'FLAGS_1.* PIE' "$dynamic"
	check "RELRO" has ' GNU_RELRO ' "$segments"
	check "bound at once" has 'FLAGS_1.* NOW' "$dynamic"
	check "stack not executable" has ' GNU_STACK .* RW +0x' "$segments"
	check "no segment writable and executable" lacks '^ +[A-Z_]+ .* RWE +0x' "$segments"
	check "no RPATH or RUNPATH" lacks '\((RPATH|RUNPATH)\)' "$dynamic"
	check "no relocations in code" lacks '\(TEXTREL\)|FLAGS\).*TEXTREL' "$dynamic"
	check "stack canary" has '__stack_chk_fail' "$symbols"
	check "starts no thread" lacks ' (pthread_create|thrd_create|clone)(@|$)' "$symbols"
	check "fortified" has '__[a-z]+_chk@' "$symbols"
	# The linker keeps the property only if every object has it, and Debian 12's crt1.o has not: so the code is looked at.
	if has 'X86-64' "$header"; then
		main=$(objdump -d --disassemble=main --no-show-raw-insn "$program" | grep -E '^ +[0-9a-f]+:' | head -n 1)
		check "landing pads (-fcf-protection)" has 'endbr64' "$main"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
