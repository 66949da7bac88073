/* Objects from a file; see load.h. */
#include "tests/cluster/testapi/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/store.h"

static struct api_resource *resource_of(const struct api *api, const json_t *object)
{
	const char *version = json_str(object, "apiVersion");
	const char *kind = json_str(object, "kind");

	if (version == NULL || kind == NULL)
		return NULL;
	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		if (strcmp(resource->api_version, version) == 0 && strcmp(resource->kind, kind) == 0)
			return resource;
	return NULL;
}

/* The text of a stored object begins with its apiVersion and kind. */
static void put_type_first(json_t *object)
{
	json_t *rest = json_copy(object);

	json_object_clear(object);
	json_object_set(object, "apiVersion", json_object_get(rest, "apiVersion"));
	json_object_set(object, "kind", json_object_get(rest, "kind"));
	json_object_update_missing(object, rest);
	json_decref(rest);
}

static int load_line(struct api *api, const char *line, size_t len, struct error *err)
{
	json_t *object = json_parse(line, len, err);
	struct api_resource *resource = resource_of(api, object);
	const json_t *metadata = json_object_get(object, "metadata");

	if (object == NULL)
		return -1;
	if (resource == NULL) {
		error_set(err, "apiVersion and kind are %s and %s, expected those of a served resource",
			  json_str(object, "apiVersion"), json_str(object, "kind"));
	} else if (json_str(metadata, "name") == NULL || json_str(metadata, "uid") == NULL) {
		error_set(err, "metadata has no name or no uid");
	} else {
		put_type_first(object);
		api_store_put(api, api_object_new(api, resource, object));
		return 0;
	}
	json_decref(object);
	return -1;
}

int64_t api_load(struct api *api, const char *path, struct error *err)
{
	FILE *file = fopen(path, "re");
	cleanup_free char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int64_t count = 0;

	if (file == NULL)
		return error_set_errno(err, errno, "%s", path);
	while ((len = getline(&line, &size, file)) > 0) {
		if (load_line(api, line, (size_t)len, err) < 0) {
			error_wrap(err, "%s, line %lld", path, (long long)count + 1);
			count = -1;
			break;
		}
		count++;
	}
	fclose(file);
	return count;
}
