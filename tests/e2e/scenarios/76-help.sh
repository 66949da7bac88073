# Every program tells how it is used, and which it is, alike.

run_help() {
    local path program option said status most levels=0
    for path in "$BUILD"/{fc-{watcher,reconciler,barrier,jobs,testapi,testkubelet,demo,bench,sim},frameworkbarrier,kubectl-framework}; do
        program=${path##*/}
        [[ -x $path ]] || continue # not all of them are built for a run
        expect "$program --version" "$("$path" --version)" "$program 1.0"
        said=$("$path" --help)
        expect_match "$program --help" "$said" "^Usage: ${program/kubectl-framework/kubectl framework} "
        # (getopt_long takes what is the beginning of one option only)
        for option in help version; do
            [[ $said == *--$option* ]] || fail "$program --help does not tell of --$option"
        done
        most=$(sed -nE 's/^  -v .* 0 \(default\) to ([0-9]+)$/\1/p' <<<"$said")
        if [[ -n $most ]]; then
            levels=$((levels + 1))
            expect "$program -v $most" "$("$path" -v "$most" --version)" "$program 1.0"
            expect_match "$program -v $((most + 1))" "$("$path" -v $((most + 1)) --version 2>&1)" \
                "-v $((most + 1)): expected a number 0\.\.$most"
        fi
        status=0
        said=$("$path" --nonesuch 2>&1 >"out/$scenario.stdout") || status=$?
        expect "exit status of $program --nonesuch" "$status" "$([[ $program == frameworkbarrier ]] && echo 210 || echo 2)"
        expect_match "$program --nonesuch" "$said" "Try ${program/kubectl-framework/kubectl framework} --help"
        [[ ! -s out/$scenario.stdout ]] || fail "$program --nonesuch prints $(<"out/$scenario.stdout")"
    done
    ((levels > 0)) || fail "no program tells of levels"
}
