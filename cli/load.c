/* See load.h. */
#include "cli/load.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command_line.h"
#include "cli/view/lease.h"
#include "cli/view/read.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

enum {
	FOLLOW_LOOK_MS = 500,
	NAMES_TRIED = 5, /* Pods that may be somebody else's, by the names of Tasks without a Pod */
};

/* labelSelector=FC_FRAMEWORK_NAME=name, as a query. The caller frees. */
static char *pods_query(const char *framework)
{
	struct buf query = {0};
	cleanup_free char *selector = mem_printf("%s=%s", FC_FRAMEWORK_NAME, framework);

	cli_put_query(&query, "labelSelector", selector);
	return buf_steal(&query);
}

static void take_pod(void *arg, json_t *object)
{
	pod_views_add(arg, object);
}

static void take_event(void *arg, json_t *object)
{
	event_views_add(arg, object);
}

static void take_lease(void *arg, json_t *object)
{
	json_t **lease = arg;

	/* a watcher that moved to another namespace has left one behind */
	if (*lease != NULL && lease_end(object) <= lease_end(*lease))
		return;
	json_decref(*lease);
	*lease = json_incref(object);
}

/* 0 also if it is forbidden, which is noted once for a kind. */
static int judge_part(struct cli *cli, int code, const char *what, const struct error *err)
{
	if (code == CLI_FORBIDDEN)
		cli_note(cli, "%s: %s", what, err->message);
	return code == CLI_FORBIDDEN ? 0 : code;
}

static int load_pods(struct cli *cli, const char *name, struct loaded *out, struct error *err)
{
	cleanup_free char *path = cli_core_path(cli->ns, "pods", NULL);
	cleanup_free char *query = pods_query(name);
	int code = cli_list(cli, path, query, take_pod, &out->pods, err);

	if (code == 0)
		out->inquiry.pods = &out->pods;
	return judge_part(cli, code, "Pods are left out, and with them why they wait", err);
}

static int load_events(struct cli *cli, const char *name, struct loaded *out, struct error *err)
{
	cleanup_free char *path = cli_core_path(cli->ns, "events", NULL);
	cleanup_free char *selector = mem_printf(
		"involvedObject.kind=Framework,involvedObject.name=%s%s%s", name,
		*out->framework.uid == '\0' ? "" : ",involvedObject.uid=", out->framework.uid);
	cleanup_buf struct buf query = {0};
	int code;

	cli_put_query(&query, "fieldSelector", selector);
	code = cli_list(cli, path, query.data, take_event, &out->events, err);
	event_views_sort(&out->events);
	if (code == 0)
		out->inquiry.events = &out->events;
	return judge_part(cli, code, "Events are left out", err);
}

/* ---- doubts ------------------------------------------------------------------------------------------------------ */

bool load_follows(const struct framework_view *framework)
{
	return framework->managed_by != NULL || framework->problem != NULL || framework->deletion_time != 0 ||
	       (framework->begun && framework->status.observed_generation >= framework->generation);
}

static int read_view(struct cli *cli, const char *name, struct loaded *out, struct error *err)
{
	cleanup_free char *path = cli_frameworks_path(cli->ns, name);
	cleanup_json json_t *object = NULL;
	int code = cli_get(cli, path, &object, err);

	if (code != 0)
		return code;
	framework_view_free(&out->framework);
	return framework_view_read(object, &out->framework, err) < 0 ? CLI_FAILED : 0;
}

/* Looks again until the status follows, or a controller would have made it follow. */
static int wait_for_controller(struct cli *cli, const char *name, struct loaded *out, struct error *err)
{
	int64_t until = clock_boot_ms() + LOAD_FOLLOW_MS;
	int code = 0;

	while (code == 0 && !load_follows(&out->framework) && clock_boot_ms() < until) {
		cli_pause(cli, FOLLOW_LOOK_MS);
		code = read_view(cli, name, out, err);
	}
	out->inquiry.stale = code == 0 && !load_follows(&out->framework);
	return code;
}

