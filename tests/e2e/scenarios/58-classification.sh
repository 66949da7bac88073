# What a failed Pod means (CONTRACT.md §7, §8, the default podFailureSpec of CONTRACT.md §15), as kubelets report it.

# Each row one Pod: what the kubelet is told (jq), and the code, phrase and attributes that must come of it.
FAILURES='
{"exit-code": 200}                                            200 ContainerTransientFailed ["Transient"]
{"exit-code": 201}                                            201 ContainerTransientConflictFailed ["Transient","Conflict"]
{"exit-code": 210}                                            210 ContainerPermanentFailed ["Permanent"]
{"pod-reason": "Evicted", "pod-message": "low on memory"}     -1000 PodEvicted ["Transient"]
{"pod-reason": "NodeLost"}                                    -1001 PodNodeLost ["Transient"]
{"pod-reason": "DeletionByPodGC"}                             -1001 PodNodeLost ["Transient"]
{"pod-reason": "OutOfcpu"}                                    -1002 PodScheduledToInsufficientResourceNode ["Transient"]
{"pod-reason": "outofnvidia.com/gpu"}                         -1002 PodScheduledToInsufficientResourceNode ["Transient"]
{"pod-reason": "Preempting"}                                  -1003 PodPreemptedForCriticalPod ["Transient"]
{"pod-reason": "DeadlineExceeded"}                            -1004 PodDeadlineExceeded ["Permanent"]
{"pod-reason": "Forbidden"}                                   -1005 PodNodeAdmissionForbidden ["Permanent"]
{"pod-reason": "UnexpectedAdmissionError"}                    -1006 PodNodeAdmissionUnexpectedError ["Transient"]
{"pod-reason": "UnknownReason"}                               -1006 PodNodeAdmissionUnexpectedError ["Transient"]
{"pod-reason": "InvalidNodeInfo"}                             -1006 PodNodeAdmissionUnexpectedError ["Transient"]
{"pod-reason": "UnexpectedPredicateFailureType"}              -1006 PodNodeAdmissionUnexpectedError ["Transient"]
{"pod-reason": "TopologyAffinityError"}                       -1006 PodNodeAdmissionUnexpectedError ["Transient"]
{"pod-reason": "NodeShutdown"}                                -1007 PodNodeShutdown ["Transient"]
{"pod-reason": "Terminated"}                                  -1007 PodNodeShutdown ["Transient"]
{"pod-reason": "NodeAffinity"}                                -1008 PodNodeAffinityMismatch ["Transient"]
{"pod-reason": "TaintToleration"}                             -1009 PodTaintManagerEvicted ["Transient"]
{"pod-reason": "DeletionByTaintManager"}                      -1009 PodTaintManagerEvicted ["Transient"]
{"pod-reason": "EvictedNot"}                                  -300 PodFailedWithoutFailedContainer []
{"exit-code": 137, "reason": "OOMKilled"}                     -1200 ContainerDockerOOMKilled ["Permanent"]
{"exit-code": 125, "reason": "ContainerCannotRun"}            -1201 ContainerDockerCreationError null
{"exit-code": 126, "reason": "ContainerCannotRun"}            -1202 ContainerDockerStartCmdPermissionDenied ["Permanent"]
{"exit-code": 127, "reason": "ContainerCannotRun"}            -1203 ContainerDockerStartCmdNotFound ["Permanent"]
{"exit-code": 128, "reason": "ContainerCannotRun", "message": "exec:\nno such file"} -1203 ContainerDockerStartCmdNotFound ["Permanent"]
{"exit-code": 128, "reason": "ContainerCannotRun", "message": "?"}                   -1204 ContainerDockerStartUnknownError null
{"exit-code": 128, "reason": "StartError"}                    -1205 ContainerStartError null
{"exit-code": 130}                                            130 ContainerSigIntReceived ["Transient"]
{"exit-code": 131}                                            131 ContainerSigQuitReceived ["Transient"]
{"exit-code": 132}                                            132 ContainerSigIllReceived ["Permanent"]
{"exit-code": 134}                                            134 ContainerSigAbrtReceived null
{"exit-code": 135}                                            135 ContainerSigBusReceived ["Permanent"]
{"exit-code": 136}                                            136 ContainerSigFpeReceived ["Permanent"]
{"signal": 9}                                                 137 ContainerSigKillReceived ["Transient"]
{"exit-code": 139}                                            139 ContainerSigSegvReceived ["Permanent"]
{"exit-code": 141}                                            141 ContainerSigPipeReceived ["Permanent"]
{"signal": 15}                                                143 ContainerSigTermReceived ["Transient"]
{"exit-code": 1}                                              1 ContainerUnrecognizedFailed []
{"exit-code": 202}                                            202 ContainerUnrecognizedFailed []
{"exit-code": 255}                                            255 ContainerUnrecognizedFailed []'

