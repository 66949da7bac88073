/* PodGroups that cannot be had as they should be (CONTRACT.md §12.5, §12.21 to §12.23): nobody serves them, others have
 * the name, rights are missing, answers are lost, somebody deletes them. */
#include "tests/unit/gang_world.h"

static void test_foreign(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	json_object_set_new(w.pod_groups, "f-0",
			    json_of("{'metadata':{'name':'f-0','namespace':'ns','uid':'x','resourceVersion':'1'}}"));
	world_create_framework(&w, "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_settle(&w);
	assert_contains(w.events.data,
			"NamingConflict: PodGroup f-0 with uid x is controlled by nobody and not by this "
			"Framework");
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	json_object_del(w.pod_groups, "f-0");
	world_pass_minutes(&w);
	assert_members(&w, "f-0", 1);
	assert_task(&w, 0, 0, STATE_PREPARING);
	world_end(&w);

	/* of the ConfigMap of a Framework that had the name before */
	world_init(&w);
	json_object_set_new(w.pod_groups, "f-0",
			    json_of("{'metadata':{'name':'f-0','namespace':'ns','uid':'x','resourceVersion':'1',"
				    "'ownerReferences':[{'controller':true,'kind':'ConfigMap','name':'f-attempt','uid':"
				    "'z'}]}}"));
	world_create_framework(&w, "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_expect_former_goes(&w, w.pod_groups, "f-0");
	world_end(&w);
}

/* Nobody serves it: the attempt waits, says why, and goes on when somebody does. */
static void test_not_served(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.served[API_POD_GROUPS_VOLCANO] = (struct api_served){.state = SERVED_NO, .until_ms = w.time.boot_ms + 60000};
	world_create_framework(&w, "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; ");
	assert_state(&w, STATE_PREPARING);
	assert_contains(w.events.data,
			"GangUnavailable: Attempt 0 waits: spec.gang.scheduler is Volcano, and the API server does not "
			"serve podgroups of scheduling.volcano.sh/v1beta1: install Volcano. The controller looks again "
			"every minute\n");
	assert_int_equal(w.plan.ask, 0);
	world_pass(&w, 61);
	world_reconcile(&w);
	assert_int_equal(w.plan.ask, 1U << API_POD_GROUPS_VOLCANO);
	w.served[API_POD_GROUPS_VOLCANO] = (struct api_served){.state = SERVED_NO, .until_ms = w.time.boot_ms + 60000};
	buf_clear(&w.events);
	world_settle(&w);
	assert_string_equal(w.events.data, ""); /* it has been told */
	w.served[API_POD_GROUPS_VOLCANO] = (struct api_served){.state = SERVED_YES, .until_ms = INT64_MAX};
	world_settle(&w);
	assert_calls(&w, "create PodGroup f-0; create Pod f-a-0; ");
	world_end(&w);
}

/* The wrong scheduler: the Framework has no Pods yet, and starts when it is corrected, or without a gang. */
static void test_corrected(void **state)
{
	static const char *const specs[][2] = {
		{"{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1}]}",
		 "create PodGroup f-0; create Pod f-a-0; "},
		{"{'taskRoles':[{'name':'a','taskNumber':1}]}", "create Pod f-a-0; "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct world w;

		world_init(&w);
		w.served[API_POD_GROUPS_COSCHEDULING] = (struct api_served){.state = SERVED_NO,
									    .until_ms = w.time.boot_ms + 60000};
		world_create_framework(
			&w, "{'gang':{'scheduler':'Coscheduling'},'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
		world_settle(&w);
		assert_contains(w.events.data, "GangUnavailable");
		assert_calls(&w, "create ConfigMap f-attempt; ");
		world_edit(&w, specs[i][0]);
		world_settle(&w);
		assert_calls(&w, specs[i][1]);
		/* what has begun keeps it */
		world_edit(&w, "{'gang':{'scheduler':'Coscheduling'},'taskRoles':[{'name':'a','taskNumber':1}]}");
		world_settle(&w);
		assert_int_equal(w.framework->status.attempt.gang, i == 0 ? GANG_VOLCANO : GANG_NONE);
		world_end(&w);
	}
}

/* Its PodGroup was asked for, and the Pod perhaps: the attempt keeps its gang, although somebody deleted the PodGroup.
 */
static void test_corrected_too_late(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = 1000, .message = "no answer"};
	world_create_framework(&w, "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_settle(&w);
	json_object_del(w.pod_groups, "f-0");
	world_advance(&w, 61);
	world_forbid(&w, CALL_CREATE_OWNED, 1000, "no");
	world_settle(&w);
	world_edit(&w, "{'gang':{'scheduler':'Coscheduling'},'taskRoles':[{'name':'a','taskNumber':1}]}");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.gang, GANG_VOLCANO);
	world_end(&w);
}

/* An Event is kept for an hour: one that waits longer is told of again. */
static void test_not_served_for_long(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.served[API_POD_GROUPS_VOLCANO] = (struct api_served){.state = SERVED_NO, .until_ms = w.time.boot_ms + 60000};
	world_create_framework(&w, "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_settle(&w);
	buf_clear(&w.events);
	world_advance(&w, 31 * 60);
	w.served[API_POD_GROUPS_VOLCANO].until_ms = w.time.boot_ms + 60000;
	world_settle(&w);
	assert_contains(w.events.data, "GangUnavailable");
	/* it ends like any other */
	world_edit(&w,
		   "{'executionType':'Stop','gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1}]}");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	world_end(&w);
}

/* Which version is served best is known only when both are known. */
static void test_asked(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	memset(w.served, 0, sizeof(w.served));
	world_create_framework(&w, "{'gang':{'scheduler':'Kubernetes'},'taskRoles':[{'name':'a','taskNumber':1}]}",
			       NULL);
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; ");
	assert_int_equal(w.plan.ask, 1U << API_POD_GROUPS_KUBERNETES_BETA | 1U << API_POD_GROUPS_KUBERNETES_ALPHA);
	w.served[API_POD_GROUPS_KUBERNETES_ALPHA] = (struct api_served){.state = SERVED_YES, .until_ms = INT64_MAX};
	world_settle(&w);
	assert_calls(&w, "");
	/* that could not be found out: again in a while */
	w.served[API_POD_GROUPS_KUBERNETES_BETA] = (struct api_served){.state = SERVED_UNKNOWN,
								       .until_ms = w.time.boot_ms + 5000};
	world_reconcile(&w);
	assert_int_equal(w.plan.ask, 0);
	assert_int_equal(w.plan.wake_ms, w.time.boot_ms + 5000);
	w.served[API_POD_GROUPS_KUBERNETES_BETA] = (struct api_served){.state = SERVED_NO, .until_ms = INT64_MAX};
	world_settle(&w);
	assert_json(json_at(group(&w, "f-0"), "apiVersion"), "'scheduling.k8s.io/v1alpha2'");
	assert_lacks(w.events.data, "GangUnavailable");
	world_end(&w);
}

/* Nobody may ask what is served: an Event says what is missing; what passes by itself is not worth one. */
static void test_discovery_refused(void **state)
{
	struct api_served *served;
	struct world w;

	(void)state;
	world_init(&w);
	served = &w.served[API_POD_GROUPS_VOLCANO];
	*served = (struct api_served){.state = SERVED_UNKNOWN, .until_ms = w.time.boot_ms + 5000};
	world_create_framework(&w, "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_settle(&w);
	assert_lacks(w.events.data, "GangUnavailable");
	snprintf(served->trouble, sizeof(served->trouble), "403: the right is missing");
	world_settle(&w);
	assert_contains(w.events.data,
			"GangUnavailable: Attempt 0 waits: spec.gang.scheduler is Volcano, and the controller cannot "
			"find out whether the API server serves its podgroups: 403: the right is missing. The "
			"controller looks again every minute\n");
	buf_clear(&w.events);
	world_settle(&w);
	assert_string_equal(w.events.data, "");
	/* that nobody serves it is news */
	*served = (struct api_served){.state = SERVED_NO, .until_ms = INT64_MAX};
	world_settle(&w);
	assert_contains(w.events.data, "does not serve podgroups of scheduling.volcano.sh/v1beta1: install Volcano");
	*served = (struct api_served){.state = SERVED_YES, .until_ms = INT64_MAX};
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	world_end(&w);
}

static void forbid(struct world *w, enum call_kind kind, int count)
{
	world_forbid(w, kind, count, "podgroups is forbidden");
}

static void test_forbidden(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, NEVER, "", VOLCANO);
	forbid(&w, CALL_CREATE_OWNED, 2);
	world_pass_minutes(&w);
	assert_contains(w.events.data, "FailedCreatePodGroup: Failed to create f-0: podgroups is forbidden. The rights "
				       "that spec.gang needs are in manifests/rbac/gang; Pods are created after it\n");
	assert_task(&w, 0, 0, STATE_PREPARING);
	run(&w, "f-a-0");
	run(&w, "f-a-1");
	forbid(&w, CALL_PATCH_OWNED, 2);
	end(&w, "f-a-0", 0);
	world_pass_minutes(&w);
	assert_contains(w.events.data, "FailedPatchPodGroup: Failed to patch f-0: podgroups is forbidden. The rights");
	assert_members(&w, "f-0", 1);
	world_end(&w);
}

/* The GET that follows a refused PATCH finds the PodGroup as it was: that is no reason to ask again at once. */
static void test_refused_patch_is_repeated_rarely(void **state)
{
	struct world w;

	(void)state;
	begin_two_running(&w);
	forbid(&w, CALL_PATCH_OWNED, 1000);
	end(&w, "f-a-0", 0);
	world_pass(&w, 60);
	assert_in_range(w.made[CALL_PATCH_OWNED], 2, 20);
	world_end(&w);
}

/* A webhook puts back what a PATCH changes: it has failed, although it was accepted. */
static void test_patch_without_effect(void **state)
{
	struct world w;

	(void)state;
	begin_two_running(&w);
	w.patches_ignored = 1000;
	end(&w, "f-a-0", 0);
	world_pass(&w, 60);
	assert_in_range(w.made[CALL_PATCH_OWNED], 2, 20);
	assert_contains(w.events.data, "FailedPatchPodGroup: Failed to patch f-0: the API server accepted the patch "
				       "{\"metadata\":{\"uid\":\"pg");
	assert_contains(w.events.data,
			"\"spec\":{\"minMember\":1,\"minResources\":{}}}, and spec is as before, "
			"{\"minMember\":2,\"minResources\":{}}: expected it to change. An admission webhook "
			"may put it back\n");
	w.patches_ignored = 0;
	world_pass_minutes(&w);
	assert_members(&w, "f-0", 1);
	world_clear_log(&w);
	world_pass_minutes(&w);
	assert_calls(&w, "");
	world_end(&w);
}

/* Once is no reason to wait for long, and Pods of a rescale wait until the number is there. */
static void test_patch_without_effect_once(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, NEVER, "", VOLCANO);
	world_settle(&w);
	w.patches_ignored = 1;
	world_clear_log(&w);
	world_edit_of(&w, 3, NEVER, "", VOLCANO);
	world_pass(&w, 2);
	assert_calls(&w, "patch PodGroup f-0; get PodGroup f-0; patch PodGroup f-0; create Pod f-a-2; ");
	world_end(&w);
}

/* Whatever becomes of a PATCH and its answer. */
static void test_patch_outcome_unknown(void **state)
{
	static const bool carried_out[] = {false, true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(carried_out); i++) {
		struct world w;

		world_begin_of(&w, 2, NEVER, "", VOLCANO);
		world_settle(&w);
		w.fault = (struct world_fault){
			.kind = CALL_PATCH_OWNED, .count = 1, .carried_out = carried_out[i], .message = "no answer"};
		world_edit_of(&w, 3, NEVER, "", VOLCANO);
		world_pass(&w, 10);
		assert_members(&w, "f-0", 3);
		assert_int_equal(w.made[CALL_PATCH_OWNED], carried_out[i] ? 1 : 2);
		assert_non_null(world_pod(&w, "f-a-2"));
		world_end(&w);
	}
}

/* Somebody deletes it: it is made again when it is found missing. */
static void test_deleted_by_others(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, NEVER, RETRY, VOLCANO);
	world_settle(&w);
	run(&w, "f-a-0");
	run(&w, "f-a-1");
	json_object_del(w.pod_groups, "f-0");
	world_clear_log(&w);
	end(&w, "f-a-0", 0); /* by a PATCH */
	assert_calls(&w, "delete Pod f-a-0; patch PodGroup f-0; create PodGroup f-0; ");
	assert_members(&w, "f-0", 1);
	json_object_del(w.pod_groups, "f-0");
	world_advance(&w, 61);
	world_clear_log(&w);
	end(&w, "f-a-1", 1); /* before a later Pod */
	assert_calls(&w, "delete Pod f-a-1; get PodGroup f-0; create PodGroup f-0; create Pod f-a-1; ");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_not_served),
		cmocka_unit_test(test_corrected),
		cmocka_unit_test(test_corrected_too_late),
		cmocka_unit_test(test_not_served_for_long),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_discovery_refused),
		cmocka_unit_test(test_forbidden),
		cmocka_unit_test(test_refused_patch_is_repeated_rarely),
		cmocka_unit_test(test_patch_without_effect),
		cmocka_unit_test(test_patch_without_effect_once),
		cmocka_unit_test(test_patch_outcome_unknown),
		cmocka_unit_test(test_deleted_by_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
