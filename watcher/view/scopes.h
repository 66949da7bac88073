/* The namespaces that are listed and watched, and how far each of their streams is. */
#ifndef WATCHER_SCOPES_H
#define WATCHER_SCOPES_H

#include "common/bus/message.h"

/* A namespace that is watched, or "": all. */
struct scope {
	struct scope *next;
	char *ns;
	char *version[KIND_COUNT];
	bool listing[KIND_COUNT];
};

/* Finds it in the list, or adds it. */
struct scope *scopes_get(struct scope **scopes, const char *ns);
void scopes_free(struct scope *scopes);
bool scope_covers(const struct scope *scope, const char *ns);
void scopes_put(const struct scope *scopes, struct bus_snapshot_end *out);

#endif
