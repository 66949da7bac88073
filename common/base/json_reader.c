/* Reading JSON without a tree; see json_reader.h. */
#include "common/base/json_reader.h"

#include <string.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json_escape.h"
#include "common/base/utf8.h"

enum { WORD = sizeof(uint64_t), LITTLE_ENDIAN_HOST = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };
enum { TIME_SIZE = 64 }; /* no time that means anything is longer */
enum { PLAIN_MEMBER_REST = 8 /* `":false,` */ };
#define EACH_BYTE(value) (0x0101010101010101ULL * (uint64_t)(value))

static void wrong(struct json_reader *reader, const char *expected)
{
	if (reader->expected == NULL)
		reader->expected = expected;
}

void json_reader_init(struct json_reader *reader, const char *text, size_t len)
{
	*reader = (struct json_reader){.start = text, .at = text, .end = text + len};
}

static void skip_blanks(struct json_reader *reader)
{
	while (reader->at < reader->end &&
	       (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\t' || *reader->at == '\r'))
		reader->at++;
}

/* The first byte of what comes next; NUL at the end and after a mistake. */
static inline char next(struct json_reader *reader)
{
	if (reader->expected != NULL)
		return '\0';
	if (reader->end > reader->at && *reader->at > ' ') /* hardly anybody writes blanks */
		return *reader->at;
	skip_blanks(reader);
	return reader->at < reader->end ? *reader->at : '\0';
}

char json_reader_peek(struct json_reader *reader)
{
	return next(reader);
}

int json_reader_finish(const struct json_reader *reader, struct error *err)
{
	struct json_reader rest = *reader;

	if (rest.expected == NULL) {
		skip_blanks(&rest);
		if (rest.depth > 0)
			rest.expected = "the end of an object or array";
		else if (rest.at < rest.end)
			rest.expected = "nothing more";
		else
			return 0;
	}
	if (rest.at >= rest.end)
		return error_set(err, "invalid JSON: byte %zu: found its end, expected %s",
				 (size_t)(rest.at - rest.start), rest.expected);
	return error_set(err, "invalid JSON: byte %zu: found 0x%02x, expected %s", (size_t)(rest.at - rest.start),
			 (unsigned char)*rest.at, rest.expected);
}

/* ---- strings ---- */

/* As json_plain_end(), eight bytes at a time. */
static const char *skip_plain(const char *at, const char *end)
{
	while (end - at >= WORD) {
		uint64_t word;
		uint64_t quote;
		uint64_t backslash;
		uint64_t marked;

		memcpy(&word, at, WORD);
		quote = word ^ EACH_BYTE('"');
		backslash = word ^ EACH_BYTE('\\');
		marked = ((word - EACH_BYTE(0x20)) | (quote - EACH_BYTE(1)) | (backslash - EACH_BYTE(1)) | word) &
			 EACH_BYTE(0x80);
		if (marked != 0) {
			/* what a subtraction borrows goes to bytes behind the first that is marked */
			if (LITTLE_ENDIAN_HOST)
				return at + __builtin_ctzll(marked) / 8;
			break;
		}
		at += WORD;
	}
	while (at < end && (signed char)*at >= 0x20 && *at != '"' && *at != '\\')
		at++;
	return at;
}

const char *json_plain_end(const char *at, const char *end)
{
	return skip_plain(at, end);
}

/* The rest of a string from `at` on, where something that is not plain stands. */
static struct json_span take_rest(struct json_reader *reader, const char *at)
{
	struct json_span span = {.at = reader->at + 1};
	const char *expected = "the rest of a string";

	for (;;) {
		size_t len = 0;

		at = skip_plain(at, reader->end);
		if (at == reader->end)
			break;
		if (*at == '"') {
			span.len = (size_t)(at - span.at);
			reader->at = at + 1;
			return span;
		}
		if (*at == '\\') {
			span.escaped = true;
			len = json_escape_length(at, reader->end);
			expected = "an escape";
		} else if ((unsigned char)*at >= 0x80) {
			len = utf8_sequence(at, (size_t)(reader->end - at));
			expected = "UTF-8";
		} else {
			expected = "no control character in a string";
		}
		if (len == 0)
			break;
		at += len;
		expected = "the rest of a string";
	}
	reader->at = at;
	wrong(reader, expected);
	return (struct json_span){0};
}

/* The string that begins at the quote under `at`. */
static struct json_span take_string(struct json_reader *reader)
{
	const char *begin = reader->at + 1;
	const char *at = skip_plain(begin, reader->end);

	if (at == reader->end || *at != '"')
		return take_rest(reader, at);
	reader->at = at + 1;
	return (struct json_span){.at = begin, .len = (size_t)(at - begin)};
}

/* ---- numbers and words ---- */

static bool take_digits(struct json_reader *reader)
{
	const char *from = reader->at;

	while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
		reader->at++;
	return reader->at > from;
}

/* RFC 8259 §6. *integer: neither fraction nor exponent. */
static void take_number(struct json_reader *reader, bool *integer)
{
	const char *digits;

	*integer = true;
	if (*reader->at == '-')
		reader->at++;
	digits = reader->at;
	if (!take_digits(reader) || (*digits == '0' && reader->at - digits > 1)) {
		wrong(reader, "a number");
		return;
	}
	if (reader->at < reader->end && *reader->at == '.') {
		*integer = false;
		reader->at++;
		if (!take_digits(reader)) {
			wrong(reader, "a number");
			return;
		}
	}
	if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
		*integer = false;
		reader->at++;
		if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-'))
			reader->at++;
		if (!take_digits(reader))
			wrong(reader, "a number");
	}
}

static void take_word(struct json_reader *reader, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(reader->end - reader->at) < len || memcmp(reader->at, word, len) != 0) {
		wrong(reader, "a value");
		return;
	}
	reader->at += len;
}

