/* kubectl-framework: a plugin of kubectl (kubectl framework …) for people who run Frameworks. */
#include <locale.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/complete.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/process/guard.h"

/* Names of Frameworks are checked here, so that no command asks for one that cannot exist. */
static int check_arguments(struct cli *cli, const struct command *command, struct error *err)
{
	struct options *options = &cli->options;

	if (options->argument_count < command->least || options->argument_count > command->most)
		return error_set(err, "%s: found %zu argument%s, expected %s", command->name, options->argument_count,
				 options->argument_count == 1 ? "" : "s",
				 command->most == 0 ? "none" : command->arguments);
	for (size_t i = 0; i < options->argument_count && i < command->names; i++) {
		options->arguments[i] = (char *)framework_argument(options->arguments[i], err);
		if (options->arguments[i] == NULL)
			return error_wrap(err, "%s", command->name);
	}
	return 0;
}

static int bad_use(struct cli *cli, const struct error *err, const char *command)
{
	cli_complain(cli, CLI_BAD_USE, err);
	out_line(&cli->err_out, "Try kubectl framework %s%s--help.", command, *command == '\0' ? "" : " ");
	return CLI_BAD_USE;
}

static int run(struct cli *cli, const struct command *command, int argc, char **argv)
{
	struct error err;
	int parsed = options_parse(argc, argv, command->groups, &cli->options, &err);

	if (parsed < 0) {
		error_wrap(&err, "%s", command->name);
		return bad_use(cli, &err, command->name);
	}
	if (parsed > 0) {
		help_command(&cli->out, command);
		return CLI_DONE;
	}
	if (check_arguments(cli, command, &err) < 0)
		return bad_use(cli, &err, command->name);
	return command->run(cli);
}

static int start(struct cli *cli, int argc, char **argv)
{
	const struct command *command;
	struct error err;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		command = argc > 2 ? command_find(argv[2]) : NULL;
		if (command != NULL)
			help_command(&cli->out, command);
		else
			help_program(&cli->out);
		return CLI_DONE;
	}
	if (strcmp(argv[1], "--version") == 0)
		release_print("kubectl-framework");
	if (strcmp(argv[1], "__complete") == 0)
		return complete(cli, argc - 2, argv + 2);
	command = command_find(argv[1]);
	if (command == NULL) {
		error_set(&err, "found \"%.64s\", expected a command%s", argv[1],
			  *argv[1] == '-' ? ", which options follow" : "");
		return bad_use(cli, &err, "");
	}
	return run(cli, command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	struct cli cli;
	int code;

	process_guard();
	setlocale(LC_CTYPE, "");
	cli_init(&cli);
	code = start(&cli, argc, argv);
	return cli_finish(&cli, code);
}
