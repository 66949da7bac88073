/* Cuts a watch stream into its events, which are lines. Input may be split at any byte; no more than one event is held.
 */
#ifndef KUBE_PIECES_H
#define KUBE_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"

/* One line, without its end. */
struct piece {
	const char *text;
	size_t len;
	bool too_large; /* it is longer than the limit, and text is its beginning */
};

struct pieces {
	size_t max; /* bytes of a line; larger ones are skipped */
	/* private */
	struct buf part;
	size_t size; /* of the line so far */
	bool taken;  /* the line was returned */
};

/* The next line that is not blank, valid until the next call or reset. *data and *len move behind it. False: there is
 * none in the rest of the data, which was kept; call this with the data that follow. */
bool pieces_next(struct pieces *pieces, const char **data, size_t *len, struct piece *out);
/* Drops an incomplete line. */
void pieces_reset(struct pieces *pieces);
void pieces_free(struct pieces *pieces);

#endif
