/* kubectl framework why: Tasks that wait, also for who may not read Pods and Events. */
#include "tests/unit/cli_why.h"

static void test_images(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptPreparing", ""));
	three_pods(&w, "", "'nodeName':'n'",
		   "'phase':'Pending','containerStatuses':[{'name':'c','state':{'waiting':{'reason':"
		   "'ImagePullBackOff','message':'Back-off pulling image \\u001b[31m'}}}]",
		   "'phase':'Running'");
	explain(&w, &why, "start-fails", "2 Tasks, a[0,2], do not start");
	assert_contains(why.answer, "ImagePullBackOff: Back-off pulling image");
	assert_string_equal(why.brief, "start-fails: a[0,2]");
	assert_contains(fact(&why, "Tasks a[0,2]"), "start-fails for 60m");
	done(&w, &why);
}

static void test_room(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptPreparing", ""));
	three_pods(&w, "", "",
		   "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"
		   "'message':'0/4 nodes are available: 4 Insufficient "
		   "cpu.','lastTransitionTime':'2026-01-01T00:50:00Z'}]",
		   NULL);
	explain(&w, &why, "unschedulable", "None of the 3 Tasks of Framework f runs. 3 Tasks, a[0..2], find no node");
	assert_contains(why.answer, "0/4 nodes are available: 4 Insufficient cpu.");
	assert_contains(fact(&why, "Tasks a[0..2]"), "unschedulable for 10m");
	done(&w, &why);
}

/* While no controller runs, Pods end and go, and the status says that they run. (The answer was that the Framework
 * waits for nothing.) */
static void test_unnoticed(void **state)
{
	static const struct {
		const char *uid;
		const char *status;
		const char *kind;
		const char *part;
	} cases[] = {
		{"p-f-a-0",
		 "'phase':'Failed','containerStatuses':[{'name':'c','state':{'terminated':{'exitCode':1,'finishedAt':"
		 "'2026-01-01T00:58:00Z'}}}]",
		 "unnoticed",
		 "Task a[0] waits for the controller, which has not yet noted the end of its Pod: the Pod has failed"},
		{"p-f-a-0",
		 "'phase':'Failed','conditions':[{'type':'Ready','status':'False','lastTransitionTime':"
		 "'2026-01-01T00:57:00Z'},{'type':'DisruptionTarget','status':'True','lastTransitionTime':"
		 "'2026-01-01T00:58:50Z'}]",
		 "unnoticed", "the Pod has failed"},
		{"p-f-a-0",
		 "'phase':'Succeeded','containerStatuses':[{'name':'c','state':{'terminated':{'exitCode':0,"
		 "'finishedAt':'2026-01-01T00:59:30Z'}}}]",
		 "running", "waits for nothing"},
		{"p-f-a-0", "'phase':'Running'", "running", "waits for nothing"},
		{"p-former", "'phase':'Running'", "unnoticed", "the Pod is gone"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *pod_uid = mem_printf(",'podUID':'%s'", cases[i].uid);
		struct cli_world w;
		struct why why;

		begin_tasks(&w, "AttemptRunning", ONE_ROLE, cli_task(0, "AttemptRunning", pod_uid));
		cli_world_pod(&w, "f-a-0", "", "'nodeName':'n'", cases[i].status);
		explain(&w, &why, cases[i].kind, cases[i].part);
		done(&w, &why);
	}
}

/* Steps that only the controller takes, and has not: neither the kubelet nor anybody else is to blame. */
static void test_late(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptRunning", ONE_ROLE,
		    three("AttemptDeletionPending", ",'completionStatus':{'code':-230,'phrase':'p','type':{'name':"
						    "'Failed','attributes':['Permanent']},'diagnostics':'d'}"));
	three_pods(&w, "", "", "'phase':'Running'", NULL);
	explain(&w, &why, "undeleted", "3 Tasks, a[0..2], wait for the controller, which has not yet deleted their");
	assert_contains(why.advice[0].text, "no fc-watcher leads");
	why_free(&why);
	w.inquiry.now -= 3600 - 60;
	explain(&w, &why, "termination", "wait until their Pods are gone");
	why_free(&why);
	pod_views_free(&w.pods);
	w.inquiry.now = CLI_NOW;
	explain(&w, &why, "unnoticed", "which has not yet noted the end of their Pods: the Pod is gone.");
	done(&w, &why);

	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
	explain(&w, &why, "creation", "3 Tasks, a[0..2], get their Pods from the controller next.");
	assert_contains(why.advice[0].text, "no fc-watcher leads");
	why_free(&why);
	w.inquiry.now -= 3600 - 60;
	explain(&w, &why, "creation", "get their Pods from the controller next.");
	assert_int_equal(why.advice_count, 0);
	done(&w, &why);
}

