/* ObjectMeta; see meta.h. Texts follow apimachinery's validation. */
#include "tests/cluster/testapi/meta.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"

enum { NAME_MAX_LEN = 253, LABEL_MAX_LEN = 63, ANNOTATIONS_MAX_BYTES = 256 * 1024, GENERATED_LEN = 5 };

/* In the order a server prints them; managedFields and selfLink are not kept. */
static const char *const MEMBERS[] = {
	"name",
	"generateName",
	"namespace",
	"uid",
	"resourceVersion",
	"generation",
	"creationTimestamp",
	"deletionTimestamp",
	"deletionGracePeriodSeconds",
	"labels",
	"annotations",
	"ownerReferences",
	"finalizers",
};

/* The first byte of a value's text: what json-iterator says it found. member NULL: metadata itself. */
static int decode_failed(const struct api_resource *resource, const char *member, const char *expected,
			 const json_t *found, struct api_failure *failure)
{
	cleanup_free char *text = json_text(found);
	cleanup_free char *place = member == NULL ? mem_strdup("")
						  : mem_printf("v1.ObjectMeta.%c%s: ", toupper(member[0]), member + 1);

	return api_fail_bad_request(
		failure,
		"%s in version \"%s\" cannot be handled as a %s: %s.%s.ObjectMeta: %s%s, but found %c, error "
		"found in #10 byte of ...|%.64s|...",
		resource->kind, resource->version, resource->kind, resource->version, resource->kind, place, expected,
		text[0], text);
}

static int check_string_map(const struct api_resource *resource, const char *member, json_t *map,
			    struct api_failure *failure)
{
	const char *key;
	json_t *value;

	if (!json_is_object(map))
		return decode_failed(resource, member, "ReadMapCB: expect { or n", map, failure);
	json_object_foreach(map, key, value)
		if (!json_is_string(value) && !json_is_null(value))
			return decode_failed(resource, member, "ReadString: expects \" or n", value, failure);
	return 0;
}

static int check_list(const struct api_resource *resource, const char *member, const json_t *list, json_type type,
		      struct api_failure *failure)
{
	size_t index;
	const json_t *value;

	if (!json_is_array(list))
		return decode_failed(resource, member, "decode slice: expect [ or n", list, failure);
	json_array_foreach(list, index, value)
		if (json_typeof(value) != type)
			return decode_failed(resource, member,
					     type == JSON_STRING ? "ReadString: expects \" or n"
								 : "readObjectStart: expect { or n",
					     value, failure);
	return 0;
}

static int check_member(const struct api_resource *resource, const char *member, json_t *value,
			struct api_failure *failure)
{
	if (strcmp(member, "labels") == 0 || strcmp(member, "annotations") == 0)
		return check_string_map(resource, member, value, failure);
	if (strcmp(member, "ownerReferences") == 0)
		return check_list(resource, member, value, JSON_OBJECT, failure);
	if (strcmp(member, "finalizers") == 0)
		return check_list(resource, member, value, JSON_STRING, failure);
	if (strcmp(member, "generation") == 0 || strcmp(member, "deletionGracePeriodSeconds") == 0)
		return json_is_integer(value)
			       ? 0
			       : decode_failed(resource, member, "readUint64: unexpected character", value, failure);
	return json_is_string(value) ? 0
				     : decode_failed(resource, member, "ReadString: expects \" or n", value, failure);
}

static bool is_empty(const json_t *value)
{
	return json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0) ||
	       (json_is_array(value) && json_array_size(value) == 0) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

/* nulls in a string map are "" to Go */
static json_t *without_nulls(json_t *map)
{
	json_t *copy = json_object();
	const char *key;
	json_t *value;

	json_object_foreach(map, key, value)
		json_object_set_new(copy, key, json_is_null(value) ? json_string("") : json_incref(value));
	return copy;
}

static json_t *owners(const json_t *list)
{
	static const char *const known[] = {"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"};
	json_t *out = json_array();
	size_t index;
	const json_t *owner;

	json_array_foreach(list, index, owner) {
		json_t *copy = json_object();

		for (size_t i = 0; i < ARRAY_LEN(known); i++) {
			json_t *value = json_object_get(owner, known[i]);

			if (value != NULL && !json_is_null(value))
				json_object_set(copy, known[i], value);
		}
		json_array_append_new(out, copy);
	}
	return out;
}

