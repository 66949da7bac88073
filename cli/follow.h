/* Following Frameworks by a watch that is resumed until the API server refuses it, for -w and wait. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"

struct follow {
	const char *path;     /* of a collection, perhaps with a query */
	const char *selector; /* labels; NULL: all */
	/* An object as it is now, or was when it was deleted. They only take notes: no request is made within them. */
	void (*present)(void *arg, json_t *object);
	void (*deleted)(void *arg, json_t *object);
	/* A list begins and ends; an object that it does not contain does not exist. */
	void (*list_begin)(void *arg);
	void (*list_end)(void *arg);
	/* After one or more of these, where requests may be made; for the first time when a list is complete. false
	 * ends it all. */
	bool (*settle)(struct cli *cli, void *arg);
	void *arg;
	bool *touched;      /* set it, and settle() is called as after a change; NULL: nobody sets it */
	int64_t timeout_ms; /* since the start of the command; when it is over: looks once; -1: none */
};

/* Returns 0 when settle() has ended it; CLI_TIME_OUT; or a code and *err, if the collection cannot be read at first, or
 * the API server refuses the list or the watch (401, 403). Other failures are tried again, and the first one is noted.
 */
int follow_run(struct cli *cli, const struct follow *what, struct error *err);

/* Calls changed() for the present state of one Framework, and after each change of it, its deletion included. */
int follow_framework(struct cli *cli, const char *name, bool (*changed)(struct cli *cli, void *arg), void *arg,
		     struct error *err);

/* A collection's path that selects one object by its name. The caller frees. */
char *follow_path_of(const char *collection, const char *name);

#endif
