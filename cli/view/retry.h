/* A completed Framework once more. Pure. */
#ifndef CLI_VIEW_RETRY_H
#define CLI_VIEW_RETRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/framework/names.h"

enum { RETRY_NAME_SIZE = 64 };

/* The object of a new Framework that does what this one did: its spec without executionType and suspend, its labels,
 * and its annotations except those of kubectl apply. The caller decrefs. */
json_t *retry_object(const json_t *framework, const char *name);
/* Whether the new one can have this name: with spec.network, spec.distributed and spec.gang not every name is allowed.
 * 0, or -1 and *err. */
int retry_check_name(const json_t *framework, const char *name, struct error *err);
/* The annotation that identifies the command that created a Framework: "hello/4f0c…", the name of the former one and a
 * word that no other command has. A command that lost the answer finds its own Framework by it. */
#define RETRY_MARK FRAMEWORK_GROUP "/retry"
void retry_set_mark(json_t *object, const char *mark);
bool retry_has_mark(const json_t *object, const char *mark);
/* A name for the n-th try, n from 1 on: "hello" gives "hellor1", and "hellor4" gives "hellor5" for n = 1 if its mark
 * says that it is a retry of "hello" or another one of these. Returns out. */
char *retry_name(const json_t *framework, unsigned n, char out[RETRY_NAME_SIZE]);

#endif
