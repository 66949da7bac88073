/* Cuts a watch stream into its events: lines of JSON, or frames of protobuf, each a length of four bytes (big endian)
 * and as many bytes. Input may be split at any byte; no more than one event is held. */
#ifndef KUBE_PIECES_H
#define KUBE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* One piece, valid during the call. too_large: it is longer than the limit, and text is only its beginning.
 * False stops the cutting: the rest of the input is not looked at. Must not touch the pieces. */
typedef bool piece_taker(void *arg, const char *text, size_t len, bool too_large);

enum { FRAME_BEYOND = 256 * 1024 * 1024 };

struct pieces {
	size_t max;  /* bytes of a piece; what is larger is passed over, of frames up to FRAME_BEYOND */
	bool frames; /* else lines */
	bool broken; /* a frame's length is beyond all reason: this is no stream of frames, or its place in it is lost */
	/* private */
	struct buf part;
	uint64_t size; /* of the piece: of a line so far, of a frame in all */
	uint64_t left; /* of the frame */
	size_t head_len;
};

/* Hands on every line that is not blank, without its end, or every frame that is not empty. False when the taker
 * stopped it, or it is broken. */
bool pieces_feed(struct pieces *pieces, const char *data, size_t len, piece_taker *take, void *arg);
/* Forgets a piece that was not complete. */
void pieces_reset(struct pieces *pieces);
void pieces_free(struct pieces *pieces);

#endif
