/* Pod status as a kubelet reports it; see podstatus.h. */
#include "tests/cluster/testkubelet/podstatus.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"

static const char *const phase_names[] = {"Pending", "Running", "Succeeded", "Failed"};

static size_t add_containers(struct pod_report *report, size_t at, const json_t *list, bool init, bool wait_for_init)
{
	size_t i;
	json_t *spec;

	json_array_foreach(list, i, spec) {
		struct container_report *item = &report->items[at++];
		const char *name = json_str(spec, "name");
		const char *image = json_str(spec, "image");

		item->name = mem_strdup(name == NULL ? "" : name);
		item->image = mem_strdup(image == NULL ? "" : image);
		item->init = init;
		container_report_wait(item, wait_for_init ? "PodInitializing" : "ContainerCreating", NULL);
	}
	return at;
}

void pod_report_init(struct pod_report *report, const json_t *pod)
{
	const json_t *inits = json_path(pod, "spec", "initContainers", NULL);
	const json_t *apps = json_path(pod, "spec", "containers", NULL);
	bool has_init = json_array_size(inits) > 0;
	size_t at;

	report->count = json_array_size(inits) + json_array_size(apps);
	report->items = mem_calloc(report->count, sizeof(report->items[0]));
	at = add_containers(report, 0, inits, true, has_init);
	add_containers(report, at, apps, false, has_init);
}

void pod_report_free(struct pod_report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		free(report->items[i].name);
		free(report->items[i].image);
		free(report->items[i].reason);
		free(report->items[i].message);
		free(report->items[i].last_reason);
	}
	free(report->items);
	free(report->reason);
	free(report->message);
	free(report->unschedulable);
	free(report->pod_ip);
	*report = (struct pod_report){0};
}

bool pod_report_terminal(const struct pod_report *report)
{
	return report->phase == REPORT_SUCCEEDED || report->phase == REPORT_FAILED;
}

void container_report_end(struct container_report *item, int32_t exit_code, const char *reason, const char *message,
			  int64_t now)
{
	item->state = RUN_TERMINATED;
	item->exit_code = exit_code;
	item->signal = 0;
	mem_replace(&item->reason, reason != NULL ? reason : exit_code == 0 ? "Completed" : "Error");
	mem_replace(&item->message, message);
	if (item->started_at == 0)
		item->started_at = now;
	item->finished_at = now;
}

void container_report_start(struct container_report *item, int64_t now)
{
	item->state = RUN_RUNNING;
	mem_replace(&item->reason, NULL);
	mem_replace(&item->message, NULL);
	item->started_at = now;
	item->finished_at = 0;
}

void container_report_wait(struct container_report *item, const char *reason, const char *message)
{
	if (item->state == RUN_TERMINATED) {
		item->has_last = true;
		item->last_exit_code = item->exit_code;
		mem_replace(&item->last_reason, item->reason);
		item->last_started_at = item->started_at;
		item->last_finished_at = item->finished_at;
	}
	item->state = RUN_WAITING;
	mem_replace(&item->reason, reason);
	mem_replace(&item->message, message);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_text(struct buf *out, const char *name, const char *text)
{
	buf_json_key(out, name);
	buf_json_string(out, text);
}

static void put_optional(struct buf *out, const char *name, const char *text)
{
	if (text != NULL && text[0] != '\0')
		put_text(out, name, text);
}

static void put_number(struct buf *out, const char *name, int64_t value)
{
	buf_json_key(out, name);
	buf_put_int(out, value);
}

static void put_bool(struct buf *out, const char *name, bool value)
{
	buf_json_key(out, name);
	buf_puts(out, value ? "true" : "false");
}

static void put_time(struct buf *out, const char *name, int64_t unix_sec)
{
	char text[TIME_RFC3339_SIZE];

	if (unix_sec != 0)
		put_text(out, name, time_format_rfc3339(unix_sec, text));
}

static void put_terminated(struct buf *out, int32_t exit_code, int32_t signal, const char *reason, const char *message,
			   int64_t started_at, int64_t finished_at)
{
	buf_json_key(out, "terminated");
	buf_putc(out, '{');
	put_number(out, "exitCode", exit_code);
	if (signal != 0)
		put_number(out, "signal", signal);
	put_optional(out, "reason", reason);
	put_optional(out, "message", message);
	put_time(out, "startedAt", started_at);
	put_time(out, "finishedAt", finished_at);
	buf_putc(out, '}');
}

static void put_container(struct buf *out, const struct container_report *item)
{
	buf_json_next(out);
	buf_putc(out, '{');
	put_text(out, "name", item->name);
	put_text(out, "image", item->image);
	put_text(out, "imageID", "");
	put_number(out, "restartCount", item->restart_count);
	/* An init container is ready when it is done, an app container while it runs. */
	put_bool(out, "ready",
		 item->init ? item->state == RUN_TERMINATED && item->exit_code == 0 : item->state == RUN_RUNNING);
	buf_json_key(out, "state");
	buf_putc(out, '{');
	switch (item->state) {
	case RUN_WAITING:
		buf_json_key(out, "waiting");
		buf_putc(out, '{');
		put_optional(out, "reason", item->reason);
		put_optional(out, "message", item->message);
		buf_putc(out, '}');
		break;
	case RUN_RUNNING:
		buf_json_key(out, "running");
		buf_putc(out, '{');
		put_time(out, "startedAt", item->started_at);
		buf_putc(out, '}');
		break;
	case RUN_TERMINATED:
		put_terminated(out, item->exit_code, item->signal, item->reason, item->message, item->started_at,
			       item->finished_at);
		break;
	}
	buf_putc(out, '}');
	if (item->has_last) {
		buf_json_key(out, "lastState");
		buf_putc(out, '{');
		put_terminated(out, item->last_exit_code, 0, item->last_reason, NULL, item->last_started_at,
			       item->last_finished_at);
		buf_putc(out, '}');
	}
	buf_putc(out, '}');
}

static void put_containers(struct buf *out, const struct pod_report *report, bool init, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < report->count; i++)
		if (report->items[i].init == init)
			count++;
	if (count == 0)
		return;
	buf_json_key(out, name);
	if (report->no_containers) {
		/* In a merge patch null takes away what an earlier status said. */
		buf_puts(out, "null");
		return;
	}
	buf_putc(out, '[');
	for (size_t i = 0; i < report->count; i++)
		if (report->items[i].init == init)
			put_container(out, &report->items[i]);
	buf_putc(out, ']');
}

