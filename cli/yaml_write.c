/* See yaml_write.h. */
#include "cli/yaml_write.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "cli/text.h"
#include "common/base/json.h"
#include "common/base/mem.h"

static int append(void *arg, unsigned char *data, size_t len)
{
	buf_append(arg, data, len);
	return 1;
}

/* Fails only without memory: the events are in order, and all text is UTF-8. */
static void emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
	if (!yaml_emitter_emit(emitter, event))
		mem_exhausted();
}

/* Whether a plain scalar of this text is a string for every reader: the words and numbers of YAML 1.1 and 1.2 are not,
 * and neither is whatever begins like a number or a time. (libyaml quotes what the syntax requires.) */
static bool is_plain(const char *text)
{
	static const char *const words[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasecmp(text, words[i]) == 0)
			return false;
	return isalpha((unsigned char)text[0]) || text[0] == '/' || text[0] == '_' || (unsigned char)text[0] >= 0x80;
}

static void write_scalar(yaml_emitter_t *emitter, const char *text, bool is_string)
{
	yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;
	yaml_event_t event;

	if (is_string && strchr(text, '\n') != NULL)
		style = YAML_LITERAL_SCALAR_STYLE;
	else if (is_string && !is_plain(text))
		style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	if (!yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text), 1, 1,
					  style))
		mem_exhausted();
	emit(emitter, &event);
}

static void write_value(yaml_emitter_t *emitter, const json_t *value)
{
	yaml_event_t event;
	const char *name;
	const json_t *item;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
						    json_object_size(value) > 0 ? YAML_BLOCK_MAPPING_STYLE
										: YAML_FLOW_MAPPING_STYLE);
		emit(emitter, &event);
		json_object_foreach((json_t *)value, name, item) {
			write_scalar(emitter, name, true);
			write_value(emitter, item);
		}
		yaml_mapping_end_event_initialize(&event);
		emit(emitter, &event);
		break;
	case JSON_ARRAY:
		yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
						     json_array_size(value) > 0 ? YAML_BLOCK_SEQUENCE_STYLE
										: YAML_FLOW_SEQUENCE_STYLE);
		emit(emitter, &event);
		json_array_foreach(value, i, item)
			write_value(emitter, item);
		yaml_sequence_end_event_initialize(&event);
		emit(emitter, &event);
		break;
	case JSON_STRING:
		/* a text with a NUL, which C strings cannot have, is cut there */
		write_scalar(emitter, json_string_value(value), true);
		break;
	default: {
		cleanup_free char *text = json_text(value);

		write_scalar(emitter, text, false);
	}
	}
}

static bool has_unsafe(const json_t *value)
{
	cleanup_free char *text = json_text(value);

	return text_has_unsafe(text, strlen(text));
}

void yaml_write(struct buf *out, const json_t *value)
{
	yaml_emitter_t emitter;
	yaml_event_t event;

	if (!yaml_emitter_initialize(&emitter))
		mem_exhausted();
	yaml_emitter_set_output(&emitter, append, out);
	yaml_emitter_set_unicode(&emitter, !has_unsafe(value));
	yaml_emitter_set_width(&emitter, -1);
	yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
	emit(&emitter, &event);
	yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
	emit(&emitter, &event);
	write_value(&emitter, value);
	yaml_document_end_event_initialize(&event, 1);
	emit(&emitter, &event);
	yaml_stream_end_event_initialize(&event);
	emit(&emitter, &event);
	yaml_emitter_delete(&emitter);
}