static json_t *metadata_of(const struct api_resource *resource, const json_t *given, struct api_failure *failure)
{
	json_t *metadata = json_object();

	for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++) {
		json_t *value = json_object_get(given, MEMBERS[i]);

		if (value == NULL || is_empty(value))
			continue;
		if (check_member(resource, MEMBERS[i], value, failure) < 0) {
			json_decref(metadata);
			return NULL;
		}
		if (json_is_object(value))
			json_object_set_new(metadata, MEMBERS[i], without_nulls(value));
		else if (strcmp(MEMBERS[i], "ownerReferences") == 0)
			json_object_set_new(metadata, MEMBERS[i], owners(value));
		else
			json_object_set(metadata, MEMBERS[i], value);
	}
	return metadata;
}

static int wrong_version(const struct api_resource *resource, const char *kind, const char *version,
			 struct api_failure *failure)
{
	if (resource->custom)
		return api_fail_bad_request(
			failure, "the API version in the data (%s) does not match the expected API version (%s)",
			version, resource->api_version);
	if (kind == NULL)
		kind = resource->kind;
	return api_fail_bad_request(failure,
				    "%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" is registered for "
				    "version \"%s\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
				    kind, version, resource->kind, kind, version);
}

static int check_kind(const struct api_resource *resource, const json_t *body, struct api_failure *failure)
{
	const char *kind = json_str(body, "kind");
	const char *version = json_str(body, "apiVersion");

	if (resource->custom && (kind == NULL || kind[0] == '\0')) {
		cleanup_free char *text = json_text(body);

		return api_fail_bad_request(
			failure,
			"%s in version \"%s\" cannot be handled as a %s: unmarshalerDecoder: Object "
			"'Kind' is missing in '%.1024s'",
			resource->kind, resource->version, resource->kind, text);
	}
	if (resource->custom && (version == NULL || version[0] == '\0')) {
		api_fail(failure, 500, "InternalError",
			 "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'");
		failure->details = json_pack("{s:[{s:s}]}", "causes", "message",
					     "Object 'apiVersion' is missing in 'object has no apiVersion field'");
		return -1;
	}
	if (version != NULL && version[0] != '\0' && strcmp(version, resource->api_version) != 0)
		return wrong_version(resource, kind, version, failure);
	if (kind != NULL && kind[0] != '\0' && strcmp(kind, resource->kind) != 0)
		return api_fail_bad_request(
			failure,
			"%s in version \"%s\" cannot be handled as a %s: converting (%s.%s) to (core.%s): "
			"unknown conversion",
			kind, resource->version, resource->kind, resource->version, kind, resource->kind);
	return 0;
}

json_t *api_meta_object(const struct api_resource *resource, const json_t *body, struct api_failure *failure)
{
	json_t *given = json_object_get(body, "metadata");
	json_t *metadata;
	json_t *object;
	const char *key;
	json_t *value;

	if (!json_is_object(body)) {
		api_fail_bad_request(failure,
				     "the object provided is unrecognized (must be of type %s): not a JSON object",
				     resource->kind);
		return NULL;
	}
	if (check_kind(resource, body, failure) < 0)
		return NULL;
	if (given != NULL && !json_is_object(given) && !json_is_null(given)) {
		decode_failed(resource, NULL, "readObjectStart: expect { or n", given, failure);
		return NULL;
	}
	metadata = metadata_of(resource, given, failure);
	if (metadata == NULL)
		return NULL;
	object = json_object();
	json_object_set_new(object, "apiVersion", json_string(resource->api_version));
	json_object_set_new(object, "kind", json_string(resource->kind));
	json_object_set_new(object, "metadata", metadata);
	json_object_foreach((json_t *)body, key, value)
		if (json_object_get(object, key) == NULL && (resource->custom || !json_is_null(value)))
			json_object_set(object, key, value);
	return object;
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_subdomain(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++) {
		bool edge = i == 0 || i == len - 1 || name[i - 1] == '.' || name[i + 1] == '.';

		if (!is_alnum(name[i]) && (edge || (name[i] != '-' && name[i] != '.')))
			return false;
	}
	return len > 0;
}

/* a label's value, or the name part of a key */
static bool is_label_word(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool edge = i == 0 || i == len - 1;

		if (!isalnum((unsigned char)text[i]) && (edge || strchr("-_.", text[i]) == NULL))
			return false;
	}
	return true;
}

