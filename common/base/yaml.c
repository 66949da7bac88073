/* YAML text → node tree, on libyaml's event API: its document API follows aliases before anybody can refuse them. */
#include "common/base/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/mem.h"

enum { DESCRIBE_MAX = 60 };

/* The root carries what the whole tree shares. */
struct yaml_tree {
	struct yaml_node root; /* first, so that the root's address is the tree's */
	char *file;
};

struct loader {
	yaml_parser_t parser;
	struct yaml_tree *tree;
	const char *text;
	size_t len;
	/* The collections that are open, the innermost last. */
	struct yaml_node *open[YAML_MAX_DEPTH];
	size_t capacity[YAML_MAX_DEPTH];
	struct yaml_node *key[YAML_MAX_DEPTH]; /* of an open mapping: the key that waits for its value */
	size_t depth;
	size_t nodes;
	bool root_seen;
	struct error *err;
};

static void node_clear(struct yaml_node *node)
{
	for (size_t i = 0; i < node->count; i++) {
		if (node->keys) {
			node_clear(node->keys[i]);
			free(node->keys[i]);
		}
		node_clear(node->items[i]);
		free(node->items[i]);
	}
	free(node->keys);
	free(node->items);
	free(node->text);
}

void yaml_tree_free(struct yaml_node *root)
{
	if (!root)
		return;
	struct yaml_tree *tree = (struct yaml_tree *)root;
	node_clear(root);
	free(tree->file);
	free(tree);
}

