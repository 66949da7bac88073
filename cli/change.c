/* kubectl framework stop, start, suspend, resume and delete. */
#include <string.h>

#include "cli/change.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/show.h"
#include "cli/view/framework.h"
#include "cli/view/read.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

#define MERGE_PATCH "application/merge-patch+json"

struct change {
	const char *spec; /* the merge patch of spec */
	const char *done; /* "stopped" */
};

bool is_completed(const json_t *object)
{
	return strcmp(view_text(json_object_get(object, "status"), "state"), attempt_state_name(STATE_COMPLETED)) == 0;
}

/* The controller leaves a malformed Framework alone (CONTRACT.md §2.14). */
static void note_malformed(struct cli *cli, json_t *object, const char *name)
{
	cleanup_free char *why = command_hint(&cli->options, cli->ns, "framework", "why", name, NULL);
	struct framework_view view;

	if (framework_view_read(object, &view, NULL) == 0 && view.problem != NULL)
		cli_note(cli,
			 "Framework %s is malformed (%s): the controller does not act on it until somebody corrects "
			 "the field; %s shows what to do",
			 name, view.problem, why);
	framework_view_free(&view);
}

/* Another controller may undo the change; fc-jobs undoes a deletion, and does not undo a stop (jobs/README.md). */
static void note_controlled(struct cli *cli, const json_t *object, const char *done)
{
	const json_t *meta = json_object_get(object, "metadata");
	const char *name = view_text(meta, "name"), *kind, *job;
	const json_t *owner = view_controller(object);

	if (owner == NULL)
		return;
	kind = view_text(owner, "kind");
	job = view_text(owner, "name");
	if (strcmp(done, "stopped") == 0 && *view_text(json_object_get(meta, "labels"), JOB_LABEL) != '\0')
		cli_note(cli,
			 "Framework %s is controlled by %s %s: that %s fails, because its Framework is stopped, and "
			 "does "
			 "not run again",
			 name, kind, job, kind);
	else if (strcmp(done, "deleted") == 0)
		cli_note(cli,
			 "Framework %s was controlled by %s %s, whose controller may create it again, to run from the "
			 "beginning: delete that %s instead",
			 name, kind, job, kind);
	else
		cli_note(cli,
			 "Framework %s is controlled by %s %s, whose controller may undo this: change that %s instead",
			 name, kind, job, kind);
}

void note_change(struct cli *cli, json_t *object, const char *done)
{
	const char *name = view_text(json_object_get(object, "metadata"), "name");

	if (is_completed(object)) {
		cli_note(cli, "Framework %s is already Completed: this change has no effect", name);
		return;
	}
	note_malformed(cli, object, name);
	note_controlled(cli, object, done);
}

/* Notes the field that still keeps the Framework from running. */
static void note_what_holds(struct cli *cli, const char *done, const char *name, const json_t *spec)
{
	cleanup_free char *resume = command_hint(&cli->options, cli->ns, "framework", "resume", name, NULL);
	cleanup_free char *start = command_hint(&cli->options, cli->ns, "framework", "start", name, NULL);

	if (strcmp(done, "started") == 0 && json_bool(spec, "suspend", false))
		cli_note(cli, "Framework %s stays suspended: spec.suspend is true; %s lets it run", name, resume);
	if (strcmp(done, "resumed") == 0 && strcmp(view_text(spec, "executionType"), "Create") == 0)
		cli_note(cli, "Framework %s is not started: spec.executionType is Create; %s starts it", name, start);
}

/* The API server drops fields that its CRD does not have, and says nothing. */
static int check_stored(const json_t *object, json_t *wanted, const char *name, struct error *err)
{
	const json_t *spec = json_object_get(object, "spec");
	const char *field;
	json_t *value;

	json_object_foreach(wanted, field, value) {
		const json_t *found = json_object_get(spec, field);
		cleanup_free char *found_text = found == NULL ? mem_strdup("nothing") : json_text(found);
		cleanup_free char *expected = json_text(value);

		if (found != NULL && json_equal(found, value))
			continue;
		error_set(err,
			  "Framework %s is not changed: the API server has not stored spec.%s, found %s, expected %s. "
			  "Either a webhook changes it, or the CRD is older than this command: an administrator has to "
			  "apply manifests/crd.yaml",
			  name, field, found_text, expected);
		return CLI_FAILED;
	}
	return 0;
}

static int change_one(struct cli *cli, const struct change *change, const char *name, struct error *err)
{
	cleanup_free char *path = cli_frameworks_path(cli->ns, name);
	cleanup_free char *text = mem_printf("{\"spec\":%s}", change->spec);
	cleanup_json json_t *patch = json_parse(text, strlen(text), err);
	cleanup_json json_t *object = NULL;
	int code = cli_send(cli, "PATCH", path, MERGE_PATCH, patch, &object, err);

	if (code == 0)
		code = check_stored(object, json_object_get(patch, "spec"), name, err);
	if (code != 0)
		return code;
	note_change(cli, object, change->done);
	if (!is_completed(object))
		note_what_holds(cli, change->done, name, json_object_get(object, "spec"));
	show_done(cli, object, change->done);
	return 0;
}

