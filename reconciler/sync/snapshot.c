/* The history snapshots (CONTRACT.md §14); see sync.h and rules.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "reconciler/sync/rules.h"

/* The whole object with the status in memory, on one line. */
static void framework_object_text(const struct framework *framework, struct buf *out)
{
	struct error err;
	cleanup_json json_t *metadata = json_parse(framework->metadata_text, strlen(framework->metadata_text), &err);
	cleanup_free char *text = NULL;

	json_object_set_new(metadata, "resourceVersion", json_string(framework->resource_version));
	text = json_text(metadata);
	buf_printf(
		out,
		"{\"apiVersion\":\"" FRAMEWORK_API_VERSION "\",\"kind\":\"Framework\",\"metadata\":%s,\"spec\":", text);
	buf_puts(out, framework->spec_text);
	buf_puts(out, ",\"status\":");
	framework_status_write(out, &framework->status, framework->name, NULL);
	buf_putc(out, '}');
}

void snapshot_framework(struct reconcile *reconcile, const char *trigger, const char *message)
{
	struct buf line = {0};

	buf_printf(&line, "[%s/%s]: %s: %s: ObjectSnapshot: ", reconcile->framework->ns, reconcile->framework->name,
		   message, trigger);
	framework_object_text(reconcile->framework, &line);
	plan_snapshot(reconcile->plan, &(struct plan_snapshot){.text = buf_steal(&line), .spec = ""});
}

static void put_pair(struct buf *out, const char *name, const char *value)
{
	buf_json_text(out, name, value == NULL ? "" : value);
}

static void put_task_metadata(struct buf *out, const struct reconcile *reconcile, size_t role, size_t index,
			      bool deleting)
{
	const struct framework *framework = reconcile->framework;
	const struct framework_attempt_status *attempt = &framework->status.attempt;
	const struct task_status *task = &attempt->roles[role].tasks[index];
	char time[TIME_RFC3339_SIZE];

	buf_printf(out, "{\"name\":\"%s-%s-%zu\"", framework->name, attempt->roles[role].name, index);
	put_pair(out, "namespace", framework->ns);
	put_pair(out, "uid", task->instance_uid);
	put_pair(out, "resourceVersion", framework->resource_version);
	buf_json_int(out, "generation", framework->generation);
	put_pair(out, "creationTimestamp", time_format_rfc3339(task->start_time, time));
	if (deleting) {
		put_pair(out, "deletionTimestamp", time_format_rfc3339(reconcile->now_sec, time));
		buf_puts(out, ",\"deletionGracePeriodSeconds\":0");
	}
	buf_json_key(out, "labels");
	buf_printf(out,
		   "{\"" FC_FRAMEWORK_NAME "\":\"%s\",\"" FC_TASKROLE_NAME "\":\"%s\",\"" FC_TASK_INDEX "\":\"%zu\"}",
		   framework->name, attempt->roles[role].name, index);
	buf_json_open(out, "annotations", '{');
	put_pair(out, FC_FRAMEWORK_NAMESPACE, framework->ns);
	put_pair(out, FC_FRAMEWORK_NAME, framework->name);
	put_pair(out, FC_TASKROLE_NAME, attempt->roles[role].name);
	buf_printf(out, ",\"" FC_TASK_INDEX "\":\"%zu\"", index);
	put_pair(out, FC_CONFIGMAP_NAME, framework->config_map.name);
	put_pair(out, FC_FRAMEWORK_UID, framework->uid);
	buf_printf(out, ",\"" FC_FRAMEWORK_ATTEMPT_ID "\":\"%d\"", (int)attempt->id);
	put_pair(out, FC_FRAMEWORK_ATTEMPT_INSTANCE_UID, attempt->instance_uid);
	put_pair(out, FC_CONFIGMAP_UID, attempt->config_map_uid);
	put_pair(out, FC_TASKROLE_UID, attempt->roles[role].instance_uid);
	buf_puts(out, "}}");
}

/* Where the task of each role stands in the spec's text, found once for all snapshots until there is another spec. */
static void find_task_texts(struct framework *framework)
{
	struct json_reader reader;

	framework->task_texts = mem_calloc(framework->spec.role_count, sizeof(*framework->task_texts));
	json_reader_init(&reader, framework->spec_text, strlen(framework->spec_text));
	if (!json_reader_find(&reader, "taskRoles") || !json_reader_array(&reader))
		return;
	for (size_t r = 0; r < framework->spec.role_count && json_reader_item(&reader); r++) {
		struct json_span name;

		if (!json_reader_object(&reader))
			continue;
		while (json_reader_member(&reader, &name)) {
			struct json_span value = json_reader_skip(&reader);

			if (json_span_is(&name, "task"))
				framework->task_texts[r] = value;
		}
	}
}

static struct json_span task_text(struct framework *framework, const char *role_name)
{
	static const struct json_span none = {.at = "null", .len = 4};
	int in_spec = framework_spec_find_role(&framework->spec, role_name);

	if (in_spec < 0)
		return none;
	if (framework->task_texts == NULL)
		find_task_texts(framework);
	return framework->task_texts[in_spec].at == NULL ? none : framework->task_texts[in_spec];
}

void snapshot_task(struct reconcile *reconcile, size_t role, size_t index, const char *trigger, const char *message,
		   bool deleting)
{
	struct framework *framework = reconcile->framework;
	const struct role_status *role_status = &framework->status.attempt.roles[role];
	struct json_span spec = task_text(framework, role_status->name);
	struct buf line = {0};
	size_t spec_at;

	buf_printf(&line, "[%s/%s][%s][%zu]: %s: %s: ObjectSnapshot: ", framework->ns, framework->name,
		   role_status->name, index, message, trigger);
	buf_puts(&line, "{\"apiVersion\":\"" FRAMEWORK_API_VERSION "\",\"kind\":\"Task\",\"metadata\":");
	put_task_metadata(&line, reconcile, role, index, deleting);
	buf_puts(&line, ",\"spec\":");
	spec_at = line.len;
	buf_puts(&line, ",\"status\":");
	task_status_write(&line, &role_status->tasks[index], framework->name, role_status->name, index);
	buf_putc(&line, '}');
	plan_snapshot(reconcile->plan,
		      &(struct plan_snapshot){
			      .text = buf_steal(&line), .spec_at = spec_at, .spec = spec.at, .spec_len = spec.len});
}
