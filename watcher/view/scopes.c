/* Scopes of the cache; see scopes.h. */
#include "watcher/view/scopes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

struct scope *scopes_get(struct scope **scopes, const char *ns)
{
	struct scope **at = scopes;

	while (*at != NULL && strcmp((*at)->ns, ns) != 0)
		at = &(*at)->next;
	if (*at == NULL) {
		*at = mem_calloc(1, sizeof(**at));
		(*at)->ns = mem_strdup(ns);
		for (size_t kind = 0; kind < KIND_COUNT; kind++)
			(*at)->version[kind] = mem_strdup("");
	}
	return *at;
}

void scopes_free(struct scope *scopes)
{
	while (scopes != NULL) {
		struct scope *scope = scopes;

		scopes = scope->next;
		for (size_t kind = 0; kind < KIND_COUNT; kind++)
			free(scope->version[kind]);
		free(scope->ns);
		free(scope);
	}
}

bool scope_covers(const struct scope *scope, const char *ns)
{
	return scope->ns[0] == '\0' || strcmp(scope->ns, ns) == 0;
}

void scopes_put(const struct scope *scopes, struct bus_snapshot_end *out)
{
	for (const struct scope *scope = scopes; scope != NULL; scope = scope->next) {
		struct bus_scope *put = bus_snapshot_end_add(out, scope->ns);

		for (size_t kind = 0; kind < KIND_COUNT; kind++)
			put->resource_version[kind] = mem_strdup(scope->version[kind]);
	}
}
