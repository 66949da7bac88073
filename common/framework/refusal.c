/* See refusal.h. */
#include "common/framework/refusal.h"

#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"

#define HEAD "Failed to create Pod: "

json_t *refusal_read(const char *diagnostics)
{
	cleanup_json json_t *whole = NULL;

	if (strncmp(diagnostics, HEAD "{", strlen(HEAD "{")) != 0)
		return NULL;
	diagnostics += strlen(HEAD);
	whole = json_parse(diagnostics, strlen(diagnostics), NULL);
	return json_incref(json_object_get(whole, "ErrStatus"));
}

char *refusal_text(const char *diagnostics)
{
	cleanup_json json_t *status = refusal_read(diagnostics);
	const char *message = json_str(status, "message"), *reason = json_str(status, "reason");

	if (message == NULL || *message == '\0')
		return mem_strdup(diagnostics);
	if (reason == NULL || *reason == '\0')
		return mem_printf(HEAD "%s", message);
	return mem_printf(HEAD "%s: %s", reason, message);
}
