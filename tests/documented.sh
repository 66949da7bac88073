#!/bin/bash
# Looks whether all that documentation shows to be run is run by somebody: blocks, indented lines and commands within
# sentences, of every *.md, and commands in comments of manifests/. Each matches a line of the file "documented": "DOCUMENT | WHAT | WHO",
# where WHAT is a pattern of
# the command (of a block: its kind, if it has one), and WHO are scenarios and files, or "text" for what is no command; what
# follows a semicolon is a remark. What run.sh has made by make needs no line.
set -uf # WHAT is no pattern of file names
cd "$(dirname "$0")" || exit 1

status=0
found() {
	echo "documented: $*"
	status=1
}

documents() { find .. -name '*.md' -not -path '../build/*' -printf '%P\n' | sort; }

# All of it, as "DOCUMENT | WHAT". Within sentences a single word is a name; and what looks like options, YAML, JSON or HTTP
# is none of our business.
shown() {
	documents | (cd .. && xargs perl -0777 -ne '
		@all = ();
		s/^ *```(.*)\n((?:.*\n)*?) *```$/push @all, $1 ne "" ? $1 : $2 =~ m{[│─]} ? "picture" : split m{\n}, $2; ""/gme;
		s/(?<=\n\n)((?: {4}.*\n)+)/push @all, split m{\n}, $1; ""/ge;
		push @all, grep { /\S\s/ && !/^(?:[-{\[]|[\w-]+:\s|(?:GET|POST)\s)/ } m,`([^`]+)`,g;
		for (@all) { s/\s+#.*//; s/\s+/ /g; s/^ | $//g; print "$ARGV | $_\n" }')
	(cd .. && grep -rHE '^#   (kubectl |docker |\./)' manifests | sed -E 's/:# +/ | /; s/ +#.*//')
}

scenarios=" $(sed -nE 's/^(run|alone)_([a-z0-9_]+)\(\).*/\2/p' <(find e2e/scenarios -name '*.sh' -exec cat {} +) | tr '\n' ' ')"
targets=" $(env -u MAKEFLAGS make -C .. -pRrnq BUILD=/nonexistent : 2>/dev/null | grep -oE '^[a-z][a-z0-9-]*:' | tr ':\n' '  ')"
stages=" $(sed 's/^[ \t]*#.*//' run.sh ../.ci/run | tr -cs 'a-z0-9-' ' ')"

# All that make is told to make here exists, and is made by a stage of run.sh.
is_made() { # command
	local word
	[ "${1%% *}" = make ] || return 1
	for word in ${1#make }; do
		[[ $word =~ ^[a-z][a-z0-9-]*$ ]] || continue # ROWS="…"
		[[ $targets == *" $word "* ]] || found "nothing makes $word: $1"
		[[ $stages == *" $word "* || $stages == *" ${word#test-} "* ]] || return 1
	done
}

entries=() used=()
while IFS= read -r entry; do
	entries+=("$entry")
	who=${entry##* | }
	for name in ${who%%;*}; do
		[ "$name" = text ] || [ -e "../$name" ] || [[ $scenarios == *" $name "* ]] || found "there is no $name: $entry"
	done
done < <(grep '^[^#]' documented)

count=0
while IFS= read -r line; do
	count=$((count + 1))
	for i in "${!entries[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		if [[ $line == ${entries[i]% | *} ]]; then
			used[i]=1
			continue 2
		fi
	done
	is_made "${line#* | }" || found "nobody runs this: $line"
done < <(shown)
[ "$count" -gt 100 ] || found "only $count commands were read"
for i in "${!entries[@]}"; do
	[ -n "${used[i]:-}" ] || found "nothing matches this line: ${entries[i]}"
done
exit $status
