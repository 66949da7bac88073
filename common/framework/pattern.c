/* Translates RE2 syntax into PCRE2: reads the source as RE2's parser does, and writes a pattern with the same matches.
 * Also the bounded search. */
#include "common/framework/pattern.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/mem.h"

enum {
	HEAP_LIMIT_KIB = 8192,
	REPEAT_MAX = 1000, /* RE2's own */
	SEARCH_STEPS = 2000000,
	BYTES_IN_A_STEP = 16, /* of the text, which PCRE2 passes within one item of the pattern, as of [a-z]* */
};

struct pattern {
	char *source;
	pcre2_code *code;
	pcre2_match_context *context;
};

struct translator {
	const char *source;
	const char *at;
	struct buf out;
	struct error *err;
	/* For RE2's limit of nested repeats: how often at most the last item, and what stands in each open group so
	 * far, repeats a part of it. The outermost group is the pattern itself. */
	unsigned last;
	uint16_t in_group[PATTERN_MAX_BYTES + 1];
	size_t depth;
};

/* ---- syntax ---- */

static int refuse(struct translator *t, const char *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct translator *t, const char *where, const char *format, ...)
{
	char message[256];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return error_set(t->err, "offset %td: %s", where - t->source, message);
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The x of \x41 or \x{10FFFF} has been read. */
static int read_hex(struct translator *t, const char *escape, unsigned *out)
{
	unsigned value = 0;
	if (*t->at == '{') {
		const char *digits = ++t->at;
		for (; hex_value(*t->at) >= 0 && value <= 0x10FFFF; t->at++)
			value = value * 16 + (unsigned)hex_value(*t->at);
		if (t->at == digits || *t->at != '}' || value > 0x10FFFF)
			return refuse(t, escape, "invalid \\x{…}");
		t->at++;
	} else {
		if (hex_value(t->at[0]) < 0 || hex_value(t->at[1]) < 0)
			return refuse(t, escape, "\\x needs two hexadecimal digits");
		value = (unsigned)(hex_value(t->at[0]) * 16 + hex_value(t->at[1]));
		t->at += 2;
	}
	*out = value;
	return 0;
}

/* An escape that stands for one character; at is at the backslash. */
static int read_escaped_char(struct translator *t, unsigned *out)
{
	static const char letters[] = "aftnrv";
	static const unsigned char meanings[] = {7, 12, 9, 10, 13, 11};
	const char *escape = t->at++;
	char c = *t->at;
	if (c == '\0')
		return refuse(t, escape, "trailing backslash");
	t->at++;
	const char *letter = strchr(letters, c);
	if (letter) {
		*out = meanings[letter - letters];
		return 0;
	}
	if (c == 'x')
		return read_hex(t, escape, out);
	/* RE2 reads \1 to \7 as octal only when another octal digit follows. */
	if (c == '0' || (is_octal(c) && is_octal(*t->at))) {
		unsigned value = (unsigned)(c - '0');
		for (int i = 0; i < 2 && is_octal(*t->at); i++)
			value = value * 8 + (unsigned)(*t->at++ - '0');
		*out = value;
		return 0;
	}
	if (isdigit((unsigned char)c))
		return refuse(t, escape, "backreferences such as \\%c are not supported", c);
	if ((unsigned char)c >= 0x80)
		return refuse(t, escape, "only ASCII punctuation can be escaped");
	if (isalpha((unsigned char)c))
		return refuse(t, escape, "unknown escape \\%c", c);
	*out = (unsigned char)c;
	return 0;
}

static void put_char(struct translator *t, unsigned c)
{
	if (c < 0x80 && isalnum((int)c))
		buf_putc(&t->out, (char)c);
	else
		buf_printf(&t->out, "\\x{%x}", c);
}

/* \pN, \p{Greek}, \p{^Greek}, \P…; at is at the backslash. PCRE2 knows the names. */
static int copy_property(struct translator *t)
{
	const char *start = t->at;
	t->at += 2;
	if (*t->at == '{') {
		t->at++;
		if (*t->at == '^')
			t->at++;
		while (isalnum((unsigned char)*t->at) || *t->at == '_')
			t->at++;
		if (*t->at != '}')
			return refuse(t, start, "invalid character property");
	} else if (!isalpha((unsigned char)*t->at)) {
		return refuse(t, start, "invalid character property");
	}
	t->at++;
	buf_append(&t->out, start, (size_t)(t->at - start));
	return 0;
}

/* [:name:] inside a class; at is at its bracket. 1 when it was one, 0 when it was not. */
static int copy_named_class(struct translator *t)
{
	static const char *const names[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
					    "lower", "print", "punct", "space", "upper", "word",  "xdigit"};
	const char *end = t->at[1] == ':' ? strstr(t->at + 2, ":]") : NULL;
	if (!end)
		return 0;
	const char *name = t->at + 2;
	if (*name == '^')
		name++;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strlen(names[i]) == (size_t)(end - name) && strncmp(name, names[i], strlen(names[i])) == 0) {
			buf_append(&t->out, t->at, (size_t)(end + 2 - t->at));
			t->at = end + 2;
			return 1;
		}
	}
	return refuse(t, t->at, "unknown character class %.*s", (int)(end + 2 - t->at), t->at);
}

