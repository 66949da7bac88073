/* The Service of spec.network (CONTRACT.md §4.13, §12.21): made before the first Pod, found again, waited for. */
#include "reconciler/sync/owned_kind.h"
#include "tests/unit/sync_world.h"

#define NETWORK ",'network':{}"
#define OURS                                                                                                    \
	"'ownerReferences':[{'controller':true,'kind':'Framework','name':'f','uid':'fw-uid-1'}],'labels':{'FC_" \
	"FRAMEWORK_NAME':'f'}"

static void begin(struct world *w, int tasks, const char *task_rest, const char *spec_rest)
{
	world_begin_of(w, tasks, "", task_rest, spec_rest);
}

static void put_service(struct world *w, const char *name, const char *meta)
{
	cleanup_free char *text = mem_printf("{'metadata':{'name':'%s','namespace':'ns',%s}}", name, meta);
	json_t *object = json_of(text);

	world_stamp(w, object);
	json_object_set_new(w->services, name, object);
}

static void test_made_first(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 2, "", NETWORK);
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; create Service f; create Pod f-a-0; create Pod f-a-1; ");
	assert_json(json_object_get(json_object_get(w.services, "f"), "spec"),
		    "{'clusterIP':'None','publishNotReadyAddresses':true,'selector':{'FC_FRAMEWORK_NAME':'f'}}");
	assert_json(json_at(json_object_get(w.services, "f"), "metadata.ownerReferences"),
		    "[{'apiVersion':'frameworkcontroller.microsoft.com/v1','kind':'Framework','name':'f','uid':"
		    "'fw-uid-1','controller':true,'blockOwnerDeletion':true}]");
	assert_json(json_at(world_pod(&w, "f-a-1"), "spec.hostname"), "'a-1'");
	assert_json(json_at(world_pod(&w, "f-a-1"), "spec.subdomain"), "'f'");
	assert_string_equal(w.events.data, "AttemptStarted: Attempt 0 started\n");
	world_end(&w);
}

/* Without the field there is no request more, and no name. */
static void test_not_asked_for(void **state)
{
	static const char *const specs[] = {"", ",'network':null", ",'network':{'enableDNSHostnames':false}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct world w;

		begin(&w, 1, "", specs[i]);
		world_settle(&w);
		assert_calls(&w, "create ConfigMap f-attempt; create Pod f-a-0; ");
		assert_null(json_at(world_pod(&w, "f-a-0"), "spec.hostname"));
		assert_null(json_at(world_pod(&w, "f-a-0"), "spec.subdomain"));
		world_end(&w);
	}
}

static void test_as_asked_for(void **state)
{
	struct world w;

	(void)state;
	/* a subdomain that looks like a Pod's name is none */
	begin(&w, 1, "", ",'network':{'subdomain':'f-a-0','publishNotReadyAddresses':false}");
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; create Service f-a-0; create Pod f-a-0; ");
	assert_json(json_at(json_object_get(w.services, "f-a-0"), "spec.publishNotReadyAddresses"), "false");
	assert_json(json_at(world_pod(&w, "f-a-0"), "spec.subdomain"), "'f-a-0'");
	world_end(&w);
}

/* A new owner of the key knows nothing of it. */
static void test_adopted_after_restart(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, ",'retryPolicy':{'maxRetryCount':1}", NETWORK);
	world_settle(&w);
	world_clear_log(&w);
	world_restart(&w);
	world_settle(&w);
	assert_calls(&w, ""); /* no Pod is created: nobody needs it */
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_calls(&w, "delete Pod f-a-0; create Service f; get Service f; create Pod f-a-0; ");
	assert_lacks(w.events.data, "FailedCreateService");
	assert_lacks(w.events.data, "NamingConflict");
	world_end(&w);
}

/* Whatever becomes of the create and its answer: one Service, and then the Pods. */
static void test_outcome_unknown(void **state)
{
	static const bool carried_out[] = {false, true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(carried_out); i++) {
		struct world w;

		begin(&w, 1, "", NETWORK);
		w.fault = (struct world_fault){
			.kind = CALL_CREATE_OWNED, .count = 1, .carried_out = carried_out[i], .message = "no answer"};
		world_settle(&w);
		world_pass_minutes(&w);
		assert_calls(&w, carried_out[i] ? "create ConfigMap f-attempt; create Service f; get Service f; create "
						  "Pod f-a-0; "
						: "create ConfigMap f-attempt; create Service f; get Service f; create "
						  "Service f; create Pod f-a-0; ");
		if (carried_out[i])
			assert_lacks(w.events.data, "FailedCreateService");
		else
			assert_contains(w.events.data, "FailedCreateService: Failed to create f: no answer\n");
		world_end(&w);
	}
}