/* Whether the status does not follow the Pods. */
static bool goes_unnoticed(const struct inquiry *inquiry)
{
	struct waiting_list groups;
	bool found;

	waiting_list_read(inquiry, &groups); /* it is the last kind */
	found = groups.count > 0 && groups.list[groups.count - 1].kind == WAIT_UNNOTICED;
	waiting_list_free(&groups);
	return found;
}

static char *version_of(const struct framework_view *framework)
{
	return mem_strdup(view_text(json_object_get(framework->object, "metadata"), "resourceVersion"));
}

/* The Framework was read before its Pods, and a controller notes a Pod's end a moment later. Looks again until it has,
 * or a controller would have. */
static int wait_for_notice(struct cli *cli, const char *name, struct loaded *out, struct error *err)
{
	int64_t until = clock_boot_ms() + LOAD_FOLLOW_MS;
	int code = 0;

	while (code == 0 && goes_unnoticed(&out->inquiry) && clock_boot_ms() < until) {
		cleanup_free char *before = version_of(&out->framework), *after = NULL;

		cli_pause(cli, FOLLOW_LOOK_MS);
		code = read_view(cli, name, out, err);
		after = version_of(&out->framework);
		if (code != 0 || strcmp(before, after) == 0)
			continue;
		pod_views_free(&out->pods);
		out->inquiry.pods = NULL;
		code = load_pods(cli, name, out, err);
	}
	return code;
}

json_t *load_lease(struct cli *cli)
{
	json_t *lease = NULL;
	struct error err;

	cli_list(cli, "/apis/coordination.k8s.io/v1/leases",
		 "fieldSelector=metadata.name%3Dframeworkcontroller&resourceVersion=0", take_lease, &lease, &err);
	return lease;
}

static int load_config_map(struct cli *cli, struct loaded *out, struct error *err)
{
	cleanup_free char *name = mem_printf("%s-attempt", out->framework.name);
	cleanup_free char *path = cli_core_path(cli->ns, "configmaps", name);
	int code = cli_get(cli, path, &out->config_map, err);

	out->inquiry.config_map = out->config_map;
	out->inquiry.config_map_known = code == 0 || code == CLI_ABSENT;
	return code == CLI_ABSENT ? 0
				  : judge_part(cli, code, "whether another ConfigMap is in the way is not known", err);
}

/* A Pod of that name, whoever made it. */
static int load_pod(struct cli *cli, struct loaded *out, const char *name, struct error *err)
{
	cleanup_free char *path = cli_core_path(cli->ns, "pods", name);
	cleanup_json json_t *object = NULL;
	int code = cli_get(cli, path, &object, err);

	if (code == 0)
		pod_views_add(&out->pods, object);
	return code == CLI_ABSENT || code == CLI_FORBIDDEN ? 0 : code;
}

/* The Pods that Events of a conflict name, and those of the first Tasks that have none. */
static int load_foreign_pods(struct cli *cli, struct loaded *out, struct error *err)
{
	const struct framework_attempt_status *attempt = &out->framework.status.attempt;
	size_t tried = 0;
	int code = 0;

	for (size_t i = 0; i < out->events.count && tried < NAMES_TRIED && code == 0; i++) {
		const struct event_view *event = &out->events.list[i];
		cleanup_free char *name = NULL;

		if (strcmp(event->reason, "NamingConflict") != 0 || strncmp(event->message, "Pod ", 4) != 0)
			continue;
		name = mem_strndup(event->message + 4, strcspn(event->message + 4, " "));
		if (pod_views_find(&out->pods, name) != NULL ||
		    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name))
			continue;
		tried++;
		code = load_pod(cli, out, name, err);
	}
	tried = 0;
	for (size_t i = 0; i < attempt->role_count && code == 0; i++)
		for (size_t j = 0; j < attempt->roles[i].task_count && tried < NAMES_TRIED && code == 0; j++) {
			cleanup_free char *name = pod_name_of(&out->framework, attempt->roles[i].name, j);

			if (attempt->roles[i].tasks[j].state != STATE_CREATION_PENDING ||
			    pod_views_find(&out->pods, name) != NULL)
				continue;
			tried++;
			code = load_pod(cli, out, name, err);
		}
	return code;
}

