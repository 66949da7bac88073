/* The PodGroup of spec.gang (CONTRACT.md §4.18, §12.21, §12.22): made before the first Pod of each attempt and kept
 * at the number of Tasks that can still have a Pod. */
#include "common/framework/names.h"
#include "reconciler/sync/rules.h"
#include "tests/unit/gang_world.h"

static void test_made_first(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w,
		    "{'gang':{'scheduler':'Volcano','queue':'q','priorityClassName':'high'},'taskRoles':[{'name':'a',"
		    "'taskNumber':2,'task':{'pod':{'spec':{'containers':[{'resources':{'requests':{'cpu':'500m',"
		    "'memory':'1Gi'}}}]}}}}]}");
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; create PodGroup f-0; create Pod f-a-0; create Pod f-a-1; ");
	assert_json(json_at(group(&w, "f-0"), "spec"),
		    "{'minMember':2,'minResources':{'cpu':'1','memory':'2147483648'},'queue':'q','priorityClassName':"
		    "'high'}");
	assert_json(json_at(group(&w, "f-0"), "apiVersion"), "'scheduling.volcano.sh/v1beta1'");
	assert_json(json_at(group(&w, "f-0"), "metadata.ownerReferences"),
		    "[{'apiVersion':'v1','kind':'ConfigMap','name':'f-attempt','uid':'cm-uid-2','controller':true,"
		    "'blockOwnerDeletion':true}]");
	assert_json(json_at(group(&w, "f-0"), "metadata.labels"), "{'FC_FRAMEWORK_NAME':'f'}");
	assert_string_equal(w.events.data, "AttemptStarted: Attempt 0 started\n");
	assert_status(&w, "attemptStatus.gangScheduler", "'Volcano'");
	world_end(&w);
}

static void test_of_each_scheduler(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, "", "", ",'gang':{'scheduler':'Coscheduling','minTaskNumber':2,'scheduleTimeoutSec':5}");
	world_settle(&w);
	assert_json(json_at(group(&w, "f-0"), "spec"), "{'minMember':2,'minResources':{},'scheduleTimeoutSeconds':5}");
	assert_json(json_at(group(&w, "f-0"), "apiVersion"), "'scheduling.x-k8s.io/v1alpha1'");
	world_end(&w);

	world_begin_of(&w, 3, "", "",
		       ",'gang':{'scheduler':'Kubernetes','topologyKey':'rack','priorityClassName':'high'}");
	world_settle(&w);
	assert_json(json_at(group(&w, "f-0"), "spec"),
		    "{'schedulingPolicy':{'gang':{'minCount':3}},'priorityClassName':'high','schedulingConstraints':{"
		    "'topology':[{'key':'rack'}]}}");
	assert_json(json_at(group(&w, "f-0"), "apiVersion"), "'scheduling.k8s.io/v1beta1'");
	world_end(&w);

	/* an older API server */
	world_init(&w);
	w.served[API_POD_GROUPS_KUBERNETES_BETA] = (struct api_served){.state = SERVED_NO, .until_ms = INT64_MAX};
	world_create_framework(&w, "{'gang':{'scheduler':'Kubernetes'},'taskRoles':[{'name':'a','taskNumber':1}]}",
			       NULL);
	world_settle(&w);
	assert_json(json_at(group(&w, "f-0"), "apiVersion"), "'scheduling.k8s.io/v1alpha2'");
	world_end(&w);
}

/* What somebody writes into configMapUID becomes the value of a uid, and nothing else. */
static void test_uid_of_a_status(void **state)
{
	struct call call = {.kind = CALL_CREATE_OWNED, .object = SLOT_POD_GROUP, .name = (char *)"f-0"};
	cleanup_buf struct buf body = {0};
	cleanup_json json_t *written = NULL;
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", VOLCANO);
	world_settle(&w);
	mem_replace(&w.framework->status.attempt.config_map_uid, "x\"}],\"finalizers\":[\"y");
	call.resource = owned_api_resource(API_POD_GROUPS_VOLCANO);
	owned_write(w.framework, &call, &body);
	written = json_parse(body.data, body.len, NULL);
	assert_json(
		json_at(written, "metadata.ownerReferences"),
		"[{'apiVersion':'v1','kind':'ConfigMap','name':'f-attempt','uid':'x\\\"}],\\\"finalizers\\\":[\\\"y',"
		"'controller':true,'blockOwnerDeletion':true}]");
	assert_null(json_at(written, "metadata.finalizers"));
	world_end(&w);
}

