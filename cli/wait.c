/* kubectl framework wait: until a condition is True, and with an exit code that says how it ended. */
#include <string.h>
#include <strings.h>

#include "cli/change.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/view/framework.h"
#include "cli/view/read.h"
#include "common/base/mem.h"

#define DELETED "Deleted"

struct waiting {
	const char *condition; /* "Completed", "Running", … */
	char *state;           /* as it was last; NULL: it does not exist */
	bool seen;             /* by the list that runs */
	bool met;
	bool over; /* Completed: no condition that is not True comes any more */
	bool succeeded;
};

static void on_present(void *arg, json_t *object)
{
	struct waiting *waiting = arg;

	waiting->seen = true;
	mem_replace(&waiting->state, view_text(json_object_get(object, "status"), "state"));
	waiting->met = view_condition(object, waiting->condition);
	waiting->over = view_condition(object, "Completed");
	waiting->succeeded = view_condition(object, "Succeeded");
}

static void on_deleted(void *arg, json_t *object)
{
	struct waiting *waiting = arg;

	(void)object;
	mem_replace(&waiting->state, NULL);
}

static void on_list_begin(void *arg)
{
	struct waiting *waiting = arg;

	waiting->seen = false;
}

static void on_list_end(void *arg)
{
	struct waiting *waiting = arg;

	if (!waiting->seen)
		mem_replace(&waiting->state, NULL);
}

static bool on_settled(struct cli *cli, void *arg)
{
	const struct waiting *waiting = arg;

	(void)cli;
	return waiting->state != NULL && !waiting->met && !waiting->over;
}

/* How it ended, once nothing is waited for any more. */
static int judge(struct cli *cli, const struct waiting *waiting, const char *name, struct error *err)
{
	cleanup_free char *why = command_hint(&cli->options, cli->ns, "framework", "why", name, NULL);

	if (waiting->state == NULL) {
		error_set(err, "Framework %s does not exist, expected condition %s", name, waiting->condition);
		return CLI_ABSENT;
	}
	if (waiting->met && (strcmp(waiting->condition, "Completed") != 0 || waiting->succeeded)) {
		out_line(&cli->out, "framework.%s/%s condition met", FRAMEWORK_GROUP, name);
		out_flush(&cli->out);
		return 0;
	}
	error_set(err, "Framework %s is Completed, and %s; %s shows the reason", name,
		  waiting->succeeded ? "its condition cannot come any more" : "it has failed", why);
	return CLI_UNSUCCESSFUL;
}

static int wait_condition(struct cli *cli, const char *condition, const char *name, struct error *err)
{
	cleanup_free char *collection = cli_frameworks_path(cli->ns, NULL);
	cleanup_free char *path = follow_path_of(collection, name);
	struct waiting waiting = {.condition = condition};
	const struct follow what = {
		.path = path,
		.present = on_present,
		.deleted = on_deleted,
		.list_begin = on_list_begin,
		.list_end = on_list_end,
		.settle = on_settled,
		.arg = &waiting,
		.timeout_ms = cli->options.timeout_ms,
	};
	cleanup_free char *why = command_hint(&cli->options, cli->ns, "framework", "why", name, NULL);
	int code = follow_run(cli, &what, err);

	if (code == 0)
		code = judge(cli, &waiting, name, err);
	else if (code == CLI_TIME_OUT)
		error_set(
			err, "Framework %s is in state %s after --timeout, expected condition %s; %s shows the reason",
			name, waiting.state == NULL || *waiting.state == '\0' ? "\"\"" : waiting.state, condition, why);
	mem_replace(&waiting.state, NULL);
	return code;
}

static int wait_one(struct cli *cli, const char *condition, const char *name, struct error *err)
{
	int code = cli_connect(cli, err);

	if (code == 0 && strcmp(condition, DELETED) == 0) {
		code = wait_until_gone(cli, name, NULL, err);
		if (code == 0)
			out_line(&cli->out, "framework.%s/%s is gone", FRAMEWORK_GROUP, name);
		return code;
	}
	return code == 0 ? wait_condition(cli, condition, name, err) : code;
}

/* Also as kubectl wait takes it: "condition=Completed", "condition=Completed=true" and "delete". NULL: Completed.
 * Returns NULL if there is none. */
static const char *find_condition(const char *text)
{
	static const char *const names[] = {"Completed", "Succeeded", "Running", "Suspended", DELETED};
	static const char head[] = "condition=";
	const char *name = text;
	size_t len;

	if (text == NULL)
		return names[0];
	if (strncasecmp(text, head, strlen(head)) == 0)
		name += strlen(head);
	len = strcspn(name, "=");
	if (name == text && strcasecmp(text, "delete") == 0)
		return DELETED;
	if (name[len] != '\0' && (name == text || strcasecmp(name + len, "=true") != 0))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && strncasecmp(name, names[i], len) == 0)
			return names[i];
	return NULL;
}

int command_wait(struct cli *cli)
{
	const struct options *options = &cli->options;
	const char *condition = find_condition(options->condition);
	int result = CLI_DONE;
	struct error err;

	if (condition == NULL) {
		error_set(&err,
			  "wait: --for: found \"%.64s\", expected Completed, Succeeded, Running, Suspended or Deleted",
			  options->condition);
		return cli_complain(cli, CLI_BAD_USE, &err);
	}
	for (size_t i = 0; i < options->argument_count; i++) {
		int code = wait_one(cli, condition, options->arguments[i], &err);

		if (code != 0)
			cli_complain(cli, code, &err);
		if (result == CLI_DONE)
			result = code;
	}
	return result;
}
