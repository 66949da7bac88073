/* Completion of command lines, for kubectl_complete-framework. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli/cli.h"

/* words: those of the command line behind "kubectl framework", of which the last one (perhaps "") is to be completed.
 * Prints candidates, one a line, and then ":4" (cobra's ShellCompDirectiveNoFileComp), as kubectl 1.26 and later ask
 * of a plugin. Asks the API server for names of Frameworks and TaskRoles; if it does not answer, there are none. */
int complete(struct cli *cli, int count, char **words);

#endif
