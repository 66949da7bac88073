/* Objects that nothing has happened to for some seconds, folded: packed (common/base/pack.h), the texts of Frameworks
 * deflated. */
#ifndef WATCHER_FOLD_H
#define WATCHER_FOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/framework/object.h"

/* A Framework as the cache keeps it: the reconcilers need nearly all of it. */
struct cached_framework {
	struct object_meta meta;
	char *text; /* compact JSON without metadata.managedFields */
	size_t len;
};

void cached_framework_free(struct cached_framework *framework);

/* The state that deflates and inflates texts. */
struct folder;
struct folder *folder_new(void);
void folder_free(struct folder *folder);

/* Longer texts are not folded: to unfold one takes milliseconds. */
enum { FOLD_TEXT_MAX = 128 * 1024 };

/* An object, folded. It does not contain its namespace and name, which are named at each call. Free with free(). */
struct folded_object;

/* NULL: it is not folded, because it is too long, or would be no shorter. The folder must outlive it. */
struct folded_object *fold_framework(struct folder *folder, const struct cached_framework *framework);
struct cached_framework *unfold_framework(const struct folded_object *folded, const char *ns, const char *name);
/* Appends the text of the Framework. */
void fold_write_framework(struct buf *out, const struct folded_object *folded, const char *ns, const char *name);
/* Whether it is this version of this object. */
bool fold_is_framework(const struct folded_object *folded, const struct object_meta *meta);

/* NULL: such a Pod is not folded. */
struct folded_object *fold_pod(const struct pod *pod);
struct pod *unfold_pod(const struct folded_object *folded, const char *ns, const char *name);

struct folded_object *fold_config_map(const struct config_map *config_map);
struct config_map *unfold_config_map(const struct folded_object *folded, const char *ns, const char *name);

#endif
