#!/bin/bash
# citations.pl finds each kind of mistake, and nothing else: a small tree is checked as it is, and then with one change at a time.
# Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")" || exit 1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
passed=0
failed=0

plant() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/common/base" "$tree/watcher"
	cat >"$tree/RULES.md" <<-'END'
		# Rules
		## 1 First
		- **1.1** A statement; see 2.1 and §2.
		## 2 Second
		- **2.1** Another one.
		Code: `mem_alloc`, `sizes` in common/base/mem.c (1.1, 2.1). In common/base/mem.c: `mem_free` (2.1); the callers of
		`mem_alloc` in watcher/main.c (1.1).
	END
	printf '# Base\n## 1 One\n## Operating it\n' >"$tree/common/README.md"
	printf '# Watcher\n## 1 One\n[a](#1-one) [b](../common/README.md#operating-it) [c](main.c)\n' >"$tree/watcher/README.md"
	cat >"$tree/common/base/mem.c" <<-'END'
		/* See RULES.md §1.1, §2 and common/README.md "Operating it"; RFC 8259 §7. It goes on in RULES.md
		 * §2.1. */
		static const int sizes[] = {1, 2};
		void *mem_alloc(int size)
		{
			return malloc(size);
		}
		void mem_free(void *memory)
		{
			free(memory);
		}
	END
	printf 'int main(void)\n{\n\tmem_alloc(1);\n}\n' >"$tree/watcher/main.c"
}

# expect STATUS TEXT NAME: what citations.pl ends with, and says, of the tree as it is now; then it is planted anew.
expect() {
	local said status
	said=$(perl ./citations.pl "$tree" 2>&1)
	status=$?
	if [ "$status" -eq "$1" ] && [[ $said == *"$2"* ]]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: $3: ended with $status and said: $said"
	fi
	plant
}
# change NAME FILE SED TEXT: after this change TEXT is said.
change() {
	sed -i "$3" "$tree/$2"
	expect 1 "$4" "$1"
}

plant
expect 0 "5 files, 12 citations, 4 functions" "a sound tree"
change "a section that is not there" common/base/mem.c 's/§1.1/§1.7/' "common/base/mem.c:1: RULES.md has no §1.7"
change "a list that goes on" common/base/mem.c 's/§2 and/§3 and/' "RULES.md has no §3"
change "a citation over two lines" common/base/mem.c 's/§2\.1/§2.9/' "RULES.md has no §2.9"
change "a document that is not there" common/base/mem.c 's/RULES.md/RULEZ.md/' "RULEZ.md: there is no such document"
change "a name that two documents have" common/base/mem.c 's,common/README.md,README.md,' "README.md: there are several"
change "a heading that is not there" common/base/mem.c 's/Operating it/Repairing it/' 'has no heading "Repairing it"'
change "a link to no file" watcher/README.md 's/main.c/mane.c/' "watcher/README.md:3: there is no mane.c"
change "a link to no heading" watcher/README.md 's/#1-one/#2-two/' "watcher/README.md has no heading for #2-two"
change "a link to no heading elsewhere" watcher/README.md 's/#operating/#repairing/' "common/README.md has no heading for #repairing-it"
change "a section of no document" common/base/mem.c 's/RULES.md §1.1/§1.1/' "§ of which document?"
change "a section of its own" RULES.md 's/see 2.1 and §2/see §8/' "RULES.md has no §8"
for name in FRAME'WORK.md' DES'IGN.md' ST'YLE.md' PIT'FALLS.md' PIT'FALLS'; do
	change "a document from elsewhere" watcher/main.c "1i /* $name */" "$name is not part of the project"
done
change "a function that is not there" common/base/mem.c 's/mem_alloc(int/mem_get(int/' "common/base/mem.c does not define mem_alloc"
change "a function that is only called" RULES.md 's,`sizes` in common/base/mem.c,`mem_alloc` in watcher/main.c,' \
	"watcher/main.c does not define mem_alloc"
change "a table that is not there" common/base/mem.c 's/sizes\[\]/lengths[]/' "does not define sizes"
change "a function in the file of a sentence" common/base/mem.c 's/mem_free(void \*/mem_drop(void */' "does not define mem_free"
change "a caller that is none" watcher/main.c 's/mem_alloc/mem_take/' "watcher/main.c does not use mem_alloc"
change "a file that is not there" RULES.md 's,in common/base/mem.c (1,in common/base/memory.c (1,' "there is no common/base/memory.c"
change "a function without a file" RULES.md 's,`sizes` in common/base/mem.c,`sizes`,' "in which file is"
change "a statement without code" RULES.md '/^Code:/i - **2.2** Nobody does this.' "RULES.md:7: no code for statement 2.2"
change "a statement that is not there" RULES.md 's/(1.1, 2.1)/(1.1, 2.4)/' "RULES.md has no §2.4"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
