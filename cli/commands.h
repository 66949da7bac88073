/* The commands: each gets its checked options, prints, and returns an exit code of options.h. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"

int command_list(struct cli *cli);
int command_tree(struct cli *cli);
int command_why(struct cli *cli);
int command_logs(struct cli *cli);
int command_timeline(struct cli *cli);
int command_exec(struct cli *cli);
int command_port_forward(struct cli *cli);
int command_scale(struct cli *cli);
int command_stop(struct cli *cli);
int command_start(struct cli *cli);
int command_suspend(struct cli *cli);
int command_resume(struct cli *cli);
int command_retry(struct cli *cli);
int command_wait(struct cli *cli);
int command_delete(struct cli *cli);
int command_ui(struct cli *cli);

/* One row of the table of commands. */
struct command {
	const char *name;
	const char *arguments; /* for --help */
	const char *summary;
	size_t least;    /* arguments */
	size_t most;     /* SIZE_MAX: any number */
	size_t names;    /* so many of them, from the first on, are names of Frameworks */
	unsigned groups; /* of enum option_group */
	int (*run)(struct cli *cli);
	const char *details; /* the rest of its --help: its own options, and examples */
};

/* The command of that name, or NULL. */
const struct command *command_find(const char *name);
/* All of them; the list ends with a name of NULL. */
const struct command *command_list_all(void);

/* --help of the program, or of one command. */
void help_program(struct out *out);
void help_command(struct out *out, const struct command *command);

#endif
