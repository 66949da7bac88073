/* What an API server sends on a watch or as a list, from the bytes to the kept objects: cutting at any place, parsing,
 * and the fallback for what cannot be parsed. The first byte says how the input is split. */
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/object.h"
#include "common/kube/json_cut.h"
#include "tests/fuzz/fuzz.h"
#include "tests/objects.h"

/* Of a piece that is longer than PIECE_MAX only its beginning comes, how much depends on the splitting. */
enum { PIECE_MAX = 2048, BEGINNING_MAX = 64 * 1024, BEGINNING_SURE = 64 };

/* All pieces one after the other, to compare ways of splitting. */
static bool gather(void *arg, const char *text, size_t len, bool too_large)
{
	struct buf *out = arg;

	FUZZ_EXPECT(len <= (too_large ? BEGINNING_MAX : PIECE_MAX));
	buf_append(out, text, too_large && len > BEGINNING_SURE ? BEGINNING_SURE : len);
	buf_putc(out, too_large ? '!' : '|');
	return true;
}

static bool look(void *arg, const char *text, size_t len, bool too_large)
{
	cleanup_json json_t *event = too_large ? NULL : json_parse(text, len, NULL);
	const json_t *object = json_object_get(event, "object");
	struct error err;
	size_t raw_len;
	const char *raw;
	char name[64];

	(void)arg;
	if (object == NULL)
		object = event;
	if (event != NULL) {
		config_map_free(config_map_parse(object, &err));
		pod_free(pod_parse(object, &err));
		return true;
	}
	raw = raw_member(text, len, "object", &raw_len);
	if (raw == NULL) {
		raw = text;
		raw_len = len;
	}
	FUZZ_EXPECT(raw >= text && raw + raw_len <= text + len);
	raw = raw_member(raw, raw_len, "metadata", &raw_len);
	raw_string(raw, raw_len, "name", name, sizeof(name));
	return true;
}

/* Whether the whole came; -1 for no list. */
static int cut_list(const char *text, size_t size, size_t step, cut_piece *piece, struct buf *out)
{
	struct list_cut cut;
	struct error err;
	int result = 0;

	list_cut_init(&cut, PIECE_MAX, piece, out);
	for (size_t at = 0; at < size && result == 0; at += step)
		result = list_cut_feed(&cut, text + at, size - at < step ? size - at : step, &err);
	if (result == 0)
		result = list_cut_complete(&cut) ? 1 : 0;
	FUZZ_EXPECT(cut.metadata.len <= PIECE_MAX);
	list_cut_free(&cut);
	return result;
}

static void cut_lines(const char *text, size_t size, size_t step, cut_piece *piece, struct buf *out)
{
	struct line_cut cut = {.line_max = PIECE_MAX};

	for (size_t at = 0; at < size; at += step)
		FUZZ_EXPECT(line_cut_feed(&cut, text + at, size - at < step ? size - at : step, piece, out));
	FUZZ_EXPECT(cut.part.len <= BEGINNING_MAX);
	line_cut_free(&cut);
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
	FUZZ_EXPECT(cut_list(text, size, size, gather, &whole) == cut_list(text, size, step, gather, &split));
	FUZZ_EXPECT(strcmp(whole.data, split.data) == 0);
	buf_clear(&whole);
	buf_clear(&split);
	cut_lines(text, size, size, gather, &whole);
	cut_lines(text, size, step, gather, &split);
	FUZZ_EXPECT(whole.len == split.len && memcmp(whole.data, split.data, whole.len) == 0);
	cut_list(text, size, step, look, NULL);
	cut_lines(text, size, step, look, NULL);
	return 0;
}
