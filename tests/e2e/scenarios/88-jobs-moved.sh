# Jobs that the training operator has run before (jobs/README.md, Moving from the training operator). Until it is gone, their
# managedBy keeps fc-jobs away.

constants_of 85-jobs

# The status that the operator wrote last.
write_operator_status() { # name type reason
    api PATCH "$(jobs_path "$TFJOBS")/$1/status" "$(jq -nc --arg type "$2" --arg reason "$3" '{status: {
        startTime: "2026-01-01T00:00:00Z", replicaStatuses: {Worker: {active: 1}}, conditions: [("Created", $type) |
        {type: ., status: "True", reason: $reason, message: "m", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}')" \
        application/merge-patch+json >/dev/null
}

# A Pod as the operator makes them.
create_operator_pod() { # job
    api POST "/api/v1/namespaces/$NS/pods" "$(get_job "$TFJOBS" "$1" | jq -c '{metadata: {name: "\(.metadata.name)-worker-0",
        labels: {"training.kubeflow.org/job-name": .metadata.name}, ownerReferences: [{apiVersion, kind, controller: true,
        name: .metadata.name, uid: .metadata.uid}]}, spec: {containers: [{name: "tensorflow", image: "i"}]}}')" >/dev/null
}

# A job that ran begins anew. The operator's Pods are left alone: where a replica has the same name, it waits for that Pod to go,
# and otherwise it runs beside it. A job that has ended stays so.
run_jobs_moved() {
    local name framework
    for name in moved also-moved ended; do
        submit_job "$TFJOBS" tfjob-simple '.metadata.name = "'$name'" | .spec.runPolicy.managedBy = "example.com/operator" |
            .spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    done
    write_operator_status moved Running TFJobRunning
    write_operator_status also-moved Running TFJobRunning
    write_operator_status ended Succeeded TFJobSucceeded
    create_operator_pod moved
    create_operator_pod also-moved
    for name in ended moved also-moved; do patch_job "$TFJOBS" $name '{"spec": {"runPolicy": {"managedBy": null}}}'; done
    wait_for 30 "also-moved has a Framework" framework_of_job also-moved
    framework=$(framework_of also-moved)
    wait_framework "$framework" 30 '.status.state == "AttemptRunning"'
    wait_event moved NamingConflict 'Pod moved-worker-0 with uid'
    expect "Frameworks of jobs" "$(k get frameworks -l frameworkcontroller.microsoft.com/job-kind -o name | wc -l)" 2
    for name in moved also-moved; do
        expect "the operator's Pod of $name" \
            "$(pod $name-worker-0 '"\(.metadata.ownerReferences[0].kind) \(.metadata.deletionTimestamp)"')" "TFJob null"
    done
    expect "its time" "$(job "$TFJOBS" also-moved .status.startTime)" 2026-01-01T00:00:00Z
    delete pods/moved-worker-0 '{"gracePeriodSeconds": 0}'
    wait_framework moved 60 '.status.state == "AttemptRunning"'
    expect "the job that has ended" "$(job "$TFJOBS" ended '.status.conditions[-1].type')" Succeeded
    for name in ended also-moved; do api DELETE "$(jobs_path "$TFJOBS")/$name" >/dev/null; done
    delete_job "$TFJOBS" moved
}

framework_of_job() { [[ -n $(framework_of "$1") ]]; } # job