#define QUALIFIED_NAME                                                                                        \
	"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
	"alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "  \
	"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define LABEL_VALUE                                                                                                  \
	"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "    \
	"start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " \
	"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define SUBDOMAIN                                                                                                  \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " \
	"start and "                                                                                               \
	"end with an alphanumeric character (e.g. 'example.com', regex used for validation is "                    \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

static void check_key(const char *field, const char *key, json_t *causes)
{
	const char *name = strrchr(key, '/');

	name = name == NULL ? key : name + 1;
	if (*name == '\0' || !is_label_word(name, strlen(name)))
		api_cause(causes, "FieldValueInvalid", field, "Invalid value: \"%s\": " QUALIFIED_NAME, key);
	else if (strlen(name) > LABEL_MAX_LEN)
		api_cause(causes, "FieldValueInvalid", field,
			  "Invalid value: \"%s\": name part must be no more than 63 characters", key);
}

static void check_labels(const json_t *metadata, json_t *causes)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(metadata, "labels"), key, value) {
		const char *text = json_string_value(value);

		check_key("metadata.labels", key, causes);
		if (strlen(text) > LABEL_MAX_LEN)
			api_cause(causes, "FieldValueInvalid", "metadata.labels",
				  "Invalid value: \"%s\": must be no more than 63 characters", text);
		else if (!is_label_word(text, strlen(text)))
			api_cause(causes, "FieldValueInvalid", "metadata.labels", "Invalid value: \"%s\": " LABEL_VALUE,
				  text);
	}
}

static void check_annotations(const json_t *metadata, json_t *causes)
{
	size_t bytes = 0;
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(metadata, "annotations"), key, value) {
		check_key("metadata.annotations", key, causes);
		bytes += strlen(key) + json_string_length(value);
	}
	if (bytes > ANNOTATIONS_MAX_BYTES)
		api_cause(causes, "FieldValueTooLong", "metadata.annotations", "Too long: must have at most %d bytes",
			  ANNOTATIONS_MAX_BYTES);
}

static void check_owners(const json_t *metadata, json_t *causes)
{
	static const char *const needed[] = {"apiVersion", "kind", "name", "uid"};
	const char *controller = NULL;
	size_t index;
	const json_t *owner;

	json_array_foreach(json_object_get(metadata, "ownerReferences"), index, owner) {
		char field[96];

		for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
			const char *text = json_str(owner, needed[i]);

			if (text != NULL && text[0] != '\0')
				continue;
			snprintf(field, sizeof(field), "metadata.ownerReferences.%s", needed[i]);
			api_cause(causes, "FieldValueInvalid", field, "Invalid value: \"\": %s must not be empty",
				  i == 0 ? "version" : needed[i]);
		}
		if (!json_bool(owner, "controller", false))
			continue;
		if (controller != NULL)
			api_cause(
				causes, "FieldValueInvalid", "metadata.ownerReferences",
				"Invalid value: Only one reference can have Controller set to true. Found \"true\" in "
				"references for %s and %s",
				controller, json_str(owner, "name"));
		controller = json_str(owner, "name");
	}
}

static bool has_string(const json_t *list, const char *text)
{
	size_t index;
	const json_t *value;

	json_array_foreach(list, index, value)
		if (json_is_string(value) && strcmp(json_string_value(value), text) == 0)
			return true;
	return false;
}

/* Of a change: the uid stays, and a deletion in progress gets no new finalizers. */
static void check_change(const json_t *metadata, const json_t *old, json_t *causes)
{
	const char *uid = json_str(metadata, "uid");
	size_t index;
	const json_t *value;

	if (strcmp(uid, json_str(old, "uid")) != 0)
		api_cause(causes, "FieldValueInvalid", "metadata.uid", "Invalid value: \"%s\": field is immutable",
			  uid);
	if (json_str(old, "deletionTimestamp") == NULL)
		return;
	json_array_foreach(json_object_get(metadata, "finalizers"), index, value)
		if (!has_string(json_object_get(old, "finalizers"), json_string_value(value)))
			api_cause(causes, "FieldValueForbidden", "metadata.finalizers",
				  "Forbidden: no new finalizers can be added if the object is being deleted, found new "
				  "finalizers []string{\"%s\"}",
				  json_string_value(value));
}