/* The cause counts before its effects: those in the barrier wait for the one without a node. */
static void test_barrier(void **state)
{
	static const char in_barrier[] =
		"'phase':'Pending','initContainerStatuses':[{'name':'frameworkbarrier','state':{'running':{}}}]";
	cleanup_free char *one = cli_task(0, "AttemptPreparing", ",'podIP':'10.0.0.1'");
	cleanup_free char *two = cli_task(1, "AttemptPreparing", ",'podIP':'10.0.0.2'");
	cleanup_free char *last = cli_task(2, "AttemptPreparing", ",'podIP':null");
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, mem_printf("%s,%s,%s", one, two, last));
	cli_world_pod(&w, "f-a-0", "", "'nodeName':'n'", in_barrier);
	cli_world_pod(&w, "f-a-1", "", "'nodeName':'n'", in_barrier);
	cli_world_pod(&w, "f-a-2", "", "'nodeName':'n'",
		      "'phase':'Pending','containerStatuses':[{'name':'c','state':{'waiting':{'reason':'"
		      "ContainerCreating'}}}]");
	explain(&w, &why, "barrier",
		"2 Tasks, a[0,1], are held by the barrier until every Task of the Framework has an IP. "
		"Without an IP: a[2].");
	why_free(&why);
	pod_views_free(&w.pods);
	cli_world_pod(&w, "f-a-0", "", "'nodeName':'n'", in_barrier);
	cli_world_pod(&w, "f-a-1", "", "'nodeName':'n'", in_barrier);
	cli_world_pod(&w, "f-a-2", "", "",
		      "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable'"
		      ",'message':'m'}]");
	explain(&w, &why, "unschedulable", "Behind them, 2 Tasks wait in the barrier");
	assert_contains(fact(&why, "Barrier"), "without an IP: a[2]");
	done(&w, &why);
}

/* All have an IP, and the barrier has to ask once more: after a while, something is wrong. */
static void test_barrier_stays(void **state)
{
#define IN_BARRIER(time)                                                                                               \
	"'phase':'Pending','initContainerStatuses':[{'name':'frameworkbarrier','state':{'running':{'startedAt':'" time \
	"'}}}]"
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptPreparing", ",'podIP':'10.0.0.1'"));
	three_pods(&w, "", "'nodeName':'n','serviceAccountName':'gang'", IN_BARRIER("2026-01-01T00:59:30Z"),
		   IN_BARRIER("2026-01-01T00:59:40Z"));
	explain(&w, &why, "barrier", "Every Task has one: the containers start as soon as frameworkbarrier has asked");
	assert_int_equal(why.advice_count, 0);
	why_free(&why);
	w.inquiry.now++;
	explain(&w, &why, "barrier",
		"until every Task of the Framework has an IP. Every Task has one, but frameworkbarrier has not let "
		"them go: it may not be able to read the Framework.");
	assert_int_equal(why.advice_count, 2);
	assert_string_equal(why.advice[0].command, "kubectl framework logs f -c frameworkbarrier -n ns");
	assert_string_equal(why.advice[1].command,
			    "kubectl create rolebinding frameworkbarrier --clusterrole=frameworkbarrier "
			    "--serviceaccount=ns:gang -n ns");
	why_free(&why);
	w.framework.status.attempt.roles[0].tasks[0].transition_time = w.inquiry.now - 20;
	explain(&w, &why, "barrier", "as soon as frameworkbarrier has asked again.");
	done(&w, &why);
#undef IN_BARRIER
}

