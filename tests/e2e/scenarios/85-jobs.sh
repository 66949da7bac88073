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
        jq -c 'def annotate($what): .template.metadata.annotations = ($what |
        with_entries(.key = "testkubelet/" + .key | .value |= tostring));
            del(.metadata.namespace) | '"${3:-.}" >"$RUN/out/$scenario.job"
    api POST "$(jobs_path "$1")" "$(<"$RUN/out/$scenario.job")" >/dev/null
}

# The name of a job's Framework.
framework_of() { # job
    get_jq "$(frameworks_path)" -r --arg job "$1" '.items[].metadata | select(any(.ownerReferences[]?; .name == $job)).name'
}

# What a jq expression gives for a Pod as it was created, of the recorded ones.
created_pod() { # name expression
    jq -rn --arg name "$1" "first(inputs | select(.type == \"ADDED\" and .object.metadata.name == \$name)).object | $2" \
        "$RUN/out/$scenario.pods"
}

# Compares a job's status, without times, with tests/jobs/status/NAME.json.
expect_status() { # kind job name
    get_job "$1" "$2" | jq -S --arg namespace "$NS" '.status | del(.startTime, .completionTime) |
        if .conditions then .conditions |= map(del(.lastTransitionTime, .lastUpdateTime)) else . end |
        walk(if type == "string" then split($namespace) | join("NAMESPACE") else . end)' >"$RUN/out/$scenario.status"
    diff -u "$root/tests/jobs/status/$3.json" "$RUN/out/$scenario.status" ||
        fail "the status of $2 is not as in tests/jobs/status/$3.json: see the diff"
}

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
    expect_status "$CAICLOUD" dist-training-job caicloud-dist
    expect "the rest of it" \
        "$(job "$CAICLOUD" dist-training-job \
            '"\(.metadata.annotations.mine) \(.spec.tfReplicaSpec | length) \(.spec.runtimeID |
            test("^[a-z0-9]{5}$")) \(.spec.tfReplicaSpec[0].template.spec.containers[0] | has("args"))"')" \
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
    expect "labels" "$(pod disttrainingjob9d49bb56-worker-3 \
            '.metadata.labels | "\(.["kubeflow.caicloud.io"]) \(.job_type) \(.runtime_id) \(.tf_job_name) \(.index)"')" \
        "true Worker $id dist-training-job 3"
    expect "arguments" "$(pod disttrainingjob9d49bb56-worker-3 '.spec.containers[0].args | join(" ")')" \
        "--worker_hosts=worker-0.disttrainingjob9d49bb56.$NS.svc:2222,worker-1.disttrainingjob9d49bb56.$NS.svc:2222,"\
"worker-2.disttrainingjob9d49bb56.$NS.svc:2222,worker-3.disttrainingjob9d49bb56.$NS.svc:2222 "\
"--ps_hosts=ps-0.disttrainingjob9d49bb56.$NS.svc:2222,ps-1.disttrainingjob9d49bb56.$NS.svc:2222 --job_name=worker --task_index=3"
    expect "its name" "$(pod disttrainingjob9d49bb56-worker-3 '"\(.spec.hostname).\(.spec.subdomain)"')" "worker-3.disttrainingjob9d49bb56"
    expect "the Service" "$(get_jq "/api/v1/namespaces/$NS/services/disttrainingjob9d49bb56" -r .spec.clusterIP)" None
    wait_job "$CAICLOUD" dist-training-job 30 '.status.phase == "Running"'
    delete_job "$CAICLOUD" dist-training-job
}

run_jobs_caicloud_local() {
    submit_job "$CAICLOUD" caicloud-local 'del(.spec.runtimeID) | .spec.tfReplicaSpec[0] |= annotate({"run-seconds": 0.2, "exit-code": 0})'
    wait_job "$CAICLOUD" local-training-job 30 '.status.phase == "Succeeded"'
    expect_status "$CAICLOUD" local-training-job caicloud-local
    wait_event local-training-job FieldHasNoEffect 'spec.modelDir has no effect'
    expect "its Framework's label" "$(framework "$(framework_of local-training-job)" .metadata.labels.team)" vision
    delete_job "$CAICLOUD" local-training-job
}

