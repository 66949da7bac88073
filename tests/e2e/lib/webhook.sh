# An admission webhook of a scenario's own, for the real API server: openssl's test server on loopback, one request at a
# time, answered here. Sourced before the scenarios that use it.

# Asks the webhook about each Pod of the namespace that has the label refused; it refuses with what the label's value
# names: no status at all, "code" and "reason" of one.
start_webhook() {
    local port out=$RUN/out/$scenario
    port=$(free_port)
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$out.key" -out "$out.crt" -days 2 \
        -subj /CN=webhook -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    mkfifo "$out.in" "$out.out"
    openssl s_server -quiet -accept "127.0.0.1:$port" -cert "$out.crt" -key "$out.key" <"$out.in" >"$out.out" 2>"$out.server" &
    answer_reviews >"$out.in" <"$out.out" &
    api POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations \
        "$(jq -cn --arg name "$NS" --arg ca "$(base64 -w0 "$out.crt")" \
        --arg url "https://127.0.0.1:$port/" '{apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration",
        metadata: {name: $name}, webhooks: [{name: "refuse.example.com", clientConfig: {url: $url, caBundle: $ca}, sideEffects: "None",
            admissionReviewVersions: ["v1"], timeoutSeconds: 10, objectSelector: {matchExpressions: [{key: "refused", operator: "Exists"}]},
            rules: [{apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"]}]}]}')" >/dev/null
}

answer_reviews() {
    local LC_ALL=C line length body
    while IFS= read -r line; do
        line=${line%$'\r'}
        [[ ! ${line,,} =~ ^content-length:\ *([0-9]+) ]] || length=${BASH_REMATCH[1]}
        [[ -z $line ]] || continue
        read -r -N "$length" body
        body=$(jq -c '.request | {apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: ({uid, allowed: false} +
            (.object.metadata.labels.refused | {code: {status: {code: 403, message: "not today"}},
                reason: {status: {code: 403, reason: "Forbidden", message: "never"}},
                absent: {status: {code: 404, reason: "NotFound", message: "no such thing"}},
                conflict: {status: {code: 409, reason: "Conflict", message: "not now"}},
                busy: {status: {code: 429, reason: "TooManyRequests", message: "too busy"}}}[.] // {}))}' <<<"$body")
        printf 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' ${#body} "$body"
    done
}

# Nobody is asked any more.
stop_webhook() {
    api DELETE "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/$NS" >/dev/null
}

# The webhook is asked and does not answer.
break_webhook() {
    api PATCH "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/$NS" \
        '[{"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": "https://127.0.0.1:1/"}]' application/json-patch+json \
        >/dev/null
}