static void test_creation(void **state)
{
	static const char *const wrong[] = {
		"Failed to create f-a-0: Pod in version v1 cannot be handled as a Pod: quantities must match",
		"Failed to create f-a-0: Pod \\\"f-a-0\\\" is invalid: spec.containers[0].image: Required value",
	};
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
	explain(&w, &why, "creation", "get their Pods from the controller next");
	why_free(&why);
	cli_world_event(&w, "FailedCreatePod", "Failed to create f-a-0: pods is forbidden: exceeded quota: q");
	explain(&w, &why, "quota", "because a quota is exceeded");
	why_free(&why);
	cli_world_event(&w, "FailedCreatePod", "Failed to create f-a-0: admission webhook denied");
	explain(&w, &why, "creation-refused", "admission webhook denied");
	assert_contains(fact(&why, "Event FailedCreatePod"), "admission webhook denied");
	why_free(&why);
	/* another attempt changes nothing in these */
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		cli_world_event(&w, "FailedCreatePod", wrong[i]);
		explain(&w, &why, "bad-template", "because their Pod template is wrong: the API server says Failed to");
		assert_contains(fact(&why, "Event FailedCreatePod"), "Failed to create f-a-0: Pod ");
		assert_string_equal(why.advice[1].command, "kubectl edit framework f -n ns");
		why_free(&why);
	}
	cli_world_pod(&w, "f-a-1", "", "", "'phase':'Running'");
	why_explain(&w.inquiry, &why);
	assert_contains(fact(&why, "Tasks a[1]"), "foreign-pod");
	why_free(&why);
	/* the Event of a former attempt explains nothing */
	event_views_free(&w.events);
	cli_world_event(&w, "FailedCreatePod", "exceeded quota");
	w.events.list[0].last_time = CLI_NOW - 2 * 3600;
	explain(&w, &why, "foreign-pod", "Task a[1] has no Pod, because another Pod");
	done(&w, &why);
}

/* Lists do not read the Pods: the Event is about the Task of the Pod that it names. Commands that read the Pods ignore
 * it. */
static void test_reported_pod(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
	cli_world_event(&w, "NamingConflict",
			"Pod f-a-10 with uid x is controlled by nobody and not by this Framework");
	cli_world_event(&w, "NamingConflict", "Pod f-a-1 with uid x is controlled by nobody and not by this Framework");
	explain(&w, &why, "creation", "3 Tasks, a[0..2], get their Pods");
	why_free(&why);
	w.inquiry.pods = NULL;
	explain(&w, &why, "foreign-pod", "Task a[1] has no Pod, because another Pod");
	assert_string_equal(fact(&why, "Tasks a[1]"), "foreign-pod for 60m");
	assert_string_equal(fact(&why, "Tasks a[0,2]"), "creation for 60m");
	assert_contains(fact(&why, "Event NamingConflict"), "Pod f-a-1 with uid x");
	why_free(&why);
	cli_world_event(
		&w, "NamingConflict",
		"Pod f-a-1 with uid x, of an earlier attempt or Framework of this name, still exists 60 s after");
	explain(&w, &why, "former-pod", "Task a[1] waits until the Pod of a former attempt");
	done(&w, &why);
}

/* One Task is no Tasks. */
static void test_one_task(void **state)
{
	static const char spec[] = "'taskRoles':[{'name':'a','taskNumber':1,'frameworkAttemptCompletionPolicy':{"
				   "'minFailedTaskCount':1,'minSucceededTaskCount':1}}]";
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", spec, cli_task(0, "AttemptPreparing", ""));
	explain(&w, &why, "pending", "The only Task of Framework f does not run. Task a[0] has a Pod");
	done(&w, &why);
	begin_tasks(&w, "AttemptRunning", spec, cli_task(0, "AttemptRunning", ""));
	explain(&w, &why, "running", "of its 1 Task 1 runs, 0 have succeeded and 0 have failed.");
	assert_string_equal(why.facts[1].text, "1 failed Task fails the attempt");
	assert_string_equal(why.facts[2].text, "1 succeeded Task completes the attempt");
	done(&w, &why);
}