# A PS that exits is started again, and so is a Worker that fails, with its own index. A Permanent failure ends the job.
run_jobs_caicloud_retried() {
    record pods
    submit_job "$CAICLOUD" caicloud-dist '(.spec.tfReplicaSpec[] | select(.tfReplicaType == "Worker")) |= (.replicas = 2 |
            annotate({"run-seconds": "1", "exit-code": "{{FC_TASK_INDEX}},0"})) |
        (.spec.tfReplicaSpec[] | select(.tfReplicaType == "PS")) |= (.replicas = 1 | annotate({"run-seconds": "0.5,100", "exit-code": 0}))'
    submit_job "$CAICLOUD" caicloud-local \
        '.metadata.name = "broken" | .spec.tfReplicaSpec[0] |= annotate({"run-seconds": 0.2, "exit-code": 210})'
    wait_job "$CAICLOUD" broken 30 '.status.phase == "Failed"'
    expect_status "$CAICLOUD" broken caicloud-failed
    wait_job "$CAICLOUD" dist-training-job 60 '.status.phase == "Succeeded"'
    wait_completed disttrainingjob9d49bb56
    end_records
    expect "Pods" "$(jq -r 'select(.type == "ADDED") | .object.metadata | select(.name | test("^dist")) |
            "\(.name) \(.labels.index) \(.annotations.FC_TASK_ATTEMPT_ID)"' "$RUN/out/$scenario.pods" | sort | tr '\n' ,)" \
        "disttrainingjob9d49bb56-ps-0 0 0,disttrainingjob9d49bb56-ps-0 0 1,disttrainingjob9d49bb56-worker-0 0 0,\
disttrainingjob9d49bb56-worker-1 1 0,disttrainingjob9d49bb56-worker-1 1 1,"
    api DELETE "$(jobs_path "$CAICLOUD")/broken" >/dev/null
    delete_job "$CAICLOUD" dist-training-job
}

# The first Worker decides by default; the others and the PS are stopped, and count as succeeded.
run_jobs_tfjob() {
    record pods
    submit_job "$TFJOBS" tfjob-dist 'del(.spec.runPolicy) |
        .spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "{{FC_TASK_INDEX}}03", "exit-code": 0})'
    wait_job "$TFJOBS" dist-mnist-for-e2e-test 30 "$HAS has(\"Succeeded\")"
    end_records
    expect "TF_CONFIG" "$(created_pod distmnistfore2etest699372a2-ps-1 \
            '.spec.containers[0].env[] | select(.name == "TF_CONFIG").value | fromjson |
            "\(.task | tojson) \(.cluster.worker[3]) \(.cluster.ps | length)"')" \
        "{\"type\":\"ps\",\"index\":1} worker-3.distmnistfore2etest699372a2.$NS.svc:2222 2"
    expect "labels" "$(created_pod distmnistfore2etest699372a2-ps-1 \
            '.metadata.labels | [.["training.kubeflow.org/" + ("job-name", "replica-type", "replica-index")]] | join(" ")')" \
        "dist-mnist-for-e2e-test ps 1"
    expect_status "$TFJOBS" dist-mnist-for-e2e-test tfjob-dist
    expect "its times" "$(job "$TFJOBS" dist-mnist-for-e2e-test '.status.startTime <= .status.completionTime')" true
    wait_event dist-mnist-for-e2e-test TFJobSucceeded 'successfully completed'
    wait_completed distmnistfore2etest699372a2
    delete_job "$TFJOBS" dist-mnist-for-e2e-test
}

# One Worker fails, and restartPolicy is Never.
run_jobs_tfjob_failed() {
    submit_job "$TFJOBS" tfjob-dist 'del(.spec.runPolicy) |
        .spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "{{FC_TASK_INDEX}}0.5", "exit-code": "1{{FC_TASK_INDEX}}"})'
    wait_job "$TFJOBS" dist-mnist-for-e2e-test 30 "$HAS has(\"Failed\")"
    expect_status "$TFJOBS" dist-mnist-for-e2e-test tfjob-dist-failed
    wait_completed distmnistfore2etest699372a2
    delete_job "$TFJOBS" dist-mnist-for-e2e-test
}

