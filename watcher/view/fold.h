/* Objects that nothing has happened to for some seconds, folded: Pods packed (common/base/pack.h), the texts of
 * Frameworks deflated. */
#ifndef WATCHER_FOLD_H
#define WATCHER_FOLD_H

#include <stddef.h>

#include "common/base/buf.h"
#include "common/framework/object.h"

/* NULL: such a Pod is not folded. The caller frees. */
void *fold_pod(const struct pod *pod);
/* Free with pod_free(). */
struct pod *unfold_pod(const void *folded);
/* Appends pod_write()'s text of it. */
void fold_write_pod(struct buf *out, const void *folded);

/* Longer texts are not folded: to unfold one takes milliseconds. */
enum { FOLD_TEXT_MAX = 128 * 1024 };

/* What deflates texts, and inflates them. */
struct folder;
struct folder *folder_new(void);
void folder_free(struct folder *folder);
/* NULL: it is too long, or would be no shorter. The caller frees. */
char *fold_text(struct folder *folder, const char *text, size_t len, size_t *folded_len);
/* Appends the text of that length. */
void unfold_text(struct folder *folder, struct buf *out, const char *folded, size_t folded_len, size_t len);

#endif
