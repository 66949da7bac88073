# The table: Markdown, so that it can be pasted into README.md as it is. Sourced by run.sh.

print_head() {
    cat <<'END'
| cluster | row | wall s | CPU s | peak PSS MB | status writes each | reads | rounds | MB sent, received | more |
|---|---|---|---|---|---|---|---|---|---|
END
}

print_row() { # < JSON
    jq -r -f "$here/lib/print.jq"
}