# Exit code 130 is retried, 1 is not (restartPolicy ExitCode).
run_jobs_exit_code() {
    submit_job "$TFJOBS" tfjob-simple \
        '.metadata.name = "permanent" | .spec.tfReplicaSpecs.Worker |= (.restartPolicy = "ExitCode" |
        annotate({"run-seconds": 0.2, "exit-code": "1,0"}))'
    submit_job "$TFJOBS" tfjob-simple \
        '.metadata.name = "retried" | .spec.tfReplicaSpecs.Worker |= (.restartPolicy = "ExitCode" |
        annotate({"run-seconds": 0.2, "exit-code": "130,0"}))'
    wait_job "$TFJOBS" retried 30 "$HAS has(\"Restarting\")"
    expect "it is restarting" "$(job "$TFJOBS" retried '.status.conditions[-1] | "\(.reason) \(.message)" | split(": ")[0]')" \
        "TFJobRestarting TFJob retried is restarting because Worker replica(s) failed. Worker 0 ended with code 1002"
    wait_job "$TFJOBS" permanent 30 "$HAS has(\"Failed\")"
    expect "its Framework's code" "$(framework permanent '.status.attemptStatus.completionStatus | "\(.code) \(.phrase)"')" \
        "1001 PermanentExitCode"
    wait_job "$TFJOBS" retried 40 "$HAS has(\"Succeeded\")"
    expect "its Task's retries" "$(framework retried 'task.retryPolicyStatus.totalRetriedCount')" 1
}

# The sum of all retries is limited.
run_jobs_backoff_limit() {
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "limited" | .spec.runPolicy.backoffLimit = 1 |
        .spec.tfReplicaSpecs.Worker |= (.replicas = 2 | annotate({"run-seconds": 0.2, "exit-code": 1}))'
    wait_job "$TFJOBS" limited 60 "$HAS has(\"Failed\")"
    expect "its end" "$(job "$TFJOBS" limited '.status.conditions[-1].message')" \
        "Job limited has failed because it has reached the specified backoff limit"
    wait_completed limited 60
    expect "its Framework's retries" "$(framework limited '[tasks.retryPolicyStatus.totalRetriedCount] | add <= 2')" true
}

