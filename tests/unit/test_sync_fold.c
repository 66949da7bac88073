/* Frameworks at rest are folded, and unfold to what they were. (In every other story, each reconcile is followed by a
 * fold and an unfold: world_reconcile.) */
#include "reconciler/sync/fold.h"

#include <inttypes.h>

#include "tests/unit/sync_world.h"

static char *body_of(const struct framework *framework)
{
	struct buf out = {0};

	framework_status_write(&out, &framework->status, framework->name, NULL);
	buf_printf(&out, "\n%s/%s %s %s %" PRId64 "\n%s\n%s\n%zu %s %" PRIu64 " %" PRIu64 " %d\n", framework->ns,
		   framework->name, framework->uid, framework->resource_version, framework->generation,
		   framework->metadata_text, framework->spec_text, framework->spec.role_count,
		   framework->spec.roles[0].name, framework->version, framework->decided, framework->fence);
	if (framework->config_map.config_map != NULL) {
		assert_true(framework->config_map.meta == &framework->config_map.config_map->meta);
		config_map_write(&out, framework->config_map.config_map);
	}
	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next) {
		buf_printf(&out, "\n%s %d %d %d %d %s %s %s %s ", slot->name, slot->known, slot->deletion,
			   slot->reported, slot->dirty, slot->first_version == NULL ? "-" : slot->first_version,
			   slot->gone_uid == NULL ? "-" : slot->gone_uid,
			   slot->gone_version == NULL ? "-" : slot->gone_version,
			   slot->absent_version == NULL ? "-" : slot->absent_version);
		assert_true(slot->meta == (slot->pod == NULL ? NULL : &slot->pod->meta));
		if (slot->pod != NULL)
			pod_write(&out, slot->pod);
	}
	return buf_steal(&out);
}

static void begin_running(struct world *w, int n)
{
	world_begin_of(w, n, "", "", ",'retryPolicy':{'maxRetryCount':1}");
	world_settle(w);
	for (int i = 0; i < n; i++) {
		cleanup_free char *name = mem_printf("f-a-%d", i);

		world_pod_phase(w, name, "Running");
	}
	world_settle(w);
}

static void test_running(void **state)
{
	cleanup_free char *before = NULL;
	cleanup_free char *after = NULL;
	struct folded *folded;
	struct world w;

	(void)state;
	begin_running(&w, 3);
	before = body_of(w.framework);
	folded = framework_fold(w.framework);
	assert_non_null(folded);
	assert_true(folded->exists && folded->has_status && !folded->suspended);
	assert_int_equal(folded->state, STATE_RUNNING);
	assert_int_equal(folded->tasks[STATE_RUNNING], 3);
	assert_int_equal(folded->tasks[STATE_PREPARING], 0);
	w.framework = framework_unfold(folded);
	after = body_of(w.framework);
	assert_string_equal(after, before);
	world_pod_exit(&w, "f-a-1", 1, "");
	world_settle(&w);
	assert_task(&w, 0, 1, STATE_PREPARING);
	world_end(&w);
}

/* What a snapshot leaves: all of it dirty. */
static void test_fresh(void **state)
{
	cleanup_free char *before = NULL;
	cleanup_free char *after = NULL;
	struct world w;

	(void)state;
	begin_running(&w, 3);
	world_restart(&w);
	assert_non_null(w.framework->dirty);
	before = body_of(w.framework);
	assert_true(world_fold(&w));
	assert_non_null(w.framework->dirty);
	after = body_of(w.framework);
	assert_string_equal(after, before);
	world_settle(&w);
	assert_task(&w, 0, 1, STATE_RUNNING);
	world_end(&w);
}

/* One Pod of several has news, a call is on the way, a status is to be written, a Task has its outcome. */
static void test_under_way(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", "");
	world_reconcile(&w);
	assert_false(world_fold(&w)); /* to be written */
	world_write(&w);
	world_settle(&w);
	assert_true(world_fold(&w));
	world_pod_phase(&w, "f-a-0", "Running");
	assert_false(world_fold(&w)); /* news */
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	assert_false(world_fold(&w)); /* its Pod is being deleted */
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_false(world_fold(&w)); /* an outcome */
	world_end(&w);
}

static void test_large(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, FOLD_TASKS_MAX + 1, "", "", ",'executionType':'Create'");
	world_settle(&w);
	assert_false(world_fold(&w));
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_running),
		cmocka_unit_test(test_fresh),
		cmocka_unit_test(test_under_way),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
