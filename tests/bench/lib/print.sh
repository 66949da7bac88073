# The table: Markdown, so that it can be pasted into README.md as it is. Sourced by run.sh.

print_head() {
    cat <<'END'
| cluster | row | wall s | CPU s | peak PSS MB | status writes each | reads | rounds | allocations | MB sent, received | requests | more |
|---|---|---|---|---|---|---|---|---|---|---|---|
END
}

print_row() { # < JSON
    jq -r -f "$here/lib/print.jq"
}

# One diagram for each set of rows that differ in the number of reconcilers.
plot_all() { # directory
    local set
    mkdir -p "$1"
    for set in scale scale_wide; do
        jq -s --arg set "$set" 'map(select(.row | test("^\($set)_[0-9]+$")) | . + {x: .workers})' "$BENCH/results" >"$BENCH/plot.json"
        if [[ $(jq length "$BENCH/plot.json") != 0 ]]; then
            jq -r -f "$here/lib/plot.jq" "$BENCH/plot.json" >"$1/$set.svg"
        fi
    done
}
