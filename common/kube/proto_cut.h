/* Cuts protobuf answers of the API server into single objects before they are read, as json_cut.h does with JSON. A
 * body is "k8s\0" and a runtime.Unknown, whose field `raw` is the object; a watch is a stream of frames, each a length
 * of four bytes (big endian) and a metav1.WatchEvent, whose object is such a body. */
#ifndef KUBE_PROTO_CUT_H
#define KUBE_PROTO_CUT_H

#include <jansson.h>
#include <stdint.h>

#include "common/kube/json_cut.h"

/* The media type; that of a watch answer ends with ";stream=watch". */
#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

struct proto_span {
	const char *at; /* NULL: there is none */
	size_t len;
	bool cut; /* its end is missing, and perhaps the end of its last field, which is used nevertheless */
};

/* The last field of that number that is a string, bytes or a message. The search ends at the first unreadable field. */
struct proto_span proto_field(struct proto_span message, uint32_t number);
/* The last such field that is a number; fallback when there is none. */
int64_t proto_number(struct proto_span message, uint32_t number, int64_t fallback);
/* Copies a field's text into out, cut to size; "" when there is none. */
void proto_text(struct proto_span message, uint32_t number, char *out, size_t size);
/* The object in a body; at is NULL when it is none. */
struct proto_span proto_object(struct proto_span body);
/* metav1.Status as its JSON has it: kind, message, reason, code, details.retryAfterSeconds. The caller decrefs. */
json_t *proto_status(struct proto_span status);

/* Fields of ObjectMeta, which is field 1 of every object, and of ListMeta. */
enum {
	PROTO_METADATA = 1,
	PROTO_META_NAME = 1,
	PROTO_META_NAMESPACE = 3,
	PROTO_META_VERSION = 6,
	PROTO_LIST_VERSION = 2,
	PROTO_LIST_CONTINUE = 3,
};

/* ---- a list's body, split at any byte ---- */

struct proto_list_cut {
	cut_piece *item;
	void *arg;
	size_t item_max;
	struct buf metadata; /* ListMeta, if received; at most item_max */
	bool stopped;        /* by an item callback */
	/* private */
	int place;
	uint64_t number; /* the varint being read */
	unsigned shift;
	uint64_t key;
	uint64_t left;      /* bytes of the present value */
	uint64_t list_left; /* of the list's own message */
	struct buf part;
	bool in_list;
	bool list_came;
	bool too_large;
};

void proto_list_cut_init(struct proto_list_cut *cut, size_t item_max, cut_piece *item, void *arg);
void proto_list_cut_free(struct proto_list_cut *cut);
/* 0, or -1 and *err; nothing more may be fed then. */
int proto_list_cut_feed(struct proto_list_cut *cut, const char *data, size_t len, struct error *err);
/* Whether the received data may be the whole body: it ends at the end of a field and contains the list. */
bool proto_list_cut_complete(const struct proto_list_cut *cut);

/* ---- a watch's frames, split at any byte ---- */

enum { FRAME_BEYOND = 256 * 1024 * 1024 };

struct frame_cut {
	size_t frame_max; /* bytes; larger frames, up to FRAME_BEYOND, are skipped */
	struct buf part;
	unsigned char head[4];
	size_t head_len;
	uint64_t left; /* of the frame */
	bool too_large;
	bool broken; /* a length above FRAME_BEYOND: this is not a stream of frames, or bytes were lost */
};

/* Calls frame for every frame. False if the callback stopped it, or it is broken. The callback must not use the cut. */
bool frame_cut_feed(struct frame_cut *cut, const char *data, size_t len, cut_piece *frame, void *arg);
/* Drops an incomplete frame. */
void frame_cut_reset(struct frame_cut *cut);
void frame_cut_free(struct frame_cut *cut);

#endif
