/* A Framework's place in a queue of Kueue, as its labels, its status and its Workload show it; see kueue.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "reconciler/sync/kueue.h"
#include "reconciler/sync/state.h"

const struct slot *kueue_slot(const struct framework *framework)
{
	return &framework->owned[SLOT_WORKLOAD - SLOT_SERVICE];
}

const struct workload *kueue_workload(const struct framework *framework)
{
	const struct slot *slot = kueue_slot(framework);

	return slot->meta != NULL && framework->uid != NULL && strcmp(slot->meta->controller_uid, framework->uid) == 0
		       ? slot->workload
		       : NULL;
}

bool workload_named(const struct framework *framework, const char *name)
{
	return strncmp(name, WORKLOAD_NAME_PREFIX, strlen(WORKLOAD_NAME_PREFIX)) == 0 &&
	       strcmp(name + strlen(WORKLOAD_NAME_PREFIX), framework->name) == 0;
}

bool kueue_managed(const struct framework *framework)
{
	return framework->kueue.queue != NULL;
}

bool kueue_out_of_time(const struct workload *workload)
{
	const json_t *evicted = workload_condition(workload, WORKLOAD_EVICTED);
	const char *reason = json_str(evicted, "reason");
	const char *message = json_str(evicted, "message");

	return workload_is(workload, WORKLOAD_EVICTED) && !workload_active(workload) &&
	       ((reason != NULL && strstr(reason, "MaximumExecutionTimeExceeded") != NULL) ||
		(message != NULL && strstr(message, "maximum execution time") != NULL));
}

/* The activeDeadlineSec that Kueue knows; 0: none. */
static int64_t asked_time(const struct workload *workload)
{
	const char *time = strchr(workload_request(workload), '/');

	return time == NULL ? 0 : strtoll(time + 1, NULL, 10);
}

bool kueue_time_over(const struct framework *framework)
{
	const struct workload *workload = kueue_workload(framework);

	return framework->spec.active_deadline_sec > 0 && kueue_managed(framework) && workload != NULL &&
	       kueue_out_of_time(workload) && asked_time(workload) >= framework->spec.active_deadline_sec;
}

bool kueue_holds(const struct framework *framework)
{
	return kueue_managed(framework) && framework->status.admission == NULL && !kueue_time_over(framework);
}

/* Whether the Framework wants to run. */
bool kueue_wants_quota(const struct framework *framework)
{
	const struct framework_spec *spec = &framework->spec;

	return framework->exists && framework->problem == NULL && !spec->too_many_tasks && kueue_managed(framework) &&
	       framework->deletion_time == 0 && !spec->suspend && spec->execution_type == EXECUTION_START;
}

bool kueue_asks_for_this(const struct framework *framework, const struct workload *workload)
{
	const char *request = workload_request(workload);
	size_t len = strcspn(request, "/");

	if (framework->spec.too_many_tasks) /* it keeps the Tasks that it has */
		return true;
	return framework->kueue.request != NULL && len == strcspn(framework->kueue.request, "/") &&
	       strncmp(request, framework->kueue.request, len) == 0;
}

struct kueue_lookup *kueue_find_lookup(const struct framework *framework, const char *name)
{
	struct kueue_lookup *lookup = framework->kueue.lookups;

	while (lookup != NULL && strcmp(lookup->name, name) != 0)
		lookup = lookup->next;
	return lookup;
}

const json_t *kueue_looked_up(const struct framework *framework, const char *plural, const char *name)
{
	cleanup_free char *whole = mem_printf("%s/%s", plural, name);
	const struct kueue_lookup *lookup = kueue_find_lookup(framework, whole);

	return lookup == NULL ? NULL : lookup->object;
}

void kueue_drop_lookups(struct framework *framework)
{
	while (framework->kueue.lookups != NULL) {
		struct kueue_lookup *lookup = framework->kueue.lookups;

		framework->kueue.lookups = lookup->next;
		free(lookup->name);
		free(lookup->error);
		json_decref(lookup->object);
		free(lookup);
	}
}

/* ---- what is remembered ---- */

/* NULL: it is missing or empty. The caller frees. */
static char *label(const json_t *metadata, const char *name)
{
	const char *value = json_str(json_object_get(metadata, "labels"), name);

	return value == NULL || value[0] == '\0' ? NULL : mem_strdup(value);
}

static bool take_text(char **at, char *text)
{
	bool same = (*at == NULL) == (text == NULL) && (text == NULL || strcmp(*at, text) == 0);

	free(*at);
	*at = text;
	return !same;
}

void kueue_take_metadata(struct framework *framework, const struct json_span *metadata)
{
	cleanup_json json_t *read = NULL;
	bool held = framework->has_status && !framework->spec.suspend && kueue_holds(framework);
	bool changed;

	if (!framework->kueue.on)
		return;
	read = json_parse(metadata->at, metadata->len, NULL);
	changed = take_text(&framework->kueue.queue, label(read, KUEUE_QUEUE_LABEL));
	if (take_text(&framework->kueue.priority_class, label(read, KUEUE_PRIORITY_LABEL)) || changed)
		kueue_forget_request(framework);
	framework->kueue.left = !kueue_managed(framework) && (held || framework->kueue.left);
}

void kueue_forget_request(struct framework *framework)
{
	mem_replace(&framework->kueue.request, NULL);
}

void kueue_forget(struct framework *framework)
{
	struct kueue_work *kueue = &framework->kueue;

	kueue_drop_lookups(framework);
	mem_replace(&kueue->reported_reason, NULL);
	kueue->left = false;
	kueue->decided = 0;
	kueue->next_ms = 0;
}

void kueue_free(struct framework *framework)
{
	kueue_forget(framework);
	free(framework->kueue.queue);
	free(framework->kueue.priority_class);
	free(framework->kueue.request);
}
