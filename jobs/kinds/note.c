/* Which translation a Framework was made from; see note.h. */
#include "jobs/kinds/note.h"

#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

#define CHECKSUM "checksum"
#define LABELS "labels"
#define BACKOFF_LIMIT "backoffLimit"
#define FIRST_DECIDES "firstDecides"
#define DYNAMIC "dynamic"

/* Types of replicas of all kinds; a TaskRole has their name in lower case. */
static const char *const types[] = {"Chief", "Master", "PS", "Worker", "Evaluator", "Local"};
enum { LEADERS = 2 /* the first ones */ };

static json_t *checksum(const struct job_translation *translation, const char *spec)
{
	cleanup_free char *labels = json_text(translation->labels);
	uLong sum = crc32(0, (const unsigned char *)labels, (unsigned)strlen(labels));

	sum = crc32(sum, (const unsigned char *)spec, (unsigned)strlen(spec));
	return json_sprintf("%08lx-%zx", sum & 0xffffffff, strlen(spec));
}

char *job_note(const struct job *job, const struct job_translation *translation, const char *spec)
{
	cleanup_json json_t *note = json_pack("{s:o}", CHECKSUM, checksum(translation, spec));
	const char *name;
	json_t *value;

	if (json_object_size(job->labels) > 0) {
		json_t *labels = json_array();

		json_object_foreach(job->labels, name, value)
			json_array_append_new(labels, json_string(name));
		json_object_set_new(note, LABELS, labels);
	}
	if (translation->backoff_limit >= 0)
		json_object_set_new(note, BACKOFF_LIMIT, json_integer(translation->backoff_limit));
	if (translation->first_decides)
		json_object_set_new(note, FIRST_DECIDES, json_true());
	if (translation->dynamic)
		json_object_set_new(note, DYNAMIC, json_true());
	return json_text(note);
}

static json_t *parse(const char *stored)
{
	return stored == NULL ? NULL : json_parse(stored, strlen(stored), NULL);
}

void job_note_drop_labels(const char *stored, const struct job_translation *translation, json_t *patch)
{
	cleanup_json json_t *note = parse(stored);
	const json_t *name;
	size_t i;

	json_array_foreach(json_object_get(note, LABELS), i, name)
		if (json_is_string(name) && json_object_get(translation->labels, json_string_value(name)) == NULL)
			json_object_set_new(patch, json_string_value(name), json_null());
}

static int recover_role(const json_t *task_role, struct job_translation *out)
{
	const json_t *retry = json_path(task_role, "task", "retryPolicy", NULL);
	const char *name = json_str(task_role, "name");
	struct job_role *role = &out->roles[out->role_count];

	for (size_t i = 0; i < ARRAY_LEN(types) && name != NULL; i++) {
		if (strcasecmp(types[i], name) != 0)
			continue;
		*role = (struct job_role){.type = types[i], .replicas = (int32_t)json_int(task_role, "taskNumber", 0)};
		memcpy(role->name, name, strlen(name));
		role->unlimited = json_int(retry, "maxRetryCount", 0) == -1;
		out->has_leader = out->has_leader || i < LEADERS;
		out->role_count++;
		return 0;
	}
	return -1;
}

/* A job must give its resources back, whatever else its spec says. */
static void take_suspend(const struct job *job, struct job_translation *out)
{
	cleanup_json json_t *spec = parse(job->spec);
	json_t *suspend = json_object_get(json_object_get(spec, "runPolicy"), "suspend");

	out->suspend = json_bool(out->spec, "suspend", false);
	if (job->kind == JOB_CAICLOUD_TFJOB || !json_is_boolean(suspend))
		return;
	out->suspend = json_is_true(suspend);
	json_object_set(out->spec, "suspend", suspend);
}

int job_translation_recover(const struct job *job, const char *stored, const json_t *spec, struct job_translation *out)
{
	cleanup_json json_t *note = parse(stored);
	const json_t *task_roles = json_object_get(spec, "taskRoles");
	const json_t *task_role;
	size_t i;

	*out = (struct job_translation){.ttl_sec = -1};
	if (json_str(note, CHECKSUM) == NULL || !json_is_array(task_roles) ||
	    json_array_size(task_roles) > JOB_ROLES_MAX)
		return -1;
	json_array_foreach(task_roles, i, task_role)
		if (recover_role(task_role, out) < 0)
			return -1;
	job_framework_name(job->kind, job->name, out->framework);
	out->backoff_limit = json_int(note, BACKOFF_LIMIT, -1);
	out->first_decides = json_bool(note, FIRST_DECIDES, false);
	out->dynamic = json_bool(note, DYNAMIC, false);
	out->labels = json_pack("{s:s}", JOB_LABEL, job_names(job->kind)->full);
	out->warnings = json_array();
	out->spec = json_deep_copy(spec);
	take_suspend(job, out);
	return 0;
}