/* A value that is neither object nor array. */
static void take_scalar(struct json_reader *reader)
{
	bool integer;

	switch (*reader->at) {
	case '"': take_string(reader); break;
	case 't': take_word(reader, "true"); break;
	case 'f': take_word(reader, "false"); break;
	case 'n': take_word(reader, "null"); break;
	default:
		if (*reader->at == '-' || (*reader->at >= '0' && *reader->at <= '9'))
			take_number(reader, &integer);
		else
			wrong(reader, "a value");
	}
}

/* ---- structure ---- */

static bool enter(struct json_reader *reader, char open)
{
	if (next(reader) != open) {
		json_reader_skip(reader);
		return false;
	}
	if (reader->depth == JSON_READER_DEPTH) {
		wrong(reader, "fewer levels");
		return false;
	}
	reader->at++;
	reader->depth++;
	reader->first = true;
	return true;
}

/* Whether another member or item comes; else the end is passed. */
static bool go_on(struct json_reader *reader, char close)
{
	char c = next(reader);
	bool first = reader->first;

	reader->first = false;
	if (reader->expected != NULL)
		return false;
	if (c == close) {
		reader->at++;
		reader->depth--;
		return false;
	}
	if (first)
		return true;
	if (c != ',') {
		wrong(reader, close == '}' ? "',' or '}'" : "',' or ']'");
		return false;
	}
	reader->at++;
	return true;
}

static bool take_name(struct json_reader *reader, struct json_span *name)
{
	if (next(reader) != '"') {
		wrong(reader, "a name");
		return false;
	}
	*name = take_string(reader);
	if (next(reader) != ':') {
		wrong(reader, "':'");
		return false;
	}
	reader->at++;
	return true;
}

bool json_reader_object(struct json_reader *reader)
{
	return enter(reader, '{');
}

bool json_reader_member(struct json_reader *reader, struct json_span *name)
{
	return go_on(reader, '}') && take_name(reader, name);
}

bool json_reader_array(struct json_reader *reader)
{
	return enter(reader, '[');
}

bool json_reader_item(struct json_reader *reader)
{
	return go_on(reader, ']');
}

bool json_reader_find(struct json_reader *reader, const char *name)
{
	struct json_span found;

	if (!json_reader_object(reader))
		return false;
	while (json_reader_member(reader, &found)) {
		if (json_span_is(&found, name))
			return true;
		json_reader_pass(reader);
	}
	return false;
}

/* Where the plain string that begins at the quote under `at` has its closing quote; NULL when it is not plain. */
static inline const char *plain_string_end(const char *at, const char *end)
{
	at = skip_plain(at + 1, end);
	return at < end && *at == '"' ? at : NULL;
}

/* Passes members of the most frequent form, each with a comma behind it: a plain name, and a plain string, a small
 * number or a word. Leaves other members, and mistakes, to the general reader. */
static void take_plain_members(struct json_reader *reader)
{
	const char *end = reader->end;
	const char *at = reader->at;

	if (reader->expected != NULL)
		return;
	if (!reader->first) {
		if (at == end || *at != ',')
			return;
		at++;
	}
	while (at < end && *at == '"') {
		at = plain_string_end(at, end);
		if (at == NULL || end - at < PLAIN_MEMBER_REST || at[1] != ':')
			return;
		at += 2;
		if (*at == '"') {
			at = plain_string_end(at, end);
			if (at == NULL)
				return;
			at++;
		} else if (*at >= '1' && *at <= '9') {
			while (at < end && *at >= '0' && *at <= '9')
				at++;
		} else if (memcmp(at, "null", 4) == 0 || memcmp(at, "true", 4) == 0) {
			at += 4;
		} else if (memcmp(at, "false", 5) == 0) {
			at += 5;
		} else {
			return;
		}
		if (at == end || *at != ',')
			return;
		reader->at = at++;
		reader->first = false;
	}
}

