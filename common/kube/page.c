/* Pages of lists; see page.h. */
#include "common/kube/page.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "common/kube/proto.h"

static void add_item(struct page *page, const char *data, size_t len)
{
	if (page->count == page->room) {
		page->room = page->room == 0 ? 64 : page->room * 2;
		page->items = mem_realloc(page->items, page->room, sizeof(page->items[0]));
	}
	page->items[page->count++] = (struct reflector_object){.encoding = page->encoding, .data = data, .len = len};
}

/* ---- JSON ---- */

/* The next value when it is a string that is not empty. */
static void take_text(struct json_reader *reader, char **out)
{
	struct json_span span = json_reader_string(reader);

	mem_replace(out, NULL);
	if (span.len == 0)
		return;
	*out = mem_alloc(span.len + 1);
	json_span_decode(&span, *out);
}

static void read_metadata(struct json_reader *reader, struct page *page)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "resourceVersion"))
			take_text(reader, &page->version);
		else if (json_span_is(&name, "continue"))
			take_text(reader, &page->more);
		else
			json_reader_skip(reader);
}

/* False when the value is no list. Go writes an empty one as null at times. */
static bool read_items(struct json_reader *reader, struct page *page)
{
	struct json_reader before = *reader;
	struct json_span value;

	if (!json_reader_array(reader)) {
		value = json_reader_skip(&before);
		return json_span_is(&value, "null");
	}
	while (json_reader_item(reader)) {
		value = json_reader_pass(reader);
		if (value.at != NULL)
			add_item(page, value.at, value.len);
	}
	return true;
}

static int read_json(struct page *page, const char *body, size_t len, struct error *err)
{
	struct json_reader reader;
	struct json_span name;
	bool has_items = false;

	json_reader_init(&reader, body, len);
	if (json_reader_object(&reader)) {
		while (json_reader_member(&reader, &name)) {
			if (json_span_is(&name, "metadata"))
				read_metadata(&reader, page);
			else if (json_span_is(&name, "items"))
				has_items = read_items(&reader, page);
			else
				json_reader_skip(&reader);
		}
	}
	if (json_reader_finish(&reader, err) < 0)
		return -1;
	return has_items ? 0 : error_set(err, "found other JSON, expected a list");
}

/* ---- protobuf ---- */

static char *text_of(struct proto_span text)
{
	return text.len == 0 ? NULL : mem_strndup(text.at, text.len);
}

static int cut_short(struct error *err)
{
	return error_set(err, "invalid protobuf: the list ends in the middle");
}

static int read_proto(struct page *page, struct proto_span body, struct error *err)
{
	struct proto_span list = {0};
	struct proto_field field;

	body.at += sizeof(PROTO_MAGIC);
	body.len -= sizeof(PROTO_MAGIC);
	while (body.len > 0) {
		if (!proto_next(&body, &field))
			return cut_short(err);
		if (field.number != PROTO_UNKNOWN_RAW || !field.is_bytes)
			continue;
		if (list.at != NULL)
			return error_set(err, "invalid protobuf: two lists in one body");
		list = field.bytes;
	}
	if (list.at == NULL)
		return error_set(err, "invalid protobuf: found no list");
	while (list.len > 0) {
		if (!proto_next(&list, &field))
			return cut_short(err);
		if (field.number == PROTO_LIST_ITEMS && field.is_bytes) {
			add_item(page, field.bytes.at, field.bytes.len);
		} else if (field.number == PROTO_LIST_METADATA && field.is_bytes) {
			free(page->version);
			free(page->more);
			page->version = text_of(proto_field(field.bytes, PROTO_LIST_VERSION));
			page->more = text_of(proto_field(field.bytes, PROTO_LIST_CONTINUE));
		}
	}
	return 0;
}

int page_read(struct page *page, const char *body, size_t len, struct error *err)
{
	bool binary = len >= sizeof(PROTO_MAGIC) && memcmp(body, PROTO_MAGIC, sizeof(PROTO_MAGIC)) == 0;

	*page = (struct page){.encoding = binary ? REFLECTED_PROTOBUF : REFLECTED_JSON};
	return binary ? read_proto(page, (struct proto_span){body, len, false}, err) : read_json(page, body, len, err);
}

void page_free(struct page *page)
{
	free(page->items);
	free(page->version);
	free(page->more);
}
