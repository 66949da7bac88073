# The table: Markdown, so that it can be pasted into FIGURES.md as it is. Sourced by run.sh.

print_head() {
    # (the last backslashes join lines)
    cat <<END
| cluster | row | wall s | CPU s | of the API server's and etcd's | context switches for each Task | peak PSS MB | status writes each \
| reads | rounds | allocations | MB sent, received | requests | more |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
END
}

print_row() { # < JSON
    jq -r -f "$here/lib/print.jq"
}

# Gangs that are released have a table of their own too, at the end.
print_gangs() {
    local rows
    rows=$(jq -rs -f "$here/lib/gangs.jq" "$BENCH/results")
    [[ -n $rows ]] || return 0
    cat <<END

| cluster | row | CPU s of fc-barrier | its peak PSS MB | GETs | last waiter after the last status, ms | per Framework p50, p99 \
| in fc-barrier, mean | API server alone: watch p50, p99 | … and a GET p50, p99, last |
|---|---|---|---|---|---|---|---|---|---|
$rows
END
}

# One diagram for each set of rows that differ in the number of reconcilers.
plot_all() { # directory
    local set
    mkdir -p "$1"
    for set in scale scale_wide; do
        jq -s --arg set "$set" 'map(select(.row | test("^\($set)_[0-9]+$")) | . + {x: .workers})' "$BENCH/results" >"$BENCH/plot.json"
        if [[ $(jq length "$BENCH/plot.json") != 0 ]]; then
            jq -r -L "$here/lib" -f "$here/lib/plot.jq" "$BENCH/plot.json" >"$1/$set.svg"
        fi
    done
}