/* No field, no request. */
static void test_not_asked_for(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'gang':null");
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; create Pod f-a-0; ");
	assert_status(&w, "attemptStatus.gangScheduler", NULL);
	world_end(&w);

	/* nobody is to be placed */
	world_begin_of(&w, 0, "", "", VOLCANO);
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; ");
	world_end(&w);
}

/* Ended Pods are deleted, and the scheduler counts those that are there. */
static void test_follows_completion(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, NEVER, RETRY, ",'gang':{'scheduler':'Volcano','minTaskNumber':2}");
	world_settle(&w);
	for (size_t i = 0; i < 3; i++)
		run(&w, pod_name("a", i));
	world_clear_log(&w);
	end(&w, "f-a-0", 0);
	assert_calls(&w, "delete Pod f-a-0; ");
	assert_members(&w, "f-0", 2);
	world_clear_log(&w);
	end(&w, "f-a-1", 0);
	assert_calls(&w, "delete Pod f-a-1; patch PodGroup f-0; ");
	assert_members(&w, "f-0", 1);
	/* the last one is retried, and placed alone */
	world_clear_log(&w);
	end(&w, "f-a-2", 1);
	assert_calls(&w, "delete Pod f-a-2; create Pod f-a-2; ");
	assert_members(&w, "f-0", 1);
	run(&w, "f-a-2");
	end(&w, "f-a-2", 0);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, 0);
	assert_null(group(&w, "f-0"));
	world_end(&w);
}

/* What is patched is what is stored: the Task is Completed there. */
static void test_patch_is_persisted_first(void **state)
{
	struct world w;

	(void)state;
	begin_two_running(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	world_advance_ms(&w, 2000); /* what happens to one Task alone is gathered before it is written */
	world_settle(&w);
	assert_int_equal(w.made[CALL_PATCH_OWNED], 1);
	assert_status(&w, "attemptStatus.taskRoleStatuses.0.taskStatuses.0.state", "'Completed'");
	world_end(&w);
}

static void test_rescale(void **state)
{
	struct world w;

	(void)state;
	begin_two_running(&w);
	world_clear_log(&w);
	world_edit_of(&w, 4, NEVER, "", VOLCANO);
	world_settle(&w);
	assert_calls(&w, "patch PodGroup f-0; create Pod f-a-2; create Pod f-a-3; ");
	assert_members(&w, "f-0", 4);
	world_clear_log(&w);
	world_edit_of(&w, 1, NEVER, "", VOLCANO);
	world_settle(&w);
	assert_members(&w, "f-0", 1);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	/* and up again, while those that were too many are on their way out */
	world_edit_of(&w, 3, NEVER, "", VOLCANO);
	world_settle(&w);
	assert_members(&w, "f-0", 3);
	assert_non_null(world_pod(&w, "f-a-2"));
	world_end(&w);
}

/* Down and up in one update: the number is right before a Pod is created. */
static void test_rescale_down_and_up(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':4" NEVER
			"},{'name':'b','taskNumber':1" NEVER "}]}");
	world_settle(&w);
	world_clear_log(&w);
	world_edit(&w, "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1" NEVER
		       "},{'name':'b','taskNumber':2" NEVER "}]}");
	w.hold_calls = true;
	world_settle(&w);
	for (size_t i = 0; i < w.queued; i++)
		assert_int_not_equal(w.queue[i].kind, CALL_CREATE_POD);
	w.hold_calls = false;
	world_settle(&w);
	assert_members(&w, "f-0", 3);
	assert_non_null(world_pod(&w, "f-b-1"));
	world_end(&w);
}