static void put_condition(struct buf *out, const char *type, bool value, const char *reason, int64_t since)
{
	buf_json_next(out);
	buf_putc(out, '{');
	put_text(out, "type", type);
	put_text(out, "status", value ? "True" : "False");
	put_optional(out, "reason", value ? NULL : reason);
	put_time(out, "lastTransitionTime", since);
	buf_putc(out, '}');
}

static void put_conditions(struct buf *out, const struct pod_report *report)
{
	bool initialized = report->phase != REPORT_FAILED || !report->no_containers;
	bool ready = report->phase == REPORT_RUNNING;
	const char *reason = pod_report_terminal(report) ? "PodCompleted" : "ContainersNotReady";

	for (size_t i = 0; i < report->count; i++) {
		const struct container_report *item = &report->items[i];

		if (item->init && !(item->state == RUN_TERMINATED && item->exit_code == 0))
			initialized = false;
		if (!item->init && item->state != RUN_RUNNING)
			ready = false;
	}
	buf_json_key(out, "conditions");
	buf_putc(out, '[');
	put_condition(out, "Initialized", initialized, "ContainersNotInitialized", report->start_time);
	put_condition(out, "Ready", ready, reason, report->transition_time);
	put_condition(out, "ContainersReady", ready, reason, report->transition_time);
	put_condition(out, "PodScheduled", true, NULL, report->start_time);
	buf_putc(out, ']');
}

/* As a scheduler says it. */
static void put_unschedulable(struct buf *out, const struct pod_report *report)
{
	buf_puts(out, "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"");
	put_text(out, "reason", "Unschedulable");
	put_text(out, "message", report->unschedulable);
	put_time(out, "lastTransitionTime", report->transition_time);
	buf_puts(out, "}]");
}

void pod_report_write_patch(struct buf *out, const struct pod_report *report, const char *uid)
{
	buf_puts(out, "{\"metadata\":{\"uid\":");
	buf_json_string(out, uid);
	buf_puts(out, "},\"status\":{");
	if (report->unschedulable != NULL) {
		put_unschedulable(out, report);
		buf_puts(out, "}}");
		return;
	}
	put_text(out, "phase", phase_names[report->phase]);
	put_optional(out, "reason", report->reason);
	put_optional(out, "message", report->message);
	put_time(out, "startTime", report->start_time);
	put_optional(out, "hostIP", report->host_ip);
	if (report->pod_ip != NULL) {
		put_text(out, "podIP", report->pod_ip);
		buf_json_key(out, "podIPs");
		buf_puts(out, "[{\"ip\":");
		buf_json_string(out, report->pod_ip);
		buf_puts(out, "}]");
	}
	put_conditions(out, report);
	put_containers(out, report, true, "initContainerStatuses");
	put_containers(out, report, false, "containerStatuses");
	buf_puts(out, "}}");
}
