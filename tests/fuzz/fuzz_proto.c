/* Pods in Kubernetes' protobuf: a list, a watch split anywhere, a single Pod, a Status. The first byte says what, the
 * second how the input is split. */
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/object.h"
#include "common/kube/page.h"
#include "common/kube/pieces.h"
#include "common/kube/proto.h"
#include "tests/fuzz/fuzz.h"

enum { PIECE_MAX = 1024 };

static bool gather(void *arg, const char *text, size_t len, bool too_large)
{
	struct buf *out = arg;

	FUZZ_EXPECT(too_large ? len == PIECE_MAX : len <= PIECE_MAX);
	buf_append(out, text, len);
	buf_putc(out, too_large ? '!' : '|');
	return true;
}

static size_t part(size_t size, size_t at, size_t step)
{
	return size - at < step ? size - at : step;
}

static bool cut_frames(const char *data, size_t size, size_t step, struct buf *out)
{
	struct pieces cut = {.max = PIECE_MAX, .frames = true};
	bool good = true;

	for (size_t at = 0; at < size && good; at += step)
		good = pieces_feed(&cut, data + at, part(size, at, step), gather, out);
	FUZZ_EXPECT(cut.part.len <= PIECE_MAX);
	pieces_free(&cut);
	return good;
}

static void look_at_splitting(const char *data, size_t size, size_t step)
{
	cleanup_buf struct buf whole = {0};
	cleanup_buf struct buf split = {0};

	if (size == 0)
		return;
	buf_puts(&whole, "");
	buf_puts(&split, "");
	FUZZ_EXPECT(cut_frames(data, size, size, &whole) == cut_frames(data, size, step, &split));
	FUZZ_EXPECT(whole.len == split.len && memcmp(whole.data, split.data, whole.len) == 0);
}

/* What is kept of it says the same after the bus. */
static void look_at_pod(const char *data, size_t size)
{
	cleanup_buf struct buf written = {0};
	struct error err;
	struct pod *pod = pod_read_proto(data, size, &err);
	struct pod *again;

	if (pod == NULL)
		return;
	pod_write(&written, pod);
	again = pod_read(written.data, written.len, &err);
	FUZZ_EXPECT(again != NULL);
	pod_free(pod);
	pod_free(again);
}

/* What is found in a page is in its body, in order. */
static void look_at_page(const char *data, size_t size)
{
	struct page page;
	const char *end = data;
	struct error err;

	if (page_read(&page, data, size, &err) == 0 && page.encoding == REFLECTED_PROTOBUF) {
		for (size_t i = 0; i < page.count; i++) {
			const struct reflector_object *item = &page.items[i];

			FUZZ_EXPECT(item->data > end && item->data + item->len <= data + size);
			end = item->data + item->len;
			look_at_pod(item->data, item->len);
		}
	}
	page_free(&page);
}

static void look_at_fields(const char *data, size_t size)
{
	const struct proto_span body = {.at = data, .len = size};
	struct proto_span object = proto_object(body);
	json_t *status = proto_status(object.at == NULL ? body : object);
	char name[64];

	FUZZ_EXPECT(object.at == NULL || (object.at >= data && object.at + object.len <= data + size));
	if (object.at != NULL)
		proto_text(proto_field(object, PROTO_METADATA), PROTO_META_NAME, name, sizeof(name));
	json_decref(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 2;
	size_t step;

	if (size < 2)
		return 0;
	size -= 2;
	step = data[1] % 64 + 1;
	switch (data[0] % 4) {
	case 0: look_at_page(text, size); break;
	case 1: look_at_splitting(text, size, step); break;
	case 2: look_at_pod(text, size); break;
	case 3: look_at_fields(text, size); break;
	}
	return 0;
}