static int copy_class_char(struct translator *t)
{
	if (*t->at == '\\') {
		unsigned c;
		if (read_escaped_char(t, &c) < 0)
			return -1;
		put_char(t, c);
	} else if ((unsigned char)*t->at < 0x80) {
		put_char(t, (unsigned char)*t->at++);
	} else {
		do
			buf_putc(&t->out, *t->at++);
		while (((unsigned char)*t->at & 0xC0) == 0x80);
	}
	return 0;
}

/* One member of a class: \d, [:alpha:], a character or a range of them. */
static int copy_class_item(struct translator *t)
{
	if (*t->at == '\\' && t->at[1] != '\0' && strchr("dDwW", t->at[1])) {
		buf_append(&t->out, t->at, 2);
		t->at += 2;
		return 0;
	}
	if (*t->at == '\\' && (t->at[1] == 's' || t->at[1] == 'S')) {
		buf_puts(&t->out, t->at[1] == 's' ? "\\x{9}\\x{a}\\x{c}\\x{d}\\x{20}"
						  : "\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}");
		t->at += 2;
		return 0;
	}
	if (*t->at == '\\' && (t->at[1] == 'p' || t->at[1] == 'P'))
		return copy_property(t);
	if (*t->at == '[') {
		int named = copy_named_class(t);
		if (named)
			return named < 0 ? -1 : 0;
	}
	if (copy_class_char(t) < 0)
		return -1;
	if (t->at[0] == '-' && t->at[1] != ']' && t->at[1] != '\0') {
		t->at++;
		buf_putc(&t->out, '-');
		return copy_class_char(t);
	}
	return 0;
}

static int copy_class(struct translator *t)
{
	const char *start = t->at++;
	buf_putc(&t->out, '[');
	if (*t->at == '^') {
		buf_putc(&t->out, '^');
		t->at++;
	}
	for (bool first = true; first || *t->at != ']'; first = false) {
		if (*t->at == '\0')
			return refuse(t, start, "missing closing ]");
		if (copy_class_item(t) < 0)
			return -1;
	}
	buf_putc(&t->out, ']');
	t->at++;
	return 0;
}

/* Where {n}, {n,} or {n,m} at text ends, or NULL: then the brace is a literal. */
static const char *repeat_end(const char *text, unsigned long *low, unsigned long *high)
{
	char *end;
	if (*text != '{' || !isdigit((unsigned char)text[1]))
		return NULL;
	*low = *high = strtoul(text + 1, &end, 10);
	if (*end == ',') {
		end++;
		*high = *low;
		if (isdigit((unsigned char)*end))
			*high = strtoul(end, &end, 10);
	}
	return *end == '}' ? end + 1 : NULL;
}

/* An item has been read, which repeats a part of it so often. */
static void follow(struct translator *t, unsigned long times)
{
	t->last = (unsigned)times;
	if (times > t->in_group[t->depth])
		t->in_group[t->depth] = (uint16_t)times;
}

static void open_group(struct translator *t)
{
	t->in_group[++t->depth] = 1;
	t->last = 1;
}

static void close_group(struct translator *t)
{
	unsigned times = t->in_group[t->depth];

	if (t->depth > 0) /* (else PCRE2 refuses the pattern) */
		t->depth--;
	follow(t, times);
}

/* A quantifier with its `?`; a second one on top of it (possessive + among them) is refused. */
static int copy_quantifier(struct translator *t)
{
	const char *start = t->at;
	unsigned long low, high;
	const char *end = repeat_end(t->at, &low, &high);
	if (end && (low > REPEAT_MAX || high > REPEAT_MAX || high < low))
		return refuse(t, start, "invalid repeat count, expected at most %d", REPEAT_MAX);
	if (end && high > 1 && t->last * high > REPEAT_MAX)
		return refuse(t, start, "invalid repeat count, expected at most %d with the repeats in it", REPEAT_MAX);
	if (end && high > 1)
		follow(t, t->last * high);
	t->at = end ? end : t->at + 1;
	if (*t->at == '?')
		t->at++;
	buf_append(&t->out, start, (size_t)(t->at - start));
	if ((*t->at && strchr("*+?", *t->at)) || repeat_end(t->at, &low, &high))
		return refuse(t, start, "repetition of a repetition is not supported");
	return 0;
}

