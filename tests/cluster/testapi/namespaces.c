/* Namespaces: a phase, and the first ones. They are emptied in gc.c. */
#include "tests/cluster/testapi/namespaces.h"

#include <stdlib.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/ops.h"

static int create(struct api *api, struct api_resource *resource, json_t *object, struct api_failure *failure)
{
	(void)api;
	(void)resource;
	(void)failure;
	json_object_set_new(object, "spec", json_pack("{s:[s]}", "finalizers", "kubernetes"));
	json_object_set_new(object, "status", json_pack("{s:s}", "phase", "Active"));
	return 0;
}

const struct api_strategy api_namespace_strategy = {.create = create};

void api_namespaces_create(struct api *api)
{
	static const char *const names[] = {"default", "kube-node-lease", "kube-public", "kube-system"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup_json json_t *body = json_pack("{s:{s:s}}", "metadata", "name", names[i]);
		struct api_failure failure = {0};
		struct api_object *out = NULL;

		if (api_create(api, api->namespaces, "", body, false, &out, &failure) < 0)
			abort(); /* nothing is there yet */
		api_object_unref(out);
	}
}
