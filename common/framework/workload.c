/* Workloads from JSON text, and back; see workload.h. */
#include "common/framework/workload.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"

/* Copies the members of those names, if they are of a kind that is worth it. The list ends with NULL. */
static json_t *kept_members(const json_t *object, const char *const *names)
{
	json_t *kept = json_object();

	for (; *names != NULL; names++) {
		json_t *member = json_object_get(object, *names);

		if (member != NULL && !json_is_null(member))
			json_object_set(kept, *names, member);
	}
	return kept;
}

/* Everything but the templates of the podSets, which nobody needs, and what changes with every write. */
static json_t *kept_parts(const json_t *object)
{
	static const char *const metadata[] = {"namespace",
					       "name",
					       "uid",
					       "generation",
					       "creationTimestamp",
					       "ownerReferences",
					       "labels",
					       "annotations",
					       "finalizers",
					       "deletionTimestamp",
					       NULL};
	static const char *const spec[] = {"active", NULL};
	static const char *const status[] = {"conditions", "admission", "admissionChecks", "reclaimablePods", NULL};

	return json_pack("{s:o,s:o,s:o}", "metadata", kept_members(json_object_get(object, "metadata"), metadata),
			 "spec", kept_members(json_object_get(object, "spec"), spec), "status",
			 kept_members(json_object_get(object, "status"), status));
}

struct workload *workload_read(const char *text, size_t len, struct error *err)
{
	struct workload *workload = mem_calloc(1, sizeof(*workload));
	cleanup_json json_t *object = NULL;

	if (object_meta_read(text, len, &workload->meta, err) < 0) {
		free(workload);
		return NULL;
	}
	object = json_parse(text, len, err);
	if (object == NULL) {
		workload_free(workload);
		return NULL;
	}
	workload->object = kept_parts(object);
	return workload;
}

void workload_free(struct workload *workload)
{
	if (workload == NULL)
		return;
	object_meta_free(&workload->meta);
	json_decref(workload->object);
	free(workload);
}

void workload_write(struct buf *out, const struct workload *workload)
{
	cleanup_json json_t *object = json_copy(workload->object);
	json_t *metadata = json_copy(json_object_get(object, "metadata"));
	cleanup_free char *text = NULL;

	json_object_set_new(metadata, "resourceVersion", json_string(workload->meta.resource_version));
	json_object_set_new(object, "metadata", metadata);
	text = json_text(object);
	buf_puts(out, text);
}

bool workload_same(const struct workload *a, const struct workload *b)
{
	return json_equal(a->object, b->object);
}

const json_t *workload_status(const struct workload *workload, const char *member)
{
	return json_path(workload->object, "status", member, NULL);
}

const json_t *workload_condition(const struct workload *workload, const char *type)
{
	return json_find(workload_status(workload, "conditions"), "type", type);
}

bool workload_is(const struct workload *workload, const char *type)
{
	const char *status = json_str(workload_condition(workload, type), "status");

	return status != NULL && strcmp(status, "True") == 0;
}

bool workload_active(const struct workload *workload)
{
	return json_bool(json_object_get(workload->object, "spec"), "active", true);
}

const char *workload_request(const struct workload *workload)
{
	const char *request = json_str(json_path(workload->object, "metadata", "annotations", NULL),
				       FC_WORKLOAD_REQUEST);

	return request == NULL ? "" : request;
}

const json_t *workload_finalizers(const struct workload *workload)
{
	return json_path(workload->object, "metadata", "finalizers", NULL);
}

bool workload_has_finalizer(const struct workload *workload)
{
	size_t i;
	const json_t *finalizer;

	json_array_foreach(workload_finalizers(workload), i, finalizer)
		if (json_is_string(finalizer) && strcmp(json_string_value(finalizer), KUEUE_FINALIZER) == 0)
			return true;
	return false;
}

int64_t workload_reclaimable(const struct workload *workload, const char *pod_set)
{
	return json_int(json_find(workload_status(workload, "reclaimablePods"), "name", pod_set), "count", 0);
}
