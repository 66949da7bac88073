/* Steps of the wall clock (common/README.md §11): a machine's clock was hours ahead, and NTP puts it right. */
#include "reconciler/sync/rules.h"
#include "tests/unit/sync_world.h"

#define BACKOFF "'retryPolicy':{'maxRetryCount':-2,'backoff':{'initialSec':10,'maxSec':40,'resetAfterSec':1000}}"

enum { HOURS_MS = 5 * 3600 * 1000 };

/* A delay of 10 s, during which the clock goes back by 5 h, is over after 10 s. */
static void test_retry_when_the_clock_goes_back(void **state)
{
	struct world w;
	cleanup_free char *uid = NULL;

	(void)state;
	world_begin_of(&w, 1, "", "", "," BACKOFF);
	world_settle(&w);
	uid = mem_strdup(meta_str(world_pod(&w, "f-a-0"), "uid"));
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 3, "");
	for (int i = 0; i < 120; i++) {
		if (i == 3)
			w.time.wall_ms -= HOURS_MS;
		world_pass(&w, 1);
		world_collect(&w);
		if (world_pod(&w, "f-a-0") != NULL && strcmp(meta_str(world_pod(&w, "f-a-0"), "uid"), uid) != 0)
			break;
		world_advance_ms(&w, 1000);
	}
	assert_non_null(world_pod(&w, "f-a-0"));
	assert_string_not_equal(meta_str(world_pod(&w, "f-a-0"), "uid"), uid);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retry_when_the_clock_goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
