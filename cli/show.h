/* The output of commands that change a Framework. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli/cli.h"

/* "framework.frameworkcontroller.microsoft.com/hello stopped", or the object with -o json and yaml, or its name with -o
 * name. */
void show_done(struct cli *cli, const json_t *object, const char *done);

#endif
