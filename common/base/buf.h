/* A growing byte buffer, and the JSON text writer on top of it. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise ({0}); data is NUL-terminated whenever it is not NULL. Free with buf_free. */
struct buf {
	char *data;
	size_t len;
	size_t cap;
};

void buf_free(struct buf *buf);
/* Empties it, keeps the memory. */
void buf_clear(struct buf *buf);
/* Room for extra more bytes (and the NUL). */
void buf_reserve(struct buf *buf, size_t extra);
void buf_append(struct buf *buf, const void *data, size_t len);
void buf_puts(struct buf *buf, const char *text);
void buf_putc(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_put_int(struct buf *buf, int64_t value);
/* Drops the first count bytes. */
void buf_consume(struct buf *buf, size_t count);
/* Hands the memory over to the caller (free()); the buffer is empty afterwards. Never NULL. */
char *buf_steal(struct buf *buf) __attribute__((returns_nonnull));

/* Appends text as a JSON string with its quotes (RFC 8259 §7); NULL is appended as null. Bytes that are not
 * valid UTF-8 become U+FFFD. Only '"', '\' and control characters below U+0020 are escaped: no JSON of the text is
 * shorter. */
void buf_json_string(struct buf *buf, const char *text);
void buf_json_string_n(struct buf *buf, const char *text, size_t len);
/* Without the quotes: a part of a string. */
void buf_json_part(struct buf *buf, const char *text, size_t len);
/* Appends "name": with a comma before it unless it follows '{' or '['. */
void buf_json_key(struct buf *buf, const char *name);
/* … and the '{' or '[' of its value. */
void buf_json_open(struct buf *buf, const char *name, char bracket);
/* Appends the member "name":value, with a comma as buf_json_key(). */
void buf_json_text(struct buf *buf, const char *name, const char *text); /* NULL: null */
void buf_json_int(struct buf *buf, const char *name, int64_t value);
void buf_json_bool(struct buf *buf, const char *name, bool value);
void buf_json_null(struct buf *buf, const char *name);
/* RFC 3339; 0: null. */
void buf_json_time(struct buf *buf, const char *name, int64_t unix_sec);
/* Nothing for NULL and "". */
void buf_json_text_if_any(struct buf *buf, const char *name, const char *text);
/* Appends a comma unless the last byte opens an object or an array: call before each array element. */
void buf_json_next(struct buf *buf);

/* Appends text in which each unsafe character other than line ends and tabs is an escape of JSON (RFC 8259 §7), and
 * bytes that are not UTF-8 are U+FFFD. JSON text stays valid and keeps its value. */
void buf_put_safe(struct buf *out, const char *text, size_t len);

void buf_cleanup(struct buf *buf);
#define cleanup_buf __attribute__((cleanup(buf_cleanup)))

#endif
