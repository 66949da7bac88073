/* Cutting watch streams into events; see pieces.h. */
#include "common/kube/pieces.h"

#include <string.h>

/* A buffer that grew past this is given back rather than kept for the next piece. */
enum { PART_KEPT = 1024 * 1024 };
/* Bytes of a frame's length. */
enum { FRAME_HEAD = 4 };

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (strchr(" \t\r", text[i]) == NULL || text[i] == '\0')
			return false;
	return true;
}

/* One byte of a frame's length. */
static void take_head(struct pieces *pieces, unsigned char byte)
{
	pieces->left = pieces->left << 8 | byte;
	if (++pieces->head_len < FRAME_HEAD)
		return;
	pieces->size = pieces->left;
	pieces->broken = pieces->left > FRAME_BEYOND;
	if (pieces->left == 0)
		pieces->head_len = 0; /* says nothing */
}

/* Keeps the data, but not more than a piece may have. */
static void keep(struct pieces *pieces, const char *data, size_t len)
{
	size_t room = pieces->max - pieces->part.len;

	buf_append(&pieces->part, data, len < room ? len : room);
}

/* Where the piece that goes on in data ends, or NULL; *used: how many bytes of data are part of it. */
static const char *find_end(struct pieces *pieces, const char *data, size_t len, size_t *used)
{
	const char *end;

	if (pieces->frames) {
		end = pieces->left <= len ? data + pieces->left : NULL;
		*used = end == NULL ? len : (size_t)pieces->left;
		pieces->left -= *used;
	} else {
		end = memchr(data, '\n', len);
		*used = end == NULL ? len : (size_t)(end - data);
		pieces->size += *used;
	}
	return end;
}

bool pieces_feed(struct pieces *pieces, const char *data, size_t len, piece_taker *take, void *arg)
{
	while (len > 0) {
		const char *end;
		size_t used;
		bool too_large;
		bool go_on = true;

		if (pieces->frames && pieces->head_len < FRAME_HEAD) {
			take_head(pieces, (unsigned char)*data++);
			if (pieces->broken)
				return false;
			len--;
			continue;
		}
		end = find_end(pieces, data, len, &used);
		too_large = pieces->size > pieces->max;
		if (end != NULL && pieces->part.len == 0 && !too_large) {
			if (pieces->frames || !is_blank(data, used))
				go_on = take(arg, data, used, false);
		} else {
			keep(pieces, data, used);
			if (end == NULL)
				return true;
			if (pieces->frames || !is_blank(pieces->part.data, pieces->part.len))
				go_on = take(arg, pieces->part.data, pieces->part.len, too_large);
		}
		pieces_reset(pieces);
		if (!go_on)
			return false;
		used += pieces->frames ? 0 : 1; /* the line's end */
		data += used;
		len -= used;
	}
	return true;
}

void pieces_reset(struct pieces *pieces)
{
	if (pieces->part.cap > PART_KEPT)
		buf_free(&pieces->part);
	buf_clear(&pieces->part);
	pieces->size = pieces->left = 0;
	pieces->head_len = 0;
	pieces->broken = false;
}

void pieces_free(struct pieces *pieces)
{
	buf_free(&pieces->part);
}