static bool waits_for_creation(const struct framework_attempt_status *attempt)
{
	for (size_t i = 0; i < attempt->role_count; i++)
		for (size_t j = 0; j < attempt->roles[i].task_count; j++)
			if (attempt->roles[i].tasks[j].state == STATE_CREATION_PENDING)
				return true;
	return false;
}

static int load_service(struct cli *cli, struct loaded *out, struct error *err)
{
	const struct framework_view *framework = &out->framework;
	cleanup_free char *path = NULL;
	int code;

	if (!framework->has_spec || !framework->spec.network.hostnames ||
	    !waits_for_creation(&framework->status.attempt))
		return 0;
	path = cli_core_path(cli->ns, "services", framework_spec_subdomain(&framework->spec, framework->name));
	code = cli_get(cli, path, &out->service, err);
	out->inquiry.service = out->service;
	return code == CLI_ABSENT ? 0
				  : judge_part(cli, code, "whether another Service is in the way is not known", err);
}

/* Whether the controller has steps to take. */
static bool is_under_way(const struct framework_view *framework)
{
	return framework->managed_by == NULL && framework->problem == NULL && framework->begun &&
	       framework->status.state != STATE_COMPLETED;
}

static int load_doubts(struct cli *cli, struct loaded *out, bool ask_lease, struct error *err)
{
	const struct framework_view *framework = &out->framework;
	int code;

	if (out->inquiry.stale || goes_unnoticed(&out->inquiry) || (ask_lease && is_under_way(framework))) {
		out->lease = load_lease(cli);
		out->inquiry.lease = out->lease;
	}
	if (framework->begun && framework->status.state == STATE_CREATION_PENDING)
		return load_config_map(cli, out, err);
	if (!framework->begun || framework->status.attempt.completion != NULL)
		return 0;
	code = load_service(cli, out, err);
	return code == 0 && out->inquiry.pods != NULL ? load_foreign_pods(cli, out, err) : code;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static char *flags_text(const struct options *options)
{
	struct buf text = {0};

	command_flags(&text, options);
	if (text.len > 0) {
		cleanup_free char *flags = buf_steal(&text);

		return mem_printf(" %s", flags);
	}
	return NULL;
}

int load_framework(struct cli *cli, const char *name, unsigned parts, struct loaded *out, struct error *err)
{
	int code;

	*out = (struct loaded){0};
	code = cli_connect(cli, err);
	if (code == 0)
		code = read_view(cli, name, out, err);
	out->inquiry.stale = code == 0 && (parts & LOAD_STALE) && !load_follows(&out->framework);
	if (code == 0 && (parts & LOAD_DOUBTS) && !(parts & LOAD_WATCHED))
		code = wait_for_controller(cli, name, out, err);
	if (code == 0 && (parts & LOAD_PODS))
		code = load_pods(cli, name, out, err);
	out->inquiry.framework = &out->framework;
	out->inquiry.now = cli_now(cli);
	if (code == 0 && (parts & LOAD_DOUBTS) && !(parts & LOAD_WATCHED) && !out->inquiry.stale)
		code = wait_for_notice(cli, name, out, err);
	if (code == 0 && (parts & LOAD_EVENTS))
		code = load_events(cli, name, out, err);
	out->inquiry.now = cli_now(cli);
	if (code == 0 && (parts & LOAD_DOUBTS))
		code = load_doubts(cli, out, !(parts & LOAD_WATCHED), err);
	out->flags = flags_text(&cli->options);
	out->inquiry.flags = out->flags;
	return code;
}

void loaded_free(struct loaded *loaded)
{
	framework_view_free(&loaded->framework);
	pod_views_free(&loaded->pods);
	event_views_free(&loaded->events);
	json_decref(loaded->config_map);
	json_decref(loaded->service);
	json_decref(loaded->lease);
	free(loaded->flags);
}
