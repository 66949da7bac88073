/* What sync_server.h keeps: the world of one Framework, and JSON for people. */
#ifndef TESTS_UNIT_SYNC_OBJECTS_H
#define TESTS_UNIT_SYNC_OBJECTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "common/framework/gang.h"
#include "reconciler/sync/served.h"
#include "reconciler/sync/sync.h"
#include "tests/objects.h"

#define WORLD_NS "ns"
#define WORLD_NAME "f"
#define WORLD_CONFIG_MAP "f-attempt"
#define WORLD_WORKLOAD "framework-f"

enum { WORLD_CALL_KINDS = CALL_DELETE_FRAMEWORK + 1 };

/* What the server does with the next calls of one kind. */
struct world_fault {
	enum call_kind kind; /* CALL_NONE: no fault */
	const char *name;    /* of the object; NULL: any */
	int count;           /* how many calls */
	int http_status;     /* 0: no answer comes */
	const char *reason;  /* of the Status; NULL: the body is no Status */
	const char *message;
	int64_t retry_after_ms;
	bool carried_out; /* done all the same */
};

struct world {
	struct framework *framework;
	struct failure_spec failures;
	struct sync_config config;
	struct sync_time time;
	struct random random;
	struct plan plan;

	/* the server */
	json_t *object; /* the Framework; NULL: gone */
	json_t *config_map;
	json_t *pods; /* by name */
	json_t *services;
	json_t *pod_groups;
	json_t *workloads;
	json_t *kueue_objects; /* by "resourceflavors/NAME" */
	struct api_served served[OWNED_APIS];
	uint64_t rv;
	unsigned next_uid;
	struct world_fault fault;
	int patches_ignored; /* so many PATCHes are accepted, and change nothing */

	/* How the rest of the cluster behaves. */
	bool slow_kubelet; /* deleted Pods stay until world_pod_gone() */
	bool held;         /* a finalizer keeps Pods from going, by force too, until world_pod_gone() */
	bool slow_gc;      /* a deleted ConfigMap stays until world_config_map_gone() */
	bool hold_calls;   /* world_step() leaves planned calls in the queue */
	bool hold_writes;  /* world_step() leaves the status unwritten */
	bool mute;         /* no event reaches the owner */
	bool unsure;       /* the owner does not know what its last write did: it reads first */

	/* calls planned and not yet carried out */
	struct call queue[4096];
	size_t queued;

	/* what has happened */
	struct buf log; /* "create Pod f-a-0; " … */
	unsigned made[WORLD_CALL_KINDS];
	unsigned writes;
	struct buf snapshots; /* one line each */
	struct buf events;    /* "Reason: message\n" */
};

/* ---- JSON for people --------------------------------------------------------------------------------------------- */

static inline const char *call_kind_name(const struct call *call)
{
	static const char *const names[] = {
		[CALL_NONE] = "none",
		[CALL_CREATE_CONFIG_MAP] = "create ConfigMap",
		[CALL_GET_CONFIG_MAP] = "get ConfigMap",
		[CALL_DELETE_CONFIG_MAP] = "delete ConfigMap",
		[CALL_CREATE_POD] = "create Pod",
		[CALL_GET_POD] = "get Pod",
		[CALL_DELETE_POD] = "delete Pod",
		[CALL_DELETE_FRAMEWORK] = "delete Framework",
	};
	static const char *const owned[][SLOT_KINDS] = {
		[CALL_CREATE_OWNED] = {[SLOT_SERVICE] = "create Service",
				       [SLOT_POD_GROUP] = "create PodGroup",
				       [SLOT_WORKLOAD] = "create Workload"},
		[CALL_GET_OWNED] = {[SLOT_SERVICE] = "get Service",
				    [SLOT_POD_GROUP] = "get PodGroup",
				    [SLOT_WORKLOAD] = "get Workload"},
		[CALL_PATCH_OWNED] = {[SLOT_POD_GROUP] = "patch PodGroup", [SLOT_WORKLOAD] = "patch Workload"},
		[CALL_PATCH_OWNED_STATUS] = {[SLOT_WORKLOAD] = "patch status of Workload"},
		[CALL_DELETE_OWNED] = {[SLOT_WORKLOAD] = "delete Workload"},
		[CALL_GET_KUEUE] = {[SLOT_WORKLOAD] = "get"},
	};

	return call->object >= SLOT_SERVICE ? owned[call->kind][call->object] : names[call->kind];
}

/* JSON with ' for ". */
static inline json_t *json_of(const char *text)
{
	cleanup_free char *copy = mem_strdup(text);
	struct error err;
	json_t *value;

	for (char *c = copy; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	value = json_parse(copy, strlen(copy), &err);
	if (value == NULL)
		fail_msg("%s in %s", err.message, copy);
	return value;
}

static inline bool world_observe_framework(struct framework *framework, const json_t *object, enum observed_by by)
{
	cleanup_free char *text = json_text(object);
	struct object_parts parts;
	bool news;

	if (object_parts_read(text, strlen(text), &parts, NULL) < 0)
		return false;
	news = framework_observe(framework, &parts, by);
	object_meta_free(&parts.meta);
	return news;
}

/* The value at "a.0.b"; NULL when any part is missing. */
static inline json_t *json_at(json_t *value, const char *path)
{
	while (value != NULL && *path != '\0') {
		char part[128];
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		value = json_is_array(value) ? json_array_get(value, strtoul(part, NULL, 10))
					     : json_object_get(value, part);
		path += len + (path[len] == '.');
	}
	return value;
}

static inline void assert_json(const json_t *found, const char *expected)
{
	cleanup_json json_t *wanted = json_of(expected);
	cleanup_free char *text = NULL;

	if (found != NULL && json_equal(found, wanted))
		return;
	text = found == NULL ? mem_strdup("nothing") : json_text(found);
	fail_msg("found %s, expected %s", text, expected);
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

static inline void world_stamp(struct world *w, json_t *object)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)++w->rv);
	json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", json_string(text));
}

static inline void world_new_uid(struct world *w, json_t *object, const char *kind)
{
	char text[64];

	snprintf(text, sizeof(text), "%s-uid-%u", kind, ++w->next_uid);
	json_object_set_new(json_object_get(object, "metadata"), "uid", json_string(text));
}

static inline const char *meta_str(const json_t *object, const char *name)
{
	return json_str(json_object_get(object, "metadata"), name);
}

/* "f-a-3"; valid until the next call. */
static inline const char *pod_name(const char *role, size_t index)
{
	static char name[128];

	snprintf(name, sizeof(name), WORLD_NAME "-%s-%zu", role, index);
	return name;
}

static inline json_t *world_pod(struct world *w, const char *name)
{
	return json_object_get(w->pods, name);
}

#endif
