/* base64(gzip(…)) of large statuses (FRAMEWORK.md §13). */
#define ZLIB_CONST
#include <resolv.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/mem.h"
#include "common/framework/status.h"

/* zlib's way to ask for a gzip wrapper: windowBits 15 + 16; for reading, + 32 also takes a zlib wrapper. */
enum { WINDOW_GZIP = 15 + 16, MEMORY_LEVEL = 8, CHUNK = 64 * 1024 };

/* Of a text of a MiB and more. Statuses of equal Tasks with long diagnostics come to 50; deflate can do 1 000. */
enum { RATIO_MAX = 200, RATIO_FROM = 1024 * 1024 };

static char *compress_at(int level, const char *text, size_t len)
{
	z_stream stream = {0};
	size_t bound;
	size_t size;
	cleanup_free unsigned char *packed = NULL;
	char *base64;

	if (deflateInit2(&stream, level, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		mem_exhausted();
	bound = deflateBound(&stream, (uLong)len);
	packed = mem_alloc(bound);
	stream.next_in = (const unsigned char *)text;
	stream.avail_in = (uInt)len;
	stream.next_out = packed;
	stream.avail_out = (uInt)bound;
	if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
		abort(); /* the bound is a promise */
	size = stream.total_out;
	deflateEnd(&stream);
	base64 = mem_alloc(size / 3 * 4 + 5);
	b64_ntop(packed, size, base64, size / 3 * 4 + 5);
	return base64;
}

char *text_compress_within(const char *text, size_t len, size_t max)
{
	/* A status is mostly repetition, which even the fastest level finds. What 10 000 Tasks have of their own (UIDs,
	 * IPs, times) comes to 1.4 MiB at the first of these, in 0.03 s, and to 1.1 MiB at the last, in 0.25 s. */
	static const int levels[] = {Z_BEST_SPEED, 6, Z_BEST_COMPRESSION};
	char *base64 = NULL;

	for (size_t i = 0; i < ARRAY_LEN(levels) && (base64 == NULL || strlen(base64) > max); i++) {
		free(base64);
		base64 = compress_at(levels[i], text, len);
	}
	return base64;
}

char *text_compress(const char *text, size_t len)
{
	return text_compress_within(text, len, SIZE_MAX);
}

static bool is_bomb(const z_stream *stream)
{
	return stream->total_out >= RATIO_FROM && stream->total_out / RATIO_MAX > stream->total_in;
}

int text_decompress(const char *base64, size_t len, struct buf *out, struct error *err)
{
	cleanup_free unsigned char *packed = mem_alloc(len + 1);
	cleanup_free char *terminated = mem_strndup(base64, len);
	z_stream stream = {0};
	int size = b64_pton(terminated, packed, len + 1);
	int result = Z_OK;

	if (size < 0)
		return error_set(err, "not base64");
	if (inflateInit2(&stream, WINDOW_GZIP) != Z_OK)
		mem_exhausted();
	stream.next_in = packed;
	stream.avail_in = (uInt)size;
	while (result == Z_OK && out->len <= DECOMPRESSED_MAX && !is_bomb(&stream)) {
		buf_reserve(out, CHUNK);
		stream.next_out = (unsigned char *)out->data + out->len;
		stream.avail_out = CHUNK;
		result = inflate(&stream, Z_NO_FLUSH);
		out->len += CHUNK - stream.avail_out;
		out->data[out->len] = '\0';
		if (result == Z_BUF_ERROR || (result == Z_OK && stream.avail_in == 0 && stream.avail_out > 0))
			break;
	}
	inflateEnd(&stream);
	if (is_bomb(&stream))
		return error_set(err, "more than %d times as large when decompressed", RATIO_MAX);
	if (out->len > DECOMPRESSED_MAX)
		return error_set(err, "larger than %d bytes when decompressed", DECOMPRESSED_MAX);
	if (result != Z_STREAM_END)
		return error_set(err, "not gzip, or cut short");
	return 0;
}