/* Each attempt makes sure that it is there; only then it has Pods. */
static void test_kept_over_attempts(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "", NETWORK ",'retryPolicy':{'maxRetryCount':2}");
	world_settle(&w);
	world_clear_log(&w);
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_calls(
		&w,
		"delete Pod f-a-0; delete ConfigMap f-attempt; create ConfigMap f-attempt; get Service f; create Pod "
		"f-a-0; ");
	json_object_del(w.services, "f");
	world_pass_minutes(&w);
	assert_calls(&w, "");
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_calls(&w,
		     "delete Pod f-a-0; delete ConfigMap f-attempt; create ConfigMap f-attempt; get Service f; create "
		     "Service f; "
		     "create Pod f-a-0; ");
	world_end(&w);
}

/* A reconciler that was paused adopts an attempt that another one has begun: the Service may have gone since. (It took
 * for granted that it was there.) */
static void test_attempt_of_another(void **state)
{
	struct world w;
	struct framework *paused;

	(void)state;
	begin(&w, 1, "", NETWORK ",'retryPolicy':{'maxRetryCount':2}");
	w.framework->writer = "00000001";
	world_settle(&w);
	paused = w.framework;
	w.framework = framework_new(WORLD_NS, WORLD_NAME);
	world_restart(&w);
	w.framework->writer = "00000002";
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.id, 1);
	framework_free(w.framework);
	w.framework = paused;
	assert_int_equal(owned_slot(paused, SLOT_SERVICE)->known, SLOT_SEEN);
	framework_fence(paused);
	world_tell_framework(&w);
	assert_int_equal(paused->status.attempt.id, 1);
	assert_int_equal(owned_slot(paused, SLOT_SERVICE)->known, SLOT_IN_DOUBT);
	world_tell_config_map(&w);
	world_tell_pod(&w, "f-a-0");
	world_settle(&w);
	world_end(&w);
}

/* Somebody else's, with our label or without, is not touched, reported once, and waited for. */
static void test_foreign(void **state)
{
	static const char *const metas[] = {
		"'uid':'x'",
		"'uid':'x','labels':{'FC_FRAMEWORK_NAME':'f'}",
		"'uid':'x','ownerReferences':[{'controller':true,'kind':'Framework','name':'other','uid':'y'}]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(metas); i++) {
		struct world w;

		begin(&w, 1, "", NETWORK);
		put_service(&w, "f", metas[i]);
		world_settle(&w);
		assert_int_equal(w.made[CALL_CREATE_POD], 0);
		assert_contains(w.events.data, "NamingConflict: Service f with uid x is controlled by ");
		buf_clear(&w.events);
		world_pass_minutes(&w);
		assert_state(&w, STATE_PREPARING);
		assert_in_range(w.made[CALL_GET_OWNED], 5, 15); /* less and less often */
		assert_int_equal(w.made[CALL_CREATE_OWNED], 1);
		assert_lacks(w.events.data == NULL ? "" : w.events.data, "NamingConflict");
		json_object_del(w.services, "f");
		world_pass_minutes(&w);
		assert_task(&w, 0, 0, STATE_PREPARING);
		world_end(&w);
	}
}

static void test_former(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "", NETWORK);
	put_service(&w, "f",
		    "'uid':'x','ownerReferences':[{'controller':true,'kind':'Framework','name':'f','uid':'z'}]");
	world_expect_former_goes(&w, w.services, "f");
	world_end(&w);
}

/* Ours, on its way out: the next one is made when it has gone. */
static void test_ours_is_deleted(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "", NETWORK);
	put_service(&w, "f", "'uid':'x','deletionTimestamp':'2023-01-01T00:00:00Z'," OURS);
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	json_object_del(w.services, "f");
	world_pass_minutes(&w);
	assert_int_equal(w.made[CALL_CREATE_OWNED], 2);
	assert_task(&w, 0, 0, STATE_PREPARING);
	world_end(&w);
}

static void forbid(struct world *w, enum call_kind kind, int count)
{
	world_forbid(w, kind, count, "services is forbidden: User \"x\" cannot create resource \"services\"");
}

