/* Jobs become Frameworks (jobs/README.md): the published examples and jobs that use every field, against the Frameworks
 * of tests/jobs/NAME.framework.json; and every field that is refused. */
#include "tests/unit/jobs_world.h"

static const char *const files[] = {
	"caicloud-dist", "caicloud-local", "tfjob-dist",      "tfjob-chief",          "tfjob-dynamic",
	"tfjob-simple",  "pytorch-simple", "pytorch-elastic", "pytorch-elastic-etcd", "pytorch-processes",
};

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		cleanup_free char *path = mem_printf("tests/jobs/%s.yaml", files[i]);
		cleanup_free char *expected_path = mem_printf("tests/jobs/%s.framework.json", files[i]);
		cleanup_json json_t *object = yaml_of_file(path);
		cleanup_json json_t *expected = yaml_of_file(expected_path);
		cleanup_json json_t *found = NULL;
		struct job_translation translation;
		struct error err;
		struct job job;

		job_of(object, &job);
		if (job_translate(&job, &translation, &err) < 0)
			fail_msg("%s: %s", path, err.message);
		found = json_pack("{s:s, s:O, s:O, s:O}", "name", translation.framework, "labels", translation.labels,
				  "spec", translation.spec, "warnings", translation.warnings);
		assert_json(path, found, expected);
		job_translation_free(&translation);
		job_free(&job);
	}
}

#define CONTAINER(name) "template: {spec: {containers: [{name: " name ", image: i}]}}"
#define TF "apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: j}"
#define PT "apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: j}"
#define CC "apiVersion: kubeflow.caicloud.io/v1alpha1, kind: TFJob, metadata: {name: j}"
#define TF_WORKER "Worker: {" CONTAINER("tensorflow") "}"
#define PT_WORKER "Worker: {" CONTAINER("pytorch") "}"
#define CC_WORKER "{tfReplicaType: Worker, " CONTAINER("c") "}"

/* message NULL: any that says what was expected. */
static void assert_refused(const char *fields, const char *scheduler, const char *message)
{
	cleanup_free char *text = mem_printf("{%s}", fields);
	struct job_translation translation;
	struct error err = {.message = ""};
	struct job job;

	job_of_text(text, &job);
	job.gang_scheduler = scheduler;
	assert_int_equal(job_translate(&job, &translation, &err), -1);
	if (message != NULL)
		assert_string_equal(err.message, message);
	else
		assert_non_null(strstr(err.message, "expected "));
	job_free(&job);
}

#define LONG_NAME "metadata: {name: imagenet-resnet-training-of-team-vision}"
#define LONG_TF "apiVersion: kubeflow.org/v1, kind: TFJob, " LONG_NAME
#define LONG_CC "apiVersion: kubeflow.caicloud.io/v1alpha1, kind: TFJob, " LONG_NAME

static size_t longest_text(const json_t *value)
{
	size_t longest = json_is_string(value) ? json_string_length(value) : 0;
	const char *name;
	json_t *member;
	size_t i;

	json_object_foreach((json_t *)value, name, member)
		longest = longest_text(member) > longest ? longest_text(member) : longest;
	json_array_foreach(value, i, member)
		longest = longest_text(member) > longest ? longest_text(member) : longest;
	return longest;
}

/* The longest text of the job's Framework; 0: the job is refused, with that message. */
static size_t translated(const char *before, int replicas, const char *after, const char *message)
{
	cleanup_free char *text = mem_printf("{%s%d%s}", before, replicas, after);
	struct job_translation translation;
	size_t longest = 0;
	struct error err;
	struct job job;

	job_of_text(text, &job);
	if (job_translate(&job, &translation, &err) == 0) {
		longest = longest_text(translation.spec);
		job_translation_free(&translation);
	} else if (strncmp(err.message, message, strlen(message)) != 0) {
		fail_msg("%s", err.message);
	}
	job_free(&job);
	return longest;
}