# A Pod that somebody deletes is replaced, whatever the limit is.
run_jobs_deleted_pods() {
    local policies="Never OnFailure ExitCode" policy name
    for policy in $policies; do
        submit_job "$TFJOBS" tfjob-simple ".metadata.name = \"deleted${policy,,}\" | .spec.runPolicy.backoffLimit = 0 |
            .spec.tfReplicaSpecs.Worker |= (.restartPolicy = \"$policy\" | annotate({\"run-seconds\": \"100,1\", \"exit-code\": 0}))"
    done
    for policy in $policies; do
        name=deleted${policy,,}
        wait_job "$TFJOBS" "$name" 30 "$HAS has(\"Running\")"
        api DELETE "/api/v1/namespaces/$NS/pods/$name-worker-0" >/dev/null
    done
    for policy in $policies; do
        name=deleted${policy,,}
        wait_job "$TFJOBS" "$name" 60 "$HAS has(\"Succeeded\")"
        expect "retries of $name" "$(framework "$name" 'task.retryPolicyStatus | "\(.totalRetriedCount) \(.accountableRetriedCount)"')" \
            "1 0"
    done
}

# A Master and a Worker; the Master decides.
run_jobs_pytorch() {
    record pods
    submit_job "$PYTORCHJOBS" pytorch-simple '.spec.pytorchReplicaSpecs.Master |= annotate({"run-seconds": 1, "exit-code": 0}) |
        .spec.pytorchReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_job "$PYTORCHJOBS" pytorch-simple 30 "$HAS has(\"Succeeded\")"
    end_records
    expect "the Worker's environment" "$(created_pod pytorchsimple3fd45f80-worker-0 \
            '[.spec.containers[0].env[] | select(.name | test("^(MASTER|WORLD|RANK|PET|PYTHON)")) | "\(.name)=\(.value)"] | sort |
            join(" ")')" \
        "MASTER_ADDR=master-0.pytorchsimple3fd45f80 MASTER_PORT=23456 PET_MASTER_ADDR=master-0.pytorchsimple3fd45f80 \
PET_MASTER_PORT=23456 PET_NNODES=2 PET_NODE_RANK=1 PET_NPROC_PER_NODE=auto PYTHONUNBUFFERED=1 RANK=1 WORLD_SIZE=2"
    expect_status "$PYTORCHJOBS" pytorch-simple pytorch-simple
    delete_job "$PYTORCHJOBS" pytorch-simple
}

# Suspended when it is created, resumed, suspended while it runs, and deleted.
run_jobs_suspend() {
    submit_job "$PYTORCHJOBS" pytorch-simple \
        '.spec.runPolicy.suspend = true | .spec.pytorchReplicaSpecs[] |= annotate({"run-seconds": "forever"})'
    wait_job "$PYTORCHJOBS" pytorch-simple 30 "$HAS has(\"Suspended\")"
    none_left pods || fail "a suspended job has Pods"
    expect_status "$PYTORCHJOBS" pytorch-simple pytorch-suspended
    expect "it has a startTime" "$(job "$PYTORCHJOBS" pytorch-simple '.status | has("startTime")')" false
    patch_job "$PYTORCHJOBS" pytorch-simple '{"spec": {"runPolicy": {"suspend": false}}}'
    wait_job "$PYTORCHJOBS" pytorch-simple 30 "$HAS has(\"Running\")"
    expect "its conditions, resumed" \
        "$(job "$PYTORCHJOBS" pytorch-simple '.status | "\([.conditions[] | "\(.type)=\(.status)"] | join(" ")) \(has("startTime"))"')" \
        "Created=True Suspended=False Running=True true"
    patch_job "$PYTORCHJOBS" pytorch-simple '{"spec": {"runPolicy": {"suspend": true}}}'
    wait_job "$PYTORCHJOBS" pytorch-simple 30 "$HAS has(\"Suspended\")"
    expect_status "$PYTORCHJOBS" pytorch-simple pytorch-suspended-again
    none_left pods || fail "a suspended job has Pods"
    wait_event pytorch-simple PyTorchJobResumed 'is resumed'
    delete_job "$PYTORCHJOBS" pytorch-simple
}

# Workers come and go while it runs.
run_jobs_elastic() {
    submit_job "$PYTORCHJOBS" pytorch-elastic '.spec.pytorchReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_job "$PYTORCHJOBS" elastic-example-echo 30 '.status.replicaStatuses.Worker.active == 2'
    expect "its environment" \
        "$(pod elasticexampleecho6448a23e-worker-1 \
            '[.spec.containers[0].env[] | select(.name | test("^PET")) | "\(.name)=\(.value)"] | sort | join(" ")')" \
        "PET_MAX_RESTARTS=100 PET_NNODES=1:2 PET_NPROC_PER_NODE=auto PET_RDZV_BACKEND=c10d "\
"PET_RDZV_ENDPOINT=worker-0.elasticexampleecho6448a23e.$NS.svc:23456"
    patch_job "$PYTORCHJOBS" elastic-example-echo \
        '{"spec": {"elasticPolicy": {"maxReplicas": 3}, "pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}}'
    wait_job "$PYTORCHJOBS" elastic-example-echo 30 '.status.replicaStatuses.Worker.active == 3'
    expect "the new Worker's environment" \
        "$(pod elasticexampleecho6448a23e-worker-2 '.spec.containers[0].env[] | select(.name == "PET_NNODES").value')" 1:3
    patch_job "$PYTORCHJOBS" elastic-example-echo '{"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}}}'
    wait_job "$PYTORCHJOBS" elastic-example-echo 30 '.status.replicaStatuses.Worker.active == 1'
    delete_job "$PYTORCHJOBS" elastic-example-echo
}

# Without a Master an elastic job succeeds with the first of its Workers; the others are stopped.
run_jobs_elastic_end() {
    submit_job "$PYTORCHJOBS" pytorch-elastic \
        '.spec.pytorchReplicaSpecs.Worker |= annotate({"run-seconds": "{{FC_TASK_INDEX}}01", "exit-code": 0})'
    wait_job "$PYTORCHJOBS" elastic-example-echo 30 "$HAS has(\"Succeeded\")"
    expect_status "$PYTORCHJOBS" elastic-example-echo pytorch-elastic
    wait_completed elasticexampleecho6448a23e
    delete_job "$PYTORCHJOBS" elastic-example-echo
}

# Labels that the job takes back go from its Framework, those of others stay; the template follows the job's. A status that
# somebody removes is written again.
run_jobs_changed() {
    submit_job "$TFJOBS" tfjob-simple '.metadata.labels = {team: "a", queue: "b"} |
        .spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_job "$TFJOBS" simple 30 "$HAS has(\"Running\")"
    patch_framework simple '{"metadata": {"labels": {"mine": "kept"}}}'
    patch_job "$TFJOBS" simple '{"metadata": {"labels": {"team": null, "queue": "c"}}}'
    wait_framework simple 30 '.metadata.labels | .queue == "c" and .mine == "kept" and (has("team") | not)'
    patch_job "$TFJOBS" simple \
        '{"spec": {"tfReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [{"name": "tensorflow", "image": "anew"}]}}}}}}'
    wait_framework simple 30 '.spec.taskRoles[0].task.pod.spec.containers[0].image == "anew"'
    api PATCH "$(jobs_path "$TFJOBS")/simple/status" '{"status": null}' application/merge-patch+json >/dev/null
    wait_job "$TFJOBS" simple 30 "$HAS has(\"Running\")"
    patch_job "$TFJOBS" simple '{"metadata": {"annotations": {"a": "b"}}}'
    api PATCH "$(jobs_path "$TFJOBS")/simple/status" '{"status": {"conditions": []}}' application/merge-patch+json >/dev/null
    wait_job "$TFJOBS" simple 30 "$HAS has(\"Running\")"
}

# What cannot be expressed is refused, and said; a later change of that kind has no effect.
run_jobs_refused() {
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "gang" | .spec.runPolicy.schedulingPolicy = {minAvailable: 2}'
    wait_job "$TFJOBS" gang 30 "$HAS has(\"Failed\")"
    expect_status "$TFJOBS" gang tfjob-refused
    wait_event gang TFJobFailedValidation 'spec.runPolicy.schedulingPolicy'
    submit_job "$TFJOBS" tfjob-simple \
        '.metadata.name = "shortlived" | .spec.runPolicy = {schedulingPolicy: {queue: "q"}, ttlSecondsAfterFinished: 1}'
    wait_for 60 "the refused job is gone" is_absent "$(jobs_path "$TFJOBS")/shortlived"
    submit_job "$CAICLOUD" caicloud-local '.metadata.name = "odd" | .spec.tfReplicaSpec[0].tfReplicaType = "Chief"'
    wait_job "$CAICLOUD" odd 30 '.status.phase == "Failed"'
    expect "why" "$(job "$CAICLOUD" odd .status.reason)" 'spec.tfReplicaSpec[0].tfReplicaType is "Chief", expected PS, Worker or Local'
    none_left frameworks || fail "a refused job has a Framework"
    submit_job "$TFJOBS" tfjob-simple '.spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "5", "exit-code": 0})'
    wait_job "$TFJOBS" simple 30 "$HAS has(\"Running\")"
    patch_job "$TFJOBS" simple '{"spec": {"successPolicy": "Luck"}}'
    wait_event simple FailedValidation 'the change has no effect: spec.successPolicy is "Luck"'
    wait_job "$TFJOBS" simple 60 "$HAS has(\"Succeeded\")"
}

# From now on the watch of Frameworks of fc-jobs stands still. The answer to the next request of that verb comes too late.
freeze_frameworks() { # verb
    testapi_fault '{"match": {"userAgent": "fc-jobs", "verb": "watch", "resource": "frameworks"}, "action": {"freezeWatches": true}}'
    testapi_fault '{"match": {"userAgent": "fc-jobs", "verb": "'"$1"'", "resource": "frameworks"}, "count": 1,
        "action": {"answerLatencyMs": 20000}}'
}