/* Down and up again while the Framework is held: the group has the Tasks of the spec before the first Pod. */
static void test_rescale_while_held(void **state)
{
	static const int down[] = {2, 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(down); i++) {
		struct world w;

		world_begin_of(&w, 4, NEVER, "", VOLCANO ",'suspend':true");
		world_settle(&w);
		world_edit_of(&w, down[i], NEVER, "", VOLCANO ",'suspend':true");
		world_settle(&w);
		world_edit_of(&w, 4, NEVER, "", VOLCANO ",'suspend':true");
		world_settle(&w);
		world_edit_of(&w, 4, NEVER, "", VOLCANO);
		while (w.made[CALL_CREATE_OWNED] == 0)
			assert_true(world_step(&w));
		assert_members(&w, "f-0", 4);
		world_settle(&w);
		assert_members(&w, "f-0", 4);
		assert_int_equal(w.made[CALL_CREATE_POD], 4);
		world_end(&w);
	}
}

/* Of more Tasks than a status has room for none is added: the group waits for none of them. */
static void test_too_many(void **state)
{
	struct world w;

	(void)state;
	begin_two_running(&w);
	world_edit(&w, "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':2" NEVER
		       "},{'name':'z','taskNumber':10000" NEVER "}]}");
	world_settle(&w);
	assert_members(&w, "f-0", 2);
	world_end(&w);
}

/* A Task completes, and another one is added while the server has yet to lower the number for the first: the Pod waits
 * for that answer, and for the next number. */
static void test_rescale_while_lowered(void **state)
{
	cleanup_buf struct buf body = {0};
	struct world w;

	(void)state;
	begin_two_running(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	for (int i = 0; i < 10 && !w.hold_calls; i++) {
		world_carry(&w);
		world_advance_ms(&w, 2000); /* what happens to one Task alone is gathered before it is written */
		world_reconcile(&w);
		if (w.plan.write)
			world_write(&w);
		w.hold_calls = world_queued(&w, CALL_PATCH_OWNED) != NULL;
	}
	assert_true(w.hold_calls);
	framework_call_body(w.framework, world_queued(&w, CALL_PATCH_OWNED), &body);
	assert_contains(body.data, "\"minMember\":1");
	world_edit_of(&w, 3, NEVER, "", VOLCANO);
	world_settle(&w);
	assert_null(world_queued(&w, CALL_CREATE_POD));
	w.hold_calls = false;
	world_settle(&w);
	assert_members(&w, "f-0", 2);
	assert_non_null(world_pod(&w, "f-a-2"));
	world_end(&w);
}

/* A scheduler that reserves minResources before it places a Pod must not wait for what no member needs. */
static void test_resources_of_members(void **state)
{
	static const char role[] = "{'name':'%s','taskNumber':%d,'task':{'pod':{'spec':{'containers':[{'resources':{"
				   "'requests':{'%s':'1'}}}]}}}}";
	cleanup_free char *first = mem_printf(role, "a", 2, "cpu");
	cleanup_free char *second = mem_printf(role, "b", 4, "nvidia.com/gpu");
	cleanup_free char *spec = mem_printf("{'gang':{'scheduler':'Volcano','minTaskNumber':3},'taskRoles':[%s,%s]}",
					     first, second);
	struct world w;

	(void)state;
	world_begin(&w, spec);
	world_settle(&w);
	assert_members(&w, "f-0", 3);
	assert_json(json_at(group(&w, "f-0"), "spec.minResources"), "{'cpu':'2','nvidia.com/gpu':'1'}");
	world_end(&w);
}

/* The TaskRole that asked for GPUs is gone: the patch takes them back. */
static void test_resources_of_former_role(void **state)
{
#define NEEDS(requests) ",'task':{'pod':{'spec':{'containers':[{'resources':{'requests':{" requests "}}}]}}}"
	static const char one[] = "{'name':'a','taskNumber':1" NEVER NEEDS("'cpu':'1'") "}";
	static const char other[] = ",{'name':'b','taskNumber':1" NEVER NEEDS("'cpu':'1','nvidia.com/gpu':'8'") "}";
	cleanup_free char *both = mem_printf("{'gang':{'scheduler':'Coscheduling'},'taskRoles':[%s%s]}", one, other);
	cleanup_free char *rest = mem_printf("{'gang':{'scheduler':'Coscheduling'},'taskRoles':[%s]}", one);
	struct world w;

	(void)state;
	world_begin(&w, both);
	world_settle(&w);
	run(&w, "f-a-0");
	run(&w, "f-b-0");
	world_edit(&w, rest);
	world_settle(&w);
	world_pass(&w, 10);
	assert_members(&w, "f-0", 1);
	assert_json(json_at(group(&w, "f-0"), "spec.minResources"), "{'cpu':'1','nvidia.com/gpu':'0'}");
	world_end(&w);
#undef NEEDS
}

/* minResources counts what the Pods request after their placeholders are replaced, and they request nothing else. */
static void test_placeholders(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w,
		    "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'s','taskNumber':2,'task':{'pod':{'spec':{"
		    "'containers':[{'resource{{FC_TASKROLE_NAME}}':{'requests':{'cpu':'1','x.com/{{FC_FRAMEWORK_NAME}}'"
		    ":3,'x.com/y{{FC_TASK_INDEX}}':1}}}]}}}}]}");
	world_settle(&w);
	assert_json(json_at(group(&w, "f-0"), "spec.minResources"),
		    "{'cpu':'2','x.com/f':'6','x.com/y{{FC_TASK_INDEX}}':'2'}");
	assert_json(json_at(world_pod(&w, "f-s-1"), "spec.containers.0.resources.requests"),
		    "{'cpu':'1','x.com/f':3,'x.com/y{{FC_TASK_INDEX}}':1}");
	world_end(&w);
}