/* Linux starts no program with a longer variable or argument. The largest job that is not refused comes close. */
static void test_too_long(void **state)
{
	static const struct {
		const char *before;
		const char *after;
		const char *message;
	} rows[] = {
		{LONG_TF ", spec: {tfReplicaSpecs: {Worker: {replicas: ", ", " CONTAINER("tensorflow") "}}}",
		 "the variable TF_CONFIG of the replicas Worker would have "},
		{LONG_CC ", spec: {runtimeID: abcde, tfReplicaSpec: [{tfReplicaType: Worker, replicas: ",
		 ", " CONTAINER("c") "}]}", "the argument --worker_hosts would have "},
	};
	enum { LIMIT = 131072, HOST = 100 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t longest = 0;
		int accepted = 0;
		int refused = 10001;

		while (refused - accepted > 1) {
			int middle = (accepted + refused) / 2;
			size_t len = translated(rows[i].before, middle, rows[i].after, rows[i].message);

			if (len == 0)
				refused = middle;
			else
				accepted = middle;
			longest = len > longest ? len : longest;
		}
		assert_in_range(longest, LIMIT - HOST, LIMIT);
		assert_int_equal(translated(rows[i].before, refused, rows[i].after, rows[i].message), 0);
	}
}

/* A job whose template has an annotation of so many bytes. */
static int translate_annotated(size_t len, struct error *err)
{
	cleanup_json json_t *object = yaml_of("{" TF ", spec: {tfReplicaSpecs: {" TF_WORKER "}}}");
	cleanup_free char *text = mem_calloc(1, len + 1);
	struct job_translation translation;
	struct job job;
	int result;

	memset(text, 'x', len);
	json_object_set_new(json_path(object, "spec", "tfReplicaSpecs", "Worker", "template", NULL), "metadata",
			    json_pack("{s:{s:s}}", "annotations", "a", text));
	job_of(object, &job);
	result = job_translate(&job, &translation, err);
	if (result == 0)
		job_translation_free(&translation);
	job_free(&job);
	return result;
}

/* etcd stores 1.5 MiB. */
static void test_too_large(void **state)
{
	enum { LIMIT = 1536 * 1024 };
	struct error err = {.message = ""};

	(void)state;
	assert_int_equal(translate_annotated(LIMIT - 2000, &err), 0);
	assert_int_equal(translate_annotated(LIMIT, &err), -1);
	assert_non_null(strstr(err.message, "bytes, expected at most 1572864, which etcd stores: have fewer replicas"));
}