given_jobs_cluster() {
    own_cluster
    kubectl create -f "$JOB_CRDS" >/dev/null
    launch_watcher watcher-1 --workers 1
    wait_for 20 "TFJobs are served" api GET "$(jobs_path "$TFJOBS")"
    launch_jobs jobs-1 --qps 1000 --burst 1000
}

# A job is suspended, and resumed with another template, as Kueue does it. The answer to the first change of its Framework is
# lost, and the watch is late: the job runs again.
run_jobs_resumed_late() {
    [[ $CLUSTER == embedded ]] || not_here "needs a watch that is late"
    given_jobs_cluster
    submit_job "$TFJOBS" tfjob-simple '.spec.tfReplicaSpecs.Worker |= (.replicas = 1 | annotate({"run-seconds": "forever"}))'
    wait_job "$TFJOBS" simple 30 "$HAS has(\"Running\")"
    freeze_frameworks patch
    patch_job "$TFJOBS" simple '{"spec": {"runPolicy": {"suspend": true}}}'
    wait_framework simple 20 '.spec.suspend'
    patch_job "$TFJOBS" simple "$(get_job "$TFJOBS" simple | jq -c '{spec: {runPolicy: {suspend: false}, tfReplicaSpecs:
        (.spec.tfReplicaSpecs | .Worker.template.spec.nodeSelector = {a: "b"})}}')"
    wait_framework simple 40 '.spec.suspend == false and .spec.taskRoles[0].task.pod.spec.nodeSelector.a == "b"'
    testapi DELETE faults >/dev/null
    wait_framework simple 40 '.spec.suspend == false and .status.state == "AttemptRunning"'
}

