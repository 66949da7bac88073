/* Status objects of the test API server, in a real API server's words; see failure.h. */
#define _GNU_SOURCE
#include "tests/cluster/testapi/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/resource.h"

#define MODIFIED "the object has been modified; please apply your changes to the latest version and try again"

void api_failure_free(struct api_failure *failure)
{
	free(failure->message);
	json_decref(failure->details);
	free(failure->list_resume);
	*failure = (struct api_failure){0};
}

static char *format_message(const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		abort();
	return text;
}

static void set(struct api_failure *failure, int code, const char *reason, char *message)
{
	api_failure_free(failure);
	failure->code = code;
	failure->reason = reason;
	failure->message = message;
}

int api_fail(struct api_failure *failure, int code, const char *reason, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(failure, code, reason, format_message(format, args));
	va_end(args);
	return -1;
}

int api_fail_bad_request(struct api_failure *failure, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(failure, 400, "BadRequest", format_message(format, args));
	va_end(args);
	return -1;
}

static json_t *object_details(const struct api_resource *resource, const char *name)
{
	json_t *details = json_object();

	if (name != NULL && name[0] != '\0')
		json_object_set_new(details, "name", json_string(name));
	if (resource->group[0] != '\0')
		json_object_set_new(details, "group", json_string(resource->group));
	json_object_set_new(details, "kind", json_string(resource->plural));
	return details;
}

int api_fail_object(struct api_failure *failure, int code, const char *reason, const struct api_resource *resource,
		    const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(failure, code, reason, format_message(format, args));
	va_end(args);
	failure->details = object_details(resource, name);
	return -1;
}

char *api_resource_title(const struct api_resource *resource)
{
	if (resource->group[0] == '\0')
		return mem_strdup(resource->plural);
	return mem_printf("%s.%s", resource->plural, resource->group);
}

int api_fail_not_found(struct api_failure *failure, const struct api_resource *resource, const char *name)
{
	cleanup_free char *title = api_resource_title(resource);

	return api_fail_object(failure, 404, "NotFound", resource, name, "%s \"%s\" not found", title, name);
}

int api_fail_conflict(struct api_failure *failure, const struct api_resource *resource, const char *name,
		      const char *cause)
{
	cleanup_free char *title = api_resource_title(resource);

	return api_fail_object(failure, 409, "Conflict", resource, name,
			       "Operation cannot be fulfilled on %s \"%s\": %s", title, name, cause);
}

int api_fail_modified(struct api_failure *failure, const struct api_resource *resource, const char *name)
{
	return api_fail_conflict(failure, resource, name, MODIFIED);
}

void api_cause(json_t *causes, const char *reason, const char *field, const char *format, ...)
{
	cleanup_free char *message = NULL;
	json_t *cause = json_object();
	va_list args;

	va_start(args, format);
	message = format_message(format, args);
	va_end(args);
	json_object_set_new(cause, "reason", json_string(reason));
	json_object_set_new(cause, "message", json_string(message));
	json_object_set_new(cause, "field", json_string(field));
	json_array_append_new(causes, cause);
}

int api_fail_invalid(struct api_failure *failure, const struct api_resource *resource, const char *name, json_t *causes)
{
	cleanup_buf struct buf list = {0};
	cleanup_free char *title = NULL;
	const char *brackets = json_array_size(causes) > 1 ? "[]" : "";
	size_t index;
	const json_t *cause;

	if (json_array_size(causes) == 0) {
		json_decref(causes);
		return 0;
	}
	json_array_foreach(causes, index, cause)
		buf_printf(&list, "%s%s: %s", index > 0 ? ", " : "", json_str(cause, "field"),
			   json_str(cause, "message"));
	title = resource->group[0] == '\0' ? mem_strdup(resource->kind)
					   : mem_printf("%s.%s", resource->kind, resource->group);
	set(failure, 422, "Invalid",
	    mem_printf("%s \"%s\" is invalid: %.1s%s%s", title, name == NULL ? "" : name, brackets, list.data,
		       brackets[0] != '\0' ? brackets + 1 : ""));
	failure->details = object_details(resource, name);
	json_object_set_new(failure->details, "kind", json_string(resource->kind));
	json_object_set_new(failure->details, "causes", causes);
	return -1;
}

void api_failure_print(const struct api_failure *failure, struct buf *out)
{
	buf_puts(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
	if (failure->list_resume != NULL) {
		buf_json_key(out, "continue");
		buf_json_string(out, failure->list_resume);
	}
	buf_puts(out, "},\"status\":\"Failure\",\"message\":");
	buf_json_string(out, failure->message);
	if (failure->reason != NULL && failure->reason[0] != '\0') {
		buf_json_key(out, "reason");
		buf_json_string(out, failure->reason);
	}
	if (failure->details != NULL) {
		cleanup_free char *details = json_text(failure->details);

		buf_json_key(out, "details");
		buf_puts(out, details);
	}
	buf_printf(out, ",\"code\":%d}", failure->code);
}
