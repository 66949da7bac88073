/* kubectl framework retry: a completed Framework again, as a new one. */
#include <string.h>

#include "cli/change.h"
#include "cli/commands.h"
#include "cli/show.h"
#include "cli/view/read.h"
#include "cli/view/retry.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

enum { NAMES_TRIED = 100 };

static int create(struct cli *cli, const json_t *old, const char *name, const char *query, json_t **out,
		  struct error *err)
{
	cleanup_free char *collection = cli_frameworks_path(cli->ns, NULL);
	cleanup_free char *path = mem_printf("%s%s", collection, query);
	cleanup_json json_t *object = retry_object(old, name);

	return cli_send(cli, "POST", path, NULL, object, out, err);
}

static bool exists(struct cli *cli, const char *name)
{
	cleanup_free char *path = cli_frameworks_path(cli->ns, name);
	cleanup_json json_t *object = NULL;
	struct error err;

	return cli_get(cli, path, &object, &err) == 0;
}

/* Under the first name that is free. */
static int create_next(struct cli *cli, const json_t *old, json_t **out, struct error *err)
{
	const char *from = cli->options.arguments[0];
	char name[RETRY_NAME_SIZE];

	for (unsigned n = 1; n <= NAMES_TRIED; n++) {
		int code;

		if (exists(cli, retry_name(from, n, name)))
			continue;
		code = create(cli, old, name, "", out, err);
		/* (somebody else may have taken it in between) */
		if (code == 0 || !exists(cli, name))
			return code;
	}
	error_set(err, "%s to %s exist: choose another one with --name", retry_name(from, 1, name), from);
	return CLI_FAILED;
}

/* A spec that the API server would refuse must not cost the old Framework. */
static int replace(struct cli *cli, const json_t *old, json_t **out, struct error *err)
{
	const char *name = cli->options.arguments[0];
	const char *uid = json_str(json_object_get(old, "metadata"), "uid");
	cleanup_json json_t *tried = NULL;
	char other[RETRY_NAME_SIZE];
	int code = create(cli, old, retry_name(name, 1, other), "?dryRun=All", &tried, err);

	if (code != 0) {
		error_wrap(err, "Framework %s is kept, because the new one would be refused", name);
		return code;
	}
	code = delete_framework(cli, name, uid, err);
	if (code == 0)
		code = wait_until_gone(cli, name, uid, err);
	return code == 0 ? create(cli, old, name, "", out, err) : code;
}

static int check_completed(const json_t *object, struct error *err)
{
	const char *state = view_text(json_object_get(object, "status"), "state");

	if (strcmp(state, attempt_state_name(STATE_COMPLETED)) == 0)
		return 0;
	error_set(err, "Framework %s is in state %s, expected Completed: wait for its end, or stop it",
		  view_text(json_object_get(object, "metadata"), "name"), *state == '\0' ? "\"\"" : state);
	return CLI_FAILED;
}

static int retry(struct cli *cli, struct error *err)
{
	const struct options *options = &cli->options;
	cleanup_json json_t *old = NULL, *created = NULL;
	cleanup_free char *path = NULL, *done = NULL;
	int code = cli_connect(cli, err);

	if (code != 0)
		return code;
	path = cli_frameworks_path(cli->ns, options->arguments[0]);
	code = cli_get(cli, path, &old, err);
	if (code == 0)
		code = check_completed(old, err);
	if (code != 0)
		return code;
	if (options->replace)
		code = replace(cli, old, &created, err);
	else if (options->new_name != NULL)
		code = create(cli, old, options->new_name, "", &created, err);
	else
		code = create_next(cli, old, &created, err);
	if (code != 0)
		return code;
	done = mem_printf("created, as Framework %s once more", options->arguments[0]);
	show_done(cli, created, done);
	return 0;
}

int command_retry(struct cli *cli)
{
	const struct options *options = &cli->options;
	struct error err;
	int code = 0;

	if (options->replace && options->new_name != NULL)
		code = error_set(&err, "retry: --replace and --name exclude each other");
	else if (options->new_name != NULL && !framework_name_valid(options->new_name))
		code = error_set(&err, "retry: --name: found \"%.80s\", expected 1 to 63 of a-z and 0-9",
				 options->new_name);
	if (code < 0)
		return cli_complain(cli, CLI_BAD_USE, &err);
	code = retry(cli, &err);
	return code == 0 ? CLI_DONE : cli_complain(cli, code, &err);
}