# The Framework of a job is created, the answer is lost, the watch is late, and the job becomes wrong: it goes on.
run_jobs_refused_late() {
    [[ $CLUSTER == embedded ]] || not_here "needs a watch that is late"
    given_jobs_cluster
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "first" | .spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_job "$TFJOBS" first 30 "$HAS has(\"Running\")"
    freeze_frameworks create
    submit_job "$TFJOBS" tfjob-simple '.spec.tfReplicaSpecs.Worker |= (.replicas = 1 | annotate({"run-seconds": "forever"}))'
    wait_framework simple 20 '.status.state == "AttemptRunning"'
    patch_job "$TFJOBS" simple '{"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 1}}}}'
    wait_event simple FailedValidation 'the change has no effect'
    testapi DELETE faults >/dev/null
    wait_job "$TFJOBS" simple 60 "$HAS has(\"Running\")"
    expect "whether it has failed" "$(job "$TFJOBS" simple "$HAS has(\"Failed\")")" false
}

# With the name of a gang scheduler each job of kubeflow.org is a gang; a job whose schedulingPolicy asks for more is refused.
run_jobs_gang() {
    own_cluster "$(gang_crds)"
    kubectl create -f "$JOB_CRDS" >/dev/null
    start_watcher
    wait_for 20 "TFJobs are served" api GET "$(jobs_path "$TFJOBS")"
    launch_jobs jobs-1 --gang-scheduler-name volcano
    record podgroups pods
    submit_job "$TFJOBS" tfjob-dist 'del(.spec.runPolicy) | .metadata.name = "all" |
        .spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": 0.3, "exit-code": 0})'
    submit_job "$PYTORCHJOBS" pytorch-simple '.metadata.name = "some" |
        .spec.runPolicy.schedulingPolicy = {minAvailable: 1, queue: "q"} |
        .spec.pytorchReplicaSpecs.Master |= annotate({"run-seconds": 0.3, "exit-code": 0})'
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "more" | .spec.runPolicy.schedulingPolicy.minResources = {cpu: "1"}'
    wait_event more TFJobFailedValidation 'spec.runPolicy.schedulingPolicy.minResources is .*, expected none: the controller computes it'
    wait_job "$TFJOBS" all 60 "$HAS has(\"Succeeded\")"
    wait_job "$PYTORCHJOBS" some 60 "$HAS has(\"Succeeded\")"
    end_records
    expect_groups_first
    expect_lines "PodGroups" "$(jq -r 'select(.type == "ADDED").object | "\(.metadata.name) \(.spec.minMember) \(.spec.queue)"' \
            "$RUN/out/$scenario.podgroups" | LC_ALL=C sort)" 'all-0 6 default
some-0 1 q'
    expect "schedulers" "$(jq -r 'select(.type == "ADDED").object.spec.schedulerName' "$RUN/out/$scenario.pods" | sort -u)" volcano
}

# Jobs of another controller, and Frameworks of somebody else, are left as they are.
run_jobs_foreign() {
    create 'fw("simple"; [role("a"; 1; {})])'
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "others" | .spec.runPolicy.managedBy = "kueue.x-k8s.io/multikueue"'
    submit_job "$TFJOBS" tfjob-simple
    wait_event simple NamingConflict 'Framework simple exists, and is not controlled by this TFJob'
    # a TFJob of the other group has the same kind and name, and its Framework is not of a former job
    submit_job "$CAICLOUD" caicloud-local '.metadata.name = "both" | .spec.tfReplicaSpec[0] |= annotate({"run-seconds": "forever"})'
    wait_job "$CAICLOUD" both 30 '.status.phase == "Running"'
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "both"'
    wait_event both NamingConflict 'Framework both exists, and is not controlled by this TFJob'
    expect "the Framework" "$(framework simple '"\(.metadata | has("ownerReferences")) \(.spec.taskRoles[0].name)"')" "false a"
    expect "the others' job" "$(job "$TFJOBS" others 'has("status")')" false
    # of two jobs of one name the second waits for the first
    submit_job "$PYTORCHJOBS" pytorch-processes \
        '.metadata.name = "twice" | .spec.pytorchReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_job "$PYTORCHJOBS" twice 30 "$HAS has(\"Running\")"
    submit_job "$TFJOBS" tfjob-simple '.metadata.name = "twice" | .spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_object "/api/v1/namespaces/$NS/events" "involvedObject.name=twice,reason=NamingConflict" 15 '.involvedObject.kind == "TFJob"'
    api DELETE "$(jobs_path "$PYTORCHJOBS")/twice" >/dev/null
    wait_job "$TFJOBS" twice 60 "$HAS has(\"Running\")"
}

