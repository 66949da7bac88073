/* Texts of objects, as the cache keeps them. */
#ifndef WATCHER_SLIM_H
#define WATCHER_SLIM_H

#include "common/base/buf.h"

/* Appends the object's text without metadata.managedFields, on one line. `out` is empty. */
void write_slim(struct buf *out, const char *text, size_t len);

#endif
