/* base64(gzip(…)) of large statuses (CONTRACT.md §13). */
#define ZLIB_CONST
#include <resolv.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/mem.h"
#include "common/framework/status.h"

/* zlib's way to ask for a gzip wrapper: windowBits 15 + 16; for reading, + 32 also takes a zlib wrapper. */
enum { WINDOW_GZIP = 15 + 16, MEMORY_LEVEL = 8, CHUNK = 64 * 1024 };

/* The largest accepted ratio, and the length of texts from which it applies. Statuses of equal Tasks with long
 * diagnostics come to 50; deflate can do 1 000. */
enum { RATIO_MAX = 200, RATIO_FROM = 1024 * 1024 };

static bool is_bomb(uLong text_len, uLong packed_len)
{
	return text_len >= RATIO_FROM && text_len / RATIO_MAX > packed_len;
}

/* NULL: the result would be longer than max. *doubtful: some beginning of it may be what text_decompress() takes for a
 * bomb. */
static char *compress_at(int level, const char *text, size_t len, size_t max, bool *doubtful)
{
	z_stream stream = {0};
	size_t room;
	cleanup_free unsigned char *packed = NULL;
	char *base64;
	int result;

	if (deflateInit2(&stream, level, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		mem_exhausted();
	room = deflateBound(&stream, (uLong)len);
	if (room > max / 4 * 3)
		room = max / 4 * 3;
	packed = mem_alloc(room + 1);
	stream.next_in = (const unsigned char *)text;
	stream.next_out = packed;
	stream.avail_out = (uInt)room;
	*doubtful = false;
	do {
		size_t left = len - stream.total_in;

		stream.avail_in = (uInt)(left < CHUNK ? left : CHUNK);
		result = deflate(&stream, left <= CHUNK ? Z_FINISH : Z_NO_FLUSH);
		/* (it keeps some output back, so that it looks smaller than it is) */
		if (is_bomb(stream.total_in, stream.total_out))
			*doubtful = true;
	} while (result == Z_OK && stream.avail_out > 0);
	room = stream.total_out;
	deflateEnd(&stream);
	if (result != Z_STREAM_END)
		return NULL;
	base64 = mem_alloc(room / 3 * 4 + 5);
	b64_ntop(packed, room, base64, room / 3 * 4 + 5);
	return base64;
}

static bool reads(const char *base64)
{
	cleanup_buf struct buf text = {0};

	return text_decompress(base64, strlen(base64), &text, NULL) == 0;
}

char *text_compress_within(const char *text, size_t len, size_t max)
{
	/* A status is mostly repetition, which even the fastest level finds. What 10 000 Tasks have of their own (UIDs,
	 * IPs, times) comes to 1.4 MiB at the first of these, in 0.03 s, and to 1.1 MiB at the last, in 0.25 s. A
	 * result of more than `hopeless` quarters of what fits is more than the levels behind can make up for. */
	static const struct {
		int level;
		size_t hopeless;
	} tries[] = {{Z_BEST_SPEED, 12}, {6, 5}, {Z_BEST_COMPRESSION, 4}};
	char *base64 = NULL;
	bool doubtful;

	if (len > DECOMPRESSED_MAX)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		free(base64);
		base64 = compress_at(tries[i].level, text, len,
				     max < SIZE_MAX / 3 ? max / 4 * tries[i].hopeless : SIZE_MAX, &doubtful);
		if (base64 == NULL || strlen(base64) <= max)
			break;
	}
	if (base64 != NULL && (strlen(base64) > max || (doubtful && !reads(base64)))) {
		free(base64);
		base64 = NULL;
	}
	return base64;
}

char *text_compress(const char *text, size_t len)
{
	bool doubtful;

	return compress_at(Z_BEST_COMPRESSION, text, len, SIZE_MAX, &doubtful);
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
	while (result == Z_OK && out->len <= DECOMPRESSED_MAX && !is_bomb(stream.total_out, stream.total_in)) {
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
	if (is_bomb(stream.total_out, stream.total_in))
		return error_set(err, "more than %d times as large when decompressed", RATIO_MAX);
	if (out->len > DECOMPRESSED_MAX)
		return error_set(err, "larger than %d bytes when decompressed", DECOMPRESSED_MAX);
	if (result != Z_STREAM_END)
		return error_set(err, "not gzip, or cut short");
	return 0;
}