# A job goes when its time is over, and a Framework that somebody changes is as it should be again.
run_jobs_ttl() {
    local owned
    submit_job "$TFJOBS" tfjob-simple '.spec.tfReplicaSpecs.Worker |= annotate({"run-seconds": "forever"})'
    wait_job "$TFJOBS" simple 30 "$HAS has(\"Running\")"
    patch_framework simple '{"spec": {"suspend": true}, "metadata": {"labels": {"frameworkcontroller.microsoft.com/job-kind": null}}}'
    wait_framework simple 30 \
        '(.spec.suspend | not) and (.metadata.labels["frameworkcontroller.microsoft.com/job-kind"] == "tfjobs.kubeflow.org")'
    owned=$(framework simple '.metadata.ownerReferences[0] | "\(.apiVersion) \(.kind) \(.name) \(.controller) \(.blockOwnerDeletion)"')
    expect "its owner" "$owned" "kubeflow.org/v1 TFJob simple true true"
    patch_job "$TFJOBS" simple '{"spec": {"runPolicy": {"activeDeadlineSeconds": 1, "ttlSecondsAfterFinished": 1}}}'
    wait_for 60 "the job is gone" is_absent "$(jobs_path "$TFJOBS")/simple"
    wait_for 60 "nothing is left of it" none_left frameworks,configmaps,pods
}

# Kinds that the server does not serve are looked for again.
run_jobs_served_later() {
    own_cluster
    launch_watcher watcher-1 --workers 2
    launch_jobs jobs-1 --qps 1000 --burst 1000
    wait_for 20 "it has looked" grep -q "does not serve pytorchjobs.kubeflow.org" jobs-1.log
    kubectl create -f "$JOB_CRDS" >/dev/null
    wait_for 20 "PyTorchJobs are served" api GET "$(jobs_path "$PYTORCHJOBS")"
    submit_job "$PYTORCHJOBS" pytorch-processes '.spec.pytorchReplicaSpecs.Worker |= annotate({"run-seconds": 0.2, "exit-code": 0})'
    wait_job "$PYTORCHJOBS" processes 60 "$HAS has(\"Succeeded\")"
    keep_control_plane
}

# manifests/examples/jobs, whose containers are processes.
run_jobs_examples() {
    local name log
    NS=$REAL_NAMESPACE
    k create -f "$EXAMPLES/jobs" >/dev/null
    k wait --for=condition=Succeeded --timeout=60s tfjobs.kubeflow.org/mnist pytorchjobs.kubeflow.org/pytorch-simple >/dev/null
    wait_job "$CAICLOUD" dist-training-job 60 '.status.phase == "Succeeded"'
    expect "its phase" "$(k get tfjobs.kubeflow.caicloud.io dist-training-job -o jsonpath='{.status.phase}')" Succeeded
    for name in disttrainingjob9d49bb56 mnist pytorchsimple3fd45f80; do wait_completed "$name"; done
    for log in "disttrainingjob9d49bb56-worker-3/tensorflow --job_name=worker --task_index=3$" \
        'mnist-worker-1/tensorflow "task":{"type":"worker","index":1},"environment":"cloud"' \
        "pytorchsimple3fd45f80-worker-1/pytorch ^rank 2 of 3 at master-0.pytorchsimple3fd45f80:23456$"; do
        name=${log%% *}
        grep -qE -e "${log#* }" "$RUN/pods/${NS}_$name.log" || fail "$name does not say ${log#* }: $(<"$RUN/pods/${NS}_$name.log")"
    done
    k delete -f "$EXAMPLES/jobs" >/dev/null
}