/* A group's opening; at is at the parenthesis. Nothing is captured, so names do not matter. */
static int copy_group(struct translator *t)
{
	const char *start = t->at++;
	if (*t->at == '*')
		return refuse(t, start, "verbs are not supported");
	if (*t->at != '?') {
		buf_puts(&t->out, "(?:");
		open_group(t);
		return 0;
	}
	t->at++;
	if (strncmp(t->at, "P<", 2) == 0 || (t->at[0] == '<' && t->at[1] != '=' && t->at[1] != '!')) {
		t->at = strchr(t->at, '<') + 1;
		const char *name = t->at;
		while (isalnum((unsigned char)*t->at) || *t->at == '_')
			t->at++;
		if (t->at == name || *t->at != '>')
			return refuse(t, start, "invalid group name");
		t->at++;
		buf_puts(&t->out, "(?:");
		open_group(t);
		return 0;
	}
	if (*t->at == '=' || *t->at == '!' || *t->at == '<')
		return refuse(t, start, "lookaround is not supported");
	const char *flags = t->at;
	t->at += strspn(t->at, "imsU");
	if (*t->at == '-') {
		size_t count = strspn(t->at + 1, "imsU");
		if (count == 0)
			return refuse(t, start, "flags missing after -");
		t->at += 1 + count;
	}
	if (*t->at != ':' && (*t->at != ')' || t->at == flags))
		return refuse(t, start, "(?%.1s is not supported: expected flags of imsU, or (?P<name>", t->at);
	if (*t->at == ':')
		open_group(t);
	t->at++;
	buf_append(&t->out, start, (size_t)(t->at - start));
	return 0;
}

/* \Q…\E: all of it literal; without \E up to the end. */
static void copy_quoted(struct translator *t)
{
	t->at += 2;
	while (*t->at && strncmp(t->at, "\\E", 2) != 0) {
		if (ispunct((unsigned char)*t->at))
			buf_putc(&t->out, '\\');
		buf_putc(&t->out, *t->at++);
	}
	if (*t->at)
		t->at += 2;
}

/* ^, $, \b and the like, so many bytes. PCRE2 repeats only what is in a group; RE2 also repeats these. */
static void copy_assertion(struct translator *t, size_t len)
{
	unsigned long low;
	unsigned long high;
	bool repeated = t->at[len] != '\0' &&
			(strchr("*+?", t->at[len]) != NULL || repeat_end(t->at + len, &low, &high));

	if (repeated)
		buf_puts(&t->out, "(?:");
	buf_append(&t->out, t->at, len);
	if (repeated)
		buf_putc(&t->out, ')');
	t->at += len;
}

static int copy_escape(struct translator *t)
{
	char c = t->at[1];
	unsigned character = 0;
	if (c == 'Q') {
		copy_quoted(t);
		return 0;
	}
	if (c == 'p' || c == 'P')
		return copy_property(t);
	if (c == 's' || c == 'S') {
		buf_puts(&t->out, c == 's' ? "[\\t\\n\\f\\r ]" : "[^\\t\\n\\f\\r ]");
		t->at += 2;
		return 0;
	}
	if (c && strchr("bBAz", c)) {
		copy_assertion(t, 2);
		return 0;
	}
	if (c && strchr("dDwW", c)) {
		buf_append(&t->out, t->at, 2);
		t->at += 2;
		return 0;
	}
	if (read_escaped_char(t, &character) < 0)
		return -1;
	put_char(t, character);
	return 0;
}

static int translate(struct translator *t)
{
	unsigned long low, high;
	t->last = t->in_group[0] = 1;
	while (*t->at) {
		int result = 0;
		if (!strchr("()*+?{", *t->at))
			t->last = 1;
		switch (*t->at) {
		case '\\': result = copy_escape(t); break;
		case '[': result = copy_class(t); break;
		case '(': result = copy_group(t); break;
		case '^':
		case '$': copy_assertion(t, 1); break;
		case ')':
			close_group(t);
			buf_putc(&t->out, *t->at++);
			break;
		case '*':
		case '+':
		case '?': result = copy_quantifier(t); break;
		case '{':
			if (repeat_end(t->at, &low, &high)) {
				result = copy_quantifier(t);
			} else {
				t->last = 1;
				buf_puts(&t->out, "\\{");
				t->at++;
			}
			break;
		default: buf_putc(&t->out, *t->at++); break;
		}
		if (result < 0)
			return -1;
	}
	return 0;
}

