/* kubectl framework retry: a completed Framework again, as a new one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/change.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/keep.h"
#include "cli/show.h"
#include "cli/view/read.h"
#include "cli/view/retry.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/framework/names.h"

enum { NAMES_TRIED = 100 };

/* "hello/3b0f…-…": this command's, for RETRY_MARK. The caller frees. */
static char *new_mark(const char *from)
{
	struct random random;
	char uuid[UUID_SIZE];

	random_init(&random);
	return mem_printf("%s/%s", from, random_uuid(&random, uuid));
}

struct retry {
	const json_t *old;
	const char *from; /* its name */
	char *mark;
	json_t *created; /* the new Framework */
};

/* Whether the Framework of this name is the one that this command has created. */
static bool is_there(struct cli *cli, struct retry *retry, const char *name)
{
	cleanup_free char *path = cli_frameworks_path(cli->ns, name);
	json_t *found = NULL;
	struct error err;

	if (cli_get(cli, path, &found, &err) != 0)
		return false;
	if (retry_has_mark(found, retry->mark))
		retry->created = found;
	else
		json_decref(found);
	return retry->created != NULL;
}

static json_t *new_object(const struct retry *retry, const char *name)
{
	json_t *object = retry_object(retry->old, name);

	retry_set_mark(object, retry->mark);
	return object;
}

/* Creates it once. A request can reach the server twice, or its answer can be lost: the one that is there counts.
 * *taken: somebody else's has the name. */
static int create(struct cli *cli, struct retry *retry, const char *name, bool *taken, struct error *err)
{
	cleanup_free char *path = cli_frameworks_path(cli->ns, NULL);
	cleanup_json json_t *object = new_object(retry, name);
	enum cli_fate fate;
	int code;

	*taken = false;
	if (retry_check_name(retry->old, name, err) < 0)
		return CLI_FAILED;
	code = cli_send(cli, "POST", path, NULL, object, &retry->created, err);
	fate = cli->fate;
	if (code == 0 || fate == CLI_REFUSED || is_there(cli, retry, name))
		return retry->created == NULL ? code : 0;
	*taken = fate == CLI_TAKEN;
	if (!*taken)
		error_wrap(err,
			   "whether Framework %s was created is not known: look for it before you try again, because "
			   "it may still appear",
			   name);
	return code;
}

/* Under the first name that is free. */
static int create_next(struct cli *cli, struct retry *retry, struct error *err)
{
	char first[RETRY_NAME_SIZE];
	char name[RETRY_NAME_SIZE];
	bool taken;

	for (unsigned n = 1; n <= NAMES_TRIED; n++) {
		int code = create(cli, retry, retry_name(retry->old, n, name), &taken, err);

		if (!taken)
			return code;
	}
	error_set(err, "%s to %s exist: choose another one with --name", retry_name(retry->old, 1, first), name);
	return CLI_FAILED;
}

static int create_named(struct cli *cli, struct retry *retry, const char *name, struct error *err)
{
	bool taken;

	return create(cli, retry, name, &taken, err);
}

/* ---- --replace --------------------------------------------------------------------------------------------------- */

/* A spec that the API server would refuse must not cost the old Framework. Its own name is taken, which the server
 * finds after everything else. */
static int try_out(struct cli *cli, const struct retry *retry, struct error *err)
{
	cleanup_free char *collection = cli_frameworks_path(cli->ns, NULL);
	cleanup_free char *path = mem_printf("%s?dryRun=All", collection);
	cleanup_json json_t *object = new_object(retry, retry->from);
	int code = cli_send(cli, "POST", path, NULL, object, NULL, err);

	if (code == 0 || cli->fate == CLI_TAKEN)
		return 0;
	error_wrap(err, "Framework %s is kept, because the new one would be refused", retry->from);
	return code;
}