/* Goes on after a failure; the first one's code counts. */
static int change_all(struct cli *cli, const struct change *change)
{
	int result = CLI_DONE;

	for (size_t i = 0; i < cli->options.argument_count; i++) {
		struct error err;
		int code = cli_connect(cli, &err);

		if (code == 0)
			code = change_one(cli, change, cli->options.arguments[i], &err);
		if (code != 0)
			cli_complain(cli, code, &err);
		if (result == CLI_DONE)
			result = code;
	}
	return result;
}

int command_stop(struct cli *cli)
{
	return change_all(cli, &(const struct change){"{\"executionType\":\"Stop\"}", "stopped"});
}

int command_start(struct cli *cli)
{
	return change_all(cli, &(const struct change){"{\"executionType\":\"Start\"}", "started"});
}

int command_suspend(struct cli *cli)
{
	return change_all(cli, &(const struct change){"{\"suspend\":true}", "suspended"});
}

int command_resume(struct cli *cli)
{
	return change_all(cli, &(const struct change){"{\"suspend\":false}", "resumed"});
}

/* ---- delete ------------------------------------------------------------------------------------------------------ */

/* Foreground: its Pods have ended when the Framework is gone, which keeps the guarantees of CONTRACT.md §12.1. */
int delete_framework(struct cli *cli, const char *name, const char *uid, struct error *err)
{
	cleanup_free char *path = cli_frameworks_path(cli->ns, name);
	cleanup_json json_t *options = json_pack("{s:s, s:s, s:s, s:{s:s*}}", "kind", "DeleteOptions", "apiVersion",
						 "v1", "propagationPolicy", "Foreground", "preconditions", "uid", uid);

	return cli_send(cli, "DELETE", path, NULL, options, NULL, err);
}

struct gone {
	const char *uid; /* of the Framework that is to go; NULL: any */
	bool present;
	bool seen; /* by the list that runs */
};

static void gone_present(void *arg, json_t *object)
{
	struct gone *gone = arg;
	const char *uid = view_text(json_object_get(object, "metadata"), "uid");

	gone->seen = gone->present = gone->uid == NULL || strcmp(uid, gone->uid) == 0;
}

static void gone_deleted(void *arg, json_t *object)
{
	struct gone *gone = arg;

	(void)object;
	gone->present = false;
}

static void gone_list_begin(void *arg)
{
	struct gone *gone = arg;

	gone->seen = false;
}

static void gone_list_end(void *arg)
{
	struct gone *gone = arg;

	gone->present = gone->seen;
}

static bool gone_settle(struct cli *cli, void *arg)
{
	const struct gone *gone = arg;

	(void)cli;
	return gone->present;
}

int wait_until_gone(struct cli *cli, const char *name, const char *uid, struct error *err)
{
	cleanup_free char *collection = cli_frameworks_path(cli->ns, NULL);
	cleanup_free char *path = follow_path_of(collection, name);
	struct gone gone = {.uid = uid};
	const struct follow what = {
		.path = path,
		.present = gone_present,
		.deleted = gone_deleted,
		.list_begin = gone_list_begin,
		.list_end = gone_list_end,
		.settle = gone_settle,
		.arg = &gone,
		.timeout_ms = cli->options.timeout_ms,
	};
	cleanup_free char *why = command_hint(&cli->options, cli->ns, "framework", "why", name, NULL);
	int code = follow_run(cli, &what, err);

	if (code == CLI_TIME_OUT)
		error_set(err, "Framework %s still exists after --timeout; %s shows the reason", name, why);
	return code;
}

/* *uid: of the Framework that goes; the caller frees. */
static int delete_one(struct cli *cli, const char *name, char **uid, struct error *err)
{
	cleanup_free char *path = cli_frameworks_path(cli->ns, name);
	cleanup_json json_t *object = NULL;
	const char *found;
	int code = cli_get(cli, path, &object, err);

	if (code != 0)
		return code;
	found = view_text(json_object_get(object, "metadata"), "uid");
	code = delete_framework(cli, name, found, err);
	if (code != 0)
		return code;
	*uid = mem_strdup(found);
	if (!is_completed(object))
		note_controlled(cli, object, "deleted");
	show_done(cli, object, "deleted");
	out_flush(&cli->out);
	return 0;
}

/* Deletes all before it waits for the first: one that a finalizer holds must not keep the others. */
int command_delete(struct cli *cli)
{
	const struct options *options = &cli->options;
	char **uids = mem_calloc(options->argument_count, sizeof(*uids));
	int result = CLI_DONE;
	struct error err;

	for (size_t i = 0; i < options->argument_count; i++) {
		int code = cli_connect(cli, &err);

		if (code == 0)
			code = delete_one(cli, options->arguments[i], &uids[i], &err);
		if (code != 0)
			cli_complain(cli, code, &err);
		if (result == CLI_DONE)
			result = code;
	}
	for (size_t i = 0; i < options->argument_count; i++) {
		int code = 0;

		if (uids[i] != NULL && !options->no_wait)
			code = wait_until_gone(cli, options->arguments[i], uids[i], &err);
		if (code != 0)
			cli_complain(cli, code, &err);
		if (result == CLI_DONE)
			result = code;
		free(uids[i]);
	}
	free(uids);
	return result;
}