/* Each attempt has its own. */
static void test_new_attempt(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", VOLCANO ",'retryPolicy':{'maxRetryCount':1}");
	world_settle(&w);
	world_clear_log(&w);
	end(&w, "f-a-1", 1);
	assert_contains(w.log.data, "create PodGroup f-1; create Pod f-a-0; create Pod f-a-1; ");
	assert_null(group(&w, "f-0"));
	assert_members(&w, "f-1", 2);
	assert_string_equal(json_str(json_at(world_pod(&w, "f-a-0"), "metadata.annotations"), VOLCANO_GROUP), "f-1");
	world_end(&w);
}

/* A new owner of the key finds it by a GET, and brings it up to date. */
static void test_adopted_after_restart(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, NEVER, RETRY, VOLCANO);
	world_settle(&w);
	for (size_t i = 0; i < 3; i++)
		run(&w, pod_name("a", i));
	world_clear_log(&w);
	world_restart(&w);
	world_settle(&w);
	assert_calls(&w, "get PodGroup f-0; ");
	end(&w, "f-a-0", 1);
	assert_calls(&w, "delete Pod f-a-0; create Pod f-a-0; ");
	/* what a former owner has not patched */
	json_object_set_new(json_at(group(&w, "f-0"), "spec"), "minMember", json_integer(7));
	world_stamp(&w, group(&w, "f-0"));
	world_restart(&w);
	world_settle(&w);
	assert_members(&w, "f-0", 3);
	world_end(&w);
}

/* Between its creation and that of the first Pod. */
static void test_crash_before_pods(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", VOLCANO);
	w.hold_calls = true;
	world_settle(&w);
	world_carry(&w); /* the ConfigMap */
	world_settle(&w);
	world_carry(&w); /* the PodGroup */
	assert_non_null(group(&w, "f-0"));
	w.hold_calls = false;
	world_restart(&w);
	world_settle(&w);
	assert_calls(&w,
		     "create ConfigMap f-attempt; create PodGroup f-0; create PodGroup f-0; get PodGroup f-0; create "
		     "Pod f-a-0; ");
	assert_lacks(w.events.data, "FailedCreatePodGroup");
	assert_lacks(w.events.data, "NamingConflict");
	world_end(&w);
}

/* An attempt keeps the gang that it began with. */
static void test_changed(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, NEVER, "", "");
	world_settle(&w);
	world_clear_log(&w);
	world_edit_of(&w, 2, NEVER, "", VOLCANO);
	world_settle(&w);
	assert_calls(&w, "create Pod f-a-1; ");
	assert_null(json_at(world_pod(&w, "f-a-1"), "spec.schedulerName"));
	world_end(&w);

	/* without it nobody waits for the others */
	world_begin_of(&w, 3, NEVER, RETRY, VOLCANO);
	world_settle(&w);
	world_edit_of(&w, 3, NEVER, RETRY, "");
	world_settle(&w);
	assert_members(&w, "f-0", 1);
	end(&w, "f-a-0", 1);
	assert_json(json_at(world_pod(&w, "f-a-0"), "spec.schedulerName"), "'volcano'");
	world_end(&w);

	/* until then it is that of the spec */
	world_begin_of(&w, 1, NEVER, "", VOLCANO ",'executionType':'Create'");
	world_settle(&w);
	world_edit_of(&w, 1, NEVER, "", ",'gang':{'scheduler':'Kubernetes'}");
	world_settle(&w);
	assert_status(&w, "attemptStatus.gangScheduler", "'Kubernetes'");
	assert_json(json_at(world_pod(&w, "f-a-0"), "spec.schedulingGroup"), "{'podGroupName':'f-0'}");
	world_end(&w);
}

