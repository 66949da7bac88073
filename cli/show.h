/* The output of commands that change a Framework. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli/cli.h"

/* "framework.frameworkcontroller.microsoft.com/hello stopped", or the object with -o json and yaml, or its name with -o
 * name. */
void show_done(struct cli *cli, json_t *object, const char *done);
/* Removes metadata.managedFields, which kubectl does not print either. */
void show_trim(json_t *object);

#endif
