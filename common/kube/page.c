/* Pages of lists; see page.h. */
#include "common/kube/page.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json_reader.h"
#include "common/base/mem.h"

static void add_item(struct page *page, const char *data, size_t len)
{
	if (page->count == page->room) {
		page->room = page->room == 0 ? 64 : page->room * 2;
		page->items = mem_realloc(page->items, page->room, sizeof(page->items[0]));
	}
	page->items[page->count++] = (struct reflector_object){.data = data, .len = len};
}

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

int page_read(struct page *page, const char *body, size_t len, struct error *err)
{
	struct json_reader reader;
	struct json_span name;
	bool has_items = false;

	*page = (struct page){0};
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

void page_free(struct page *page)
{
	free(page->items);
	free(page->version);
	free(page->more);
}