# One Framework with a TaskRole for each row.
run_classify_codes() {
    grep . <<<"$FAILURES" | sed -E 's/\} +(-?[0-9]+) ([A-Za-z]+) ([^ ]+)$/}\t\1 \2 \3/' >"$RUN/out/$scenario.rows"
    create 'fw("f"; [$rows | rtrimstr("\n") | split("\n") | to_entries[] | .key as $key | (.value | split("\t")[0] | fromjson) as $told |
        role("r\($key)"; 1; $told + (if $told["pod-reason"] then {} else {"run-seconds": 0} end)) | policy(-1; -1)])' \
        --rawfile rows "$RUN/out/$scenario.rows"
    wait_completed f
    expect_lines "codes" "$(framework f '.status.attemptStatus.taskRoleStatuses[].taskStatuses[0].attemptStatus.completionStatus |
            "\(.code) \(.phrase) \(.type.attributes)"')" "$(cut -f2 "$RUN/out/$scenario.rows")"
    expect "type" "$(framework f '[tasks.attemptStatus.completionStatus.type.name] | unique | tostring')" '["Failed"]'
}

# The diagnostics: what the pattern names, or the whole of what is known of the Pod.
run_classify_diagnostics() {
    create '
        def failing($name; $told): role($name; 1; $told) | policy(-1; -1);
        def init($name): .task.pod.spec.initContainers = [{name: $name, image: "i"}];
        def second($name): .task.pod.spec.containers += [{name: $name, image: "i"}];
        fw("f"; [
            failing("matched"; {"run-seconds": 0, "exit-code": 200, message: "line 1\nline 2 äöü €"}),
            failing("unmatched"; {"run-seconds": 0, "exit-code": 77, reason: "Odd", message: "sad \"tale\""}),
            failing("empty"; {"pod-reason": "Odd", "pod-message": "nobody knows"}),
            (failing("init"; {"run-seconds": 0, "exit-code": 210, container: "setup", message: "no disk"}) | init("setup")),
            (failing("second"; {"run-seconds": 0, "exit-code": 3, container: "sidecar"}) | second("sidecar")),
            (failing("initunknown"; {"run-seconds": 0, "exit-code": 9, container: "setup"}) | init("setup")),
            failing("podreason"; {"pod-reason": "Evicted", "pod-message": "The node was low on resource: memory."}),
            (failing("deadline"; {"run-seconds": 600}) | .task.pod.spec.activeDeadlineSeconds = 1),
            failing("succeeded"; {"run-seconds": 0, "exit-code": 0})])'
    wait_completed f
    framework f '.status.attemptStatus.taskRoleStatuses[] | .name as $name | .taskStatuses[0].attemptStatus.completionStatus |
        "\($name) \(.code) \(.diagnostics)"' >"$RUN/out/$scenario.found"
    expect_lines "diagnostics" "$(<"$RUN/out/$scenario.found")" "$(sed -z 's/ \\\n */ /g' <<'EOT'
matched 200 Pod failed: PodPattern matched: {"containers":[{"name":"c","message":"line 1\nline 2 äöü €","code":200}]}
unmatched 77 Pod failed: PodPattern unmatched: {"containers":[{"name":"c","reason":"Odd","message":"sad \"tale\"","code":77}]}
empty -300 Pod failed: PodPattern unmatched: {"reason":"Odd","message":"nobody knows"}
init 210 Pod failed: PodPattern matched: {"containers":[{"name":"setup","message":"no disk","code":210}]}
second 3 Pod failed: PodPattern unmatched: \
    {"containers":[{"name":"c","reason":"Completed","code":0},{"name":"sidecar","reason":"Error","code":3}]}
initunknown 9 Pod failed: PodPattern unmatched: \
    {"containers":[{"name":"setup","reason":"Error","code":9},{"name":"c","reason":"Completed","code":0}]}
podreason -1000 Pod failed: PodPattern matched: {"reason":"Evicted","message":"The node was low on resource: memory."}
deadline -1004 Pod failed: PodPattern matched: \
    {"reason":"DeadlineExceeded","message":"Pod was active on the node longer than the specified deadline"}
succeeded 0 Pod succeeded
EOT
)"
    # The details of the Pod beside them; and what clients do with the text (CONTRACT.md §19).
    expect "pod details" "$(get_framework f |
            jq -cS '.status.attemptStatus.taskRoleStatuses[] | select(.name == "unmatched" or .name == "succeeded") |
        .taskStatuses[0].attemptStatus.completionStatus.pod')" \
        '{"containers":[{"code":77,"message":"sad \"tale\"","name":"c","reason":"Odd"}]}
{"containers":[{"code":0,"name":"c","reason":"Completed"}]}'
    expect "matched as JSON" \
        "$(framework f '.status.attemptStatus.taskRoleStatuses[0].taskStatuses[0].attemptStatus.completionStatus.diagnostics |
        capture("matched: (?<json>.*)"; "s").json | fromjson | .containers[0].code')" 200
}
