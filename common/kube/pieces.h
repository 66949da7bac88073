/* Cuts a watch stream into its events: lines of JSON, or frames of protobuf, each a length of four bytes (big endian)
 * and as many bytes. Input may be split at any byte; no more than one event is held. */
#ifndef KUBE_PIECES_H
#define KUBE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* One piece, valid during the call. too_large: it is longer than the limit, and text is its beginning.
 * False stops: the rest of the input is ignored. The callback must not use the pieces. */
typedef bool piece_taker(void *arg, const char *text, size_t len, bool too_large);

enum { FRAME_BEYOND = 256 * 1024 * 1024 };

struct pieces {
	size_t max;  /* bytes of a piece; larger ones are skipped, frames up to FRAME_BEYOND */
	bool frames; /* else lines */
	bool broken; /* a length above FRAME_BEYOND: this is not a stream of frames, or bytes were lost */
	/* private */
	struct buf part;
	uint64_t size; /* of the piece: of a line so far, of a frame in all */
	uint64_t left; /* of the frame */
	size_t head_len;
};

/* Calls take for every line that is not blank, without its end, or for every frame that is not empty. False if the
 * callback stopped it, or it is broken. */
bool pieces_feed(struct pieces *pieces, const char *data, size_t len, piece_taker *take, void *arg);
/* Drops an incomplete piece. */
void pieces_reset(struct pieces *pieces);
void pieces_free(struct pieces *pieces);

#endif
