/* kubectl framework why: each situation from its objects, and what is told when some of them may not be read. */
#include "tests/unit/cli_why.h"

/* ---- the Framework as a whole ------------------------------------------------------------------------------------ */

static void test_nobody(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	cli_world_begin(&w, ONE_ROLE, NULL);
	w.inquiry.now -= 3600 - 59; /* 59 s old */
	explain(&w, &why, "new", "has not looked at it yet");
	why_free(&why);
	w.inquiry.now = CLI_NOW;
	explain(&w, &why, "no-controller", "it has no status, 60m after it was created");
	why_free(&why);
	w.inquiry.stale = true;
	w.inquiry.lease = cli_json(
		"{'metadata':{'namespace':'fc','name':'frameworkcontroller'},'spec':{'holderIdentity':'w-0',"
		"'leaseDurationSeconds':15,'renewTime':'2026-01-01T00:59:00.000000Z'}}");
	explain(&w, &why, "no-controller", "it has no status, 60m after it was created");
	assert_string_equal(fact(&why, "Lease fc/frameworkcontroller"),
			    "fc-watcher w-0 led, and has not renewed it for 60s");
	json_decref((json_t *)w.inquiry.lease);
	done(&w, &why);
}

/* A status that is behind means nothing before somebody has looked twice. */
static void test_stale(void **state)
{
	cleanup_free char *status = cli_status("AttemptRunning", "", "", "");
	struct cli_world w;
	struct why why;

	(void)state;
	cli_world_begin(&w, ONE_ROLE, status);
	w.framework.generation = 2;
	explain(&w, &why, "running", "");
	why_free(&why);
	w.inquiry.stale = true;
	explain(&w, &why, "no-controller", "the status does not follow");
	assert_string_equal(fact(&why, "status.observedGeneration"), "1, but metadata.generation is 2");
	done(&w, &why);
}

static void test_left_alone(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	cli_world_begin(&w, "'managedBy':'else.com/x','taskRoles':7", NULL);
	explain(&w, &why, "managed-by-another", "spec.managedBy is \"else.com/x\"");
	done(&w, &why);
	cli_world_begin(&w, "'taskRoles':[{'name':'a','taskNumber':-1}]", NULL);
	explain(&w, &why, "malformed", "spec.taskRoles[0].taskNumber is -1");
	done(&w, &why);
	cli_world_begin(&w, ONE_ROLE ",'podFailureSpec':[{'code':200,'podPatterns':[{}]}]", NULL);
	explain(&w, &why, "malformed", "spec.podFailureSpec");
	done(&w, &why);
}

static void test_held(void **state)
{
	cleanup_free char *status = cli_status("AttemptCreationPending", "", "", "");
	cleanup_free char *suspended = cli_status("AttemptCreationPending", "'displayState':'Suspended',", "", "");
	struct cli_world w;
	struct why why;

	(void)state;
	cli_world_begin(&w, ONE_ROLE ",'executionType':'Create'", status);
	explain(&w, &why, "not-started", "executionType is Create");
	assert_string_equal(why.advice[0].command, "kubectl framework start f -n ns");
	done(&w, &why);
	cli_world_begin(&w, ONE_ROLE ",'executionType':'Create'", status);
	w.inquiry.flags = " --context prod"; /* the command is for the same cluster */
	explain(&w, &why, "not-started", "executionType is Create");
	assert_string_equal(why.advice[0].command, "kubectl framework start f -n ns --context prod");
	done(&w, &why);
	cli_world_begin(&w, ONE_ROLE ",'suspend':true", suspended);
	explain(&w, &why, "suspended", "none of its Pods exists");
	done(&w, &why);
	cli_world_begin(&w, ONE_ROLE ",'suspend':true", status);
	cli_world_pod(&w, "f-a-0", ",'deletionTimestamp':'2026-01-01T00:59:00Z','finalizers':['x/y']", "",
		      "'phase':'Running'");
	explain(&w, &why, "suspending", "1 Pods are left");
	assert_string_equal(fact(&why, "Pod f-a-0"), "is being deleted for 60s, and its finalizers hold it: x/y");
	done(&w, &why);
	cli_world_begin(&w, "'taskRoles':[{'name':'a','taskNumber':0}]", status);
	explain(&w, &why, "no-tasks", "has no Tasks");
	done(&w, &why);
	cli_world_begin(&w, "'taskRoles':[{'name':'a','taskNumber':9000},{'name':'b','taskNumber':1001}]", status);
	explain(&w, &why, "too-many-tasks", "have 10001 Tasks together, expected at most 10000");
	assert_string_equal(why.advice[0].command, "kubectl framework scale f ROLE=N -n ns");
	done(&w, &why);
}

