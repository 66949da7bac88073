/* kubectl framework exec and port-forward: these are kubectl's own; this prints the command for the Task's Pod. */
#include <string.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "common/base/mem.h"

/* A word as a shell reads it back (POSIX.1-2017, XCU 2.2.2). */
static void put_word(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+";

	if (out->len > 0)
		buf_putc(out, ' ');
	if (*word != '\0' && strspn(word, plain) == strlen(word)) {
		buf_puts(out, word);
		return;
	}
	buf_putc(out, '\'');
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *word);
	}
	buf_putc(out, '\'');
}

static void put_common(struct buf *out, const struct cli *cli, const char *command)
{
	const struct options *options = &cli->options;

	put_word(out, "kubectl");
	if (options->kubeconfig != NULL) {
		put_word(out, "--kubeconfig");
		put_word(out, options->kubeconfig);
	}
	if (options->context != NULL) {
		put_word(out, "--context");
		put_word(out, options->context);
	}
	if (options->as != NULL) {
		put_word(out, "--as");
		put_word(out, options->as);
	}
	for (size_t i = 0; i < options->as_group_count; i++) {
		put_word(out, "--as-group");
		put_word(out, options->as_groups[i]);
	}
	put_word(out, "-n");
	put_word(out, cli->ns);
	put_word(out, command);
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
	put_word(out, "-it");
	put_word(out, pod);
	if (options->container != NULL) {
		put_word(out, "-c");
		put_word(out, options->container);
	}
	put_word(out, "--");
	for (size_t i = 0; i < options->rest_count; i++)
		put_word(out, options->rest[i]);
	if (options->rest_count == 0)
		put_word(out, "sh");
}

static void put_port_forward(struct buf *out, const struct options *options, const char *pod)
{
	put_word(out, pod);
	for (size_t i = 2; i < options->argument_count; i++)
		put_word(out, options->arguments[i]);
}

int command_exec(struct cli *cli)
{
	return print_command(cli, "exec", put_exec);
}

int command_port_forward(struct cli *cli)
{
	return print_command(cli, "port-forward", put_port_forward);
}
