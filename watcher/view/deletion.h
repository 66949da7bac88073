/* History snapshots of deletions (CONTRACT.md §14): the watcher alone sees the last full object. */
#ifndef WATCHER_DELETION_H
#define WATCHER_DELETION_H

#include <stddef.h>

#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/framework/object.h"

/* Appends "{message}: {trigger}: ObjectSnapshot: {json}" for a Framework or a Pod that is gone: the received text, on
 * one line. Adds apiVersion and kind, which lists omit. */
void deletion_write(struct buf *out, enum object_kind kind, const char *text, size_t len);
/* Logs that line, if the configuration wants one for the kind. */
void deletion_log(const struct config_snapshots *wanted, enum object_kind kind, const char *text, size_t len);

#endif
