/* JSON Patch (RFC 6902), merge patch (RFC 7386) and the strategic merge patch's usual part; see patch.h. */
#include "tests/cluster/testapi/patch.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/merge.h"

int patch_type_of(const struct api_request *request, enum patch_type *type, struct api_failure *failure)
{
	const char *text = request->content_type == NULL ? "" : request->content_type;
	bool custom = request->resource->custom;
	size_t len = strcspn(text, "; ");

	if (len == 27 && strncmp(text, "application/json-patch+json", len) == 0) {
		*type = PATCH_JSON;
	} else if (len == 28 && strncmp(text, "application/merge-patch+json", len) == 0) {
		*type = PATCH_MERGE;
	} else if (len == 38 && strncmp(text, "application/strategic-merge-patch+json", len) == 0 && !custom) {
		*type = PATCH_STRATEGIC;
	} else {
		return api_fail(failure, 415, "UnsupportedMediaType",
				"the body of the request was in an unknown format - accepted media types include: "
				"application/json-patch+json, application/merge-patch+json, %s",
				custom ? "application/apply-patch+yaml"
				       : "application/strategic-merge-patch+json, application/apply-patch+yaml");
	}
	return 0;
}

static json_t *merged(const json_t *object, const json_t *patch)
{
	json_t *out = json_copy((json_t *)object);

	merge_patch(out, patch);
	return out;
}

/* ---- strategic merge ---- */

/* Lists merged by a key of their items (patchMergeKey in k8s.io/api); the first key that the patch's items have. */
static const struct {
	const char *list;
	const char *key;
} MERGE_KEYS[] = {
	{"containers", "name"},
	{"initContainers", "name"},
	{"env", "name"},
	{"volumes", "name"},
	{"volumeMounts", "mountPath"},
	{"ports", "containerPort"},
	{"ports", "port"},
	{"conditions", "type"},
	{"ownerReferences", "uid"},
	{"imagePullSecrets", "name"},
	{"hostAliases", "ip"},
	{"secrets", "name"},
	{"addresses", "type"},
	{"taints", "key"},
};

static const char *merge_key(const char *list, const json_t *items)
{
	for (size_t i = 0; i < ARRAY_LEN(MERGE_KEYS); i++)
		if (strcmp(MERGE_KEYS[i].list, list) == 0 &&
		    json_object_get(json_array_get(items, 0), MERGE_KEYS[i].key) != NULL)
			return MERGE_KEYS[i].key;
	return NULL;
}

static json_t *strategic(json_t *target, const json_t *patch);

static size_t find_item(const json_t *list, const char *key, const json_t *value)
{
	size_t index;
	const json_t *item;

	json_array_foreach(list, index, item)
		if (json_equal(json_object_get(item, key), value))
			break;
	return index;
}

static json_t *merge_lists(const json_t *target, const json_t *patch, const char *key)
{
	json_t *out = json_copy((json_t *)target);
	size_t index;
	json_t *item;

	if (out == NULL)
		out = json_array();
	json_array_foreach(patch, index, item) {
		size_t at = find_item(out, key, json_object_get(item, key));
		const char *directive = json_str(item, "$patch");

		if (directive != NULL && strcmp(directive, "delete") == 0)
			json_array_remove(out, at);
		else if (at < json_array_size(out))
			json_array_set_new(out, at, strategic(json_array_get(out, at), item));
		else
			json_array_append_new(out, strategic(NULL, item));
	}
	return out;
}

/* finalizers are a set of strings, merged by value */
static json_t *merge_set(const json_t *target, const json_t *patch)
{
	json_t *out = json_is_array(target) ? json_copy((json_t *)target) : json_array();
	size_t index;
	json_t *item;

	json_array_foreach(patch, index, item) {
		size_t at;
		json_t *other;

		json_array_foreach(out, at, other)
			if (json_equal(other, item))
				break;
		if (at == json_array_size(out))
			json_array_append(out, item);
	}
	return out;
}

static void delete_from_set(json_t *out, const char *name, const json_t *gone)
{
	json_t *kept = json_array();
	size_t index;
	json_t *item;

	json_array_foreach(json_object_get(out, name), index, item) {
		size_t at;
		json_t *other;
		bool found = false;

		json_array_foreach(gone, at, other)
			found = found || json_equal(item, other);
		if (!found)
			json_array_append(kept, item);
	}
	json_object_set_new(out, name, kept);
}

static void strategic_member(json_t *out, const char *key, json_t *value)
{
	static const char delete_list[] = "$deleteFromPrimitiveList/";
	const json_t *old = json_object_get(out, key);
	const char *by;

	if (strncmp(key, delete_list, strlen(delete_list)) == 0)
		delete_from_set(out, key + strlen(delete_list), value);
	else if (key[0] == '$')
		return; /* $setElementOrder and the like: order is not kept here */
	else if (json_is_null(value))
		json_object_del(out, key);
	else if (json_is_array(value) && (by = merge_key(key, value)) != NULL)
		json_object_set_new(out, key, merge_lists(old, value, by));
	else if (json_is_array(value) && strcmp(key, "finalizers") == 0)
		json_object_set_new(out, key, merge_set(old, value));
	else
		json_object_set_new(out, key, strategic((json_t *)old, value));
}

static json_t *strategic(json_t *target, const json_t *patch)
{
	const char *directive = json_str(patch, "$patch");
	json_t *out;
	const char *key;
	json_t *value;

	if (!json_is_object(patch))
		return json_incref((json_t *)patch);
	if (directive != NULL && strcmp(directive, "replace") == 0)
		target = NULL;
	out = json_is_object(target) ? json_copy(target) : json_object();
	json_object_foreach((json_t *)patch, key, value)
		strategic_member(out, key, value);
	return out;
}

