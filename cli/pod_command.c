/* kubectl framework exec and port-forward: these are kubectl's own; this prints the command for the Task's Pod. */
#include <string.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "common/base/mem.h"

static void put_common(struct buf *out, const struct cli *cli, const char *command)
{
	command_word(out, "kubectl");
	command_flags(out, &cli->options);
	command_word(out, "-n");
	command_word(out, cli->ns);
	command_word(out, command);
}

/* The Pod of the Task that the second argument names. 0, or a code and *err. */
static int find_pod(struct cli *cli, char **pod, struct error *err)
{
	struct task_selector wanted;
	const struct task_status *task;
	struct loaded loaded;
	int code;

	if (task_selector_parse(cli->options.arguments[1], &wanted, err) < 0)
		return CLI_BAD_USE;
	if (wanted.index < 0)
		wanted.index = 0;
	code = load_framework(cli, cli->options.arguments[0], 0, &loaded, err);
	if (code != 0) {
		loaded_free(&loaded);
		return code;
	}
	task = framework_view_task(&loaded.framework, wanted.role, wanted.index);
	*pod = pod_name_of(&loaded.framework, wanted.role, (size_t)wanted.index);
	if (task == NULL || task->state != STATE_RUNNING) {
		error_set(err, "Task %s[%lld] of Framework %s %s%s, expected one that runs", wanted.role,
			  (long long)wanted.index, loaded.framework.name,
			  task == NULL ? "does not exist" : "is in state ",
			  task == NULL ? "" : attempt_state_name(task->state));
		code = CLI_ABSENT;
	}
	loaded_free(&loaded);
	return code;
}

/* The command for the Task's Pod: put adds the arguments beside the Pod. */
static int print_command(struct cli *cli, const char *command,
			 void (*put)(struct buf *out, const struct options *options, const char *pod))
{
	cleanup_buf struct buf line = {0};
	cleanup_free char *pod = NULL;
	struct error err;
	int code = find_pod(cli, &pod, &err);

	if (code != 0)
		return cli_complain(cli, code, &err);
	put_common(&line, cli, command);
	put(&line, &cli->options, pod);
	out_lines(&cli->out, line.data);
	return CLI_DONE;
}

static void put_exec(struct buf *out, const struct options *options, const char *pod)
{
	command_word(out, "-it");
	command_word(out, pod);
	if (options->container != NULL) {
		command_word(out, "-c");
		command_word(out, options->container);
	}
	command_word(out, "--");
	for (size_t i = 0; i < options->rest_count; i++)
		command_word(out, options->rest[i]);
	if (options->rest_count == 0)
		command_word(out, "sh");
}

static void put_port_forward(struct buf *out, const struct options *options, const char *pod)
{
	command_word(out, pod);
	for (size_t i = 2; i < options->argument_count; i++)
		command_word(out, options->arguments[i]);
}

int command_exec(struct cli *cli)
{
	return print_command(cli, "exec", put_exec);
}

int command_port_forward(struct cli *cli)
{
	return print_command(cli, "port-forward", put_port_forward);
}