/* A right that is missing is named, and used as soon as it is there. Nothing else of the Framework waits. */
static void test_forbidden(void **state)
{
	static const char told[] =
		"FailedCreateService: Failed to create f: services is forbidden: User \"x\" cannot create "
		"resource \"services\". The rights that spec.network needs are in "
		"manifests/rbac/network; Pods are created after it\n";
	struct world w;

	(void)state;
	begin(&w, 1, "", NETWORK);
	forbid(&w, CALL_CREATE_OWNED, 3);
	world_settle(&w);
	world_pass_minutes(&w);
	assert_contains(w.events.data, told);
	assert_int_equal(w.made[CALL_CREATE_OWNED], 4);
	assert_task(&w, 0, 0, STATE_PREPARING);
	world_end(&w);

	/* a refusal that lasts: reads that find nothing do not make the next attempt come sooner */
	begin(&w, 1, "", NETWORK);
	forbid(&w, CALL_CREATE_OWNED, 1000);
	world_pass(&w, 60);
	assert_in_range(w.made[CALL_CREATE_OWNED], 8, 20);
	world_end(&w);

	/* nor may it be looked at: known by another refusal alone */
	begin(&w, 1, "", NETWORK);
	put_service(&w, "f", "'uid':'x'," OURS);
	forbid(&w, CALL_GET_OWNED, 3);
	world_settle(&w);
	world_pass_minutes(&w);
	assert_contains(w.events.data, "FailedCreateService: Failed to get f: services is forbidden");
	assert_lacks(w.events.data, "Failed to create");
	assert_int_equal(w.made[CALL_CREATE_OWNED], 1);
	assert_int_equal(w.made[CALL_GET_OWNED], 4);
	assert_task(&w, 0, 0, STATE_PREPARING);
	world_end(&w);
}

static void test_ends_while_it_waits(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "", NETWORK);
	forbid(&w, CALL_CREATE_OWNED, 1000);
	world_settle(&w);
	world_clear_log(&w);
	world_edit_of(&w, 1, "", "", NETWORK ",'executionType':'Stop'");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	world_end(&w);
}

/* Levels: what is created from then on. */
static void test_changed(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "", "");
	world_settle(&w);
	world_clear_log(&w);
	world_edit_of(&w, 2, "", "", ",'network':{'subdomain':'one'}");
	world_settle(&w);
	assert_calls(&w, "create Service one; create Pod f-a-1; ");
	world_edit_of(&w, 3, "", "", ",'network':{'subdomain':'two'}");
	world_settle(&w);
	assert_calls(&w, "create Service two; create Pod f-a-2; ");
	world_edit_of(&w, 4, "", "", "");
	world_settle(&w);
	assert_calls(&w, "create Pod f-a-3; ");
	assert_null(json_at(world_pod(&w, "f-a-3"), "spec.subdomain"));
	world_end(&w);
}

/* A create that waits for a place is not sent under a spec that it does not fit any more. */
static void test_changed_while_queued(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "", ",'network':{'subdomain':'one'}");
	w.hold_calls = true;
	world_settle(&w);
	world_carry(&w);
	world_settle(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_CREATE_OWNED);
	world_edit_of(&w, 1, "", "", ",'network':{'subdomain':'two'}");
	w.hold_calls = false;
	world_clear_log(&w);
	world_carry(&w);
	world_settle(&w);
	assert_calls(&w, "create Service two; create Pod f-a-0; ");
	world_end(&w);
}

/* The Pod of a queued create has no Service of its name yet. */
static void test_pod_queued_without_it(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "", "");
	w.hold_calls = true;
	world_settle(&w);
	world_carry(&w);
	world_settle(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_CREATE_POD);
	world_edit_of(&w, 1, "", "", NETWORK);
	w.hold_calls = false;
	world_clear_log(&w);
	world_carry(&w);
	world_settle(&w);
	assert_calls(&w, "create Service f; create Pod f-a-0; ");
	world_end(&w);
}

/* Not before the fence is passed. */
static void test_fence_first(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "", NETWORK);
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w);
	framework_fence(w.framework);
	w.hold_writes = true;
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; ");
	w.hold_writes = false;
	world_settle(&w);
	assert_calls(&w, "create Service f; create Pod f-a-0; ");
	world_end(&w);
}

static void test_malformed(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "", ",'network':{'subdomain':'x.y'}");
	world_settle(&w);
	assert_calls(&w, "");
	assert_contains(w.events.data, "Malformed: The controller does not act on this Framework: spec.network."
				       "subdomain is \"x.y\", expected a name like");
	world_edit_of(&w, 1, "", "", NETWORK);
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_first),
		cmocka_unit_test(test_not_asked_for),
		cmocka_unit_test(test_as_asked_for),
		cmocka_unit_test(test_adopted_after_restart),
		cmocka_unit_test(test_outcome_unknown),
		cmocka_unit_test(test_kept_over_attempts),
		cmocka_unit_test(test_attempt_of_another),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_former),
		cmocka_unit_test(test_ours_is_deleted),
		cmocka_unit_test(test_forbidden),
		cmocka_unit_test(test_ends_while_it_waits),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_changed_while_queued),
		cmocka_unit_test(test_pod_queued_without_it),
		cmocka_unit_test(test_fence_first),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