#define STAGES(n, min)                                                                                             \
	"{'gang':{'scheduler':'Volcano','minTaskNumber':" #min "},'taskRoles':[{'name':'a','taskNumber':" #n NEVER \
	",'task':{'retryPolicy':{'maxRetryCount':1}}},{'name':'b','taskNumber':4,'dependsOn':[{'taskRole':'a',"    \
	"'status':'Succeeded'}]" NEVER "}]}"

/* Tasks that wait for others are no members yet: a retry of those others is placed without them. */
static void test_depends(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, STAGES(3, 3));
	world_settle(&w);
	assert_members(&w, "f-0", 3);
	end(&w, "f-a-0", 0);
	end(&w, "f-a-1", 0);
	assert_members(&w, "f-0", 1);
	end(&w, "f-a-2", 1);
	assert_members(&w, "f-0", 1);
	world_clear_log(&w);
	end(&w, "f-a-2", 0);
	world_pass(&w, 10);
	assert_contains(w.log.data, "patch PodGroup f-0; create Pod f-b-0; ");
	assert_members(&w, "f-0", 3);
	world_end(&w);
}

static void test_malformed(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'gang':{'scheduler':'Slurm'}");
	world_settle(&w);
	assert_calls(&w, "");
	assert_contains(w.events.data,
			"Malformed: The controller does not act on this Framework: spec.gang.scheduler is "
			"\"Slurm\", expected \"Volcano\"");
	world_end(&w);
}

/* Scaled down to fewer Tasks than have completed, while a PATCH waits to be sent: it states no negative number. */
static void test_scaled_down_while_patched(void **state)
{
	cleanup_buf struct buf body = {0};
	struct call *patch;
	struct world w;

	(void)state;
	world_begin_of(&w, 6, NEVER, "", VOLCANO);
	world_settle(&w);
	for (size_t i = 0; i < 6; i++)
		run(&w, pod_name("a", i));
	for (size_t i = 2; i < 5; i++)
		world_pod_exit(&w, pod_name("a", i), 0, "");
	for (int i = 0; i < 20 && world_queued(&w, CALL_PATCH_OWNED) == NULL; i++) {
		world_carry(&w);
		world_advance_ms(&w, 2000);
		world_reconcile(&w);
		if (w.plan.write)
			world_write(&w);
	}
	patch = world_queued(&w, CALL_PATCH_OWNED);
	assert_non_null(patch);
	world_edit_of(&w, 1, NEVER, "", VOLCANO);
	if (framework_call_wanted(w.framework, patch))
		framework_call_body(w.framework, patch, &body);
	assert_true(body.len == 0 || strstr(body.data, "\"minMember\":-") == NULL);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_first),
		cmocka_unit_test(test_of_each_scheduler),
		cmocka_unit_test(test_placeholders),
		cmocka_unit_test(test_uid_of_a_status),
		cmocka_unit_test(test_not_asked_for),
		cmocka_unit_test(test_follows_completion),
		cmocka_unit_test(test_patch_is_persisted_first),
		cmocka_unit_test(test_rescale),
		cmocka_unit_test(test_rescale_down_and_up),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_rescale_while_held),
		cmocka_unit_test(test_rescale_while_lowered),
		cmocka_unit_test(test_new_attempt),
		cmocka_unit_test(test_adopted_after_restart),
		cmocka_unit_test(test_crash_before_pods),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_depends),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_resources_of_members),
		cmocka_unit_test(test_resources_of_former_role),
		cmocka_unit_test(test_scaled_down_while_patched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