/* Role b waits for role a, of which a[0] has been Running once, and a[1] has not. */
static void test_depends(void **state)
{
	static const char spec[] = "'taskRoles':[{'name':'a','taskNumber':2},{'name':'b','taskNumber':2,'dependsOn':[{"
				   "'taskRole':'a','status':'Running'}]}]";
	cleanup_free char *one = cli_task(0, "AttemptRunning", "");
	cleanup_free char *ran = mem_printf("%.*s,'runTime':'" CLI_BEGIN "'}", (int)strlen(one) - 1, one);
	cleanup_free char *two = cli_task(1, "AttemptPreparing", ""),
			  *first = cli_task(0, "AttemptCreationPending", ""),
			  *second = cli_task(1, "AttemptCreationPending", "");
	cleanup_free char *as = mem_printf("%s,%s", ran, two), *bs = mem_printf("%s,%s", first, second);
	cleanup_free char *a = cli_role("a", as), *b = cli_role("b", bs), *roles = mem_printf("%s,%s", a, b);
	cleanup_free char *status = cli_status("AttemptRunning", "", "", roles);
	struct cli_world w;
	struct why why;

	(void)state;
	cli_world_begin(&w, spec, status);
	cli_world_pod(&w, "f-a-0", "", "'nodeName':'n'", "'phase':'Running'");
	cli_world_pod(&w, "f-a-1", "", "'nodeName':'n'", "'phase':'Running'");
	/* what troubles others is not their reason */
	cli_world_event(&w, "FailedCreatePod", "Failed to create f-a-1: exceeded quota: q");
	explain(&w, &why, "depends-on", "2 Tasks, b[0,1], wait for TaskRole a: 1 of its 2 Tasks is not yet Running");
	why_free(&why);
	/* whom it waits for waits itself: that is the reason */
	pod_views_free(&w.pods);
	cli_world_pod(&w, "f-a-1", "", "", "'phase':'Pending'");
	explain(&w, &why, "scheduler", "Task a[1] waits for the scheduler");
	assert_contains(fact(&why, "Tasks b[0,1]"), "depends-on for 60m: a: 1 of its 2 Tasks");
	done(&w, &why);
}

/* What it waits for never comes. */
static void test_depends_failed(void **state)
{
	static const char spec[] = "'taskRoles':[{'name':'a','taskNumber':1},{'name':'b','taskNumber':1,'dependsOn':[{"
				   "'taskRole':'a','status':'Succeeded'}]}]";
	cleanup_free char *one = cli_task(0, "Completed",
					  ",'completionStatus':{'code':3,'phrase':'P','type':{'name':'Failed'}}"),
			  *other = cli_task(0, "AttemptCreationPending", "");
	cleanup_free char *a = cli_role("a", one), *b = cli_role("b", other), *roles = mem_printf("%s,%s", a, b);
	cleanup_free char *status = cli_status("AttemptRunning", "", "", roles);
	struct cli_world w;
	struct why why;

	(void)state;
	cli_world_begin(&w, spec, status);
	explain(&w, &why, "depends-on", "Task b[0] waits for TaskRole a: 1 of its 1 Task has failed for good");
	done(&w, &why);
}