/* ---- JSON Patch ---- */

/* One reference token of a JSON pointer, unescaped (RFC 6901 §4). *path moves behind it. */
static char *next_token(const char **path)
{
	size_t len;
	char *token;
	char *to;

	(*path)++; /* the '/' */
	len = strcspn(*path, "/");
	token = to = mem_strndup(*path, len);
	*path += len;
	for (const char *from = token; *from != '\0'; from++) {
		if (from[0] == '~' && (from[1] == '0' || from[1] == '1')) {
			*to++ = from[1] == '0' ? '~' : '/';
			from++;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	return token;
}

static bool is_index(const char *token, const json_t *array, bool to_add, size_t *index)
{
	char *end;

	if (to_add && strcmp(token, "-") == 0) {
		*index = json_array_size(array);
		return true;
	}
	if (token[0] < '0' || token[0] > '9')
		return false;
	*index = strtoul(token, &end, 10);
	return *end == '\0' && *index < json_array_size(array) + (to_add ? 1 : 0);
}

/* The value the path leads to, and (unless NULL) its parent and last token. */
static json_t *resolve(json_t *root, const char *path, json_t **parent, char **last)
{
	json_t *at = root;
	json_t *up = NULL;
	char *token = NULL;

	while (*path == '/') {
		size_t index;

		free(token);
		token = next_token(&path);
		up = at;
		if (json_is_object(at))
			at = json_object_get(at, token);
		else if (json_is_array(at) && is_index(token, at, false, &index))
			at = json_array_get(at, index);
		else
			at = NULL;
		if (at == NULL && *path == '/') {
			up = NULL;
			break;
		}
	}
	if (parent != NULL)
		*parent = up;
	if (last != NULL)
		*last = token;
	else
		free(token);
	return at;
}

/* Takes value over. */
static int add_at(json_t **root, const char *path, json_t *value)
{
	json_t *parent;
	cleanup_free char *last = NULL;
	size_t index;

	if (path[0] == '\0') {
		json_decref(*root);
		*root = value;
		return 0;
	}
	resolve(*root, path, &parent, &last);
	if (json_is_object(parent))
		return json_object_set_new(parent, last, value);
	if (json_is_array(parent) && is_index(last, parent, true, &index))
		return json_array_insert_new(parent, index, value);
	json_decref(value);
	return -1;
}

static int remove_at(json_t *root, const char *path)
{
	json_t *parent;
	cleanup_free char *last = NULL;
	size_t index;

	if (resolve(root, path, &parent, &last) == NULL || parent == NULL)
		return -1;
	if (json_is_object(parent))
		return json_object_del(parent, last);
	return is_index(last, parent, false, &index) ? json_array_remove(parent, index) : -1;
}

/* 0; -1: the path leads nowhere; -2: a test failed; -3: malformed. The real server does not say which. */
static int apply_operation(json_t **root, const json_t *operation)
{
	const char *op = json_str(operation, "op");
	const char *path = json_str(operation, "path");
	const char *from = json_str(operation, "from");
	json_t *value = json_object_get(operation, "value");

	if (op == NULL || path == NULL || (path[0] != '\0' && path[0] != '/'))
		return -3;
	if (strcmp(op, "add") == 0)
		return value == NULL ? -3 : add_at(root, path, json_deep_copy(value));
	if (strcmp(op, "remove") == 0)
		return remove_at(*root, path);
	if (strcmp(op, "replace") == 0) {
		if (value == NULL)
			return -3;
		if (path[0] != '\0' && remove_at(*root, path) < 0)
			return -1;
		return add_at(root, path, json_deep_copy(value));
	}
	if (strcmp(op, "test") == 0)
		return json_equal(resolve(*root, path, NULL, NULL), value) ? 0 : -2;
	if (from == NULL)
		return -3;
	value = json_deep_copy(resolve(*root, from, NULL, NULL));
	if (value == NULL)
		return -1;
	if (strcmp(op, "copy") == 0)
		return add_at(root, path, value);
	if (strcmp(op, "move") == 0 && remove_at(*root, from) == 0)
		return add_at(root, path, value);
	json_decref(value);
	return -3;
}

static json_t *json_patch(const json_t *object, const json_t *patch, struct api_failure *failure)
{
	json_t *root = json_deep_copy(object);
	size_t index;
	const json_t *operation;

	json_array_foreach(patch, index, operation) {
		int result = apply_operation(&root, operation);

		if (result == 0)
			continue;
		if (result == -3)
			api_fail_bad_request(failure, "error decoding patch: operation %zu is malformed", index);
		else
			api_fail(failure, 422, "Invalid",
				 "the server rejected our request due to an error in our request");
		if (result != -3)
			failure->details = json_object();
		json_decref(root);
		return NULL;
	}
	return root;
}

json_t *patch_apply(enum patch_type type, const struct api_resource *resource, const json_t *object,
		    const json_t *patch, struct api_failure *failure)
{
	(void)resource;
	if (json_is_array(patch) != (type == PATCH_JSON) || (type != PATCH_JSON && !json_is_object(patch))) {
		api_fail_bad_request(failure,
				     type == PATCH_JSON
					     ? "json: cannot unmarshal object into Go value of type jsonpatch.Patch"
					     : "error decoding patch: it is no object");
		return NULL;
	}
	switch (type) {
	case PATCH_JSON: return json_patch(object, patch, failure);
	case PATCH_MERGE: return merged(object, patch);
	case PATCH_STRATEGIC: return strategic((json_t *)object, patch);
	}
	return NULL;
}
