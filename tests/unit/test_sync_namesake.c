/* A Framework is replaced before all objects of the former one have gone: what its predecessor's Events have told is
 * told again (CONTRACT.md §2.2, §12.23). */
#include "tests/unit/gang_world.h"

static void replace(struct world *w, const char *spec)
{
	buf_clear(&w->events);
	framework_observe_absent(w->framework, NULL);
	world_reconcile(w);
	assert_non_null(w->framework->config_map.meta);
	json_decref(w->object);
	world_create_framework(w, spec, NULL);
	world_config_map_deleting(w);
	world_settle(w);
	assert_state(w, STATE_PREPARING);
}

static void test_too_many(void **state)
{
	static const char spec[] = "{'taskRoles':[{'name':'a','taskNumber':10000},{'name':'b','taskNumber':1}]}";
	struct world w;

	(void)state;
	world_begin(&w, spec);
	world_settle(&w);
	assert_contains(w.events.data, "TooManyTasks");
	replace(&w, spec);
	assert_contains(w.events.data, "TooManyTasks");
	world_end(&w);
}

static void test_gang(void **state)
{
	static const char spec[] = "{'gang':{'scheduler':'Volcano'},'taskRoles':[{'name':'a','taskNumber':1}]}";
	struct world w;

	(void)state;
	world_init(&w);
	w.served[API_POD_GROUPS_VOLCANO] = (struct api_served){.state = SERVED_NO, .until_ms = INT64_MAX};
	world_create_framework(&w, spec, NULL);
	world_settle(&w);
	assert_contains(w.events.data, "GangUnavailable");
	replace(&w, spec);
	assert_contains(w.events.data, "GangUnavailable");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_gang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
