/* What kubectl framework why says of a Framework in a world of cli_world.h. */
#ifndef TESTS_UNIT_CLI_WHY_H
#define TESTS_UNIT_CLI_WHY_H

#include "cli/view/why.h"
#include "tests/unit/cli_world.h"

#define ONE_ROLE "'taskRoles':[{'name':'a','taskNumber':3}]"

static inline const char *fact(const struct why *why, const char *source)
{
	for (size_t i = 0; i < why->fact_count; i++)
		if (strncmp(why->facts[i].source, source, strlen(source)) == 0)
			return why->facts[i].text;
	return "";
}

/* A Framework whose Tasks are these, in the given state. */
static inline void begin_tasks(struct cli_world *w, const char *state, const char *spec, char *tasks)
{
	cleanup_free char *role = cli_role("a", tasks);
	cleanup_free char *status = cli_status(state, "", "", role);

	cli_world_begin(w, spec, status);
	free(tasks);
}

static inline char *three(const char *state, const char *more)
{
	cleanup_free char *one = cli_task(0, state, more), *two = cli_task(1, state, more),
			  *last = cli_task(2, state, more);

	return mem_printf("%s,%s,%s", one, two, last);
}

/* The Pods of the three Tasks, all alike; of a[1] another status. */
static inline void three_pods(struct cli_world *w, const char *metadata, const char *spec, const char *status,
			      const char *of_second)
{
	for (int i = 0; i < 3; i++) {
		cleanup_free char *name = mem_printf("f-a-%d", i);

		cli_world_pod(w, name, metadata, spec, i == 1 && of_second != NULL ? of_second : status);
	}
}

static inline void explain(struct cli_world *w, struct why *why, const char *kind, const char *part)
{
	why_explain(&w->inquiry, why);
	if (strcmp(why->kind, kind) != 0)
		print_error("%s\n", why->answer);
	assert_string_equal(why->kind, kind);
	assert_contains(why->answer, part);
}

static inline void done(struct cli_world *w, struct why *why)
{
	why_free(why);
	cli_world_end(w);
}

#endif
