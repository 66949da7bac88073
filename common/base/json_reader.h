/* Reads JSON text value by value, without making a tree of it: what is not asked for costs a look at its bytes and no
 * allocation. For the many objects of which only a few members are wanted; json.h is for those that are wanted whole.
 *
 *	json_reader_init(&reader, text, len);
 *	if (json_reader_object(&reader)) {
 *		while (json_reader_member(&reader, &name)) {
 *			if (json_span_is(&name, "uid"))
 *				uid = json_reader_string(&reader);
 *			else
 *				json_reader_skip(&reader);
 *		}
 *	}
 *	if (json_reader_finish(&reader, &err) < 0) …
 *
 * After each member or item exactly one value is read or skipped. All of the text is checked as it is read, skipped or
 * not: RFC 8259, valid UTF-8, no lone surrogates, at most JSON_READER_DEPTH deep. Of a name that comes twice both
 * values are seen. After the first mistake everything answers "absent", so that only json_reader_finish() needs to be
 * asked. */
#ifndef BASE_JSON_READER_H
#define BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/error.h"

/* Levels of objects and arrays; jansson takes as many with something in the innermost. */
enum { JSON_READER_DEPTH = 2047 };

struct json_reader {
	const char *start;
	const char *at;
	const char *end;
	const char *expected; /* what was not found; NULL: nothing is wrong */
	size_t depth;         /* of objects and arrays entered */
	bool first;           /* nothing of the one entered last was read yet */
};

/* A piece of the text, borrowed. Of a string: what stands between its quotes. */
struct json_span {
	const char *at; /* NULL: there is none */
	size_t len;
	bool escaped; /* it has escapes in it */
};

/* The text is borrowed until json_reader_finish(). */
void json_reader_init(struct json_reader *reader, const char *text, size_t len);
/* 0 when all of the text was read and is one JSON value; else -1 and *err ("invalid JSON: byte …"). */
int json_reader_finish(const struct json_reader *reader, struct error *err);

/* Enters the object that comes next; another value is skipped, and the answer is false. */
bool json_reader_object(struct json_reader *reader);
/* The name of the next member; false at the object's end, which is passed. */
bool json_reader_member(struct json_reader *reader, struct json_span *name);
/* The same for an array and its items. */
bool json_reader_array(struct json_reader *reader);
bool json_reader_item(struct json_reader *reader);

/* Enters the object that comes next and goes to the member of that name; false when there is none. The rest of the
 * object is not looked at: for texts that are known to be JSON, or where that does not matter. */
bool json_reader_find(struct json_reader *reader, const char *name);

/* The next value, whatever it is: its text. at is NULL after a mistake. */
struct json_span json_reader_skip(struct json_reader *reader);
/* The same without a look at what is in it: where it ends is told by brackets and quotes alone, at any depth. For values
 * that are read on their own, so that what is wrong with one stays in it. */
struct json_span json_reader_pass(struct json_reader *reader);
/* The next value when it is of that kind; another one is skipped, and the answer is NULL or the fallback. */
struct json_span json_reader_string(struct json_reader *reader);
int64_t json_reader_int(struct json_reader *reader, int64_t fallback);
bool json_reader_bool(struct json_reader *reader, bool fallback);

/* Whether a name is this one. It is compared as it stands: no API server escapes the letters of the names it uses. */
static inline bool json_span_is(const struct json_span *span, const char *text)
{
	return span->at != NULL && strlen(text) == span->len && memcmp(span->at, text, span->len) == 0;
}
/* Writes what the string means, NUL-terminated, into out, which has room for span->len + 1 bytes; returns its length.
 * Only for spans of json_reader_string(). */
size_t json_span_decode(const struct json_span *span, char *out);

#endif
