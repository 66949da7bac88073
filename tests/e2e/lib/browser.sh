# A headless browser that a scenario drives by the DevTools protocol over a pipe (--remote-debugging-pipe: messages of
# JSON that end with NUL), with bash and jq alone. Sourced by scenario.sh.

# What Debian calls it: the browser without its windows, a third of the package chromium.
BROWSER=${BROWSER:-chromium-headless-shell}
BROWSER_PATIENCE_S=$((20 * PATIENCE))

# Starts it, with a page of this size. It ends with browser_stop, or with the scenario's process.
browser_start() { # [width height]
    command -v "$BROWSER" >/dev/null || not_here "there is no $BROWSER"
    local sandbox=()
    # (its sandbox refuses to run as root)
    [[ $(id -u) != 0 ]] || sandbox=(--no-sandbox)
    browser_dir=$RUN/out/$scenario.browser
    mkdir "$browser_dir"
    mkfifo "$browser_dir/in" "$browser_dir/out"
    HOME=$browser_dir TMPDIR=$browser_dir "$BROWSER" "${sandbox[@]}" --remote-debugging-pipe --user-data-dir="$browser_dir/profile" \
        --disable-gpu --disable-dev-shm-usage --no-first-run --hide-scrollbars --window-size="${1:-1200},${2:-800}" about:blank \
        3<"$browser_dir/in" 4>"$browser_dir/out" >"$browser_dir/log" 2>&1 &
    browser_pid=$!
    exec {browser_to}>"$browser_dir/in" {browser_from}<"$browser_dir/out"
    local target
    browser_session=
    target=$(browser_call Target.getTargets | jq -r '[.targetInfos[] | select(.type == "page")][0].targetId')
    browser_session=$(browser_call Target.attachToTarget "{\"targetId\": \"$target\", \"flatten\": true}" | jq -r .sessionId)
}

browser_stop() {
    kill "$browser_pid" 2>/dev/null || true
    wait "$browser_pid" || true
    exec {browser_to}>&- {browser_from}<&-
    # (its children end after it)
    wait_for 10 "the browser's files are gone" rm -rf "$browser_dir"
}

# Prints the result of a method; fails with the browser's error. One at a time is asked, so that all have the same id.
browser_call() { # method [parameters]
    local message parameters=${2:-"{}"}
    jq -cjn --arg method "$1" --argjson params "$parameters" --arg session "$browser_session" \
        '{id: 1, method: $method, params: $params} + if $session == "" then {} else {sessionId: $session} end' >&"$browser_to"
    printf '\0' >&"$browser_to"
    while IFS= read -r -d '' -t "$BROWSER_PATIENCE_S" message <&"$browser_from"; do
        [[ $message == '{"id":1,'* ]] || continue
        jq -ce 'if .error then error(.error.message) else .result end' <<<"$message"
        return
    done
    fail "$BROWSER does not answer $1"
}

# What an expression of JavaScript gives in the page; promises are waited for.
browser_eval() { # expression
    local answer
    answer=$(browser_call Runtime.evaluate "$(jq -cn --arg e "$1" '{expression: $e, awaitPromise: true, returnByValue: true}')")
    jq -re 'if .exceptionDetails then error(.exceptionDetails.exception.description) else .result.value | tostring end' <<<"$answer"
}

# A condition for wait_for.
browser_is() { # expression
    [[ $(browser_eval "Boolean($1)") == true ]]
}

# Waits until the page is loaded.
browser_open() { # address
    browser_call Page.navigate "$(jq -cn --arg url "$1" '{url: $url}')" >/dev/null
    wait_for 10 "the browser has loaded its page" browser_is 'document.readyState === "complete" && location.protocol === "http:"'
}

browser_screenshot() { # file
    browser_call Page.captureScreenshot | jq -r .data | base64 -d >"$1"
}
