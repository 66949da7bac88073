/* What Kueue has admitted, in the Pods that are created (CONTRACT.md §21.6); see podtemplate.h. */
#include <string.h>

#include "common/base/json.h"
#include "reconciler/sync/podtemplate.h"

/* Sets object[name] to a map of both, `added` winning. Leaves a value of another type, for the API server to refuse. */
static void add_map(json_t *object, const char *name, const json_t *added)
{
	json_t *before = json_object_get(object, name);
	json_t *after;

	if (json_object_size(added) == 0 || (!json_absent(before) && !json_is_object(before)))
		return;
	after = json_absent(before) ? json_object() : json_copy(before);
	json_object_update(after, (json_t *)(uintptr_t)added);
	json_object_set_new(object, name, after);
}

/* Appends the missing items to the list object[name]. */
static void add_list(json_t *object, const char *name, const json_t *added)
{
	json_t *before = json_object_get(object, name);
	json_t *after;
	size_t i;
	size_t k;
	json_t *item;
	json_t *other;

	if (json_array_size(added) == 0 || (!json_absent(before) && !json_is_array(before)))
		return;
	after = json_absent(before) ? json_array() : json_copy(before);
	json_array_foreach(added, i, item) {
		bool found = false;

		json_array_foreach(after, k, other)
			found = found || json_equal(item, other);
		if (!found)
			json_array_append(after, item);
	}
	json_object_set_new(object, name, after);
}

/* A copy of object[name] that may be changed, or an empty object, put in its place; NULL: it is something else. */
static json_t *own_part(json_t *object, const char *name)
{
	json_t *part = json_object_get(object, name);

	if (!json_absent(part) && !json_is_object(part))
		return NULL;
	part = json_absent(part) ? json_object() : json_copy(part);
	json_object_set_new(object, name, part);
	return part;
}

void admission_add(json_t *into, const json_t *from)
{
	add_map(into, "nodeSelector", json_object_get(from, "nodeSelector"));
	add_list(into, "tolerations", json_object_get(from, "tolerations"));
	add_map(into, "labels", json_object_get(from, "labels"));
	add_map(into, "annotations", json_object_get(from, "annotations"));
}

json_t *admission_pod(const json_t *admission, const char *role, json_t *pod)
{
	const json_t *pod_set = json_find(json_object_get(admission, "podSets"), "name", role);
	json_t *merged;
	json_t *part;

	if (pod_set == NULL || !json_is_object(pod))
		return json_incref(pod);
	merged = json_copy(pod);
	part = own_part(merged, "spec");
	if (part != NULL) {
		add_map(part, "nodeSelector", json_object_get(pod_set, "nodeSelector"));
		add_list(part, "tolerations", json_object_get(pod_set, "tolerations"));
	}
	part = own_part(merged, "metadata");
	if (part != NULL) {
		add_map(part, "labels", json_object_get(pod_set, "labels"));
		add_map(part, "annotations", json_object_get(pod_set, "annotations"));
	}
	return merged;
}
