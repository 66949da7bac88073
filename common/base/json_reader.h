/* Reads JSON text value by value without a tree: a skipped value costs one pass over its bytes and no allocation. Use
 * it for objects of which few members are needed, and json.h for objects that are needed whole.
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
 * Read or skip exactly one value after each member or item. Every value is checked, also a skipped one: RFC 8259, valid
 * UTF-8, no lone surrogates, at most JSON_READER_DEPTH deep. The reader returns both values of a name that occurs
 * twice. After the first mistake every call returns "absent", so only json_reader_finish() needs a check. */
#ifndef BASE_JSON_READER_H
#define BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/error.h"

/* Levels of objects and arrays; jansson accepts as many if the innermost one is not empty. */
enum { JSON_READER_DEPTH = 2047 };

struct json_reader {
	const char *start;
	const char *at;
	const char *end;
	const char *expected; /* the token that was expected; NULL: no mistake */
	size_t depth;         /* of objects and arrays entered */
	bool first;           /* no value of the innermost one was read yet */
};

/* A piece of the text, borrowed. Of a string: the text between its quotes. */
struct json_span {
	const char *at; /* NULL: there is none */
	size_t len;
	bool escaped; /* it has escapes in it */
};

/* The text is borrowed until json_reader_finish(). */
void json_reader_init(struct json_reader *reader, const char *text, size_t len);
/* 0 when all of the text was read and is one JSON value; else -1 and *err ("invalid JSON: byte …"). */
int json_reader_finish(const struct json_reader *reader, struct error *err);

/* Enters the next value if it is an object; else skips it and returns false. */
bool json_reader_object(struct json_reader *reader);
/* The name of the next member; false at the end of the object, and leaves it. */
bool json_reader_member(struct json_reader *reader, struct json_span *name);
/* The same for an array and its items. */
bool json_reader_array(struct json_reader *reader);
bool json_reader_item(struct json_reader *reader);

/* Enters the object that comes next and goes to the member of that name; false if there is none. The other members'
 * values are not checked: use it for texts that are certainly JSON, or where mistakes do not matter. */
bool json_reader_find(struct json_reader *reader, const char *name);

/* The first byte of the next value, which is not taken; NUL at the end and after a mistake. */
char json_reader_peek(struct json_reader *reader);
/* The text of the next value of any kind. at is NULL after a mistake. */
struct json_span json_reader_skip(struct json_reader *reader);
/* The same, but looks only for the end of the value, by brackets and quotes at any depth. Use it for values that are
 * read one by one later, so that a mistake in one affects no other. */
struct json_span json_reader_pass(struct json_reader *reader);
/* The next value if it is of that kind; else skips it and returns NULL or the fallback. */
struct json_span json_reader_string(struct json_reader *reader);
int64_t json_reader_int(struct json_reader *reader, int64_t fallback);
bool json_reader_bool(struct json_reader *reader, bool fallback);
/* The next value as a time (RFC 3339), in unix seconds; 0 when it is none. */
int64_t json_reader_time(struct json_reader *reader);

/* Whether a name is this text. Escapes are not decoded: API servers do not escape letters in names. */
static inline bool json_span_is(const struct json_span *span, const char *text)
{
	return span->at != NULL && strlen(text) == span->len && memcmp(span->at, text, span->len) == 0;
}
/* Behind the bytes at the beginning that mean nothing in a string: no quote, no backslash, no control character, no
 * byte beyond ASCII. */
const char *json_plain_end(const char *at, const char *end);
/* Writes the decoded string, NUL-terminated, into out, which has room for span->len + 1 bytes; returns its length. Only
 * for spans of json_reader_string(). */
size_t json_span_decode(const struct json_span *span, char *out);

#endif
