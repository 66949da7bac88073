/* Cuts answers of the API server into single objects before they are parsed. So an unreadable object affects neither
 * its list nor its watch (common/README.md §10.1), and at most one object is in memory. Input may be split at any byte.
 * (json_reader.h needs the whole text and refuses it after a mistake. This reader gets it in pieces, and a mistake in
 * an object affects only that object.) */
#ifndef KUBE_JSON_CUT_H
#define KUBE_JSON_CUT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/error.h"

/* One piece, valid during the call. too_large: it was longer than the limit, and text is only its beginning.
 * False stops: the rest of the input is ignored. */
typedef bool cut_piece(void *arg, const char *text, size_t len, bool too_large);

/* ---- a list: {"kind": …, "metadata": {…}, "items": [item, item, …]} ---- */

struct list_cut {
	cut_piece *item;
	void *arg;
	size_t item_max;
	struct buf metadata; /* the text of the metadata, if received; at most item_max */
	bool has_items;      /* "items" was received, as an array or null */
	bool stopped;        /* by an item callback */
	/* private */
	int place;
	int what; /* the value being read is */
	struct buf key;
	struct buf part;
	size_t depth;
	bool in_string;
	bool escaped;
	bool bare; /* a number, true, false, null */
	bool too_large;
	size_t offset; /* of the input, for messages */
};

/* item_max: bytes. */
void list_cut_init(struct list_cut *cut, size_t item_max, cut_piece *item, void *arg);
void list_cut_free(struct list_cut *cut);
/* 0, or -1 and *err when it is no JSON object; nothing more may be fed then. */
int list_cut_feed(struct list_cut *cut, const char *data, size_t len, struct error *err);
/* Whether the whole object was received. */
bool list_cut_complete(const struct list_cut *cut);

/* ---- a stream of lines, as a JSON watch is framed ---- */

struct line_cut {
	size_t line_max; /* bytes */
	struct buf part;
	bool too_large;
};

/* Calls line for every line that is not blank, without its end. False if the callback stopped it. The callback must not
 * use the cut. */
bool line_cut_feed(struct line_cut *cut, const char *data, size_t len, cut_piece *line, void *arg);
/* Drops an incomplete line. */
void line_cut_reset(struct line_cut *cut);
void line_cut_free(struct line_cut *cut);

/* ---- looking into text that cannot be parsed ---- */

/* The text of object text[name], and its length; NULL when it is not there. The text may be cut off or broken further
 * on. Borrowed from text. */
const char *raw_member(const char *text, size_t len, const char *name, size_t *value_len);
/* The same for a string, copied into out (cut to size, with escapes); "" if there is none. */
void raw_string(const char *text, size_t len, const char *name, char *out, size_t size);

#endif