/* The Service of spec.network: refused, somebody else's, and its own, with which the Event of a refusal is over. */
static void test_service(void **state)
{
	struct cli_world w;
	struct why why;
	json_t *service;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE ",'network':{}", three("AttemptCreationPending", ""));
	cli_world_event(&w, "FailedCreateService", "Failed to create f: services is forbidden");
	explain(&w, &why, "service-refused",
		"3 Tasks, a[0..2], have no Pods, because the API server refuses the Service");
	assert_contains(why.answer, "Failed to create f: services is forbidden");
	assert_contains(fact(&why, "Event FailedCreateService"), "(3 times)");
	why_free(&why);
	cli_world_event(&w, "NamingConflict", "Service f with uid x is controlled by nobody");
	explain(&w, &why, "foreign-service", "Service f with uid x is controlled by nobody");
	why_free(&why);
	service = cli_json(
		"{'metadata':{'name':'f','ownerReferences':[{'kind':'Framework','uid':'u','controller':true}]}}");
	w.inquiry.service = service;
	explain(&w, &why, "creation", "get their Pods from the controller next");
	why_free(&why);
	/* who may not read Events sees whose it is */
	json_object_del(json_object_get(service, "metadata"), "ownerReferences");
	w.inquiry.events = NULL;
	explain(&w, &why, "foreign-service", "has the name that spec.network needs: f");
	json_decref(service);
	done(&w, &why);
}

/* A status is written later than a Pod is created: the Pod of the present attempt is not in its own way. */
static void test_status_behind(void **state)
{
#define ANNOTATIONS(attempt)                                                                                 \
	",'annotations':{'FC_FRAMEWORK_NAME':'f','FC_FRAMEWORK_UID':'u','FC_FRAMEWORK_ATTEMPT_ID':'" attempt \
	"','FC_TASK_ATTEMPT_ID':'0'}"
#define CONTROLLED ",'ownerReferences':[{'kind':'ConfigMap','name':'f-attempt','uid':'old','controller':true}]"
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
	three_pods(&w, ANNOTATIONS("0"), "", "'phase':'Pending'", "'phase':'Running'");
	explain(&w, &why, "scheduler", "2 Tasks, a[0,2], wait for the scheduler");
	done(&w, &why);
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
	cli_world_pod(&w, "f-a-0", ANNOTATIONS("7") CONTROLLED, "", "'phase':'Running'");
	explain(&w, &why, "former-pod", "Task a[0] waits until the Pod of a former attempt");
	done(&w, &why);
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
	cli_world_pod(&w, "f-a-0", ANNOTATIONS("7") ",'deletionTimestamp':'" CLI_BEGIN "'", "", "'phase':'Running'");
	explain(&w, &why, "former-pod", "Task a[0] waits until the Pod of a former attempt");
	done(&w, &why);
	/* nobody deletes an orphan; the Task has waited for a minute */
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
	w.framework.status.attempt.roles[0].tasks[0].transition_time = CLI_NOW - 60;
	cli_world_pod(&w, "f-a-0", ANNOTATIONS("7"), "", "'phase':'Running'");
	explain(&w, &why, "foreign-pod", "Task a[0] has no Pod, because another Pod");
	assert_contains(why.advice[0].text, "and delete it");
	assert_string_equal(fact(&why, "Tasks a[0]"), "foreign-pod for 60s");
	done(&w, &why);
#undef CONTROLLED
#undef ANNOTATIONS
}

static void test_other_waits(void **state)
{
	static const struct {
		const char *metadata, *spec, *status, *kind, *part;
	} rows[] = {
		{"", "'schedulingGates':[{'name':'g/x'},{'name':'h'}]", "'phase':'Pending'", "scheduling-gate",
		 "g/x, h"},
		{"", "", "'phase':'Pending'", "scheduler", "has not looked at"},
		{"", "'nodeName':'n'", "'phase':'Pending'", "starting", "being started"},
		{"", "'nodeName':'n'",
		 "'phase':'Pending','initContainerStatuses':[{'name':'copy','state':{'running':{}}}]", "init-container",
		 "copy"},
		{"", "'nodeName':'n'",
		 "'phase':'Pending','containerStatuses':[{'name':'c','state':{'waiting':{'reason':'InvalidImageName','"
		 "message':'m'}}}]",
		 "never-starts", "InvalidImageName: m"},
		{",'deletionTimestamp':'2026-01-01T00:10:00Z','finalizers':['x/y']", "'nodeName':'n'",
		 "'phase':'Running'", "termination", "until their Pods are gone"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cli_world w;
		struct why why;

		begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptPreparing", ""));
		three_pods(&w, rows[i].metadata, rows[i].spec, rows[i].status, NULL);
		explain(&w, &why, rows[i].kind, rows[i].part);
		done(&w, &why);
	}
}

/* Why the first Task is retried. */
static void test_retry_delay(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptRunning", ONE_ROLE,
		    three("AttemptCompleted", ",'completionTime':'2026-01-01T00:59:00Z','completionStatus':{'code':3,'"
					      "phrase':'ContainerFailed',"
					      "'type':{'name':'Failed','attributes':[]},'diagnostics':'Pod "
					      "failed','pod':{'containers':[{'name':"
					      "'main','code':3,'message':'boom'}]}}"));
	for (size_t i = 0; i < 3; i++)
		w.framework.status.attempt.roles[0].tasks[i].retry.delay_sec = 300;
	explain(&w, &why, "retry-delay",
		"The first retry is at 2026-01-01T01:04:00Z (in 4m). The first one's attempt "
		"ended with code 3 (ContainerFailed).");
	assert_contains(fact(&why, "Container main"), "ended with exit code 3");
	assert_contains(fact(&why, "Last words"), "boom");
	done(&w, &why);
}

