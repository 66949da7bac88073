/* The API server's objects: finding, listing and reading them. See server.h. */
#include <string.h>

#include "common/base/json.h"
#include "tests/sim/sim.h"

const char *meta_text(const json_t *object, const char *name)
{
	const char *text = json_str(json_object_get(object, "metadata"), name);

	return text == NULL ? "" : text;
}

const char *annotation(const json_t *object, const char *name)
{
	const char *text = json_str(json_path(object, "metadata", "annotations", NULL), name);

	return text == NULL ? "" : text;
}

struct object *api_find(struct world *world, enum object_kind kind, const char *ns, const char *name)
{
	struct object *object = world->objects;

	while (object != NULL &&
	       (object->kind != kind || strcmp(object->name, name) != 0 || strcmp(object->ns, ns) != 0))
		object = object->next;
	return object;
}

struct object *api_framework(struct world *world, int plan)
{
	return api_find(world, KIND_FRAMEWORK, plan_ns(plan), plan_name(plan));
}

struct object *api_find_any(struct world *world, const char *uid)
{
	struct object *object = world->objects;

	while (object != NULL && strcmp(object->uid, uid) != 0)
		object = object->next;
	return object;
}

struct object *api_find_uid(struct world *world, enum object_kind kind, const char *uid)
{
	struct object *object = api_find_any(world, uid);

	return object != NULL && object->kind == kind ? object : NULL;
}

json_t *api_list(struct world *world, enum object_kind kind, uint64_t version)
{
	json_t *list = json_array();
	json_t *by_uid;
	const char *uid;
	json_t *object;

	by_uid = json_object();
	for (uint64_t v = VERSION_BASE + 1; v <= version; v++) {
		const struct change *change = &world->changes[v - VERSION_BASE - 1];

		if (change->kind != kind)
			continue;
		if (change->gone || (kind != KIND_FRAMEWORK && !change->labelled))
			json_object_del(by_uid, meta_text(change->json, "uid"));
		else
			json_object_set(by_uid, meta_text(change->json, "uid"), change->json);
	}
	json_object_foreach(by_uid, uid, object)
		json_array_append(list, object);
	json_decref(by_uid);
	return list;
}