static void test_config_map(void **state)
{
	cleanup_free char *status = cli_status("AttemptCreationPending", "", "", "");
	struct cli_world w;
	struct why why;
	json_t *map;

	(void)state;
	cli_world_begin(&w, ONE_ROLE, status);
	map = cli_json("{'metadata':{'name':'f-attempt','ownerReferences':[{'kind':'Job','name':'j','uid':'x','"
		       "controller':true}]}}");
	w.inquiry.config_map = map;
	explain(&w, &why, "foreign-config-map", "ConfigMap f-attempt exists and is not its own");
	assert_string_equal(fact(&why, "ConfigMap f-attempt"), "is controlled by Job j");
	why_free(&why);
	/* its own is no reason */
	json_object_set_new(json_array_get(json_path(map, "metadata", "ownerReferences", NULL), 0), "uid",
			    json_string("u"));
	explain(&w, &why, "between", "takes the next step by itself");
	why_free(&why);
	cli_world_event(&w, "FailedCreateConfigMap", "Failed to create f-attempt: exceeded quota: q");
	w.inquiry.config_map = NULL;
	explain(&w, &why, "quota", "exceeded quota: q");
	json_decref(map);
	done(&w, &why);
}

static void test_delay(void **state)
{
	cleanup_free char *status = cli_status(
		"AttemptCompleted", "",
		"'completionTime':'2026-01-01T00:59:00Z','completionStatus':{'code':201,'phrase':"
		"'ContainerTransientConflictFailed','type':{'name':'Failed','attributes':"
		"['Transient','Conflict']},'diagnostics':'Pod failed: x'},",
		"");
	cleanup_free char *text = NULL;
	char *at = strstr(status, "'retryDelaySec':null");
	struct cli_world w;
	struct why why;

	(void)state;
	text = mem_printf("%.*s'retryDelaySec':300%s", (int)(at - status), status, at + strlen("'retryDelaySec':null"));
	cli_world_begin(&w, ONE_ROLE, text);
	explain(&w, &why, "retry-delay", "is retried at 2026-01-01T01:04:00Z (in 4m)");
	assert_contains(why.answer, "type Conflict");
	assert_string_equal(why.brief, "retry at 2026-01-01T01:04:00Z");
	done(&w, &why);
}