/* Each field that cannot be expressed, or is wrong. */
static void test_refused(void **state)
{
	static const struct {
		const char *job;
		const char *message;
	} rows[] = {
		{TF ", spec: {}", "spec.tfReplicaSpecs is missing, expected replicas of at least one type"},
		{TF ", spec: {tfReplicaSpecs: {}}",
		 "spec.tfReplicaSpecs is {}, expected replicas of at least one type"},
		{TF ", spec: {tfReplicaSpecs: {" TF_WORKER "}, workers: 2}",
		 "spec.workers is 2, expected no field of this name"},
		{TF ", spec: {tfReplicaSpecs: {Worker: {replica: 2}}}",
		 "spec.tfReplicaSpecs.Worker.replica is 2, expected no field of this name"},
		{TF ", spec: {tfReplicaSpecs: {Driver: {replicas: 2}}}",
		 "spec.tfReplicaSpecs has replicas of type Driver, expected one of Chief, Master, PS, Worker, "
		 "Evaluator"},
		{TF ", spec: {tfReplicaSpecs: {" TF_WORKER ", worker: {replicas: 2}}}",
		 "spec.tfReplicaSpecs.worker is {\"replicas\":2}, expected replicas of each type once"},
		{TF ", spec: {tfReplicaSpecs: {Worker: {" CONTAINER("main") "}}}",
		 "spec.tfReplicaSpecs.Worker.template.spec.containers has no container named \"tensorflow\", expected "
		 "one"},
		{TF
		 ", spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, ports: [{name: "
		 "tfjob-port, containerPort: 70000}]}]}}}}}",
		 "spec.tfReplicaSpecs.Worker.template.spec.containers: the port \"tfjob-port\" of the container "
		 "\"tensorflow\" has no containerPort in 1..65535"},
		{TF ", spec: {tfReplicaSpecs: {Worker: {restartPolicy: Sometimes}}}",
		 "spec.tfReplicaSpecs.Worker.restartPolicy is \"Sometimes\", expected Always, OnFailure, Never or "
		 "ExitCode"},
		{TF ", spec: {tfReplicaSpecs: {Worker: {replicas: -1}}}",
		 "spec.tfReplicaSpecs.Worker.replicas is -1, expected an integer in 0..10000"},
		{TF ", spec: {tfReplicaSpecs: {Chief: {replicas: 2}}}",
		 "spec.tfReplicaSpecs.Chief.replicas is 2, expected 1"},
		{TF ", spec: {tfReplicaSpecs: {Chief: {" CONTAINER("tensorflow") "}, Master: {" CONTAINER(
			 "tensorflow") "}}}",
		 "spec.tfReplicaSpecs has Chief and Master, expected at most one of them"},
		{TF ", spec: {successPolicy: Any, tfReplicaSpecs: {" TF_WORKER "}}",
		 "spec.successPolicy is \"Any\", expected \"\" or AllWorkers"},
		{TF ", spec: {runPolicy: {schedulingPolicy: {minAvailable: 2}}, tfReplicaSpecs: {" TF_WORKER "}}",
		 "spec.runPolicy.schedulingPolicy is {\"minAvailable\":2}, expected none: fc-jobs was started without "
		 "--gang-scheduler-name, which names the scheduler of gangs"},
		{TF ", spec: {runPolicy: {cleanPodPolicy: Some}, tfReplicaSpecs: {" TF_WORKER "}}",
		 "spec.runPolicy.cleanPodPolicy is \"Some\", expected All, Running or None"},
		{TF ", spec: {runPolicy: {backofLimit: 1}, tfReplicaSpecs: {" TF_WORKER "}}",
		 "spec.runPolicy.backofLimit is 1, expected no field of this name"},
		{TF ", spec: {runPolicy: {activeDeadlineSeconds: 0}, tfReplicaSpecs: {" TF_WORKER "}}",
		 "spec.runPolicy.activeDeadlineSeconds is 0, expected an integer in 1..2147483647"},
		{"apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: a.b}, spec: {tfReplicaSpecs: {" TF_WORKER
		 "}}",
		 "metadata.name is \"a.b\", expected at most 63 lower case letters, digits and '-', beginning with a "
		 "letter "
		 "and not ending with '-'"},
		{PT ", spec: {nprocPerNode: many, pytorchReplicaSpecs: {" PT_WORKER "}}",
		 "spec.nprocPerNode is \"many\", expected auto, cpu, gpu or a number in 1..10000, as a string"},
		{PT ", spec: {pytorchReplicaSpecs: {Master: {replicas: 3}}}",
		 "spec.pytorchReplicaSpecs.Master.replicas is 3, expected 1"},
		{PT ", spec: {pytorchReplicaSpecs: {PS: {replicas: 3}}}",
		 "spec.pytorchReplicaSpecs has replicas of type PS, expected one of Master, Worker"},
		{PT ", spec: {elasticPolicy: {}, pytorchReplicaSpecs: {Master: {" CONTAINER("pytorch") "}}}",
		 "spec.pytorchReplicaSpecs.Worker is missing, expected with spec.elasticPolicy"},
		{PT ", spec: {elasticPolicy: {minReplicas: 3, maxReplicas: 2}, pytorchReplicaSpecs: {" PT_WORKER "}}",
		 "spec.elasticPolicy.minReplicas is 3, expected at most maxReplicas"},
		{PT ", spec: {elasticPolicy: {metrics: [{type: Resource}]}, pytorchReplicaSpecs: {" PT_WORKER "}}",
		 "spec.elasticPolicy.metrics is [{\"type\":\"Resource\"}], expected none: fc-jobs makes no "
		 "HorizontalPodAutoscaler"},
		{PT ", spec: {elasticPolicy: {rdzvBackend: zoo}, pytorchReplicaSpecs: {" PT_WORKER "}}",
		 "spec.elasticPolicy.rdzvBackend is \"zoo\", expected c10d, etcd or etcd-v2"},
		{CC ", spec: {tfReplicaSpec: []}", "spec.tfReplicaSpec is [], expected a list of at least one entry"},
		{CC ", spec: {tfReplicaSpec: [" CC_WORKER "], replicas: 2}",
		 "spec.replicas is 2, expected no field of this name"},
		{CC ", spec: {tfReplicaSpec: [" CC_WORKER ", " CC_WORKER "]}",
		 "spec.tfReplicaSpec[1].tfReplicaType is \"Worker\", expected each type once"},
		{CC ", spec: {tfReplicaSpec: [{tfReplicaType: Master}]}",
		 "spec.tfReplicaSpec[0].tfReplicaType is \"Master\", expected PS, Worker or Local"},
		{CC ", spec: {tfReplicaSpec: [{tfReplicaType: PS, " CONTAINER("c") "}]}", NULL},
		{CC ", spec: {tfReplicaSpec: [{tfReplicaType: Local, " CONTAINER("c") "}, " CC_WORKER "]}", NULL},
		{CC ", spec: {tfReplicaSpec: [{tfReplicaType: Local, replicas: 2, " CONTAINER("c") "}]}",
		 "spec.tfReplicaSpec[0].replicas is 2, expected 1"},
		{CC ", spec: {tfReplicaSpec: [{tfReplicaType: Worker}]}",
		 "spec.tfReplicaSpec[0].template.spec.containers is empty, expected a container"},
		{PT ", spec: {pytorchReplicaSpecs: {Master: {" CONTAINER(
			 "pytorch") "}, Worker: {replicas: 10000, " CONTAINER("pytorch") "}}}",
		 "the job has 10001 replicas in all, expected at most 10000"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_refused(rows[i].job, NULL, rows[i].message);
}

/* Names of its own would keep a Pod from being found by the others; a single replica needs nobody. */
static void test_pod_names(void **state)
{
#define NAMED "template: {spec: {hostname: h, subdomain: s, containers: [{name: tensorflow, image: i}]}}"
	static const char *const jobs[] = {
		"{" TF ", spec: {tfReplicaSpecs: {Worker: {replicas: 1, " NAMED "}}}}",
		"{" TF ", spec: {tfReplicaSpecs: {Worker: {replicas: 2, " NAMED "}}}}",
		"{" CC ", spec: {runtimeID: abcde, tfReplicaSpec: [{tfReplicaType: Worker, " NAMED "}]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		cleanup_json json_t *warnings = yaml_of(
			i == 0 ? "[]"
			       : "['hostname of the template of Worker has no effect: replicas find each other by "
				 "other names', 'subdomain of the template of Worker has no effect: replicas find "
				 "each other by other names']");
		struct job_translation translation;
		const json_t *pod;
		struct error err;
		struct job job;

		job_of_text(jobs[i], &job);
		assert_int_equal(job_translate(&job, &translation, &err), 0);
		pod = json_path(json_array_get(json_object_get(translation.spec, "taskRoles"), 0), "task", "pod",
				"spec", NULL);
		assert_int_equal(json_object_get(pod, "hostname") != NULL, i == 0);
		assert_int_equal(json_object_get(pod, "subdomain") != NULL, i == 0);
		assert_json(jobs[i], translation.warnings, warnings);
		job_translation_free(&translation);
		job_free(&job);
	}
}

#define GANG(policy) TF ", spec: {runPolicy: {schedulingPolicy: " policy "}, tfReplicaSpecs: {" TF_WORKER "}}"

/* With --gang-scheduler-name each job of kubeflow.org is a gang. */
static void test_gangs(void **state)
{
	static const struct {
		const char *scheduler;
		const char *job;
		const char *gang;     /* NULL: none */
		const char *name;     /* spec.schedulerName of the Pods; NULL: none */
		const char *warnings; /* NULL: [] */
	} rows[] = {
		{"volcano", TF ", spec: {tfReplicaSpecs: {" TF_WORKER "}}", "{scheduler: Volcano}", NULL, NULL},
		{"volcano", GANG("{}"), "{scheduler: Volcano}", NULL, NULL},
		{"volcano", GANG("{queue: '', priorityClass: '', minResources: {}, minAvailable: null}"),
		 "{scheduler: Volcano}", NULL, NULL},
		{"volcano", GANG("{minAvailable: 1, queue: q, priorityClass: high, scheduleTimeoutSeconds: 5}"),
		 "{scheduler: Volcano, minTaskNumber: 1, queue: q, priorityClassName: high}", NULL,
		 "['spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds has no effect: PodGroups of the gang "
		 "scheduler volcano have none']"},
		{"volcano",
		 PT
		 ", spec: {runPolicy: {schedulingPolicy: {minAvailable: 3}}, pytorchReplicaSpecs: {Master: {" CONTAINER(
			 "pytorch") "}, Worker: {replicas: 2, " CONTAINER("pytorch") "}}}",
		 "{scheduler: Volcano, minTaskNumber: 3}", NULL, NULL},
		/* any other one has the plugin Coscheduling */
		{"my-scheduler", GANG("{minAvailable: 1, scheduleTimeoutSeconds: 5}"),
		 "{scheduler: Coscheduling, minTaskNumber: 1, scheduleTimeoutSec: 5}", "my-scheduler", NULL},
		{"my-scheduler", GANG("{queue: q, priorityClass: high}"), "{scheduler: Coscheduling}", "my-scheduler",
		 "['spec.runPolicy.schedulingPolicy.queue has no effect: PodGroups of the gang scheduler my-scheduler "
		 "have none', 'spec.runPolicy.schedulingPolicy.priorityClass has no effect: PodGroups of the gang "
		 "scheduler my-scheduler have none']"},
		/* a template keeps its scheduler */
		{"my-scheduler",
		 TF ", spec: {tfReplicaSpecs: {Worker: {template: {spec: {schedulerName: own, containers: [{name: "
		    "tensorflow}]}}}}}",
		 "{scheduler: Coscheduling}", "own", NULL},
		/* those of caicloud have never been gangs */
		{"volcano", CC ", spec: {runtimeID: abcde, tfReplicaSpec: [" CC_WORKER "]}", NULL, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *text = mem_printf("{%s}", rows[i].job);
		cleanup_json json_t *gang = rows[i].gang == NULL ? json_null() : yaml_of(rows[i].gang);
		cleanup_json json_t *warnings = yaml_of(rows[i].warnings == NULL ? "[]" : rows[i].warnings);
		json_t *found;
		const json_t *pod;
		const char *name;
		struct job_translation translation;
		struct error err;
		struct job job;

		job_of_text(text, &job);
		job.gang_scheduler = rows[i].scheduler;
		if (job_translate(&job, &translation, &err) < 0)
			fail_msg("%s: %s", text, err.message);
		found = json_object_get(translation.spec, "gang");
		assert_json(text, found == NULL ? json_null() : found, gang);
		assert_json(text, translation.warnings, warnings);
		pod = json_path(json_array_get(json_object_get(translation.spec, "taskRoles"), 0), "task", "pod",
				"spec", NULL);
		name = json_str(pod, "schedulerName");
		assert_string_equal(name == NULL ? "" : name, rows[i].name == NULL ? "" : rows[i].name);
		job_translation_free(&translation);
		job_free(&job);
	}
}

/* What spec.gang cannot express. */
static void test_gangs_refused(void **state)
{
	static const struct {
		const char *scheduler;
		const char *job;
		const char *message;
	} rows[] = {
		{"volcano", GANG("{minResources: {cpu: 1}}"),
		 "spec.runPolicy.schedulingPolicy.minResources is {\"cpu\":1}, expected none: the controller computes "
		 "it "
		 "from the requests of the first minAvailable replicas"},
		{"volcano", GANG("{minAvailable: 2}"),
		 "spec.runPolicy.schedulingPolicy.minAvailable is 2, expected an integer in 1..1"},
		{"volcano", GANG("{minAvailable: 0}"),
		 "spec.runPolicy.schedulingPolicy.minAvailable is 0, expected an integer in 1..1"},
		{"volcano", GANG("{queue: A}"),
		 "spec.runPolicy.schedulingPolicy.queue is \"A\", expected the name of an object: lower case letters, "
		 "digits, - and ."},
		{"volcano", GANG("{queues: q}"),
		 "spec.runPolicy.schedulingPolicy.queues is \"q\", expected no field of this name"},
		{"volcano", GANG("1"), "spec.runPolicy.schedulingPolicy is 1, expected an object"},
		{"mine", GANG("{scheduleTimeoutSeconds: 0}"),
		 "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds is 0, expected an integer in 1..2147483647"},
		{"mine",
		 "apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: "
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}, spec: {tfReplicaSpecs: {" TF_WORKER "}}",
		 "metadata.name is \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", which cannot be a "
		 "gang's: "
		 "its Framework's metadata.name is \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", expected "
		 "at most 52 characters: with "
		 "spec.gang.scheduler Coscheduling, the label of its Pods has at most 63"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_refused(rows[i].job, rows[i].scheduler, rows[i].message);
}

/* A Framework's name has no '-', and is that of a Service. */
static void test_names(void **state)
{
	char name[JOB_FRAMEWORK_NAME_SIZE];
	char other[JOB_FRAMEWORK_NAME_SIZE];
	char longest[254];

	(void)state;
	assert_string_equal(job_framework_name(JOB_TFJOB, "mnist2", name), "mnist2");
	assert_string_equal(job_framework_name(JOB_TFJOB, "tf-job", name), "tfjob34a5446c");
	assert_string_not_equal(job_framework_name(JOB_PYTORCHJOB, "tf-job", other), name);
	assert_string_not_equal(job_framework_name(JOB_TFJOB, "tfj-ob", other), name);
	assert_int_equal(strncmp(job_framework_name(JOB_CAICLOUD_TFJOB, "9-lives", name), "j9lives", 7), 0);
	assert_int_equal(strncmp(job_framework_name(JOB_CAICLOUD_TFJOB, "9lives", name), "j9lives", 7), 0);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_true(strlen(job_framework_name(JOB_CAICLOUD_TFJOB, longest, name)) < JOB_FRAMEWORK_NAME_SIZE);
	longest[JOB_FRAMEWORK_NAME_SIZE - 1] = '\0';
	assert_string_equal(job_framework_name(JOB_TFJOB, longest, name), longest);
	/* one that has no room does not become another job's */
	longest[JOB_FRAMEWORK_NAME_SIZE - 1] = 'a';
	longest[JOB_FRAMEWORK_NAME_SIZE] = '\0';
	assert_int_not_equal(strncmp(job_framework_name(JOB_CAICLOUD_TFJOB, longest, name), longest, strlen(name)), 0);
}

/* The largest values that are not refused. */
static void test_largest(void **state)
{
	static const struct {
		const char *job;
		const char *message; /* NULL: it is not refused */
	} rows[] = {
		{"apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: "
		 "a23456789012345678901234567890123456789012345678901234567890123}, spec: {tfReplicaSpecs: {" TF_WORKER
		 "}}",
		 NULL},
		{"apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: "
		 "a234567890123456789012345678901234567890123456789012345678901234}, spec: {tfReplicaSpecs: "
		 "{" TF_WORKER "}}",
		 "metadata.name is \"a2345"},
		{PT ", spec: {nprocPerNode: '10000', pytorchReplicaSpecs: {" PT_WORKER "}}", NULL},
		{PT ", spec: {nprocPerNode: '10001', pytorchReplicaSpecs: {" PT_WORKER "}}",
		 "spec.nprocPerNode is \"10001\", expected "},
		{PT ", spec: {pytorchReplicaSpecs: {Worker: {replicas: 10000, " CONTAINER("pytorch") "}}}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *text = mem_printf("{%s}", rows[i].job);
		struct job_translation translation;
		struct error err = {.message = ""};
		struct job job;

		job_of_text(text, &job);
		if (job_translate(&job, &translation, &err) == 0)
			job_translation_free(&translation);
		if (rows[i].message == NULL)
			assert_string_equal(err.message, "");
		else
			assert_memory_equal(err.message, rows[i].message, strlen(rows[i].message));
		job_free(&job);
	}
}

static void test_managed_by(void **state)
{
	static const struct {
		const char *text;
		bool others;
	} rows[] = {
		{TF ", spec: {}", false},
		{TF ", spec: {runPolicy: {managedBy: kubeflow.org/training-operator}}", false},
		{TF ", spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}}", true},
		{CC ", spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}}", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *text = mem_printf("{%s}", rows[i].text);
		struct job job;

		job_of_text(text, &job);
		assert_int_equal(job.managed_by_others, rows[i].others);
		job_free(&job);
	}
}

/* What is read of a job before it is translated, with blanks as no API server writes them. */
static void test_read(void **state)
{
	static const char text[] =
		"{ \"spec\" : { \"runtimeID\" : \"a1b2c\" , \"runPolicy\" : { \"ttlSecondsAfterFinished\" : 7 } } , "
		"\"metadata\" : { \"labels\" : { \"team\" : \"a\" } , \"name\" : \"j\" , \"uid\" : \"u\" , "
		"\"namespace\" : \"ns\" , \"generation\" : 3 } , \"status\" : { \"phase\" : \"Failed\" } }";
	struct error err;
	struct job job;

	(void)state;
	assert_int_equal(job_read(JOB_CAICLOUD_TFJOB, text, strlen(text), &job, &err), 0);
	assert_string_equal(json_str(job.labels, "team"), "a");
	assert_int_equal(job.generation, 3);
	assert_int_equal(job.ttl_sec, 7);
	assert_true(job.has_runtime_id);
	assert_true(job_finished(&job));
	job_free(&job);
	assert_int_equal(job_read(JOB_TFJOB, "{\"metadata\":{}}", strlen("{\"metadata\":{}}"), &job, &err), -1);
	job_of_text("{" CC ", spec: {runtimeID: ''}}", &job);
	assert_false(job.has_runtime_id);
	job_free(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),         cmocka_unit_test(test_refused),
		cmocka_unit_test(test_gangs),         cmocka_unit_test(test_pod_names),
		cmocka_unit_test(test_gangs_refused), cmocka_unit_test(test_names),
		cmocka_unit_test(test_managed_by),    cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_too_large),     cmocka_unit_test(test_read),
		cmocka_unit_test(test_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
