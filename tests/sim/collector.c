/* The garbage collector: what belongs to an owner that is gone, or that waits for it, is deleted, one object at a time
 * and each a while after the other; see sim.h. */
#include <string.h>

#include "tests/sim/sim.h"

enum { GC_MIN_MS = 5, GC_MAX_MS = 400 };

/* One thing at a time; whether there was any. */
static bool collect_one(struct world *world)
{
	struct object *object;

	for (object = world->objects; object != NULL; object = object->next) {
		const struct object *owner;

		if (object->owner_uid[0] == '\0' || object->deleting)
			continue;
		owner = api_find_any(world, object->owner_uid);
		if (owner == NULL || owner->deleting) {
			api_delete(world, object, -1, false);
			return true;
		}
	}
	for (object = world->objects; object != NULL; object = object->next) {
		const struct object *dependent = world->objects;

		if (object->kind == KIND_POD || !object->deleting)
			continue;
		while (dependent != NULL && strcmp(dependent->owner_uid, object->uid) != 0)
			dependent = dependent->next;
		if (dependent == NULL) {
			api_gone(world, object);
			return true;
		}
	}
	return false;
}

static void collect(struct world *world, void *arg)
{
	(void)arg;
	world->collecting = false;
	if (collect_one(world))
		api_collect_soon(world);
}

void api_collect_soon(struct world *world)
{
	if (world->collecting)
		return;
	world->collecting = true;
	at(world, world->now_ms + pick(world, GC_MIN_MS, world->faults.calm ? GC_MIN_MS * 4 : GC_MAX_MS), NULL, collect,
	   NULL, NULL);
}
