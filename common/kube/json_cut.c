/* Cutting JSON text into objects; see json_cut.h. It parses only strings and brackets. */
#include "common/kube/json_cut.h"

#include <stdint.h>
#include <string.h>

/* Of a piece that is too large, this much is kept: enough to name the object. */
enum { HEAD_KEPT = 64 * 1024 };
/* A buffer that grew past this is given back rather than kept for the next piece. */
enum { PART_KEPT = 1024 * 1024 };
/* No key of a list is longer; the rest of a longer one is dropped, so it matches none. */
enum { KEY_KEPT = 64 };

enum place { AT_START, AT_KEY, IN_KEY, AT_COLON, AT_VALUE, IN_VALUE, AT_ITEM, IN_ITEM, AT_END };
enum what { OTHER, METADATA, ITEMS };

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

void list_cut_init(struct list_cut *cut, size_t item_max, cut_piece *item, void *arg)
{
	*cut = (struct list_cut){.item = item, .arg = arg, .item_max = item_max, .place = AT_START};
}

void list_cut_free(struct list_cut *cut)
{
	buf_free(&cut->metadata);
	buf_free(&cut->key);
	buf_free(&cut->part);
}

bool list_cut_complete(const struct list_cut *cut)
{
	return cut->place == AT_END;
}

/* A value begins with c. */
static void begin_value(struct list_cut *cut, char c)
{
	cut->depth = 0;
	cut->in_string = false;
	cut->escaped = false;
	cut->bare = c != '{' && c != '[' && c != '"';
	cut->too_large = false;
	if (cut->part.cap > PART_KEPT)
		buf_free(&cut->part);
	buf_clear(&cut->part);
}

/* How many bytes of data belong to the value that has begun; *ended: it ends with them. */
static size_t scan_value(struct list_cut *cut, const char *data, size_t len, bool *ended)
{
	size_t i = 0;

	*ended = false;
	if (cut->bare) {
		while (i < len && !is_space(data[i]) && data[i] != ',' && data[i] != ']' && data[i] != '}')
			i++;
		*ended = i < len;
		return i;
	}
	for (; i < len; i++) {
		char c = data[i];

		if (cut->in_string) {
			if (cut->escaped)
				cut->escaped = false;
			else if (c == '\\')
				cut->escaped = true;
			else if (c == '"')
				cut->in_string = false;
			else
				continue;
			if (cut->in_string || cut->depth > 0)
				continue;
		} else if (c == '"') {
			cut->in_string = true;
			continue;
		} else if (c == '{' || c == '[') {
			cut->depth++;
			continue;
		} else if (c == '}' || c == ']') {
			if (--cut->depth > 0)
				continue;
		} else {
			continue;
		}
		*ended = true;
		return i + 1;
	}
	return len;
}

static void keep_part(struct list_cut *cut, const char *data, size_t len)
{
	if (!cut->too_large && len > cut->item_max - cut->part.len) {
		cut->too_large = true;
		len = cut->item_max - cut->part.len;
		if (cut->part.len + len > HEAD_KEPT)
			len = cut->part.len > HEAD_KEPT ? 0 : HEAD_KEPT - cut->part.len;
	} else if (cut->too_large) {
		return;
	}
	buf_append(&cut->part, data, len);
}

/* The item goes on for data[0..len) and maybe ends there. */
static void take_item(struct list_cut *cut, const char *data, size_t len, bool ended)
{
	const char *text = data;
	size_t text_len = len;

	if (!ended || cut->part.len > 0 || len > cut->item_max) {
		keep_part(cut, data, len);
		text = cut->part.data;
		text_len = cut->part.len;
	}
	if (!ended)
		return;
	cut->place = AT_ITEM;
	if (!cut->item(cut->arg, text, text_len, cut->too_large))
		cut->stopped = true;
}

static void end_key(struct list_cut *cut)
{
	cut->what = OTHER;
	if (cut->key.data != NULL && strcmp(cut->key.data, "items") == 0)
		cut->what = ITEMS;
	else if (cut->key.data != NULL && strcmp(cut->key.data, "metadata") == 0)
		cut->what = METADATA;
	cut->place = AT_COLON;
}

static int unexpected(const struct list_cut *cut, char c, const char *expected, struct error *err)
{
	return error_set(err, "invalid JSON: byte %zu: found 0x%02x, expected %s", cut->offset, (unsigned char)c,
			 expected);
}

/* One byte where structure is expected. */
static int take_structure(struct list_cut *cut, char c, struct error *err)
{
	if (is_space(c) && cut->place != IN_KEY)
		return 0;
	switch ((enum place)cut->place) {
	case AT_START:
		if (c != '{')
			return unexpected(cut, c, "an object", err);
		cut->place = AT_KEY;
		return 0;
	case AT_KEY:
		if (c == '}')
			cut->place = AT_END;
		else if (c == '"') {
			buf_clear(&cut->key);
			cut->escaped = false;
			cut->place = IN_KEY;
		} else if (c != ',')
			return unexpected(cut, c, "a name", err);
		return 0;
	case IN_KEY:
		if (c == '"' && !cut->escaped) {
			end_key(cut);
			return 0;
		}
		cut->escaped = c == '\\' && !cut->escaped;
		if (cut->key.len < KEY_KEPT)
			buf_putc(&cut->key, c);
		return 0;
	case AT_COLON:
		if (c != ':')
			return unexpected(cut, c, "':'", err);
		cut->place = AT_VALUE;
		return 0;
	case AT_ITEM:
		if (c == ']')
			cut->place = AT_KEY;
		else if (c != ',')
			return unexpected(cut, c, "an item", err);
		return 0;
	default: return unexpected(cut, c, "the end", err);
	}
}