/* ---- PCRE2 ---- */

static pcre2_code *compile(const struct buf *text, struct error *err)
{
	/* An explicit newline: the library's own default is a build option. */
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	if (!context)
		mem_exhausted();
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX |
				 PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE | PCRE2_AUTO_CALLOUT;
	int code;
	PCRE2_SIZE offset;
	pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)(text->data ? text->data : ""), text->len, options, &code,
					     &offset, context);
	pcre2_compile_context_free(context);
	if (!compiled) {
		PCRE2_UCHAR message[256];
		pcre2_get_error_message(code, message, sizeof(message));
		error_set(err, "%s", (const char *)message);
	}
	return compiled;
}

struct pattern *pattern_compile(const char *source, struct error *err)
{
	if (strlen(source) > PATTERN_MAX_BYTES) {
		error_set(err, "%zu bytes long, expected at most %d", strlen(source), PATTERN_MAX_BYTES);
		return NULL;
	}
	struct translator t = {.source = source, .at = source, .err = err};
	pcre2_code *code = translate(&t) == 0 ? compile(&t.out, err) : NULL;
	buf_free(&t.out);
	if (!code)
		return NULL;
	struct pattern *pattern = mem_calloc(1, sizeof(*pattern));
	pattern->source = mem_strdup(source);
	pattern->code = code;
	pattern->context = pcre2_match_context_create(NULL);
	if (!pattern->context)
		mem_exhausted();
	pcre2_set_heap_limit(pattern->context, HEAP_LIMIT_KIB);
	return pattern;
}

void pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_match_context_free(pattern->context);
	pcre2_code_free(pattern->code);
	free(pattern->source);
	free(pattern);
}

const char *pattern_source(const struct pattern *pattern)
{
	return pattern->source;
}

size_t pattern_bytes(const struct pattern *pattern)
{
	size_t bytes = 0;

	pcre2_pattern_info(pattern->code, PCRE2_INFO_SIZE, &bytes);
	return bytes + strlen(pattern->source);
}

struct search {
	int64_t steps; /* left */
	PCRE2_SIZE at;
};

/* Before each item of the pattern (pcre2callout(3)). PCRE2's own limit counts anew from each starting position, and
 * does not see how far an item runs that gives nothing back: with it a pattern such as a*a*[bc] would take hours. */
static int count_step(pcre2_callout_block *block, void *arg)
{
	struct search *search = arg;
	PCRE2_SIZE at = block->current_position;
	PCRE2_SIZE way = at > search->at ? at - search->at : search->at - at;

	search->at = at;
	search->steps -= 1 + (int64_t)(way / BYTES_IN_A_STEP);
	return search->steps < 0 ? PCRE2_ERROR_MATCHLIMIT : 0;
}

static void log_limit(const struct pattern *pattern, size_t subject_len, int result)
{
	PCRE2_UCHAR message[256];

	pcre2_get_error_message(result, message, sizeof(message));
	log_warning(
		"regular expression \"%.200s\" reached its limit on a text of %zu bytes, which counts as no match: %s",
		pattern->source, subject_len, (const char *)message);
}

bool pattern_search(const struct pattern *pattern, const char *subject, int64_t *steps, size_t *start, size_t *len)
{
	int64_t allowed = *steps < SEARCH_STEPS ? *steps : SEARCH_STEPS;
	struct search search = {.steps = allowed};
	size_t subject_len = strlen(subject);
	if (allowed <= 0)
		return false;
	if (subject_len > PATTERN_SUBJECT_MAX_BYTES) {
		subject_len = PATTERN_SUBJECT_MAX_BYTES;
		while (subject_len > 0 && ((unsigned char)subject[subject_len] & 0xC0) == 0x80)
			subject_len--; /* not in the middle of a character */
	}
	pcre2_set_callout(pattern->context, count_step, &search);
	/* Made for each search: it keeps the memory of the deepest one. */
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	if (!data)
		mem_exhausted();
	int result = pcre2_match(pattern->code, (PCRE2_SPTR)subject, subject_len, 0, 0, data, pattern->context);
	if (result >= 0) {
		const PCRE2_SIZE *place = pcre2_get_ovector_pointer(data);
		if (start)
			*start = place[0];
		if (len)
			*len = place[1] - place[0];
	} else if (result != PCRE2_ERROR_NOMATCH) {
		search.steps = 0; /* (memory takes its time, too) */
		log_limit(pattern, subject_len, result);
	}
	pcre2_match_data_free(data);
	*steps -= allowed - search.steps;
	return result >= 0;
}
