/* The table of commands, and what --help says of them. */
#include "cli/commands.h"

#include <string.h>

#include "common/base/mem.h"

#define COMMON TAKES_NAMESPACE
#define DATA (COMMON | TAKES_DATA)
#define OBJECTS (DATA | TAKES_NAME)

static const struct command commands[] = {
	{"list", "[NAME...]", "list Frameworks: state, Tasks, retries, age, and the reason to wait", 0, SIZE_MAX,
	 SIZE_MAX, OBJECTS | TAKES_ALL | TAKES_SELECTOR | TAKES_WIDE | TAKES_WATCH | TAKES_HEADERS, command_list,
	 "READY counts the Tasks with an IP, RUNNING the Tasks whose Pod runs, FAILED the completed Tasks that have\n"
	 "failed. The last column is the short form of kubectl framework why.\n"},
	{"tree", "NAME", "show TaskRoles, Tasks and Pods of a Framework; equal Tasks are one line", 1, 1, 1,
	 DATA | TAKES_WATCH | TAKES_UNFOLDED, command_tree, "  --all-tasks           show each Task on its own line\n"},
	{"why", "NAME", "explain why a Framework waits or has ended, with evidence and advice", 1, 1, 1, DATA,
	 command_why,
	 "The command reads the Framework, its Pods and its Events. If the reason is still in doubt, it also\n"
	 "reads the object that has the name of the ConfigMap or of a Pod. If no controller seems to look after\n"
	 "the Framework, the command waits for up to five seconds.\n"},
	{"logs", "NAME [ROLE|ROLE[INDEX]]...", "print the logs of all Tasks at once; each line begins with its Task", 1,
	 SIZE_MAX, 1, COMMON | TAKES_LOGS, command_logs,
	 "  -f, --follow          follow the logs through all retries, until the Framework is Completed\n"
	 "  -c, --container NAME  only this container (default: all containers and init containers)\n"
	 "      --tail LINES      only the last lines of each log (default: all)\n"
	 "      --since TIME      only lines of the last 90s, 5m or 1h30m, for example\n"
	 "      --timestamps      print the time of each line, too\n"
	 "      --no-prefix       print lines without their Task\n"
	 "Lines that begin with worker[3]#1 are those of the second attempt of Task worker[3]; no argument selects an\n"
	 "attempt. For Tasks whose Pods are gone, the command prints the termination messages from the status.\n"
	 "worker-3 means worker[3], and needs no quotes in shells.\n"},
	{"timeline", "NAME", "show when each attempt of each Task was pending, ran and ended", 1, 1, 1,
	 DATA | TAKES_SVG | TAKES_SNAPSHOTS, command_timeline,
	 "      --snapshots FILE  the controller's log: its ObjectSnapshot lines have the times of former attempts\n"},
	{"exec", "NAME ROLE[INDEX] [-- COMMAND...]", "print the kubectl command that runs a command in a Task's Pod", 2,
	 2, 1, COMMON | TAKES_REST | TAKES_CONTAINER, command_exec, "  -c, --container NAME\n"},
	{"port-forward", "NAME ROLE[INDEX] PORT...", "print the kubectl command that forwards ports to a Task's Pod", 3,
	 SIZE_MAX, 1, COMMON, command_port_forward, ""},
	{"scale", "NAME ROLE=N...", "change the number of Tasks of TaskRoles", 2, SIZE_MAX, 1, OBJECTS | TAKES_SCALE,
	 command_scale,
	 "      --adjust-min-succeeded  set minSucceededTaskCount to N, too, if it equals the present taskNumber\n"
	 "                        or is larger than N\n"
	 "If somebody changes these TaskRoles at the same time, the command changes nothing. Exit code: 7.\n"},
	{"stop", "NAME...", "stop Frameworks for good, with code -210", 1, SIZE_MAX, SIZE_MAX, OBJECTS, command_stop,
	 ""},
	{"start", "NAME...", "start Frameworks that were created with executionType Create", 1, SIZE_MAX, SIZE_MAX,
	 OBJECTS, command_start, ""},
	{"suspend", "NAME...", "release all resources of Frameworks until they are resumed", 1, SIZE_MAX, SIZE_MAX,
	 OBJECTS, command_suspend, ""},
	{"resume", "NAME...", "run suspended Frameworks again", 1, SIZE_MAX, SIZE_MAX, OBJECTS, command_resume, ""},
	{"retry", "NAME", "run a completed Framework again, as a new Framework", 1, 1, 1,
	 OBJECTS | TAKES_NEW_NAME | TAKES_REPLACE | TAKES_TIMEOUT, command_retry,
	 "      --name NEW        name of the new Framework (default: NAMEr1, or the next free name)\n"
	 "      --replace         delete the old Framework, wait until it is gone, and use its name\n"
	 "      --timeout TIME    how long --replace waits (default: for ever)\n"},
	{"wait", "NAME...", "wait until Frameworks are Completed, or for another condition", 1, SIZE_MAX, SIZE_MAX,
	 COMMON | TAKES_WAIT, command_wait,
	 "      --for CONDITION   Completed (default), Succeeded, Running, Suspended or Deleted; also in the form of\n"
	 "                        kubectl wait, as condition=Completed\n"
	 "      --timeout TIME    for all names together, as 90s, 5m or 1h30m; 0 checks once\n"
	 "                        (default: for ever)\n"
	 "Exit code 0: the condition is True, and a Completed Framework has succeeded. 6: the Framework is Completed,\n"
	 "and has failed or cannot fulfil the condition any more.\n"},
	{"delete", "NAME...", "delete Frameworks, and wait until they and their Pods are gone", 1, SIZE_MAX, SIZE_MAX,
	 OBJECTS | TAKES_NO_WAIT | TAKES_TIMEOUT, command_delete,
	 "      --no-wait         return when the API server has accepted the deletion\n"
	 "      --timeout TIME    how long to wait for all of them; 0 checks once (default: for ever)\n"
	 "The Pods are deleted first (propagation Foreground).\n"},
	{"ui", "", "show Frameworks in a browser, live", 0, 0, 0, COMMON | TAKES_ALL | TAKES_SELECTOR, command_ui,
	 "The command prints the address of a page on this machine, and serves it until Ctrl-C. The address has\n"
	 "a random token: anybody with the address can see all that you can see. The page changes nothing.\n"},
	{NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL},
};

