/* A Framework whose Tasks run. Shared by test_sync_delete{,_config_map}.c and test_sync_timers.c. */
#ifndef TESTS_SYNC_RUNNING_H
#define TESTS_SYNC_RUNNING_H

#include "tests/unit/sync_world.h"

#define STAYS ",'frameworkAttemptCompletionPolicy':{}"

static void begin_running(struct world *w, int n, const char *task_rest)
{
	world_begin_of(w, n, STAYS, task_rest, "");
	world_settle(w);
	for (int i = 0; i < n; i++)
		world_pod_phase(w, pod_name("a", (size_t)i), "Running");
	world_settle(w);
	assert_state(w, STATE_RUNNING);
	world_clear_log(w);
}

#endif