/* Values and items: whole stretches at once. Returns how many bytes were used. */
static size_t take_stretch(struct list_cut *cut, const char *data, size_t len)
{
	bool ended;
	size_t used = scan_value(cut, data, len, &ended);

	if (cut->place == IN_ITEM) {
		take_item(cut, data, used, ended);
		return used;
	}
	if (cut->what == METADATA || cut->what == ITEMS)
		keep_part(cut, data, used);
	if (ended) {
		cut->place = AT_KEY;
		if (cut->what == METADATA) {
			struct buf old = cut->metadata;

			cut->metadata = cut->part;
			cut->part = old;
		} else if (cut->what == ITEMS) {
			/* Go writes an empty list as null at times */
			cut->has_items = strcmp(cut->part.data, "null") == 0;
		}
	}
	return used;
}

int list_cut_feed(struct list_cut *cut, const char *data, size_t len, struct error *err)
{
	while (len > 0 && !cut->stopped) {
		size_t used = 1;
		char c = *data;

		if (cut->place == IN_VALUE || cut->place == IN_ITEM) {
			used = take_stretch(cut, data, len);
		} else if (cut->place == AT_VALUE && cut->what == ITEMS && c == '[') {
			cut->has_items = true;
			cut->place = AT_ITEM;
		} else if (cut->place == AT_VALUE && !is_space(c)) {
			if (strchr(",:]}", c) != NULL)
				return unexpected(cut, c, "a value", err);
			begin_value(cut, c);
			cut->place = IN_VALUE;
			used = 0;
		} else if (cut->place == AT_ITEM && strchr(" \t\r\n,:]}", c) == NULL) {
			begin_value(cut, c);
			cut->place = IN_ITEM;
			used = 0;
		} else if (take_structure(cut, c, err) < 0) {
			return -1;
		}
		data += used;
		len -= used;
		cut->offset += used;
	}
	return 0;
}

/* ---- lines ---- */

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_space(text[i]))
			return false;
	return true;
}

static void keep_line_part(struct line_cut *cut, const char *data, size_t len)
{
	size_t head;

	if (cut->too_large)
		return;
	if (len <= cut->line_max - cut->part.len) {
		buf_append(&cut->part, data, len);
		return;
	}
	cut->too_large = true;
	head = cut->part.len < HEAD_KEPT ? HEAD_KEPT - cut->part.len : 0;
	buf_append(&cut->part, data, len < head ? len : head);
}

bool line_cut_feed(struct line_cut *cut, const char *data, size_t len, cut_piece *line, void *arg)
{
	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		size_t part = end == NULL ? len : (size_t)(end - data);
		bool go_on;

		if (end != NULL && cut->part.len == 0 && part <= cut->line_max) {
			go_on = is_blank(data, part) || line(arg, data, part, false);
		} else {
			keep_line_part(cut, data, part);
			if (end == NULL)
				return true;
			go_on = is_blank(cut->part.data, cut->part.len) ||
				line(arg, cut->part.data, cut->part.len, cut->too_large);
			line_cut_reset(cut);
		}
		if (!go_on)
			return false;
		data += part + 1;
		len -= part + 1;
	}
	return true;
}

void line_cut_reset(struct line_cut *cut)
{
	if (cut->part.cap > PART_KEPT)
		buf_free(&cut->part);
	buf_clear(&cut->part);
	cut->too_large = false;
}

void line_cut_free(struct line_cut *cut)
{
	buf_free(&cut->part);
}

/* ---- raw text ---- */

/* The end of the value at text[at], or len when it is cut off. */
static size_t skip_value(const char *text, size_t len, size_t at)
{
	struct list_cut scanner = {0};
	bool ended;

	begin_value(&scanner, text[at]);
	at += scan_value(&scanner, text + at, len - at, &ended);
	buf_free(&scanner.part);
	return at;
}

static size_t skip_space(const char *text, size_t len, size_t at)
{
	while (at < len && (is_space(text[at]) || text[at] == ','))
		at++;
	return at;
}

const char *raw_member(const char *text, size_t len, const char *name, size_t *value_len)
{
	size_t name_len = strlen(name);
	size_t at;

	*value_len = 0;
	if (text == NULL)
		return NULL;
	at = skip_space(text, len, 0);
	if (at >= len || text[at] != '{')
		return NULL;
	for (at = skip_space(text, len, at + 1); at < len && text[at] == '"'; at = skip_space(text, len, at)) {
		size_t key = at + 1;
		size_t key_end = skip_value(text, len, at);
		size_t value = skip_space(text, len, key_end);

		if (value >= len || text[value] != ':')
			return NULL;
		value = skip_space(text, len, value + 1);
		if (value >= len)
			return NULL;
		at = skip_value(text, len, value);
		if (at == value)
			return NULL;
		if (key_end - key - 1 == name_len && memcmp(text + key, name, name_len) == 0) {
			*value_len = at - value;
			return text + value;
		}
	}
	return NULL;
}

void raw_string(const char *text, size_t len, const char *name, char *out, size_t size)
{
	size_t value_len;
	const char *value = raw_member(text, len, name, &value_len);
	size_t kept;

	out[0] = '\0';
	if (value == NULL || value_len < 2 || value[0] != '"' || value[value_len - 1] != '"')
		return;
	kept = value_len - 2 < size - 1 ? value_len - 2 : size - 1;
	memcpy(out, value + 1, kept);
	out[kept] = '\0';
}