const struct command *command_list_all(void)
{
	return commands;
}

const struct command *command_find(const char *name)
{
	for (const struct command *command = commands; command->name != NULL; command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

/* Every command's options, by groups. */
static const struct {
	unsigned groups;
	const char *text;
} option_lines[] = {
	{TAKES_NAMESPACE, "  -n, --namespace NAME  default: that of the kubeconfig's context\n"},
	{TAKES_ALL, "  -A, --all-namespaces\n"},
	{TAKES_SELECTOR, "  -l, --selector LABELS\n"},
	{TAKES_DATA, "  -o json|yaml          for programs\n"},
	{TAKES_NAME, "  -o name               only the names\n"},
	{TAKES_WIDE, "  -o wide               more columns; the width of the terminal does not limit them\n"},
	{TAKES_SVG, "  -o svg                a picture\n"},
	{TAKES_WATCH, "  -w, --watch           continue, and show changes; a terminal is redrawn\n"},
	{TAKES_HEADERS, "      --no-headers\n"},
	{0, "      --context NAME, --kubeconfig FILE, --as USER, --as-group GROUP   as in kubectl\n"},
	{0, "  -v LEVEL              log level, 0 (default) to 10\n"},
};

void help_command(struct out *out, const struct command *command)
{
	cleanup_buf struct buf text = {0};

	buf_printf(&text, "Usage: kubectl framework %s%s%s [options]\n%s.\n\n", command->name,
		   *command->arguments == '\0' ? "" : " ", command->arguments, command->summary);
	buf_puts(&text, command->details);
	if (*command->details != '\0')
		buf_putc(&text, '\n');
	for (size_t i = 0; i < ARRAY_LEN(option_lines); i++)
		if (option_lines[i].groups == 0 || (command->groups & option_lines[i].groups))
			buf_puts(&text, option_lines[i].text);
	out_lines(out, text.data);
}

void help_program(struct out *out)
{
	cleanup_buf struct buf text = {0};

	buf_puts(&text, "Usage: kubectl framework COMMAND [arguments] [options]\n"
			"Shows, explains and changes Frameworks, with the user's kubeconfig and rights.\n\n");
	for (const struct command *command = commands; command->name != NULL; command++)
		buf_printf(&text, "  %-13s %s\n", command->name, command->summary);
	buf_puts(&text,
		 "\nkubectl framework COMMAND --help describes its arguments and options; --version; --help.\n"
		 "\n"
		 "Exit codes: 0 done; 1 a request failed; 2 wrong command line or kubeconfig; 3 no such Framework,\n"
		 "Task or Pod; 4 the API server refuses the request (401, 403); 5 not within --timeout; 6 wait: the\n"
		 "Framework completed otherwise; 7 scale: somebody changed the Framework meanwhile.\n");
	out_lines(out, text.data);
}
