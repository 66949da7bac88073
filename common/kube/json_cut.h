/* Cuts what the API server sends into single objects before any of it is parsed, so that one object that no parser
 * takes spoils neither its list nor its watch (common/README.md §10.1), and no more than one object is held in memory.
 * Input may be split at any byte. (json_reader.h wants all of a text, and takes none with a mistake in it: here it is
 * in pieces, and what is wrong with an object is to be seen in that object alone.) */
#ifndef KUBE_JSON_CUT_H
#define KUBE_JSON_CUT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/error.h"

/* One piece, valid during the call. too_large: it was longer than the limit, and text is only its beginning.
 * False stops the cutting: the rest of the input is not looked at. */
typedef bool cut_piece(void *arg, const char *text, size_t len, bool too_large);

/* ---- a list: {"kind": …, "metadata": {…}, "items": [item, item, …]} ---- */

struct list_cut {
	cut_piece *item;
	void *arg;
	size_t item_max;
	struct buf metadata; /* the text of the metadata, once it came; at most item_max */
	bool has_items;      /* "items" came and was an array or null */
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
/* Whether the whole object came. */
bool list_cut_complete(const struct list_cut *cut);

/* ---- a stream of lines, as a JSON watch is framed ---- */

struct line_cut {
	size_t line_max; /* bytes */
	struct buf part;
	bool too_large;
};

/* Hands on every line that is not blank, without its end. False when the callback stopped it. The callback must not
 * touch the cut. */
bool line_cut_feed(struct line_cut *cut, const char *data, size_t len, cut_piece *line, void *arg);
/* Forgets a line that was not complete. */
void line_cut_reset(struct line_cut *cut);
void line_cut_free(struct line_cut *cut);

/* ---- looking into text that cannot be parsed ---- */

/* The text of object text[name], and its length; NULL when it is not there. The text may be cut off or broken further
 * on. Borrowed from text. */
const char *raw_member(const char *text, size_t len, const char *name, size_t *value_len);
/* The same where it is a string, copied into out (cut to size; escapes as they stand); "" when there is none. */
void raw_string(const char *text, size_t len, const char *name, char *out, size_t size);

#endif
