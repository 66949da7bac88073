/* An object in a file of the user's, for the time in which it is in no cluster. */
#ifndef CLI_KEEP_H
#define CLI_KEEP_H

#include <jansson.h>

#include "common/base/error.h"

/* Writes it as JSON into a new file of the working directory, or of $TMPDIR or /tmp if nothing can be written there,
 * for the user alone: NAME-retry-XXXXXX.json. It is on the disk when this returns. The caller frees *path. 0, or -1 and
 * *err; then there is no file. */
int keep_object(const json_t *object, const char *name, char **path, struct error *err);

#endif