/* Who may not read Pods and Events still gets what the status says. */
static void test_without_rights(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptPreparing", ""));
	w.inquiry.pods = NULL;
	w.inquiry.events = NULL;
	explain(&w, &why, "pending", "have Pods that are Pending");
	why_free(&why);
	/* Events alone say more */
	w.inquiry.events = &w.events;
	cli_world_event(&w, "TaskWaiting", "Task a[1] waits: container c: ErrImagePull: no such image");
	explain(&w, &why, "start-fails", "it reports container c: ErrImagePull: no such image");
	why_free(&why);
	cli_world_event(&w, "TaskWaiting", "Task a[1] waits: Unschedulable: 0/4 nodes");
	explain(&w, &why, "unschedulable", "the scheduler says Unschedulable: 0/4 nodes");
	done(&w, &why);
}

/* An Event that a Task waits explains nothing once that Task goes on. */
static void test_stale_report(void **state)
{
	static const struct {
		const char *state, *more; /* of a[0], which the Event of 00:30 names */
		const char *message;
		const char *kind;
	} rows[] = {
		{"AttemptPreparing", "", "Unschedulable: 0/4 nodes", "unschedulable"},
		{"AttemptPreparing", "", "container c: ErrImagePull: m", "start-fails"},
		{"AttemptPreparing", ",'podNodeName':'n'", "container c: ErrImagePull: m", "start-fails"},
		{"AttemptPreparing", ",'podNodeName':'n'", "Unschedulable: 0/4 nodes", "pending"},
		{"AttemptRunning", ",'podNodeName':'n'", "Unschedulable: 0/4 nodes", "pending"},
		{"AttemptRunning", ",'podNodeName':'n'", "container c: ErrImagePull: m", "pending"},
		{"AttemptCreationPending", "", "container c: ErrImagePull: m", "pending"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *named = cli_task(0, rows[i].state, rows[i].more);
		cleanup_free char *other = cli_task(1, "AttemptPreparing", "");
		cleanup_free char *message = mem_printf("Task a[0] waits: %s", rows[i].message);
		struct cli_world w;
		struct why why;

		begin_tasks(&w, "AttemptPreparing", ONE_ROLE, mem_printf("%s,%s", named, other));
		w.inquiry.pods = NULL;
		cli_world_event(&w, "TaskWaiting", message);
		explain(&w, &why, rows[i].kind, "");
		why_free(&why);
		/* the Pod was Running in between */
		w.framework.status.attempt.roles[0].tasks[0].transition_time = CLI_NOW - 60;
		why_explain(&w.inquiry, &why);
		assert_string_equal(why.kind, "pending");
		done(&w, &why);
	}
}

static void test_crash(void **state)
{
	cleanup_free char *task = cli_task(0, "AttemptRunning", "");
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptRunning", ONE_ROLE, mem_strdup(task));
	explain(&w, &why, "running", "waits for nothing: of its 1 Task 1 runs, 0 have succeeded");
	why_free(&why);
	cli_world_pod(&w, "f-a-0", "", "",
		      "'phase':'Running','containerStatuses':[{'name':'c','state':{'waiting':{'reason':'"
		      "CrashLoopBackOff','message':'back-off 5m'}}}]");
	explain(&w, &why, "crash-loop", "CrashLoopBackOff: back-off 5m");
	why_free(&why);
	/* between its end and the kubelet's word */
	pod_views_free(&w.pods);
	cli_world_pod(&w, "f-a-0", "", "",
		      "'phase':'Running','containerStatuses':[{'name':'c','restartCount':7,'state':{'terminated':{"
		      "'exitCode':1,'reason':'Error'}},'lastState':{'terminated':{'exitCode':1}}}]");
	explain(&w, &why, "crash-loop", "Error");
	done(&w, &why);
}

/* An init container that ends again and again has an image. */
static void test_init_crash(void **state)
{
	cleanup_free char *task = cli_task(0, "AttemptPreparing", "");
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, mem_strdup(task));
	cli_world_pod(&w, "f-a-0", "", "'nodeName':'n'",
		      "'phase':'Pending','initContainerStatuses':[{'name':'i','restartCount':7,'state':{'waiting':{"
		      "'reason':'CrashLoopBackOff','message':'back-off 5m'}}}]");
	explain(&w, &why, "crash-loop", "CrashLoopBackOff");
	done(&w, &why);
}

