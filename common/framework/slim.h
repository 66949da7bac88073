/* Texts of objects, as caches keep them. */
#ifndef FRAMEWORK_SLIM_H
#define FRAMEWORK_SLIM_H

#include "common/base/buf.h"

/* Appends the object's text without metadata.managedFields, on one line. `out` is empty. Where the metadata is not
 * JSON, all of the text stays. */
void write_slim(struct buf *out, const char *text, size_t len);

#endif
