/* What an API server sends on a watch or as a list, from the bytes to the kept objects: lines split at any place,
 * pages, parsing, and the names of what cannot be parsed. The first byte says how the input is split. */
#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "common/framework/object.h"
#include "common/kube/page.h"
#include "common/kube/pieces.h"
#include "tests/fuzz/fuzz.h"
#include "tests/objects.h"

enum { PIECE_MAX = 2048 };

/* All pieces one after the other, to compare ways of splitting. */
static void gather(const struct piece *piece, struct buf *out)
{
	FUZZ_EXPECT(piece->too_large ? piece->len == PIECE_MAX : piece->len <= PIECE_MAX);
	buf_append(out, piece->text, piece->len);
	buf_putc(out, piece->too_large ? '!' : '|');
}

static void look(const char *text, size_t len)
{
	cleanup_json json_t *event = json_parse(text, len, NULL);
	const json_t *object = json_object_get(event, "object");
	struct error err;

	if (object == NULL)
		object = event;
	if (event != NULL) {
		config_map_free(config_map_parse(object, &err));
		pod_free(pod_parse(object, &err));
	}
}

/* What is found in a page is in its text, and JSON that is valid as a whole has items that are. */
static void look_at_page(const char *text, size_t size)
{
	struct page page;
	struct json_reader reader;
	const char *end = text;
	struct error err;
	bool valid;

	json_reader_init(&reader, text, size);
	json_reader_skip(&reader);
	valid = json_reader_finish(&reader, NULL) == 0;
	if (page_read(&page, text, size, &err) == 0) {
		for (size_t i = 0; i < page.count; i++) {
			const struct reflector_object *item = &page.items[i];

			FUZZ_EXPECT(item->len > 0 && item->data >= end && item->data + item->len <= text + size);
			end = item->data + item->len;
			json_reader_init(&reader, item->data, item->len);
			json_reader_skip(&reader);
			FUZZ_EXPECT(!valid || json_reader_finish(&reader, NULL) == 0);
			look(item->data, item->len);
		}
	}
	page_free(&page);
}

/* With out: what was cut. Without: the objects in it are read. */
static void cut_lines(const char *text, size_t size, size_t step, struct buf *out)
{
	struct pieces cut = {.max = PIECE_MAX};
	struct piece piece;

	for (size_t at = 0; at < size; at += step) {
		const char *data = text + at;
		size_t len = size - at < step ? size - at : step;

		while (pieces_next(&cut, &data, &len, &piece))
			if (out != NULL)
				gather(&piece, out);
			else if (!piece.too_large)
				look(piece.text, piece.len);
		FUZZ_EXPECT(len == 0);
	}
	FUZZ_EXPECT(cut.part.len <= PIECE_MAX);
	pieces_free(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	cleanup_buf struct buf whole = {0};
	cleanup_buf struct buf split = {0};
	size_t step;

	if (size < 2)
		return 0;
	step = data[0] % 64 + 1;
	size--;
	buf_puts(&whole, "");
	buf_puts(&split, "");
	cut_lines(text, size, size, &whole);
	cut_lines(text, size, step, &split);
	FUZZ_EXPECT(whole.len == split.len && memcmp(whole.data, split.data, whole.len) == 0);
	cut_lines(text, size, step, NULL);
	look_at_page(text, size);
	return 0;
}