static int error_at(struct loader *loader, const yaml_mark_t *mark, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int error_at(struct loader *loader, const yaml_mark_t *mark, const char *format, ...)
{
	char message[512];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return error_set(loader->err, "%s:%zu:%zu: %s", loader->tree->file, mark->line + 1, mark->column + 1, message);
}

int yaml_error(const struct yaml_node *node, struct error *err, const char *format, ...)
{
	char message[ERROR_MESSAGE_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return error_set(err, "%s:%zu:%zu: %s", node->file, node->line, node->column, message);
}

/* ---- building ---- */

/* Makes room for the node, which becomes the root, a key, a value or an item. NULL and the error when it may not. */
static struct yaml_node *node_add(struct loader *loader, const yaml_event_t *event, enum yaml_kind kind)
{
	const yaml_mark_t *mark = &event->start_mark;
	if (++loader->nodes > YAML_MAX_NODES) {
		error_at(loader, mark, "more than %d values", YAML_MAX_NODES);
		return NULL;
	}
	struct yaml_node *node;
	if (loader->depth == 0) {
		node = &loader->tree->root;
		loader->root_seen = true;
	} else {
		size_t top = loader->depth - 1;
		struct yaml_node *parent = loader->open[top];
		bool is_key = parent->kind == YAML_MAPPING && !loader->key[top];
		if (is_key && kind != YAML_SCALAR) {
			error_at(loader, mark, "a key must be a scalar, found a %s",
				 kind == YAML_MAPPING ? "mapping" : "sequence");
			return NULL;
		}
		node = mem_calloc(1, sizeof(*node));
		if (is_key) {
			loader->key[top] = node;
		} else {
			if (parent->count == loader->capacity[top]) {
				size_t capacity = parent->count ? parent->count * 2 : 8;
				loader->capacity[top] = capacity;
				parent->items = mem_realloc(parent->items, capacity, sizeof(struct yaml_node *));
				if (parent->kind == YAML_MAPPING)
					parent->keys = mem_realloc(parent->keys, capacity, sizeof(struct yaml_node *));
			}
			if (parent->kind == YAML_MAPPING)
				parent->keys[parent->count] = loader->key[top];
			loader->key[top] = NULL;
			parent->items[parent->count++] = node;
		}
	}
	node->kind = kind;
	node->file = loader->tree->file;
	node->line = mark->line + 1;
	node->column = mark->column + 1;
	return node;
}

static int check_anchor_and_tag(struct loader *loader, const yaml_mark_t *mark, const yaml_char_t *anchor,
				const yaml_char_t *tag, const char *allowed)
{
	if (anchor)
		return error_at(loader, mark, "anchors are not supported");
	if (tag && strcmp((const char *)tag, "!") != 0 && strcmp((const char *)tag, allowed) != 0)
		return error_at(loader, mark, "tag %.100s is not supported", (const char *)tag);
	return 0;
}

static int add_scalar(struct loader *loader, const yaml_event_t *event)
{
	const yaml_mark_t *mark = &event->start_mark;
	const char *value = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	if (check_anchor_and_tag(loader, mark, event->data.scalar.anchor, event->data.scalar.tag, YAML_STR_TAG) < 0)
		return -1;
	if (memchr(value, '\0', len))
		return error_at(loader, mark, "a NUL character in a string is not supported");
	struct yaml_node *node = node_add(loader, event, YAML_SCALAR);
	if (!node)
		return -1;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !event->data.scalar.tag;
	node->text = mem_strndup(value, len);
	return 0;
}

static int open_collection(struct loader *loader, const yaml_event_t *event, enum yaml_kind kind)
{
	const yaml_mark_t *mark = &event->start_mark;
	bool mapping = kind == YAML_MAPPING;
	const yaml_char_t *anchor = mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
	const yaml_char_t *tag = mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag;
	if (check_anchor_and_tag(loader, mark, anchor, tag, mapping ? YAML_MAP_TAG : YAML_SEQ_TAG) < 0)
		return -1;
	if (loader->depth == YAML_MAX_DEPTH)
		return error_at(loader, mark, "nested more than %d deep", YAML_MAX_DEPTH);
	struct yaml_node *node = node_add(loader, event, kind);
	if (!node)
		return -1;
	loader->open[loader->depth] = node;
	loader->capacity[loader->depth] = 0;
	loader->key[loader->depth] = NULL;
	loader->depth++;
	return 0;
}

static bool position_before(const struct yaml_node *a, const struct yaml_node *b)
{
	return a->line < b->line || (a->line == b->line && a->column < b->column);
}

static int compare_keys(const void *left, const void *right)
{
	const struct yaml_node *a = *(struct yaml_node *const *)left;
	const struct yaml_node *b = *(struct yaml_node *const *)right;
	int order = strcmp(a->text, b->text);
	if (order)
		return order;
	return position_before(a, b) ? -1 : position_before(b, a);
}

/* Sorted, because a mapping of 100 000 keys must not take 100 000² comparisons. Names the first one that repeats. */
static int close_collection(struct loader *loader)
{
	struct yaml_node *node = loader->open[--loader->depth];
	if (node->kind != YAML_MAPPING || node->count < 2)
		return 0;
	cleanup_free void *memory = mem_calloc(node->count, sizeof(struct yaml_node *));
	struct yaml_node **sorted = memory;
	memcpy(sorted, node->keys, node->count * sizeof(struct yaml_node *));
	qsort(sorted, node->count, sizeof(struct yaml_node *), compare_keys);
	const struct yaml_node *repeated = NULL;
	const struct yaml_node *first = NULL;
	for (size_t i = 1; i < node->count; i++) {
		if (strcmp(sorted[i]->text, sorted[i - 1]->text) != 0)
			continue;
		if (!repeated || position_before(sorted[i], repeated)) {
			repeated = sorted[i];
			first = sorted[i - 1];
		}
	}
	if (!repeated)
		return 0;
	return yaml_error(repeated, loader->err, "key \"%.100s\" given twice, first at %zu:%zu", repeated->text,
			  first->line, first->column);
}

static int handle_event(struct loader *loader, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT: return add_scalar(loader, event);
	case YAML_MAPPING_START_EVENT: return open_collection(loader, event, YAML_MAPPING);
	case YAML_SEQUENCE_START_EVENT: return open_collection(loader, event, YAML_SEQUENCE);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT: return close_collection(loader);
	case YAML_ALIAS_EVENT: return error_at(loader, &event->start_mark, "aliases are not supported");
	case YAML_DOCUMENT_START_EVENT:
		if (loader->root_seen)
			return error_at(loader, &event->start_mark, "more than one document");
		return 0;
	default: return 0;
	}
}

/* Reports bytes that are not text. libyaml reads ahead, and reports only their offset. */
static int reader_error(struct loader *loader, const char *problem)
{
	size_t offset = loader->parser.problem_offset < loader->len ? loader->parser.problem_offset : loader->len;
	size_t line = 1;
	size_t column = 1;
	for (size_t i = 0; i < offset; i++) {
		if (loader->text[i] == '\n') {
			line++;
			column = 1;
		} else if ((loader->text[i] & 0xC0) != 0x80) {
			column++;
		}
	}
	return error_set(loader->err, "%s:%zu:%zu: %s", loader->tree->file, line, column, problem);
}

static int syntax_error(struct loader *loader)
{
	const yaml_parser_t *parser = &loader->parser;
	if (parser->error == YAML_MEMORY_ERROR)
		mem_exhausted();
	const char *problem = parser->problem ? parser->problem : "not YAML";
	if (parser->error == YAML_READER_ERROR)
		return reader_error(loader, problem);
	/* Names the tab, which editors do not show: libyaml says "character that cannot start any token". */
	if (parser->error == YAML_SCANNER_ERROR && parser->unread > 0 && *parser->buffer.pointer == '\t')
		return error_at(loader, &parser->problem_mark, "found a tab, expected spaces");
	if (parser->context == NULL)
		return error_at(loader, &parser->problem_mark, "%s", problem);
	/* what has no end is noticed at the end of the file */
	return error_at(loader, &parser->problem_mark, "%s that begins at %zu:%zu, %s", parser->context,
			parser->context_mark.line + 1, parser->context_mark.column + 1, problem);
}

static int load_events(struct loader *loader)
{
	for (;;) {
		yaml_event_t event;
		if (!yaml_parser_parse(&loader->parser, &event))
			return syntax_error(loader);
		bool end = event.type == YAML_STREAM_END_EVENT;
		int result = handle_event(loader, &event);
		yaml_event_delete(&event);
		if (result < 0)
			return -1;
		if (end)
			return 0;
	}
}

int yaml_load(const char *file, const char *text, size_t len, struct yaml_node **out, struct error *err)
{
	if (len > YAML_MAX_BYTES)
		return error_set(err, "%s:1:1: longer than %d bytes", file, YAML_MAX_BYTES);
	struct yaml_tree *tree = mem_calloc(1, sizeof(*tree));
	tree->file = mem_strdup(file);
	struct loader loader = {.tree = tree, .text = text, .len = len, .err = err};
	if (!yaml_parser_initialize(&loader.parser))
		mem_exhausted();
	yaml_parser_set_input_string(&loader.parser, (const unsigned char *)text, len);
	int result = load_events(&loader);
	yaml_parser_delete(&loader.parser);
	/* A key without a value yet hangs on no node. */
	for (size_t i = 0; i < loader.depth; i++) {
		if (loader.key[i]) {
			node_clear(loader.key[i]);
			free(loader.key[i]);
		}
	}
	if (result < 0) {
		yaml_tree_free(&tree->root);
		return -1;
	}
	if (!loader.root_seen)
		tree->root = (struct yaml_node){
			.kind = YAML_SCALAR,
			.plain = true,
			.line = 1,
			.column = 1,
			.file = tree->file,
			.text = mem_strdup(""),
		};
	*out = &tree->root;
	return 0;
}

int yaml_load_file(const char *path, struct yaml_node **out, struct error *err)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set_errno(err, errno, "open %s", path);
	cleanup_buf struct buf buf = {0};
	if (file_read_fd(fd, path, YAML_MAX_BYTES, &buf, err) < 0)
		return -1;
	return yaml_load(path, buf.data, buf.len, out, err);
}

