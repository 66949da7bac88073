/* All Frameworks that the page can show, one row each, as the watch says; and the changes since a page asked last. No
 * I/O. */
#ifndef CLI_UI_ROWS_H
#define CLI_UI_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/view/summary.h"
#include "common/base/hash.h"

struct ui_row {
	UT_hash_handle hh; /* by key */
	char *key;         /* namespace/name */
	char *resource_version;
	struct summary summary;
	json_t *object;     /* kept if the summary may change without it; else NULL */
	uint64_t version;   /* of the rows, when it changed last */
	int64_t lagging_ms; /* since when its status does not follow its spec; 0: it does */
	bool gone;          /* deleted; kept for pages that do not know yet */
	bool seen;          /* by the list that runs */
};

/* Zero-initialise. */
struct rows {
	struct ui_row *table;
	size_t count;       /* of Frameworks that exist */
	size_t gone_count;  /* of others */
	uint64_t version;   /* goes up with each change */
	uint64_t forgotten; /* deletions up to this version are not known any more */
	bool unsorted;
	struct reasons reasons;
	bool wants_events; /* some Framework's status did not contain its reason */
};

/* The Framework exists. follows: its status follows its spec (load_follows()). now_ms: clock_wall_ms(). */
void rows_put(struct rows *rows, const struct framework_view *view, bool follows, int64_t now_ms);
/* rows->reasons have changed, or time has passed. key: "namespace/name" of a Framework; NULL: of any. */
void rows_renew(struct rows *rows, const char *key, int64_t now_ms);
void rows_delete(struct rows *rows, const char *ns, const char *name);
/* A list of all Frameworks begins and ends: those that rows_put() did not get in between do not exist. */
void rows_list_begin(struct rows *rows);
void rows_list_end(struct rows *rows);
/* NULL: there is none. Valid until the next change. */
const struct ui_row *rows_find(const struct rows *rows, const char *ns, const char *name);
void rows_free(struct rows *rows);

/* Which rows a page shows. Empty strings or NULL: all. */
struct rows_filter {
	const char *text; /* is part of the namespace, the name, the state or the reason, in any case */
	const char
		*state; /* "waiting", "running", "succeeded", "failed" or "active", which is neither of the last two */
	const char *ns;
	const char *name;
};

/* Calls present() in the order of keys for each row that matches and has changed since that version (0: all), and
 * gone() for each that was deleted or whose text or state does not match; gone may be NULL. */
void rows_each(struct rows *rows, const struct rows_filter *filter, uint64_t since,
	       void (*present)(void *arg, const struct ui_row *row), void (*gone)(void *arg, const char *key),
	       void *arg);
/* Whether rows_each() must begin anew: deletions since then are not known, or since is not of these rows. */
bool rows_too_old(const struct rows *rows, uint64_t since);

#endif