/* Qualified names; of built-in kinds, those with a domain or the standard ones. */
static void check_finalizers(const struct api_resource *resource, const json_t *metadata, json_t *causes)
{
	static const char *const standard[] = {"orphan", "foregroundDeletion", "kubernetes"};
	size_t index;
	const json_t *value;

	json_array_foreach(json_object_get(metadata, "finalizers"), index, value) {
		const char *name = json_string_value(value);
		bool known = resource->custom || strchr(name, '/') != NULL;
		char field[64];

		check_key("metadata.finalizers", name, causes);
		for (size_t i = 0; i < ARRAY_LEN(standard); i++)
			known = known || strcmp(name, standard[i]) == 0;
		snprintf(field, sizeof(field), "metadata.finalizers[%zu]", index);
		if (!known)
			api_cause(causes, "FieldValueInvalid", field,
				  "Invalid value: \"%s\": name is neither a standard finalizer name nor is it fully "
				  "qualified",
				  name);
	}
}

void api_meta_validate(const struct api_resource *resource, const json_t *metadata, const json_t *old, json_t *causes)
{
	const char *name = json_str(metadata, "name");
	bool loose = strcmp(resource->group, "rbac.authorization.k8s.io") == 0; /* path segments, as system:x */

	if (name == NULL && json_str(metadata, "generateName") == NULL)
		api_cause(causes, "FieldValueRequired", "metadata.name",
			  "Required value: name or generateName is required");
	else if (name != NULL && strlen(name) > NAME_MAX_LEN)
		api_cause(causes, "FieldValueInvalid", "metadata.name",
			  "Invalid value: \"%s\": must be no more than 253 characters", name);
	else if (name != NULL && !loose && !is_subdomain(name))
		api_cause(causes, "FieldValueInvalid", "metadata.name", "Invalid value: \"%s\": " SUBDOMAIN, name);
	check_labels(metadata, causes);
	check_annotations(metadata, causes);
	check_owners(metadata, causes);
	check_finalizers(resource, metadata, causes);
	if (old != NULL)
		check_change(metadata, old, causes);
}

static void generate_name(struct api *api, json_t *metadata)
{
	/* the real server's alphabet: no vowels, no look-alikes */
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	char suffix[GENERATED_LEN + 1] = {0};
	cleanup_free char *name = NULL;

	for (int i = 0; i < GENERATED_LEN; i++)
		suffix[i] = letters[random_between(&api->random, 0, (int64_t)sizeof(letters) - 2)];
	name = mem_printf("%s%s", json_str(metadata, "generateName"), suffix);
	json_object_set_new(metadata, "name", json_string(name));
}

/* Rebuilds metadata in the order of MEMBERS. */
static void reorder(json_t *metadata)
{
	json_t *copy = json_copy(metadata);

	json_object_clear(metadata);
	for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++) {
		json_t *value = json_object_get(copy, MEMBERS[i]);

		if (value != NULL)
			json_object_set(metadata, MEMBERS[i], value);
	}
	json_decref(copy);
}

void api_meta_create(struct api *api, const struct api_resource *resource, json_t *metadata)
{
	char uid[UUID_SIZE];
	char now[TIME_RFC3339_SIZE];

	if (json_str(metadata, "name") == NULL && json_str(metadata, "generateName") != NULL)
		generate_name(api, metadata);
	json_object_set_new(metadata, "uid", json_string(random_uuid(&api->random, uid)));
	json_object_set_new(metadata, "creationTimestamp",
			    json_string(time_format_rfc3339(clock_wall_ms() / 1000, now)));
	json_object_del(metadata, "deletionTimestamp");
	json_object_del(metadata, "deletionGracePeriodSeconds");
	json_object_del(metadata, "resourceVersion");
	json_object_del(metadata, "generation");
	if (resource->has_generation)
		json_object_set_new(metadata, "generation", json_integer(1));
	/* placed early, so that the text's order is the usual one; the store sets the true value */
	json_object_set_new(metadata, "resourceVersion", json_string("0"));
	reorder(metadata);
}

void api_meta_update(json_t *metadata, const json_t *old)
{
	/* a uid that differs is for api_meta_validate to refuse */
	static const char *const fixed[] = {"name",
					    "namespace",
					    "uid",
					    "resourceVersion",
					    "generation",
					    "creationTimestamp",
					    "generateName",
					    "deletionTimestamp",
					    "deletionGracePeriodSeconds"};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		json_t *value = json_object_get(old, fixed[i]);

		if (strcmp(fixed[i], "uid") == 0 && json_object_get(metadata, "uid") != NULL)
			continue;
		if (value != NULL)
			json_object_set(metadata, fixed[i], value);
		else
			json_object_del(metadata, fixed[i]);
	}
	reorder(metadata);
}
