/* kubectl framework exec and port-forward: these are kubectl's own; this prints the command for the Task's Pod. */
#include <string.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "common/base/address.h"
#include "common/base/json.h"
#include "common/base/mem.h"

static void put_common(struct buf *out, const struct cli *cli, const char *command)
{
	command_word(out, "kubectl");
	command_flags(out, &cli->options);
	command_word(out, "-n");
	command_word(out, cli->ns);
	command_word(out, command);
}

/* ---- ports ------------------------------------------------------------------------------------------------------- */

static bool is_all_digits(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0';
}

/* The part behind the colon, if there is one: a port of the Pod. */
static const char *remote_of(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon == NULL ? text : colon + 1;
}

static int refuse_port(const char *text, const char *role, struct error *err)
{
	error_set(
		err,
		"port-forward: found \"%.80s\", expected a port, as 8080, 8080:80 or :80, with numbers up to %d or the "
		"name of a port of TaskRole %s",
		text, PORT_MAX, role);
	return CLI_BAD_USE;
}

/* [LOCAL:]REMOTE: LOCAL is a number, 0 or nothing for any; REMOTE is a number or the name of a container's port. */
static bool port_valid(const char *text)
{
	const char *remote = remote_of(text);
	cleanup_free char *local = remote - text > 1 ? mem_strndup(text, (size_t)(remote - text) - 1) : NULL;
	bool named = !is_all_digits(remote);

	if (local != NULL && port_number(local) < 0)
		return false;
	return named ? strspn(remote, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(remote)
		     : port_number(remote) > 0;
}

/* Whether a container of the TaskRole's template has a port of that name. */
static bool role_has_port(const json_t *framework, const char *role, const char *name)
{
	const json_t *found = json_find(json_path(framework, "spec", "taskRoles", NULL), "name", role), *container;
	size_t i;

	json_array_foreach(json_path(found, "task", "pod", "spec", "containers", NULL), i, container) {
		if (json_find(json_object_get(container, "ports"), "name", name) != NULL)
			return true;
	}
	return false;
}

/* The ports behind the second argument, against the template if framework is not NULL. 0, or a code and *err. */
static int check_ports(const struct options *options, const char *role, const json_t *framework, struct error *err)
{
	for (size_t i = 2; i < options->argument_count; i++) {
		const char *text = options->arguments[i], *remote = remote_of(text);

		if (!port_valid(text) ||
		    (framework != NULL && !is_all_digits(remote) && !role_has_port(framework, role, remote)))
			return refuse_port(text, role, err);
	}
	return 0;
}

/* ---- the Task ---------------------------------------------------------------------------------------------------- */

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
	code = check_ports(&cli->options, wanted.role, NULL, err);
	if (code != 0)
		return code;
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
	if (code == 0)
		code = check_ports(&cli->options, wanted.role, loaded.framework.object, err);
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
