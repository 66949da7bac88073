/* Texts of objects without what nobody needs; see slim.h. */
#include "common/framework/slim.h"

#include <string.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"

void write_slim(struct buf *out, const char *text, size_t len)
{
	struct json_reader reader;
	struct json_span name;
	const char *cut = NULL;
	const char *cut_end = NULL;

	json_reader_init(&reader, text, len);
	if (json_reader_find(&reader, "metadata") && json_reader_object(&reader)) {
		while (json_reader_member(&reader, &name)) {
			json_reader_pass(&reader);
			if (json_span_is(&name, "managedFields")) {
				cut = name.at - 1; /* the quote */
				cut_end = reader.at;
			}
		}
	}
	buf_reserve(out, len);
	if (cut == NULL || reader.expected != NULL) {
		buf_append(out, text, len);
	} else {
		/* with the comma behind it, or else with the one before: behind the last member stands a brace */
		while (*cut_end == ' ' || *cut_end == '\n' || *cut_end == '\t' || *cut_end == '\r')
			cut_end++;
		if (*cut_end == ',')
			cut_end++;
		else
			while (*cut_end == '}' && cut > text && *cut != ',' && *cut != '{')
				cut--;
		if (*cut == '{')
			cut++;
		buf_append(out, text, (size_t)(cut - text));
		buf_append(out, cut_end, (size_t)(text + len - cut_end));
	}
	if (memchr(out->data, '\n', out->len) != NULL) {
		struct buf compact = {0};

		buf_json_compact(&compact, out->data, out->len);
		buf_free(out);
		*out = compact;
	}
}
