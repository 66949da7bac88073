/* Short cuts over jansson for reading objects. Every getter treats NULL and wrong types as absent, because input from
 * outside can contain anything. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

/* A tree takes up to 230 bytes for a value (an empty object). A Framework of 10 000 Tasks has half a million values. */
enum { JSON_VALUES_MAX = 2 * 1000 * 1000 };

/* Parses one JSON text with the project's settings: NUL escapes allowed, duplicate names refused, integers past
 * 64 bits read as reals, texts of more than JSON_VALUES_MAX values refused. NULL and *err ("line:column: …") on
 * failure. The caller decrefs. */
json_t *json_parse(const char *text, size_t len, struct error *err);
/* Whether json_parse() refuses the text for the number of its values. */
bool json_too_many_values(const char *text, size_t len);

/* object[name] if that is a string, else NULL. Borrowed. */
const char *json_str(const json_t *object, const char *name);
/* object[name] if that is an integer, else fallback. */
int64_t json_int(const json_t *object, const char *name, int64_t fallback);
bool json_bool(const json_t *object, const char *name, bool fallback);
/* The value at object[a][b]…; the list of names ends with NULL. Borrowed; NULL when any part is missing. */
json_t *json_path(const json_t *object, ...) __attribute__((sentinel));
/* The first object of the array whose member is this text. NULL: there is none, or it is no array. Borrowed. */
json_t *json_find(const json_t *array, const char *member, const char *text);
/* Whether it is not there, or null, which the API treats alike. */
static inline bool json_absent(const json_t *value)
{
	return value == NULL || json_is_null(value);
}
/* object[name] parsed as RFC 3339 in unix seconds, or 0 when absent or null or not a time. */
int64_t json_time(const json_t *object, const char *name);
/* An object of these members: names and values in turns, then NULL. Takes over the values' references. Faster than
 * json_pack(). */
json_t *json_object_of(const char *name, json_t *value, ...) __attribute__((sentinel));
/* Compact text of any value; a number has the fewest digits that read as the same number. The caller frees. */
char *json_text(const json_t *value);

static inline void json_cleanup(json_t **value)
{
	json_decref(*value);
}
#define cleanup_json __attribute__((cleanup(json_cleanup)))
/* Appends JSON text without the blanks between its tokens. It is valid. */
void buf_json_compact(struct buf *out, const char *text, size_t len);

#endif