/* ---- reading ---- */

struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
	if (!map || map->kind != YAML_MAPPING)
		return NULL;
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->keys[i]->text, key) == 0)
			return map->items[i];
	return NULL;
}

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

static const char *const null_words[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const true_words[] = {"true", "True", "TRUE", NULL};
static const char *const false_words[] = {"false", "False", "FALSE", NULL};
static const char *const true_words_yaml11[] = {"yes", "Yes", "YES", "on", "On", "ON", NULL};
static const char *const false_words_yaml11[] = {"no", "No", "NO", "off", "Off", "OFF", NULL};
static const char *const infinite_words[] = {".inf",  ".Inf",  ".INF", "-.inf", "-.Inf", "-.INF", "+.inf",
					     "+.Inf", "+.INF", ".nan", ".NaN",  ".NAN",  NULL};

/* [-+]? [0-9]+ | 0o [0-7]+ | 0x [0-9a-fA-F]+ */
static bool looks_like_int(const char *text)
{
	const char *digits = "0123456789";
	if (strncmp(text, "0o", 2) == 0 || strncmp(text, "0x", 2) == 0) {
		digits = text[1] == 'o' ? "01234567" : "0123456789abcdefABCDEF";
		text += 2;
	} else if (*text == '-' || *text == '+') {
		text++;
	}
	return *text && text[strspn(text, digits)] == '\0';
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool looks_like_float(const char *text)
{
	static const char digits[] = "0123456789";
	if (*text == '-' || *text == '+')
		text++;
	size_t whole = strspn(text, digits);
	text += whole;
	size_t fraction = 0;
	if (*text == '.') {
		text++;
		fraction = strspn(text, digits);
		text += fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		if (*text == '-' || *text == '+')
			text++;
		size_t exponent = strspn(text, digits);
		if (exponent == 0)
			return false;
		text += exponent;
	}
	return *text == '\0';
}

/* A plain scalar by YAML 1.2's core schema (its section 10.3.2); a quoted or block scalar is always a string. */
enum scalar_type { YAML_NULL, YAML_BOOL, YAML_INT, YAML_FLOAT, YAML_STRING };

static enum scalar_type scalar_type(const struct yaml_node *scalar)
{
	const char *text = scalar->text;
	if (!scalar->plain)
		return YAML_STRING;
	if (is_one_of(text, null_words))
		return YAML_NULL;
	if (is_one_of(text, true_words) || is_one_of(text, false_words))
		return YAML_BOOL;
	if (looks_like_int(text))
		return YAML_INT;
	if (looks_like_float(text) || is_one_of(text, infinite_words))
		return YAML_FLOAT;
	return YAML_STRING;
}

bool yaml_is_null(const struct yaml_node *node)
{
	return !node || (node->kind == YAML_SCALAR && scalar_type(node) == YAML_NULL);
}

static bool parse_int(const char *text, int64_t *out)
{
	int base = 10;
	if (strncmp(text, "0o", 2) == 0 || strncmp(text, "0x", 2) == 0) {
		base = text[1] == 'o' ? 8 : 16;
		text += 2;
	}
	errno = 0;
	long long value = strtoll(text, NULL, base);
	*out = value;
	return errno == 0;
}

/* By the rules above a float is also one for strtod, whatever the locale: nobody here calls setlocale. */
static double parse_float(const char *text)
{
	const char *word = text + (*text == '-' || *text == '+');
	if (strcasecmp(word, ".inf") == 0)
		return *text == '-' ? -INFINITY : INFINITY;
	if (strcasecmp(word, ".nan") == 0)
		return NAN;
	return strtod(text, NULL);
}

char *yaml_describe(const struct yaml_node *node)
{
	static const char *const names[] = {
		[YAML_BOOL] = "the bool", [YAML_INT] = "the integer", [YAML_FLOAT] = "the number"};
	if (yaml_is_null(node))
		return mem_strdup("null");
	if (node->kind != YAML_SCALAR)
		return mem_strdup(node->kind == YAML_MAPPING ? "a mapping" : "a sequence");
	const char *text = node->text;
	size_t len = strlen(text);
	size_t shown = len;
	if (len > DESCRIBE_MAX) {
		shown = DESCRIBE_MAX;
		while (shown > 0 && ((unsigned char)text[shown] & 0xC0) == 0x80)
			shown--; /* not in the middle of a character */
	}
	const char *more = shown < len ? "…" : "";
	enum scalar_type type = scalar_type(node);
	if (type != YAML_STRING)
		return mem_printf("%s %.*s%s", names[type], (int)shown, text, more);
	cleanup_buf struct buf quoted = {0};
	buf_json_string_n(&quoted, text, shown);
	return mem_printf("the string %s%s", quoted.data, more);
}

static int type_error(const struct yaml_node *node, const char *what, const char *expected, struct error *err)
{
	cleanup_free char *found = yaml_describe(node);
	return yaml_error(node, err, "%s: found %s, expected %s", what, found, expected);
}

int yaml_as_string(const struct yaml_node *node, const char *what, const char **out, struct error *err)
{
	if (node->kind != YAML_SCALAR || scalar_type(node) != YAML_STRING)
		return type_error(node, what, "a string", err);
	*out = node->text;
	return 0;
}

int yaml_as_int(const struct yaml_node *node, const char *what, int64_t min, int64_t max, int64_t *out,
		struct error *err)
{
	int64_t value;
	if (node->kind == YAML_SCALAR && scalar_type(node) == YAML_INT && parse_int(node->text, &value) &&
	    value >= min && value <= max) {
		*out = value;
		return 0;
	}
	char expected[96];
	if (min == INT64_MIN && max == INT64_MAX)
		snprintf(expected, sizeof(expected), "an integer of 64 bits");
	else if (max == INT64_MAX)
		snprintf(expected, sizeof(expected), "an integer of at least %lld", (long long)min);
	else
		snprintf(expected, sizeof(expected), "an integer from %lld to %lld", (long long)min, (long long)max);
	return type_error(node, what, expected, err);
}

int yaml_as_double(const struct yaml_node *node, const char *what, double *out, struct error *err)
{
	if (node->kind == YAML_SCALAR) {
		enum scalar_type type = scalar_type(node);
		int64_t value;
		if (type == YAML_INT && parse_int(node->text, &value)) {
			*out = (double)value;
			return 0;
		}
		if (type == YAML_FLOAT || type == YAML_INT) {
			*out = parse_float(node->text);
			return 0;
		}
	}
	return type_error(node, what, "a number", err);
}

int yaml_as_bool(const struct yaml_node *node, const char *what, bool *out, struct error *err)
{
	if (node->kind == YAML_SCALAR && node->plain) {
		bool yes = is_one_of(node->text, true_words) || is_one_of(node->text, true_words_yaml11);
		if (yes || is_one_of(node->text, false_words) || is_one_of(node->text, false_words_yaml11)) {
			*out = yes;
			return 0;
		}
	}
	return type_error(node, what, "true or false", err);
}

int yaml_check_kind(const struct yaml_node *node, const char *what, enum yaml_kind kind, struct error *err)
{
	static const char *const names[] = {
		[YAML_SCALAR] = "a scalar", [YAML_MAPPING] = "a mapping", [YAML_SEQUENCE] = "a sequence"};
	if (node->kind == kind)
		return 0;
	return type_error(node, what, names[kind], err);
}

/* ---- as JSON ---- */

static json_t *scalar_to_json(const struct yaml_node *node)
{
	json_t *value = NULL;
	int64_t integer;
	switch (scalar_type(node)) {
	case YAML_NULL: return json_null();
	case YAML_BOOL: return json_boolean(is_one_of(node->text, true_words));
	case YAML_INT:
		value = parse_int(node->text, &integer) ? json_integer(integer) : json_real(parse_float(node->text));
		break;
	case YAML_FLOAT:
		value = json_real(parse_float(node->text)); /* NULL when not finite */
		break;
	case YAML_STRING: break;
	}
	if (!value)
		value = json_string(node->text);
	if (!value)
		mem_exhausted(); /* libyaml has made sure that the text is UTF-8 */
	return value;
}

json_t *yaml_to_json(const struct yaml_node *node)
{
	if (node->kind == YAML_SCALAR)
		return scalar_to_json(node);
	bool mapping = node->kind == YAML_MAPPING;
	json_t *value = mapping ? json_object() : json_array();
	if (!value)
		mem_exhausted();
	for (size_t i = 0; i < node->count; i++) {
		json_t *item = yaml_to_json(node->items[i]);
		int failed = mapping ? json_object_set_new(value, node->keys[i]->text, item)
				     : json_array_append_new(value, item);
		if (failed)
			mem_exhausted();
	}
	return value;
}
