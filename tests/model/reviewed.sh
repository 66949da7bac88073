#!/bin/bash
# Compares the functions that the models name with the list `reviewed`, which has a checksum of each one's text; lint
# runs it. `make model-reviewed` (--write) makes the list anew: after the model was brought up to date.
set -eu
cd "$(dirname "$0")/../.."
list=tests/model/reviewed

# The text of a function's definition; nothing when there is none.
definition() { # file function
	awk -v name="$2" '
		!inside && $0 ~ "^[a-z].*[ *]" name "\\(" { inside = 1; text = "" }
		inside { text = text $0 "\n" }
		inside && !body && /;$/ { inside = 0 }
		inside && /^\{/ { body = 1 }
		inside && /^\}/ { printf "%s", text; exit }' "$1"
}

sums() {
	local file function text
	grep -hoE 'models [a-z_/]+\.c:[a-z_0-9]+' tests/model/*.pml | cut -d' ' -f2 | sort -u | while IFS=: read -r file function; do
		text=$(definition "$file" "$function")
		if [ -n "$text" ]; then
			echo "$(cksum <<<"$text" | cut -d' ' -f1) $file:$function"
		else
			echo "tests/model: $file has no function $function" >&2
			echo "none $file:$function"
		fi
	done
}

if [ "${1:-}" = --write ]; then
	sums >$list
	if grep -q '^none' $list; then exit 1; fi
	exit
fi
now=$(sums)
[ "$(wc -l <<<"$now")" -gt 20 ] || { echo "tests/model: the models name too few functions" >&2; exit 1; }
changed=$(diff $list <(echo "$now") | sed -n 's/^[<>] [0-9a-z]* //p' | sort -u)
[ -z "$changed" ] && exit
echo "tests/model: these functions have changed since the models were compared with them:"
printf '%s\n' "$changed"
echo "Bring tests/model/*.pml up to date, run make model, then make model-reviewed, and commit tests/model/reviewed."
exit 1
