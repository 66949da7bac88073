/* See refusal.h. */
#include "common/framework/refusal.h"

#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"

#define HEAD "Failed to create Pod: "

/* The Status, or NULL. The caller decrefs. */
static json_t *status_of(const char *diagnostics)
{
	cleanup_json json_t *whole = NULL;

	if (strncmp(diagnostics, HEAD "{", strlen(HEAD "{")) != 0)
		return NULL;
	diagnostics += strlen(HEAD);
	whole = json_parse(diagnostics, strlen(diagnostics), NULL);
	return json_incref(json_object_get(whole, "ErrStatus"));
}

bool refusal_is(const char *diagnostics, const char *reason)
{
	cleanup_json json_t *status = status_of(diagnostics);
	const char *found = json_str(status, "reason");

	return found != NULL && strcmp(found, reason) == 0;
}

char *refusal_text(const char *diagnostics)
{
	cleanup_json json_t *status = status_of(diagnostics);
	const char *message = json_str(status, "message"), *reason = json_str(status, "reason");

	if (message == NULL || *message == '\0')
		return mem_strdup(diagnostics);
	if (reason == NULL || *reason == '\0')
		return mem_printf(HEAD "%s", message);
	return mem_printf(HEAD "%s: %s", reason, message);
}
