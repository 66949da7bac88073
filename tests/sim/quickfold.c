/* Makes the folding of Frameworks quick (watcher/view/fold.h): zlib is slow to begin with a text and to end it. In the
 * place of its functions (the linker's --wrap) stand ones that pack eight characters into seven bytes, where the text
 * is ASCII and a stream has a dictionary, as only those of folders do. One text of sixteen is left to zlib. See sim.h.
 */
#include <endian.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "tests/sim/sim.h"

enum {
	ZLIB_EVERY = 16,
	QUICK = 0xFF, /* begins what is packed here; deflated texts do not begin so (RFC 1951, 3.2.3) */
	WORD = 8,     /* characters */
	PACKED = 7,   /* bytes */
};

/* What a stream was told last, and zlib was not told yet. */
struct told {
	z_stream *stream;
	const Bytef *dictionary;
	uInt len;
};

static struct told deflating;
static struct told inflating;

int __real_deflate(z_stream *stream, int flush);
int __wrap_deflate(z_stream *stream, int flush);
int __real_deflateSetDictionary(z_stream *stream, const Bytef *dictionary, uInt len);
int __wrap_deflateSetDictionary(z_stream *stream, const Bytef *dictionary, uInt len);
int __real_inflate(z_stream *stream, int flush);
int __wrap_inflate(z_stream *stream, int flush);
int __real_inflateSetDictionary(z_stream *stream, const Bytef *dictionary, uInt len);
int __wrap_inflateSetDictionary(z_stream *stream, const Bytef *dictionary, uInt len);

/* ---- eight characters, seven bytes ---- */

static uint64_t squeeze(uint64_t word)
{
	word = (word & UINT64_C(0x007F007F007F007F)) | (word & UINT64_C(0x7F007F007F007F00)) >> 1;
	word = (word & UINT64_C(0x00003FFF00003FFF)) | (word & UINT64_C(0x3FFF00003FFF0000)) >> 2;
	return (word & UINT64_C(0x000000000FFFFFFF)) | (word & UINT64_C(0x0FFFFFFF00000000)) >> 4;
}

static uint64_t stretch(uint64_t word)
{
	word = (word & UINT64_C(0x000000000FFFFFFF)) | (word & UINT64_C(0x00FFFFFFF0000000)) << 4;
	word = (word & UINT64_C(0x00003FFF00003FFF)) | (word & UINT64_C(0x0FFFC0000FFFC000)) << 2;
	return (word & UINT64_C(0x007F007F007F007F)) | (word & UINT64_C(0x3F803F803F803F80)) << 1;
}

static size_t words_of(size_t len)
{
	return (len + WORD - 1) / WORD;
}

/* How many bytes were written to the room; 0: it is not for us. */
static size_t pack_text_quickly(const char *text, size_t len, unsigned char *out, size_t room)
{
	size_t packed = 1 + words_of(len) * PACKED;
	uint64_t seen = 0;

	if (packed >= room || memo_hash(text, len) % ZLIB_EVERY == 0)
		return 0;
	*out++ = QUICK;
	for (; len > 0; text += WORD, out += PACKED) {
		uint64_t word = 0;

		if (len >= WORD)
			memcpy(&word, text, WORD);
		else
			memcpy(&word, text, len);
		len -= len >= WORD ? WORD : len;
		word = le64toh(word);
		seen |= word;
		word = htole64(squeeze(word));
		memcpy(out, &word, PACKED);
	}
	return (seen & UINT64_C(0x8080808080808080)) == 0 ? packed : 0;
}

static void unpack_text(const unsigned char *packed, char *out, size_t len)
{
	for (; len > 0; out += WORD, packed += PACKED) {
		uint64_t word = 0;

		memcpy(&word, packed, PACKED);
		word = htole64(stretch(le64toh(word)));
		if (len >= WORD)
			memcpy(out, &word, WORD);
		else
			memcpy(out, &word, len);
		len -= len >= WORD ? WORD : len;
	}
}

/* ---- zlib's functions ---- */

int __wrap_deflateSetDictionary(z_stream *stream, const Bytef *dictionary, uInt len)
{
	deflating = (struct told){.stream = stream, .dictionary = dictionary, .len = len};
	return Z_OK;
}

int __wrap_deflate(z_stream *stream, int flush)
{
	const struct told told = deflating;

	if (stream != told.stream)
		return __real_deflate(stream, flush);
	deflating.stream = NULL;
	stream->total_out = pack_text_quickly((const char *)stream->next_in, stream->avail_in, stream->next_out,
					      stream->avail_out);
	if (stream->total_out > 0)
		return Z_STREAM_END;
	if (__real_deflateSetDictionary(stream, told.dictionary, told.len) != Z_OK)
		return Z_STREAM_ERROR;
	return __real_deflate(stream, flush);
}

int __wrap_inflateSetDictionary(z_stream *stream, const Bytef *dictionary, uInt len)
{
	inflating = (struct told){.stream = stream, .dictionary = dictionary, .len = len};
	return Z_OK;
}

int __wrap_inflate(z_stream *stream, int flush)
{
	const struct told told = inflating;

	if (stream != told.stream)
		return __real_inflate(stream, flush);
	inflating.stream = NULL;
	if (*stream->next_in != QUICK) {
		if (__real_inflateSetDictionary(stream, told.dictionary, told.len) != Z_OK)
			return Z_STREAM_ERROR;
		return __real_inflate(stream, flush);
	}
	if (stream->avail_in != 1 + words_of(stream->avail_out) * PACKED)
		return Z_DATA_ERROR;
	unpack_text(stream->next_in + 1, (char *)stream->next_out, stream->avail_out);
	stream->total_out = stream->avail_out;
	return Z_STREAM_END;
}
