/* kubectl framework scale: a JSON patch (RFC 6902) that applies only to the Framework that was read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/change.h"
#include "cli/commands.h"
#include "cli/show.h"
#include "cli/view/scale.h"
#include "common/base/json.h"
#include "common/base/mem.h"

#define JSON_PATCH "application/json-patch+json"

static int parse_wishes(struct cli *cli, struct scale_wish *wishes, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (scale_wish_parse(cli->options.arguments[i + 1], &wishes[i], err) < 0)
			return CLI_BAD_USE;
	return 0;
}

struct scaling {
	const char *path;
	const struct scale_wish *wishes;
	size_t count;
	json_t *patch;
	json_t *after; /* the Framework, scaled */
};

/* After a failure, looks at the Framework, and makes the patch anew. The server's refusal of a patch whose tests fail
 * has no reason of its own (422); and a request can reach the server twice, or its answer can be lost. */
static int judge(struct cli *cli, struct scaling *scaling, int code, struct error *err)
{
	const char *name = cli->options.arguments[0];
	bool unknown = cli->fate == CLI_UNKNOWN;
	cleanup_json json_t *object = NULL, *now = NULL;
	struct error ignored;

	if (cli_get(cli, scaling->path, &object, &ignored) == 0)
		now = scale_patch(object, scaling->wishes, scaling->count, cli->options.adjust_min, NULL, &ignored);
	if (now != NULL && scale_changes_nothing(now) && !scale_changes_nothing(scaling->patch)) {
		scaling->after = json_incref(object);
		return 0;
	}
	if (object != NULL && (now == NULL || !json_equal(now, scaling->patch))) {
		error_set(err,
			  "Framework %s was changed by somebody else at the same time: look at it, and scale again",
			  name);
		return CLI_CONFLICT;
	}
	if (unknown)
		error_wrap(
			err,
			"whether Framework %s was scaled is not known: look at it before you scale again, because it "
			"may still be",
			name);
	return code;
}

static int scale(struct cli *cli, struct scale_wish *wishes, size_t count, struct error *err)
{
	struct scaling scaling = {.wishes = wishes, .count = count};
	cleanup_free char *path = NULL;
	cleanup_json json_t *object = NULL, *patch = NULL;
	cleanup_buf struct buf remarks = {0};
	int code = cli_connect(cli, err);

	if (code != 0)
		return code;
	scaling.path = path = cli_frameworks_path(cli->ns, cli->options.arguments[0]);
	code = cli_get(cli, path, &object, err);
	if (code != 0)
		return code;
	scaling.patch = patch = scale_patch(object, wishes, count, cli->options.adjust_min,
					    is_completed(object) ? NULL : &remarks, err);
	if (patch == NULL)
		return err->code == ERANGE ? CLI_BAD_USE : CLI_ABSENT;
	if (remarks.len > 0)
		cli_note(cli, "%s", remarks.data);
	code = cli_send(cli, "PATCH", path, JSON_PATCH, patch, &scaling.after, err);
	if (code != 0 && code != CLI_FORBIDDEN)
		code = judge(cli, &scaling, code, err);
	if (code == 0) {
		note_change(cli, scaling.after, "scaled");
		show_done(cli, scaling.after, "scaled");
	}
	json_decref(scaling.after);
	return code;
}

int command_scale(struct cli *cli)
{
	size_t count = cli->options.argument_count - 1;
	struct scale_wish *wishes = mem_calloc(count + 1, sizeof(*wishes));
	struct error err;
	int code = parse_wishes(cli, wishes, count, &err);

	if (code == 0)
		code = scale(cli, wishes, count, &err);
	free(wishes);
	return code == 0 ? CLI_DONE : cli_complain(cli, code, &err);
}