/* A sidecar runs beside the init container that everybody waits for. */
static void test_sidecar(void **state)
{
	static const char running[] =
		"'phase':'Pending','initContainerStatuses':[{'name':'proxy','state':{'running':{}}},"
		"{'name':'frameworkbarrier','state':{'running':{}}}]";
	cleanup_free char *task = cli_task(0, "AttemptPreparing", ",'podIP':'10.0.0.1'");
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, mem_strdup(task));
	cli_world_pod(&w, "f-a-0", "",
		      "'nodeName':'n','initContainers':[{'name':'proxy','restartPolicy':'Always'},{'name':"
		      "'frameworkbarrier'}]",
		      running);
	explain(&w, &why, "barrier", "held by the barrier");
	done(&w, &why);
}

/* Ten Tasks that wait for ten different gates: the evidence names the command that shows the others. */
static void test_many_groups(void **state)
{
	struct buf tasks = {0};
	struct cli_world w;
	struct why why;

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		cleanup_free char *task = cli_task(i, "AttemptPreparing", "");

		buf_printf(&tasks, "%s%s", i == 0 ? "" : ",", task);
	}
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, buf_steal(&tasks));
	for (int i = 0; i < 10; i++) {
		cleanup_free char *name = mem_printf("f-a-%d", i);
		cleanup_free char *spec = mem_printf("'schedulingGates':[{'name':'gate-%d'}]", i);

		cli_world_pod(&w, name, "", spec, "'phase':'Pending'");
	}
	w.inquiry.flags = " --context prod";
	explain(&w, &why, "scheduling-gate", "gate-0");
	assert_string_equal(why.facts[8].text, "2 more groups: kubectl framework tree f -n ns --context prod");
	done(&w, &why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retry_delay),   cmocka_unit_test(test_images),
		cmocka_unit_test(test_room),          cmocka_unit_test(test_unnoticed),
		cmocka_unit_test(test_late),          cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_barrier_stays), cmocka_unit_test(test_creation),
		cmocka_unit_test(test_reported_pod),  cmocka_unit_test(test_one_task),
		cmocka_unit_test(test_other_waits),   cmocka_unit_test(test_status_behind),
		cmocka_unit_test(test_depends),       cmocka_unit_test(test_depends_failed),
		cmocka_unit_test(test_service),       cmocka_unit_test(test_without_rights),
		cmocka_unit_test(test_crash),         cmocka_unit_test(test_init_crash),
		cmocka_unit_test(test_sidecar),       cmocka_unit_test(test_many_groups),
		cmocka_unit_test(test_stale_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
