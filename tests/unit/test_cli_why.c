/* kubectl framework why: the Framework as a whole, and its end. */
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
	assert_contains(why.answer, "Either no fc-watcher runs, or none of its reconcilers acts on this namespace, or "
				    "these have no right to write frameworks/status");
	assert_string_equal(why.advice[0].command, "fc-watcher status");
	assert_contains(why.advice[2].text, "Look for 403 in the reconcilers' log.");
	why_free(&why);
	w.inquiry.now = CLI_NOW - 50; /* it leads */
	explain(&w, &why, "no-controller",
		"The controller does not act on Framework f: it has no status, 59m after it was created. fc-watcher "
		"leads. Either its reconcilers have no right to write frameworks/status: their log then contains 403.");
	assert_contains(fact(&why, "Lease fc/frameworkcontroller"),
			"fc-watcher w-0 leads: its reconcilers may have no right to write frameworks/status");
	assert_contains(why.advice[0].text, "Look for 403 in the reconcilers' log.");
	assert_string_equal(why.advice[1].command, "fc-watcher status");
	assert_int_equal(why.advice_count, 3);
	why_free(&why);
	w.inquiry.now = CLI_NOW + 100; /* it has not led for more than a minute: that is the cause */
	explain(&w, &why, "no-controller", "after it was created. No fc-watcher leads by the Lease.");
	assert_int_equal(why.advice_count, 1);
	json_decref((json_t *)w.inquiry.lease);
	done(&w, &why);
}

/* When no watcher has led for a minute, that is why nothing goes on; a takeover, or a clock that is wrong by less, does
 * not say so. (Each Framework had its reason, and none was the controller.) */
