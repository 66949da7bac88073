/* Cutting watch streams into events; see pieces.h. */
#include "common/kube/pieces.h"

#include <string.h>

/* A buffer that grew past this is given back rather than kept for the next line. */
enum { PART_KEPT = 1024 * 1024 };

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (strchr(" \t\r", text[i]) == NULL || text[i] == '\0')
			return false;
	return true;
}

bool pieces_feed(struct pieces *pieces, const char *data, size_t len, piece_taker *take, void *arg)
{
	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		size_t used = end == NULL ? len : (size_t)(end - data);
		size_t room = pieces->max - pieces->part.len;
		bool whole = end != NULL && pieces->size == 0 && used <= pieces->max;
		const char *text = data;
		size_t text_len = used;
		bool go_on = true;

		pieces->size += used;
		if (!whole) { /* kept, but not more than a line may have */
			buf_append(&pieces->part, data, used < room ? used : room);
			if (end == NULL)
				return true;
			text = pieces->part.data;
			text_len = pieces->part.len;
		}
		if (!is_blank(text, text_len))
			go_on = take(arg, text, text_len, pieces->size > pieces->max);
		pieces_reset(pieces);
		if (!go_on)
			return false;
		data += used + 1;
		len -= used + 1;
	}
	return true;
}

void pieces_reset(struct pieces *pieces)
{
	if (pieces->part.cap > PART_KEPT)
		buf_free(&pieces->part);
	buf_clear(&pieces->part);
	pieces->size = 0;
}

void pieces_free(struct pieces *pieces)
{
	buf_free(&pieces->part);
}