/* Passes the object or array under `at`, whatever is in it. Which of its levels are objects is kept in bits. */
static void take_nested(struct json_reader *reader)
{
	uint64_t objects[JSON_READER_DEPTH / 64 + 1] = {0};
	size_t base = reader->depth;

	do {
		size_t level = reader->depth - base;
		bool in_object = level > 0 && (objects[(level - 1) / 64] >> ((level - 1) % 64) & 1) != 0;
		struct json_span name;
		char c;

		if (in_object)
			take_plain_members(reader);
		if (level > 0 && (in_object ? !json_reader_member(reader, &name) : !json_reader_item(reader)))
			continue;
		c = next(reader);
		if (c == '{' || c == '[') {
			uint64_t bit = (uint64_t)1 << (level % 64);

			if (!enter(reader, c))
				return;
			objects[level / 64] = c == '{' ? objects[level / 64] | bit : objects[level / 64] & ~bit;
		} else if (c != '\0') {
			take_scalar(reader);
		} else {
			wrong(reader, "a value");
		}
	} while (reader->depth > base && reader->expected == NULL);
}

struct json_span json_reader_skip(struct json_reader *reader)
{
	char c = next(reader);
	struct json_span span = {.at = reader->at};

	if (c == '{' || c == '[')
		take_nested(reader);
	else if (c != '\0')
		take_scalar(reader);
	else
		wrong(reader, "a value");
	if (reader->expected != NULL)
		return (struct json_span){0};
	span.len = (size_t)(reader->at - span.at);
	return span;
}

/* The characters that may follow a value in an array or an object. */
static const char value_ends[] = {',', ']', '}', ' ', '\t', '\r', '\n'};

/* Behind the closing quote of the string that begins at `at`, or the end if it has none. */
static const char *pass_string(const char *at, const char *end)
{
	for (at = skip_plain(at + 1, end); at < end && *at != '"'; at = skip_plain(at, end))
		at += *at == '\\' && end - at > 1 ? 2 : 1;
	return at < end ? at + 1 : end;
}

/* Behind the object or array that begins at `at`, or NULL if it is not closed. */
static const char *pass_nested(const char *at, const char *end)
{
	size_t depth = 0;

	while (at < end) {
		switch (*at) {
		case '"': at = pass_string(at, end); continue;
		case '{':
		case '[': depth++; break;
		case '}':
		case ']':
			if (--depth == 0)
				return at + 1;
			break;
		default: break;
		}
		at++;
	}
	return NULL;
}

struct json_span json_reader_pass(struct json_reader *reader)
{
	char c = next(reader);
	struct json_span span = {.at = reader->at};
	const char *at = reader->at;

	if (c == '\0' || strchr(",:]}", c) != NULL)
		wrong(reader, "a value");
	if (reader->expected != NULL)
		return (struct json_span){0};
	if (c == '{' || c == '[')
		at = pass_nested(at, reader->end);
	else
		while (at < reader->end && memchr(value_ends, *at, sizeof(value_ends)) == NULL)
			at = *at == '"' ? pass_string(at, reader->end) : at + 1;
	reader->at = at == NULL ? reader->end : at;
	if (at == NULL) {
		wrong(reader, "the rest of a value");
		return (struct json_span){0};
	}
	span.len = (size_t)(at - span.at);
	return span;
}

/* ---- values ---- */

struct json_span json_reader_string(struct json_reader *reader)
{
	if (next(reader) == '"')
		return take_string(reader);
	json_reader_skip(reader);
	return (struct json_span){0};
}

/* 0, or -1 when the digits mean more than 64 bits hold. */
static int read_int(const char *at, const char *end, int64_t *out)
{
	bool negative = *at == '-';
	int64_t value = 0;

	for (at += negative; at < end; at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, negative ? '0' - *at : *at - '0', &value))
			return -1;
	*out = value;
	return 0;
}

int64_t json_reader_time(struct json_reader *reader)
{
	struct json_span span = json_reader_string(reader);
	char text[TIME_SIZE];
	int64_t seconds;

	if (span.at == NULL || span.len >= sizeof(text))
		return 0;
	json_span_decode(&span, text);
	return time_parse_rfc3339(text, &seconds) < 0 ? 0 : seconds;
}

int64_t json_reader_int(struct json_reader *reader, int64_t fallback)
{
	char c = next(reader);
	const char *from = reader->at;
	bool integer;
	int64_t value;

	if (c != '-' && (c < '0' || c > '9')) {
		json_reader_skip(reader);
		return fallback;
	}
	take_number(reader, &integer);
	if (!integer || reader->expected != NULL || read_int(from, reader->at, &value) < 0)
		return fallback;
	return value;
}

bool json_reader_bool(struct json_reader *reader, bool fallback)
{
	struct json_span span = json_reader_skip(reader);

	if (json_span_is(&span, "true"))
		return true;
	return json_span_is(&span, "false") ? false : fallback;
}
