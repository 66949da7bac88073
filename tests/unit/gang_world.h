/* What the tests of spec.gang share: PodGroups on the server of sync_world.h, and gangs of Volcano. */
#ifndef UNIT_GANG_WORLD_H
#define UNIT_GANG_WORLD_H

#include "tests/unit/sync_world.h"

#define VOLCANO ",'gang':{'scheduler':'Volcano'}"
#define NEVER ",'frameworkAttemptCompletionPolicy':{}"
#define RETRY ",'retryPolicy':{'maxRetryCount':3}"

static inline json_t *group(struct world *w, const char *name)
{
	return json_object_get(w->pod_groups, name);
}

static inline void assert_members(struct world *w, const char *name, int64_t expected)
{
	int64_t found = json_int(json_at(group(w, name), "spec"), "minMember", -1);

	if (found != expected)
		fail_msg("minMember of %s is %lld, expected %lld: %s", name, (long long)found, (long long)expected,
			 w->log.data);
}

static inline void run(struct world *w, const char *name)
{
	world_pod_phase(w, name, "Running");
	world_settle(w);
}

static inline void end(struct world *w, const char *name, int code)
{
	world_pod_exit(w, name, code, "");
	world_pass(w, 10);
}

/* expected: NULL if the member is absent. */
static inline void assert_status(struct world *w, const char *path, const char *expected)
{
	cleanup_json json_t *status = world_status(w);

	if (expected == NULL)
		assert_null(json_at(status, path));
	else
		assert_json(json_at(status, path), expected);
}

/* Two Tasks that run, in a gang of Volcano, whose completion ends nothing. */
static inline void begin_two_running(struct world *w)
{
	world_begin_of(w, 2, NEVER, "", VOLCANO);
	world_settle(w);
	run(w, "f-a-0");
	run(w, "f-a-1");
}

#endif