static void test_deleting(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	cli_world_begin(&w, ONE_ROLE, NULL);
	w.framework.deletion_time = CLI_NOW - 30;
	json_object_set_new(json_object_get(w.framework.object, "metadata"), "finalizers",
			    cli_json("['foregroundDeletion','x/y']"));
	cli_world_pod(&w, "f-a-0", ",'deletionTimestamp':'2026-01-01T00:10:00Z'", "'nodeName':'n1'",
		      "'phase':'Running'");
	explain(&w, &why, "deleting", "until its finalizers are removed: foregroundDeletion, x/y");
	assert_contains(fact(&why, "Pod f-a-0"), "terminates on node n1");
	assert_string_equal(why.advice[0].command, "kubectl get node n1");
	assert_contains(why.answer, "1 Pods are left.");
	why_free(&why);
	w.inquiry.pods = NULL; /* no right to list them */
	explain(&w, &why, "deleting", "the ConfigMap and the Pods first.");
	assert_null(strstr(why.answer, "are left"));
	done(&w, &why);
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

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

static void test_creation(void **state)
{
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
	why_free(&why);
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
	explain(&w, &why, "depends-on", "2 Tasks, b[0,1], wait for TaskRole a: 1 of its 2 Tasks are not yet Running");
	why_free(&why);
	/* whom it waits for waits itself: that is the reason */
	pod_views_free(&w.pods);
	cli_world_pod(&w, "f-a-1", "", "", "'phase':'Pending'");
	explain(&w, &why, "scheduler", "Task a[1] waits for the scheduler");
	assert_contains(fact(&why, "Tasks b[0,1]"), "depends-on for 60m: a: 1 of its 2 Tasks");
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
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
	three_pods(&w, ANNOTATIONS("0"), "", "'phase':'Pending'", "'phase':'Running'");
	explain(&w, &why, "scheduler", "2 Tasks, a[0,2], wait for the scheduler");
	done(&w, &why);
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
	cli_world_pod(&w, "f-a-0", ANNOTATIONS("7"), "", "'phase':'Running'");
	explain(&w, &why, "former-pod", "Task a[0] waits until the Pod of a former attempt");
	done(&w, &why);
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

static void test_crash(void **state)
{
	cleanup_free char *task = cli_task(0, "AttemptRunning", "");
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptRunning", ONE_ROLE, mem_strdup(task));
	explain(&w, &why, "running", "waits for nothing: of its 1 Tasks 1 run");
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

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void begin_ended(struct cli_world *w, const char *spec, const char *completion, const char *task_completion)
{
	cleanup_free char *attempt = mem_printf("'completionTime':'2026-01-01T00:58:00Z','completionStatus':%s,",
						completion);
	cleanup_free char *more = mem_printf(",'completionStatus':%s", task_completion);
	cleanup_free char *task = cli_task(0, "Completed", more);
	cleanup_free char *role = cli_role("a", task);
	cleanup_free char *status = cli_status("Completed", "", attempt, role);

	cli_world_begin(w, spec, status);
	w->framework.status.completion_time = CLI_NOW - 120;
}

#define TRIGGER                                                                            \
	"'trigger':{'message':'FailedTaskCount 1 has reached MinFailedTaskCount 1 in the " \
	"TaskRole','taskRoleName':'a','taskIndex':0}"

static void test_failed(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_ended(
		&w, ONE_ROLE ",'retryPolicy':{'fancyRetryPolicy':true}",
		"{'code':210,'phrase':'ContainerPermanentFailed','type':{'name':'Failed','attributes':['Permanent']},'"
		"diagnostics':'d'," TRIGGER "}",
		"{'code':210,'phrase':'ContainerPermanentFailed','type':{'name':'Failed','attributes':['Permanent']},'"
		"diagnostics':'d',"
		"'pod':{'containers':[{'name':'side','code':0},{'name':'main','code':210,'reason':'Error','message':"
		"'1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\n12\\nlast\\n'}]}}");
	explain(&w, &why, "failed",
		"failed 2m ago with code 210 (ContainerPermanentFailed) because of Task a[0]: 1 Task of TaskRole a "
		"failed, and its minFailedTaskCount is 1.");
	assert_contains(why.answer, "the failure is Permanent");
	assert_string_equal(fact(&why, "Container main"), "ended with exit code 210, reason Error");
	assert_string_equal(fact(&why, "Last words"), "2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\nlast\n");
	assert_contains(fact(&why, "Classification"), "predefined");
	assert_string_equal(fact(&why, "Container side"), "");
	done(&w, &why);
}

/* A termination message of one line can fill the screen. */
static void test_long_words(void **state)
{
	struct cli_world w;
	struct why why;
	cleanup_free char *line = mem_alloc(801), *status = NULL, *shown = NULL;

	(void)state;
	for (int i = 0; i < 400; i++)
		memcpy(line + 2 * i, "\303\251", 2);
	line[800] = '\0';
	status = mem_printf("{'code':3,'phrase':'','type':{'name':'Failed','attributes':[]},'diagnostics':'d','pod':{"
			    "'containers':[{'name':'main','code':3,'reason':'Error','message':'x%s\\nlast'}]}}",
			    line);
	begin_ended(&w, ONE_ROLE,
		    "{'code':3,'phrase':'','type':{'name':'Failed','attributes':[]},'diagnostics':'d'," TRIGGER "}",
		    status);
	why_explain(&w.inquiry, &why);
	line[398] = '\0';
	shown = mem_printf("x%s\342\200\246\nlast", line);
	assert_string_equal(fact(&why, "Last words"), shown);
	done(&w, &why);
}

static void test_classified(void **state)
{
	static const struct {
		int code;
		const char *matched, *part;
	} rows[] = {
		{78, "matched", "spec.podFailureSpec[0] of the Framework matched: code 78"},
		{137, "matched", "podFailureSpec in the controller's configuration matched"},
		{1, "unmatched", "no entry of podFailureSpec matched"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_buf struct buf text = {0};
		struct cli_world w;
		struct why why;

		buf_printf(
			&text,
			"{'code':%d,'phrase':'P','type':{'name':'Failed','attributes':[]},'diagnostics':'Pod failed: "
			"PodPattern %s: {}'," TRIGGER "}",
			rows[i].code, rows[i].matched);
		begin_ended(&w, ONE_ROLE ",'podFailureSpec':[{'code':78,'podPatterns':[{}]}]", text.data, text.data);
		explain(&w, &why, "failed", "retryPolicy allows no retry");
		assert_contains(fact(&why, "Classification"), rows[i].part);
		done(&w, &why);
	}
}

static void test_good_ends(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_ended(&w, ONE_ROLE,
		    "{'code':0,'phrase':'Succeeded','type':{'name':'Succeeded','attributes':[]},'diagnostics':'Pod "
		    "succeeded'}",
		    "{'code':0,'phrase':'Succeeded','type':{'name':'Succeeded','attributes':[]},'diagnostics':'Pod "
		    "succeeded'}");
	explain(&w, &why, "succeeded", "succeeded 2m ago, in attempt 0: Pod succeeded");
	assert_int_equal(why.advice_count, 0);
	done(&w, &why);
	begin_ended(&w, ONE_ROLE,
		    "{'code':-210,'phrase':'StopFrameworkRequested','type':{'name':'Failed','attributes':['Permanent']}"
		    ",'diagnostics':'x'}",
		    "{'code':-220,'phrase':'FrameworkAttemptCompletion','type':{'name':'Failed','attributes':['"
		    "Permanent']},'diagnostics':'x'}");
	explain(&w, &why, "stopped", "was stopped 2m ago");
	done(&w, &why);
}

/* What the trigger says, in the words of the spec. */
static void test_triggers(void **state)
{
	static const struct {
		const char *message, *words;
	} rows[] = {
		{"SucceededTaskCount 3 has reached MinSucceededTaskCount 2 in the TaskRole",
		 "in attempt 0: 3 Tasks of TaskRole a succeeded, and its minSucceededTaskCount is 2."},
		{"CompletedTaskCount 1 has reached TotalTaskCount 1 and no user specified conditions",
		 "in attempt 0: its 1 Task is Completed, and no frameworkAttemptCompletionPolicy decided "
		 "before."},
		{"of another controller", "in attempt 0: of another controller."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *completion = mem_printf(
			"{'code':0,'phrase':'Succeeded','type':{'name':'Succeeded','attributes':[]},"
			"'diagnostics':'d','trigger':{'message':'%s','taskRoleName':'a','taskIndex':0}}",
			rows[i].message);
		struct cli_world w;
		struct why why;

		begin_ended(&w, ONE_ROLE, completion, completion);
		w.framework.status.retry.total = 2;
		cli_world_event(&w, "FrameworkRetried", "Framework is retried after code 7 (P): d");
		explain(&w, &why, "succeeded", rows[i].words);
		assert_string_equal(why.brief, "succeeded");
		assert_contains(fact(&why, "Trigger"), rows[i].message);
		assert_contains(fact(&why, "Event FrameworkRetried"), "after code 7");
		done(&w, &why);
	}
}

static void test_json(void **state)
{
	cleanup_json json_t *value = NULL;
	struct cli_world w;
	struct why why;

	(void)state;
	cli_world_begin(&w, "'managedBy':'else.com/x'", NULL);
	why_explain(&w.inquiry, &why);
	value = why_json(&w.framework, &why);
	assert_string_equal(json_str(value, "kind"), "managed-by-another");
	assert_string_equal(json_str(json_array_get(json_object_get(value, "evidence"), 0), "source"),
			    "spec.managedBy");
	done(&w, &why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody),        cmocka_unit_test(test_stale),
		cmocka_unit_test(test_left_alone),    cmocka_unit_test(test_held),
		cmocka_unit_test(test_config_map),    cmocka_unit_test(test_delay),
		cmocka_unit_test(test_deleting),      cmocka_unit_test(test_images),
		cmocka_unit_test(test_room),          cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_creation),      cmocka_unit_test(test_other_waits),
		cmocka_unit_test(test_status_behind), cmocka_unit_test(test_depends),
		cmocka_unit_test(test_service),       cmocka_unit_test(test_without_rights),
		cmocka_unit_test(test_crash),         cmocka_unit_test(test_init_crash),
		cmocka_unit_test(test_sidecar),       cmocka_unit_test(test_failed),
		cmocka_unit_test(test_long_words),    cmocka_unit_test(test_classified),
		cmocka_unit_test(test_good_ends),     cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests_name("cli_why", tests, NULL, NULL);
}
