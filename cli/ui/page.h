/* The HTML of kubectl framework ui. Pure functions from data to text. Everything is shown without a script; ui.js only
 * puts newer parts in the place of older ones. */
#ifndef CLI_UI_PAGE_H
#define CLI_UI_PAGE_H

#include <stdbool.h>

#include "cli/ui/rows.h"
#include "cli/view/wait.h"
#include "common/base/buf.h"

/* A whole page: ui.html around main, which is HTML. title, scope: text. */
void page_put(struct buf *out, const char *title, const char *scope, const char *main);

/* The list of the Frameworks that match, and the form of its filter. */
void page_put_list(struct buf *out, struct rows *rows, const struct rows_filter *filter);

/* The changes since a version (0: everything): {"version", "lost", "reset", "rows", "gone"}. rows is the HTML of rows
 * in their order; gone has keys of rows that are no longer shown. reset: rows are all there are, in groups. Returns
 * whether there is any change. lost: why the API server does not report changes; NULL: it does. */
bool page_put_changes(struct buf *out, struct rows *rows, const struct rows_filter *filter, uint64_t since,
		      const char *lost);

/* One Framework: why, tree, timeline, Events. notes: lines about omitted parts, or "". version: of the rows. */
void page_put_framework(struct buf *out, const struct inquiry *inquiry, const char *notes, uint64_t version);

/* A Framework that cannot be shown. */
void page_put_failure(struct buf *out, const char *ns, const char *name, const char *message);

#endif