/* *kept: whether the file is needed from now on. */
static int exchange(struct cli *cli, struct retry *retry, bool *kept, struct error *err)
{
	const char *uid = json_str(json_object_get(retry->old, "metadata"), "uid");
	int code = delete_framework(cli, retry->from, uid, err);

	*kept = code == 0 || code == CLI_ABSENT || cli->fate != CLI_REFUSED;
	/* (absent: somebody else has deleted it, or this request reached the server twice) */
	if (code == 0 || code == CLI_ABSENT)
		code = wait_until_gone(cli, retry->from, uid, err);
	if (code == 0)
		code = create_named(cli, retry, retry->from, err);
	if (code == 0)
		*kept = false;
	return code;
}

/* Between the end of the old Framework and the creation of the new one, its spec is in a file. */
static int replace(struct cli *cli, struct retry *retry, struct error *err)
{
	cleanup_json json_t *object = new_object(retry, retry->from);
	cleanup_free char *file = NULL, *create = NULL;
	bool kept = true;
	int code = try_out(cli, retry, err);

	if (code != 0)
		return code;
	if (keep_object(object, retry->from, &file, err) < 0) {
		error_wrap(err, "Framework %s is kept, because its copy cannot be written", retry->from);
		return CLI_FAILED;
	}
	create = command_hint(&cli->options, NULL, "create", "-f", file, NULL);
	cli_note(cli, "the new Framework is in %s until it exists; if this command breaks off: %s", file, create);
	code = exchange(cli, retry, &kept, err);
	if (!kept)
		unlink(file);
	else
		error_wrap(err, "the new Framework %s is kept in %s, for %s", retry->from, file, create);
	return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* A copy would be nobody's: its controller would neither count it nor delete it. */
static int check_controller(const json_t *object, struct error *err)
{
	const json_t *owner = view_controller(object);

	if (owner == NULL)
		return 0;
	error_set(err, "Framework %s is controlled by %s %s, expected no controller: create that %s again instead",
		  view_text(json_object_get(object, "metadata"), "name"), view_text(owner, "kind"),
		  view_text(owner, "name"), view_text(owner, "kind"));
	return CLI_FAILED;
}

static int check_completed(const json_t *object, struct error *err)
{
	const char *state = view_text(json_object_get(object, "status"), "state");

	if (is_completed(object))
		return 0;
	error_set(err, "Framework %s is in state %s, expected Completed: wait for its end, or stop it",
		  view_text(json_object_get(object, "metadata"), "name"), *state == '\0' ? "\"\"" : state);
	return CLI_FAILED;
}

static int run(struct cli *cli, struct retry *retry, struct error *err)
{
	const struct options *options = &cli->options;
	const char *subdomain = json_str(json_path(retry->old, "spec", "network", NULL), "subdomain");
	cleanup_free char *done = NULL;
	int code = check_controller(retry->old, err);

	if (code == 0)
		code = check_completed(retry->old, err);
	if (code != 0)
		return code;
	if (options->replace)
		code = replace(cli, retry, err);
	else if (options->new_name != NULL)
		code = create_named(cli, retry, options->new_name, err);
	else
		code = create_next(cli, retry, err);
	if (code != 0)
		return code;
	done = mem_printf("created, as Framework %s once more", retry->from);
	show_done(cli, retry->created, done);
	if (subdomain != NULL && !options->replace)
		cli_note(cli,
			 "if Framework %s still has the Service %s, the new one waits until that Framework is deleted "
			 "or another spec.network.subdomain is set",
			 retry->from, subdomain);
	return 0;
}

static int retry(struct cli *cli, struct error *err)
{
	struct retry retry = {.from = cli->options.arguments[0]};
	cleanup_json json_t *old = NULL;
	cleanup_free char *path = NULL;
	int code = cli_connect(cli, err);

	if (code != 0)
		return code;
	path = cli_frameworks_path(cli->ns, retry.from);
	code = cli_get(cli, path, &old, err);
	if (code != 0)
		return code;
	retry.old = old;
	retry.mark = new_mark(retry.from);
	code = run(cli, &retry, err);
	json_decref(retry.created);
	free(retry.mark);
	return code;
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
