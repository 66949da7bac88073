/* HTTP/2 for servers of tests, frame by frame (RFC 9113 §4.1). */
#ifndef TESTS_HTTP2_FRAMES_H
#define TESTS_HTTP2_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/buf.h"

enum {
	HTTP2_DATA = 0,
	HTTP2_HEADERS = 1,
	HTTP2_RST_STREAM = 3,
	HTTP2_SETTINGS = 4,
	HTTP2_WINDOW_UPDATE = 8,
	/* flags */
	HTTP2_END_STREAM = 1,
	HTTP2_ACK = 1,
	HTTP2_END_HEADERS = 4,
};

enum { HTTP2_HEAD_BYTES = 9 };

/* The first bytes of a client. */
static const char http2_preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct http2_frame {
	int type;
	int flags;
	uint32_t stream;
};

static inline void http2_put(struct buf *out, int type, int flags, uint32_t stream, const char *text, size_t len)
{
	const char head[HTTP2_HEAD_BYTES] = {
		(char)(len >> 16),    (char)(len >> 8),     (char)len,           (char)type,   (char)flags,
		(char)(stream >> 24), (char)(stream >> 16), (char)(stream >> 8), (char)stream,
	};

	buf_append(out, head, sizeof(head));
	buf_append(out, text, len);
}

/* Takes off a request without a body that asks for HTTP/2 (RFC 7540 §3.2), and adds the server's consent and its first
 * frame; the answer is that of stream 1. False when no such request is there. */
static inline bool http2_take_upgrade(struct buf *in, struct buf *out)
{
	const char *asks = strstr(in->data, "\r\nUpgrade: h2c\r\n");
	const char *end = strstr(in->data, "\r\n\r\n");

	if (asks == NULL || end == NULL || asks > end)
		return false;
	buf_consume(in, (size_t)(end + 4 - in->data));
	buf_puts(out, "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
	http2_put(out, HTTP2_SETTINGS, 0, 0, "", 0);
	return true;
}

/* Takes the preface off the bytes of a client; false when it is not there. */
static inline bool http2_take_preface(struct buf *in)
{
	const size_t len = strlen(http2_preface);

	if (in->len < len || memcmp(in->data, http2_preface, len) != 0)
		return false;
	buf_consume(in, len);
	return true;
}

/* Takes one frame off the bytes of a client, without its payload; false when no whole one is there. */
static inline bool http2_take(struct buf *in, struct http2_frame *frame)
{
	const unsigned char *head = (const unsigned char *)in->data;
	size_t len;

	if (in->len < HTTP2_HEAD_BYTES)
		return false;
	len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
	if (in->len < HTTP2_HEAD_BYTES + len)
		return false;
	*frame = (struct http2_frame){
		.type = head[3],
		.flags = head[4],
		.stream = (uint32_t)(head[5] & 0x7f) << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8],
	};
	buf_consume(in, HTTP2_HEAD_BYTES + len);
	return true;
}

#endif
