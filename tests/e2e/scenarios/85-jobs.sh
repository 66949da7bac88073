# TFJobs and PyTorchJobs as Frameworks (jobs/README.md). The jobs are those of tests/jobs, and jq ones; their Pods follow
# annotations, as all do.

CAICLOUD=kubeflow.caicloud.io/v1alpha1/tfjobs
TFJOBS=kubeflow.org/v1/tfjobs
PYTORCHJOBS=kubeflow.org/v1/pytorchjobs

jobs_path() { echo "/apis/${1%/*}/namespaces/$NS/${1##*/}"; } # kind

get_job() { api GET "$(jobs_path "$1")/$2"; } # kind name

job() { get_job "$1" "$2" | jq -r "$3"; } # kind name expression

# Waits until a jq expression is true of the job.
wait_job() { # kind name seconds expression
    wait_object "$(jobs_path "$1")" "metadata.name=$2" "$3" "$4"
}

patch_job() { # kind name patch
    api PATCH "$(jobs_path "$1")/$2" "$3" application/merge-patch+json >/dev/null
}

# Submits a job of tests/jobs, changed by a jq expression, which can use annotate().
submit_job() { # kind name [expression]
    kubectl create --dry-run=client --validate=false -o json -f "$root/tests/jobs/$2.yaml" |
        jq -c 'def annotate($what): .template.metadata.annotations = ($what | with_entries(.key = "testkubelet/" + .key | .value |= tostring));
            del(.metadata.namespace) | '"${3:-.}" >"$RUN/out/$scenario.job"
    api POST "$(jobs_path "$1")" "$(<"$RUN/out/$scenario.job")" >/dev/null
}

# The name of a job's Framework.
framework_of() { # job
    api GET "$(frameworks_path)" | jq -r --arg job "$1" '.items[].metadata | select(any(.ownerReferences[]?; .name == $job)).name'
}

# The conditions of a job, without times.
CONDITIONS='[.status.conditions[] | "\(.type)=\(.status) \(.reason): \(.message)"] | join("\n")'
HAS='def has($type): any(.status.conditions[]?; .type == $type and .status == "True"); '

# A job that was deleted leaves nothing.
delete_job() { # kind name
    api DELETE "$(jobs_path "$1")/$2" >/dev/null
    wait_for 60 "nothing is left of job $2" none_left frameworks,configmaps,pods,services
}

# 2 PS and 4 Workers: all Workers succeed, then the PS are stopped.
run_jobs_caicloud() {
    submit_job "$CAICLOUD" caicloud-dist 'del(.spec.runtimeID) | .metadata.annotations.mine = "kept" | .status = {other: 1} |
        (.spec.tfReplicaSpec[] | select(.tfReplicaType == "Worker")) |= annotate({"run-seconds": 1, "exit-code": 0})'
    wait_job "$CAICLOUD" dist-training-job 30 '.status.phase == "Succeeded"'
    expect "its status" "$(job "$CAICLOUD" dist-training-job '.status | tojson')" \
        '{"other":1,"phase":"Succeeded","reason":"","conditions":[],"tfReplicaStatuses":[{"type":"Worker","state":"","tfReplicasStates":{"Succeeded":4}},{"type":"PS","state":"","tfReplicasStates":{}}]}'
    expect "the rest of it" "$(job "$CAICLOUD" dist-training-job '"\(.metadata.annotations.mine) \(.spec.tfReplicaSpec | length) \(.spec.runtimeID | test("^[a-z0-9]{5}$")) \(.spec.tfReplicaSpec[0].template.spec.containers[0] | has("args"))"')" \
        "kept 2 true false"
    wait_event dist-training-job SuccessfulCreate 'Created framework: disttrainingjob9d49bb56'
    wait_completed disttrainingjob9d49bb56
    none_left pods || fail "Pods are left of a job that has ended"
    delete_job "$CAICLOUD" dist-training-job
}

