/* ConfigMaps, Secrets, Events (pkg/apis/core/validation); see plain.h. */
#include "tests/cluster/testapi/plain.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"

enum { EVENT_WORD_MAX = 128, EVENT_MESSAGE_MAX = 1024 };

/* A map of strings, as Go decodes it. */
static int check_data(const struct api_resource *resource, json_t *object, const char *name,
		      struct api_failure *failure)
{
	json_t *data = json_object_get(object, name);
	const char *key;
	json_t *value;

	if (data == NULL)
		return 0;
	if (!json_is_object(data))
		return api_fail_bad_request(
			failure,
			"%s in version \"v1\" cannot be handled as a %s: v1.%s.Data: ReadMapCB: expect { "
			"or n, but found another type",
			resource->kind, resource->kind, resource->kind);
	json_object_foreach(data, key, value)
		if (!json_is_string(value) && !json_is_null(value)) {
			cleanup_free char *text = json_text(value);

			return api_fail_bad_request(
				failure,
				"%s in version \"v1\" cannot be handled as a %s: v1.%s.Data: ReadString: "
				"expects \" or n, but found %c, error found in #10 byte of ...|%.64s|...",
				resource->kind, resource->kind, resource->kind, text[0], text);
		}
	return 0;
}

static int create_configmap(struct api *api, struct api_resource *resource, json_t *object, struct api_failure *failure)
{
	static const char *const known[] = {"apiVersion", "kind", "metadata", "data", "binaryData", "immutable"};
	const char *name;
	json_t *value;
	void *next;

	(void)api;
	json_object_foreach_safe(object, next, name, value) {
		bool keep = false;

		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			keep = keep || strcmp(name, known[i]) == 0;
		if (!keep || (json_is_object(value) && json_object_size(value) == 0))
			json_object_del(object, name);
	}
	return check_data(resource, object, "data", failure);
}

static int update_configmap(struct api *api, struct api_resource *resource, const char *subresource, json_t *object,
			    const json_t *old, struct api_failure *failure)
{
	(void)subresource;
	(void)old;
	return create_configmap(api, resource, object, failure);
}

const struct api_strategy api_configmap_strategy = {.create = create_configmap, .update = update_configmap};

static int create_secret(struct api *api, struct api_resource *resource, json_t *object, struct api_failure *failure)
{
	const char *type = json_str(object, "type");

	(void)api;
	if (type == NULL || type[0] == '\0')
		json_object_set_new(object, "type", json_string("Opaque"));
	return check_data(resource, object, "data", failure);
}

static int update_secret(struct api *api, struct api_resource *resource, const char *subresource, json_t *object,
			 const json_t *old, struct api_failure *failure)
{
	(void)subresource;
	(void)old;
	return create_secret(api, resource, object, failure);
}

const struct api_strategy api_secret_strategy = {.create = create_secret, .update = update_secret};

static void check_length(const json_t *event, const char *name, const char *field, size_t max, bool required,
			 json_t *causes)
{
	const char *text = json_str(event, name);

	if (required && (text == NULL || text[0] == '\0'))
		api_cause(causes, "FieldValueRequired", field, "Required value");
	else if (text != NULL && strlen(text) > max)
		api_cause(causes, "FieldValueInvalid", field, "Invalid value: \"\": can have at most %zu characters",
			  max);
}

/* An Event belongs into the namespace of what it is about; one with eventTime must be complete. */
static void validate_event(const struct api_resource *resource, const char *subresource, const json_t *event,
			   const json_t *old, json_t *causes)
{
	const char *home = json_str(json_object_get(event, "metadata"), "namespace");
	const char *about = json_str(json_object_get(event, "involvedObject"), "namespace");

	(void)resource;
	(void)subresource;
	if (old != NULL)
		return;
	if (about == NULL || about[0] == '\0' ? strcmp(home, "default") != 0 : strcmp(home, about) != 0)
		api_cause(causes, "FieldValueInvalid", "involvedObject.namespace",
			  "Invalid value: \"%s\": does not match event.namespace", about == NULL ? "" : about);
	if (json_is_string(json_object_get(event, "eventTime"))) {
		check_length(event, "reportingComponent", "reportingController", EVENT_WORD_MAX, true, causes);
		check_length(event, "reportingInstance", "reportingInstance", EVENT_WORD_MAX, true, causes);
		check_length(event, "action", "action", EVENT_WORD_MAX, true, causes);
		check_length(event, "reason", "reason", EVENT_WORD_MAX, true, causes);
		check_length(event, "message", "message", EVENT_MESSAGE_MAX, false, causes);
	}
}

/* Members that Go prints though they are empty. */
static int create_event(struct api *api, struct api_resource *resource, json_t *event, struct api_failure *failure)
{
	static const char *const times[] = {"eventTime", "firstTimestamp", "lastTimestamp"};
	static const char *const words[] = {"reportingComponent", "reportingInstance"};

	(void)api;
	(void)resource;
	(void)failure;
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		if (json_object_get(event, times[i]) == NULL)
			json_object_set_new(event, times[i], json_null());
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (json_object_get(event, words[i]) == NULL)
			json_object_set_new(event, words[i], json_string(""));
	if (json_object_get(event, "source") == NULL)
		json_object_set_new(event, "source", json_object());
	return 0;
}

static int update_event(struct api *api, struct api_resource *resource, const char *subresource, json_t *event,
			const json_t *old, struct api_failure *failure)
{
	(void)subresource;
	(void)old;
	return create_event(api, resource, event, failure);
}

const struct api_strategy api_event_strategy = {
	.create = create_event, .update = update_event, .validate = validate_event};
