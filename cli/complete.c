/* See complete.h. */
#include "cli/complete.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/view/framework.h"
#include "cli/view/read.h"
#include "common/base/mem.h"

/* https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/ names the program, cobra the last line. */
#define NO_FILES ":4"

struct names {
	struct cli *cli;
	const char *begin; /* of the word */
};

static void offer(struct cli *cli, const char *word, const char *begin)
{
	if (strncmp(word, begin, strlen(begin)) == 0)
		out_line(&cli->out, "%s", word);
}

static void offer_name(void *arg, json_t *object)
{
	const struct names *names = arg;

	offer(names->cli, view_text(json_object_get(object, "metadata"), "name"), names->begin);
}

static void offer_frameworks(struct cli *cli, const char *begin)
{
	const struct names names = {.cli = cli, .begin = begin};
	cleanup_free char *path = cli_frameworks_path(cli->ns, NULL);
	struct error err;

	cli_list(cli, path, "", offer_name, (void *)&names, &err);
}

/* "worker" for logs; "worker-0" …, which need no quotes, for exec; "worker=" for scale. */
static void offer_roles(struct cli *cli, const char *command, const char *framework, const char *begin)
{
	cleanup_free char *path = cli_frameworks_path(cli->ns, framework);
	cleanup_json json_t *object = NULL;
	const json_t *role;
	struct error err;
	size_t i;

	if (cli_get(cli, path, &object, &err) != 0)
		return;
	json_array_foreach(json_path(object, "spec", "taskRoles", NULL), i, role) {
		const char *name = view_text(role, "name");
		int64_t number = json_int(role, "taskNumber", 0);

		if (strcmp(command, "scale") == 0) {
			cleanup_free char *word = mem_printf("%s=", name);

			offer(cli, word, begin);
			continue;
		}
		if (strcmp(command, "logs") == 0)
			offer(cli, name, begin);
		for (int64_t task = 0; task < number; task++) {
			cleanup_free char *word = mem_printf("%s-%lld", name, (long long)task);

			offer(cli, word, begin);
		}
	}
}

static bool takes_tasks(const char *command)
{
	static const char *const names[] = {"logs", "scale", "exec", "port-forward"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(command, names[i]) == 0)
			return true;
	return false;
}

static void offer_arguments(struct cli *cli, const struct command *command, const char *begin)
{
	const struct options *options = &cli->options;
	struct error err;

	if (cli_connect(cli, &err) != 0)
		return;
	if (options->argument_count < command->names)
		offer_frameworks(cli, begin);
	else if (takes_tasks(command->name) && options->argument_count > 0 && begin[0] != '-' &&
		 framework_argument(options->arguments[0], &err) != NULL)
		offer_roles(cli, command->name, framework_argument(options->arguments[0], &err), begin);
}

int complete(struct cli *cli, int count, char **words)
{
	const char *begin = count > 0 ? words[count - 1] : "";
	const struct command *command = count > 1 ? command_find(words[0]) : NULL;
	struct error err;

	if (count <= 1) {
		for (const struct command *each = command_list_all(); each->name != NULL; each++)
			offer(cli, each->name, begin);
	} else if (command != NULL && options_parse(count - 1, words, command->groups, &cli->options, &err) == 0) {
		offer_arguments(cli, command, begin);
	}
	out_line(&cli->out, NO_FILES);
	return CLI_DONE;
}
