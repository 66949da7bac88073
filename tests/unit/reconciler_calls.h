/* Frameworks for a reconciler, and answers to its calls. Shared by test_reconciler_apply.c and
 * test_reconciler_writes.c. */
#ifndef TESTS_RECONCILER_CALLS_H
#define TESTS_RECONCILER_CALLS_H

#include "common/base/buf.h"
#include "common/base/json.h"
#include "tests/unit/reconciler_world.h"

enum { BIG = 300, OTHER_SHARD = 4 }; /* BIG: Tasks beside Task 0, whose Pod is there */

static inline char *framework_text(const char *name, int version, int tasks)
{
	return mem_printf("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"u-%s\","
			  "\"resourceVersion\":\"%d\",\"generation\":1},\"spec\":{\"executionType\":\"Start\","
			  "\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":%d,\"task\":{\"pod\":{\"spec\":{"
			  "\"containers\":[]}}}}]}}",
			  name, name, version, tasks);
}

static inline void show_framework(struct world *world, const char *name, uint32_t shard, int tasks)
{
	cleanup_free char *text = framework_text(name, 7, tasks);

	assert_true(store_text(&world->reconciler, KIND_FRAMEWORK, shard, text, strlen(text)));
}

/* It is done: what was sent, with the uid and the version that the server gives it. */
static inline void answer_done(struct world *world, size_t at)
{
	cleanup_json json_t *object = json_parse(world->calls[at].body, strlen(world->calls[at].body), NULL);
	json_t *metadata = json_object_get(object, "metadata");
	cleanup_free char *version = mem_printf("%d", 100 + world->requests);
	cleanup_free char *body = NULL;

	assert_non_null(metadata);
	json_object_set_new(metadata, "uid",
			    json_sprintf("uid-%s", json_string_value(json_object_get(metadata, "name"))));
	json_object_set_new(metadata, "resourceVersion", json_string(version));
	body = json_text(object);
	world_answer(world, at, 200, body);
}

/* The call whose method and path begin so; call_count when there is none. */
static inline size_t find_call(const struct world *world, const char *line)
{
	size_t at = 0;

	while (at < world->call_count && strncmp(world->calls[at].line, line, strlen(line)) != 0)
		at++;
	return at;
}

static const char pods[] = "POST /api/v1/namespaces/ns/pods";

/* Everything but creates of Pods is done, as long as something is asked for. */
static inline void get_to_pods(struct world *world)
{
	for (size_t at = 0; at < world->call_count;) {
		if (strcmp(world->calls[at].line, pods) == 0) {
			at++;
			continue;
		}
		answer_done(world, at);
		run_all(world);
		at = 0;
	}
}

#endif