# The commands of jobs/README.md: the cluster takes the manifests, and the Deployment is as it is rolled out; with both
# kubectls.
# Every field that is known is in a table.
run_documentation_jobs() {
    local each dry field older fields=0
    while read -r field; do
        grep -qE "^\|.*[\`.]$field[\`.[]" "$root/jobs/README.md" || fail "jobs/README.md does not say what becomes of the field $field"
        fields=$((fields + 1))
    done < <(perl -0ne 'print "$1\n" while /known\[\] = \{(.*?)\};/sg' "$root"/jobs/kinds/*.c | grep -oE '[a-zA-Z]{5,}' | sort -u)
    ((fields > 30)) || fail "only $fields fields were found"
    blocks_of jobs/README.md "sh jobs" | grep -q '^kubectl apply -k manifests/deploy/jobs$' ||
        fail "jobs/README.md does not say how to deploy it"
    older=$(inline_commands jobs/README.md '^kubectl kustomize manifests/deploy/jobs ')
    for each in "$OLDEST_KUBECTL" "$CURRENT_KUBECTL"; do
        write_kubectl "$each" "$RUN/out/$scenario.kubectl"
        kubectl() { "$RUN/out/$scenario.kubectl" "$@"; }
        # What the command for Kubernetes before 1.21 applies.
        expect_lines "budgets for an older server" "$(cd "$root" && eval "${older/%kubectl apply -f -/cat}" | grep policy/)" \
            "apiVersion: policy/v1beta1"
        # (kubectl 1.20 asks for an OpenAPI document first, which the embedded server does not have)
        if [[ $CLUSTER == embedded && $each == "$OLDEST_KUBECTL" ]]; then dry=client; else dry=server; fi
        kubectl kustomize "$root/manifests/deploy/jobs" 2>/dev/null | of_this_server |
            sed 's/namespace: frameworkcontroller/namespace: '"$NS"'/' |
            kubectl apply --validate=false --dry-run=$dry -f - >out/$scenario.applied
        grep -q "^deployment.apps/fc-jobs created .*dry run" out/$scenario.applied
    done
}

# kill -9 right after each write of a story (`make crash-points`): crash_points.sh tells how.
run_crash_points_jobs() {
    only_when_asked
    own_cluster
    kubectl create -f "$JOB_CRDS" >/dev/null
    launch_watcher watcher-1 --workers 2
    launch_crash_jobs 1
    crash_points_loop 9 '"userAgent": "fc-jobs", "path": "/(frameworks|tfjobs|pytorchjobs)"' kill_jobs crash_jobs_story :
}

launch_crash_jobs() { # number
    launch_jobs "jobs-$1" --qps 1000 --burst 1000
    echo "$1" >"out/$scenario.number"
}

kill_jobs() {
    local number
    number=$(<"out/$scenario.number")
    kill -KILL "$(awk -v name="jobs-$number" '$1 == name { print $2 }' pids)"
    launch_crash_jobs $((number + 1))
}

# A job whose Workers all count, one whose first Worker does, and one that is resumed.
crash_jobs_story() {
    record pods
    submit_job "$CAICLOUD" caicloud-dist \
        'del(.spec.runtimeID) | (.spec.tfReplicaSpec[] | select(.tfReplicaType == "Worker")) |= (.replicas = 2 |
        annotate({"run-seconds": 0.3, "exit-code": 0}))'
    submit_job "$TFJOBS" tfjob-dist \
        'del(.spec.runPolicy) | .spec.tfReplicaSpecs.Worker |= (.replicas = 2 |
        annotate({"run-seconds": "{{FC_TASK_INDEX}}00.3", "exit-code": 0}))'
    submit_job "$PYTORCHJOBS" pytorch-simple \
        '.spec.runPolicy.suspend = true | .spec.pytorchReplicaSpecs.Master |= annotate({"run-seconds": 0.3, "exit-code": 0})'
    wait_job "$PYTORCHJOBS" pytorch-simple 60 "$HAS has(\"Suspended\")"
    patch_job "$PYTORCHJOBS" pytorch-simple '{"spec": {"runPolicy": {"suspend": false}}}'
    wait_job "$PYTORCHJOBS" pytorch-simple 60 "$HAS has(\"Succeeded\")"
    wait_job "$TFJOBS" dist-mnist-for-e2e-test 60 "$HAS has(\"Succeeded\")"
    wait_job "$CAICLOUD" dist-training-job 60 '.status.phase == "Succeeded"'
    wait_all_completed 60
    wait_for 60 "no Pods are left" none_left pods
    end_records
    {
        # Whether somebody was there to see that a job runs is no matter.
        for kind in "$CAICLOUD" "$TFJOBS" "$PYTORCHJOBS"; do
            get_jq "$(jobs_path "$kind")" -Sc --arg namespace "$NS" '.items[] | {name: .metadata.name, status} |
                del(.. | .lastTransitionTime?, .lastUpdateTime?, .startTime?, .completionTime?) |
                del(.status.conditions[] | select(.type == "Running" or .type == "Suspended")) |
                walk(if type == "string" then gsub($namespace; "NAMESPACE") else . end)'
        done
        api GET "$(frameworks_path)" |
            jq -c '.items[] | [.metadata.name, .status.attemptStatus.id, .status.attemptStatus.completionStatus.code]'
        jq -r 'select(.type == "ADDED") | .object.metadata |
            "\(.name) \(.annotations.FC_FRAMEWORK_ATTEMPT_ID) \(.annotations.FC_TASK_ATTEMPT_ID)"' \
            "$RUN/out/$scenario.pods" | sort
    } >"out/$scenario.end"
}
