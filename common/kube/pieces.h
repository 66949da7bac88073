/* Cuts a watch stream into its events, which are lines. Input may be split at any byte; no more than one event is held.
 */
#ifndef KUBE_PIECES_H
#define KUBE_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"

/* One line, valid during the call. too_large: it is longer than the limit, and text is its beginning.
 * False stops: the rest of the input is ignored. The callback must not use the pieces. */
typedef bool piece_taker(void *arg, const char *text, size_t len, bool too_large);

struct pieces {
	size_t max; /* bytes of a line; larger ones are skipped */
	/* private */
	struct buf part;
	size_t size; /* of the line so far */
};

/* Calls take for every line that is not blank, without its end. False if the callback stopped it. */
bool pieces_feed(struct pieces *pieces, const char *data, size_t len, piece_taker *take, void *arg);
/* Drops an incomplete line. */
void pieces_reset(struct pieces *pieces);
void pieces_free(struct pieces *pieces);

#endif
