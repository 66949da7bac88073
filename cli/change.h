/* Changing and deleting a Framework, for several commands. */
#ifndef CLI_CHANGE_H
#define CLI_CHANGE_H

#include "cli/cli.h"

bool is_completed(const json_t *object);
/* Notes why a change of the Framework's spec has no effect: it is Completed or malformed, or another controller may
 * undo the change; or that a job fails whose Framework is stopped. done: "stopped", "scaled", … */
void note_change(struct cli *cli, json_t *object, const char *done);
/* Deletes it with propagation Foreground, if it has this uid (NULL: any). 0, or a code and *err. */
int delete_framework(struct cli *cli, const char *name, const char *uid, struct error *err);
/* Waits, for --timeout if that is given, until no Framework of that name and uid exists. 0, or a code and *err. */
int wait_until_gone(struct cli *cli, const char *name, const char *uid, struct error *err);

#endif
