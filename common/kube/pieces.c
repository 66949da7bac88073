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

bool pieces_next(struct pieces *pieces, const char **data, size_t *len, struct piece *out)
{
	if (pieces->taken)
		pieces_reset(pieces);
	while (*len > 0) {
		const char *at = *data;
		const char *end = memchr(at, '\n', *len);
		size_t used = end == NULL ? *len : (size_t)(end - at);
		size_t room = pieces->max - pieces->part.len;
		bool whole = end != NULL && pieces->size == 0 && used <= pieces->max;

		*data += end == NULL ? used : used + 1;
		*len -= end == NULL ? used : used + 1;
		pieces->size += used;
		if (!whole) /* kept, but not more than a line may have */
			buf_append(&pieces->part, at, used < room ? used : room);
		if (end == NULL)
			return false;
		*out = (struct piece){.text = whole ? at : pieces->part.data,
				      .len = whole ? used : pieces->part.len,
				      .too_large = pieces->size > pieces->max};
		if (!is_blank(out->text, out->len)) {
			pieces->taken = true;
			return true;
		}
		pieces_reset(pieces);
	}
	return false;
}

void pieces_reset(struct pieces *pieces)
{
	if (pieces->part.cap > PART_KEPT)
		buf_free(&pieces->part);
	buf_clear(&pieces->part);
	pieces->size = 0;
	pieces->taken = false;
}

void pieces_free(struct pieces *pieces)
{
	buf_free(&pieces->part);
}