static void test_nobody_leads(void **state)
{
	static const char says[] =
		"No fc-watcher leads by Lease fc/frameworkcontroller: until one does, the controller does nothing for "
		"Framework f.";
	static const char *const states[] = {"AttemptCreationPending", "AttemptRunning", "Completed"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		for (int led = 0; led < 3; led++) {
			cleanup_free char *status = cli_status(states[i], "", "", "");
			cleanup_free char *spec = mem_printf(
				"{'metadata':{'namespace':'fc','name':'frameworkcontroller'},'spec':{'holderIdentity':"
				"'%s','leaseDurationSeconds':15,'renewTime':'2026-01-01T00:58:%s.000000Z'}}",
				led == 2 ? "" : "w-0", led == 1 ? "45" : "44");
			cleanup_json json_t *lease = cli_json(spec);
			struct cli_world w;
			struct why why;

			cli_world_begin(&w, ONE_ROLE, status);
			w.inquiry.lease = lease;
			why_explain(&w.inquiry, &why);
			assert_int_equal(strstr(why.answer, says) != NULL, i < 2 && led != 1);
			why_free(&why);
			w.framework.status.transition_time = CLI_NOW - 30; /* the controller has another Lease */
			why_explain(&w.inquiry, &why);
			assert_null(strstr(why.answer, says));
			why_free(&why);
			w.framework.status.transition_time = 0;
			why_explain(&w.inquiry, &why);
			if (i < 2 && led != 1) {
				assert_string_equal(fact(&why, "Lease fc/frameworkcontroller"),
						    led == 0 ? "fc-watcher w-0 led, and has not renewed it for 76s"
							     : "no fc-watcher leads: the last one has released it");
				assert_string_equal(why.advice[why.advice_count - 1].command, "fc-watcher status");
			}
			done(&w, &why);
		}
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
	/* (the hostname of its last Pod) */
	cli_world_begin(&w,
			"'network':{},'taskRoles':[{'name':"
			"'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','taskNumber':1}]",
			NULL);
	explain(&w, &why, "malformed", "63");
	done(&w, &why);
	/* an edit of the Framework itself would not reach its status */
	cli_world_begin(&w, ONE_ROLE, "{'state':'Nonsense'}");
	explain(&w, &why, "malformed", "status.state is \"Nonsense\"");
	assert_int_equal(why.advice_count, 1);
	assert_string_equal(why.advice[0].command, "kubectl edit framework f --subresource=status -n ns");
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
	explain(&w, &why, "suspending", "1 Pod is left.");
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
	explain(&w, &why, "between", "for 60m, and the controller, which takes the next step, has not taken it");
	why_free(&why);
	cli_world_event(&w, "FailedCreateConfigMap", "Failed to create f-attempt: exceeded quota: q");
	w.inquiry.config_map = NULL;
	explain(&w, &why, "quota", "exceeded quota: q");
	why_free(&why);
	json_decref(map);
	/* a command that does not read the ConfigMap uses the latest Event of this attempt */
	cli_world_event(&w, "NamingConflict", "ConfigMap f-attempt with uid x is controlled by nobody");
	explain(&w, &why, "quota", "exceeded quota: q");
	why_free(&why);
	w.inquiry.config_map_known = false;
	explain(&w, &why, "foreign-config-map", "ConfigMap f-attempt exists and is not its own");
	assert_contains(fact(&why, "Event NamingConflict"), "is controlled by nobody");
	assert_string_equal(why.brief, "another ConfigMap f-attempt");
	why_free(&why);
	w.events.list[1].last_time -= 1;
	explain(&w, &why, "quota", "exceeded quota: q");
	why_free(&why);
	w.events.list[1].last_time = w.events.list[0].last_time = CLI_NOW - 2 * 3600;
	explain(&w, &why, "between", "for 60m, and the controller, which takes the next step, has not taken it");
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

/* The barrier gave up (201) because a Task did not come. */
static void test_barrier_gave_up(void **state)
{
	static const struct {
		const char *run_time, *event;
		bool named;
	} rows[] = {
		{"null", "Task a[0] waits: container c: InvalidImageName: couldn't parse", true},
		{"null", "(combined from similar events): Task a[0] waits: Unschedulable: 0/4 nodes", true},
		{"'" CLI_BEGIN "'", "Task a[0] waits: Unschedulable: 0/4 nodes", false},
		{"null", "Task b[0] waits: Unschedulable: of a TaskRole that is gone", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *more = mem_printf(
			",'runTime':%s,'completionStatus':{'code':-220,'phrase':'P','type':{'name':'Failed',"
			"'attributes':[]},'diagnostics':'d'}",
			rows[i].run_time);
		cleanup_free char *task = cli_task(0, "Completed", more), *role = cli_role("a", task);
		cleanup_free char *status = cli_status(
			"AttemptCompleted", "",
			"'completionTime':'2026-01-01T00:59:00Z','completionStatus':{'code':201,'phrase':"
			"'ContainerTransientConflictFailed','type':{'name':'Failed','attributes':[]},'diagnostics':'d'}"
			",",
			role);
		struct cli_world w;
		struct why why;
		json_t *event;

		cli_world_begin(&w, ONE_ROLE, status);
		w.framework.status.retry.delay_sec = 300;
		event = json_pack("{s:s, s:s, s:s}", "reason", "TaskWaiting", "message", rows[i].event, "lastTimestamp",
				  "2026-01-01T00:30:00Z");
		event_views_add(&w.events, event);
		json_decref(event);
		explain(&w, &why, "retry-delay",
			rows[i].named ? "Task a[0] never ran in this attempt, and others may have given up waiting for "
					"it: "
				      : "is retried at");
		assert_int_equal(strstr(why.answer, "never ran") != NULL, rows[i].named);
		assert_contains(why.answer, rows[i].named ? strstr(rows[i].event, "waits: ") + strlen("waits: ") : "");
		assert_string_equal(why.advice[why.advice_count - 1].text,
				    rows[i].named ? "To give up:" : "Nothing needs to be done. To give up:");
		assert_int_equal(why.advice_count, rows[i].named ? 3 : 1);
		why_free(&why);
		w.framework.status.attempt.start_time = CLI_NOW; /* the Event is of a former attempt */
		explain(&w, &why, "retry-delay", "");
		assert_null(strstr(why.answer, "never ran"));
		done(&w, &why);
	}
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
	assert_contains(why.answer, "1 Pod is left.");
	why_free(&why);
	w.inquiry.pods = NULL; /* no right to list them */
	explain(&w, &why, "deleting", "the ConfigMap and the Pods first.");
	assert_null(strstr(why.answer, "are left"));
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

/* Tasks that failed in a Framework that succeeded. */
static void test_failed_tasks(void **state)
{
	static const char failed[] =
		"{'code':1,'phrase':'ContainerUnrecognizedFailed','type':{'name':'Failed','attributes':[]},"
		"'diagnostics':'d'}";
	static const struct {
		const char *policy, *message, *words;
		bool advised;
	} rows[] = {
		{"'frameworkAttemptCompletionPolicy':{}",
		 "CompletedTaskCount 1 has reached TotalTaskCount 1 and no user specified conditions",
		 "decided before. This Task, a[0], failed with code 1 (ContainerUnrecognizedFailed). TaskRole a "
		 "has no minFailedTaskCount: its failed Tasks do not fail the Framework.",
		 true},
		{"'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':2}",
		 "CompletedTaskCount 1 has reached TotalTaskCount 1 and no user specified conditions",
		 "(ContainerUnrecognizedFailed). The minFailedTaskCount of TaskRole a is 2.", false},
		{"'frameworkAttemptCompletionPolicy':{'minSucceededTaskCount':1}",
		 "SucceededTaskCount 1 has reached MinSucceededTaskCount 1 in the TaskRole",
		 "minSucceededTaskCount is 1. This Task, a[0], failed", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *spec = mem_printf("'taskRoles':[{'name':'a','taskNumber':1,%s}]", rows[i].policy);
		cleanup_free char *completion = mem_printf(
			"{'code':0,'phrase':'Succeeded','type':{'name':'Succeeded','attributes':[]},"
			"'diagnostics':'d','trigger':{'message':'%s','taskRoleName':'a','taskIndex':0}}",
			rows[i].message);
		struct cli_world w;
		struct why why;

		begin_ended(&w, spec, completion, failed);
		explain(&w, &why, "succeeded", rows[i].words);
		assert_int_equal(why.advice_count, rows[i].advised ? 3 : 0);
		if (rows[i].advised) {
			assert_contains(why.advice[0].text, "set minFailedTaskCount: 1 in the frameworkAttempt");
			assert_string_equal(why.advice[1].command, "kubectl edit framework f -n ns");
			assert_string_equal(why.advice[2].command, "kubectl framework retry f -n ns");
		}
		done(&w, &why);
	}
}

/* The one that ended first is named, and none that the end of the attempt ended. */
static void test_first_failed(void **state)
{
	static const char completion[] = ",'completionStatus':{'code':%d,'phrase':'P','type':{'name':'Failed','"
					 "attributes':[]},'diagnostics':'d'}";
	static const int codes[] = {-220, 3, 4};
	static const int64_t ended[] = {CLI_NOW - 9, CLI_NOW - 5, CLI_NOW - 7};
	cleanup_buf struct buf tasks = {0};
	cleanup_free char *role = NULL, *status = NULL;
	struct cli_world w;
	struct why why;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		cleanup_free char *more = mem_printf(completion, codes[i]);
		cleanup_free char *task = cli_task(i, "Completed", more);

		buf_printf(&tasks, "%s%s", i == 0 ? "" : ",", task);
	}
	role = cli_role("a", tasks.data);
	status = cli_status("Completed", "",
			    "'completionStatus':{'code':0,'phrase':'Succeeded','type':{'name':'Succeeded',"
			    "'attributes':[]},'diagnostics':'d'},",
			    role);
	cli_world_begin(&w, ONE_ROLE, status);
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		w.framework.status.attempt.roles[0].tasks[i].completion_time = ended[i];
	explain(&w, &why, "succeeded", "2 of its 3 Tasks failed, first a[2] with code 4 (P).");
	done(&w, &why);
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
		cmocka_unit_test(test_nobody),       cmocka_unit_test(test_nobody_leads),
		cmocka_unit_test(test_stale),        cmocka_unit_test(test_left_alone),
		cmocka_unit_test(test_held),         cmocka_unit_test(test_config_map),
		cmocka_unit_test(test_delay),        cmocka_unit_test(test_barrier_gave_up),
		cmocka_unit_test(test_deleting),     cmocka_unit_test(test_failed),
		cmocka_unit_test(test_long_words),   cmocka_unit_test(test_classified),
		cmocka_unit_test(test_good_ends),    cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_json),         cmocka_unit_test(test_failed_tasks),
		cmocka_unit_test(test_first_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
