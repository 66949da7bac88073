/* See retry.h. */
#include "cli/view/retry.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/view/framework.h"
#include "cli/view/read.h"

/* The rest of a former life: kubectl apply would compare with it. */
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

json_t *retry_object(const json_t *framework, const char *name)
{
	const json_t *from = json_object_get(framework, "metadata");
	json_t *spec = json_deep_copy(json_object_get(framework, "spec"));
	json_t *annotations = json_deep_copy(json_object_get(from, "annotations"));
	json_t *meta = json_object();

	json_object_del(spec, "executionType");
	json_object_del(spec, "suspend");
	json_object_del(annotations, LAST_APPLIED);
	json_object_set_new(meta, "name", json_string(name));
	json_object_set_new(meta, "namespace", json_string(view_text(from, "namespace")));
	if (json_object_size(json_object_get(from, "labels")) > 0)
		json_object_set(meta, "labels", json_object_get(from, "labels"));
	if (json_object_size(annotations) > 0)
		json_object_set(meta, "annotations", annotations);
	json_decref(annotations);
	return json_pack("{s:s, s:s, s:o, s:o*}", "apiVersion", FRAMEWORK_API_VERSION, "kind", "Framework", "metadata",
			 meta, "spec", spec);
}

int retry_check_name(const json_t *framework, const char *name, struct error *err)
{
	const json_t *spec = json_object_get(framework, "spec");
	struct error why, before;

	if (!spec_malformed(spec, name, &why) ||
	    spec_malformed(spec, view_text(json_object_get(framework, "metadata"), "name"), &before))
		return 0;
	return error_set(err, "Framework %s would be malformed: %s", name, why.message);
}

void retry_set_mark(json_t *object, const char *mark)
{
	json_t *meta = json_object_get(object, "metadata");

	if (json_object_get(meta, "annotations") == NULL)
		json_object_set_new(meta, "annotations", json_object());
	json_object_set_new(json_object_get(meta, "annotations"), RETRY_MARK, json_string(mark));
}

static const char *mark_of(const json_t *object)
{
	return view_text(json_path(object, "metadata", "annotations", NULL), RETRY_MARK);
}

bool retry_has_mark(const json_t *object, const char *mark)
{
	return strcmp(mark_of(object), mark) == 0;
}

/* How much of the name is that of the first try, and in *number the number after it; all of it, and 0: it is the first
 * one. Users number their Frameworks, too: only the mark says that "worker2" is not the first one. */
static size_t first_try(const json_t *framework, const char *name, unsigned long *number)
{
	const char *mark = mark_of(framework);
	size_t len = strlen(name), digits = len, from = strcspn(mark, "/");

	*number = 0;
	while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
		digits--;
	if (digits < 2 || digits == len || len - digits > 5 || name[digits - 1] != 'r' ||
	    strncmp(mark, name, digits - 1) != 0 || (from == len && strncmp(mark, name, len) == 0))
		return len;
	*number = strtoul(name + digits, NULL, 10);
	return digits - 1;
}

char *retry_name(const json_t *framework, unsigned n, char out[RETRY_NAME_SIZE])
{
	const char *name = view_text(json_object_get(framework, "metadata"), "name");
	unsigned long before;
	size_t len = first_try(framework, name, &before);
	char suffix[24];

	snprintf(suffix, sizeof(suffix), "r%lu", before + n);
	if (len + strlen(suffix) >= RETRY_NAME_SIZE)
		len = RETRY_NAME_SIZE - 1 - strlen(suffix);
	snprintf(out, RETRY_NAME_SIZE, "%.*s%s", (int)len, name, suffix);
	return out;
}