# What a Pod of it gets: arguments, labels, a name in the DNS.
run_jobs_caicloud_pods() {
    local id
    submit_job "$CAICLOUD" caicloud-dist 'del(.spec.runtimeID)'
    wait_pod disttrainingjob9d49bb56-worker-3 30 '.status.phase == "Running"'
    id=$(job "$CAICLOUD" dist-training-job .spec.runtimeID)
    expect "labels" "$(pod disttrainingjob9d49bb56-worker-3 '.metadata.labels | "\(.["kubeflow.caicloud.io"]) \(.job_type) \(.runtime_id) \(.tf_job_name) \(.index)"')" \
        "true Worker $id dist-training-job 3"
    expect "arguments" "$(pod disttrainingjob9d49bb56-worker-3 '.spec.containers[0].args | join(" ")')" \
        "--worker_hosts=worker-0.disttrainingjob9d49bb56.$NS.svc:2222,worker-1.disttrainingjob9d49bb56.$NS.svc:2222,worker-2.disttrainingjob9d49bb56.$NS.svc:2222,worker-3.disttrainingjob9d49bb56.$NS.svc:2222 --ps_hosts=ps-0.disttrainingjob9d49bb56.$NS.svc:2222,ps-1.disttrainingjob9d49bb56.$NS.svc:2222 --job_name=worker --task_index=3"
    expect "its name" "$(pod disttrainingjob9d49bb56-worker-3 '"\(.spec.hostname).\(.spec.subdomain)"')" "worker-3.disttrainingjob9d49bb56"
    expect "the Service" "$(api GET "/api/v1/namespaces/$NS/services/disttrainingjob9d49bb56" | jq -r .spec.clusterIP)" None
    expect "its status" "$(job "$CAICLOUD" dist-training-job .status.phase)" Running
    delete_job "$CAICLOUD" dist-training-job
}

run_jobs_caicloud_local() {
    submit_job "$CAICLOUD" caicloud-local 'del(.spec.runtimeID) | .spec.tfReplicaSpec[0] |= annotate({"run-seconds": 0.2, "exit-code": 0})'
    wait_job "$CAICLOUD" local-training-job 30 '.status.phase == "Succeeded"'
    wait_event local-training-job FieldHasNoEffect 'spec.modelDir has no effect'
    expect "its Framework's label" "$(framework "$(framework_of local-training-job)" .metadata.labels.team)" vision
    delete_job "$CAICLOUD" local-training-job
}

# The first Worker decides by default; the others and the PS are stopped, and count as succeeded.
run_jobs_tfjob() {
    submit_job "$TFJOBS" tfjob-dist 'del(.spec.runPolicy) | .spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_job "$TFJOBS" dist-mnist-for-e2e-test 30 '.status.replicaStatuses | .PS.active == 2 and .Worker.active == 4'
    expect "its conditions" "$(job "$TFJOBS" dist-mnist-for-e2e-test "$CONDITIONS")" \
"Created=True TFJobCreated: TFJob dist-mnist-for-e2e-test is created.
Running=True TFJobRunning: TFJob $NS/dist-mnist-for-e2e-test is running."
    expect "TF_CONFIG" "$(pod distmnistfore2etest699372a2-ps-1 '.spec.containers[0].env[] | select(.name == "TF_CONFIG").value | fromjson | "\(.task | tojson) \(.cluster.worker[3]) \(.cluster.ps | length)"')" \
        "{\"type\":\"ps\",\"index\":1} worker-3.distmnistfore2etest699372a2.$NS.svc:2222 2"
    expect "labels" "$(pod distmnistfore2etest699372a2-ps-1 '.metadata.labels | "\(.["training.kubeflow.org/job-name"]) \(.["training.kubeflow.org/replica-type"]) \(.["training.kubeflow.org/replica-index"])"')" \
        "dist-mnist-for-e2e-test ps 1"
    k annotate --overwrite pod distmnistfore2etest699372a2-worker-0 testkubelet/run-seconds=0 testkubelet/exit-code=0 >/dev/null
    patch_job "$TFJOBS" dist-mnist-for-e2e-test '{"spec": {"successPolicy": "AllWorkers"}}'
    delete_job "$TFJOBS" dist-mnist-for-e2e-test
}
