/* Writes patterns of RE2 as PCRE2 reads them, and refuses what only PCRE2 knows and RE2 has on purpose left out. Also
 * the bounded search. */
#include "common/framework/pattern.h"

#include <ctype.h>
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
	SEARCH_STEPS = 2000000,
	BYTES_IN_A_STEP = 16, /* of the text, which PCRE2 passes within one item of the pattern, as of [a-z]* */
};

struct pattern {
	char *source;
	pcre2_code *code;
	pcre2_match_context *context;
};

/* ---- from RE2 to PCRE2 ---- */

#define DIGITS "0123456789"
#define OCTAL_DIGITS "01234567"
#define NAME_LETTERS "^abcdefghijklmnopqrstuvwxyz"

/* An escape that both read alike: \Q…\E, \p{Greek}, \x{e9}, \w, \.… */
static const char *copy_rest(const char *at, struct buf *out)
{
	const char *close = at[1] == 'Q' ? "\\E" : at[2] == '{' && strchr("pPx", at[1]) != NULL ? "}" : "";
	const char *end = strstr(at + 2, close);

	end = end == NULL ? at + strlen(at) : end + strlen(close);
	buf_append(out, at, (size_t)(end - at));
	return end;
}

/* An escape outside or inside a class. Returns what follows it, or NULL and the reason. */
static const char *copy_escape(const char *at, bool in_class, struct buf *out, struct error *err)
{
	char c = at[1];

	if (c == 's' || c == 'S') { /* without the vertical tab */
		buf_puts(out, in_class ? "" : c == 's' ? "[" : "[^");
		buf_puts(out, in_class && c == 'S' ? "\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}"
						   : "\\t\\n\\f\\r\\x{20}");
		buf_puts(out, in_class ? "" : "]");
		return at + 2;
	}
	if (c == 'v') { /* alone */
		buf_puts(out, "\\x{b}");
		return at + 2;
	}
	/* RE2 reads \1 to \7 as octal only when another octal digit follows. */
	if (c != '\0' && strchr(OCTAL_DIGITS, c) != NULL &&
	    (c == '0' || (at[2] != '\0' && strchr(OCTAL_DIGITS, at[2])))) {
		size_t count = strspn(at + 1, OCTAL_DIGITS);

		count = count < 3 ? count : 3;
		buf_printf(out, "\\o{%.*s}", (int)count, at + 1);
		return at + 1 + count;
	}
	if (isdigit((unsigned char)c))
		error_set(err, "backreferences such as \\%c are not supported", c);
	else if (isalpha((unsigned char)c) && strchr("AaBbDdfnPpQrtWwxz", c) == NULL)
		error_set(err, "unknown escape \\%c", c);
	else if (c == '\0')
		error_set(err, "trailing backslash");
	else
		return copy_rest(at, out);
	return NULL;
}

/* As above. A bracket in a class begins [:name:] or means itself. */
static const char *copy_class(const char *at, struct buf *out, struct error *err)
{
	size_t head = at[1] == '^' ? 2 : 1;

	head += at[head] == ']';
	buf_append(out, at, head);
	buf_puts(out, strchr(":.=", at[head]) != NULL ? "\\" : ""); /* [:alpha:] is a class of five characters */
	for (at += head; at != NULL && *at != ']';) {
		const char *end = strncmp(at, "[:", 2) == 0 ? at + 2 + strspn(at + 2, NAME_LETTERS) : at;
		bool named = end > at && strncmp(end, ":]", 2) == 0;
		bool set = named || (*at == '\\' && at[1] != '\0' && strchr("dDpPsSwW", at[1]) != NULL);

		if (*at == '\0') {
			error_set(err, "missing closing ]");
			return NULL;
		}
		if (*at == '\\') {
			at = copy_escape(at, true, out, err);
		} else {
			buf_puts(out, !named && *at == '[' ? "\\" : "");
			end = named ? end + 2 : at + 1;
			buf_append(out, at, (size_t)(end - at));
			at = end;
		}
		if (set && at != NULL && *at == '-') /* it begins no range */
			buf_putc(out, '\\');
	}
	if (at == NULL)
		return NULL;
	buf_putc(out, ']');
	return at + 1;
}

/* Only groups, named ones, and flags: no lookaround, recursion, condition, verb… */
static const char *copy_group(const char *at, struct buf *out, struct error *err)
{
	const char *end = at + 1;

	if (end[0] == '?' && (strncmp(end, "?P<", 3) == 0 || (end[1] == '<' && end[2] != '=' && end[2] != '!'))) {
		end = strchr(end, '<') + 1;
	} else if (end[0] == '?') {
		end += 1 + strspn(end + 1, "imsU-");
		if (*end != ':' && *end != ')') {
			error_set(err, "(?%.1s is not supported: expected flags of imsU, or (?P<name>", end);
			return NULL;
		}
		end++;
	} else if (end[0] == '*') {
		error_set(err, "verbs are not supported");
		return NULL;
	}
	buf_append(out, at, (size_t)(end - at));
	return end;
}

/* The end of a quantifier at text, or NULL: a brace that is none means itself. */
static const char *quantifier_end(const char *text)
{
	const char *end;

	if (*text == '*' || *text == '+' || *text == '?')
		return text + 1;
	if (*text != '{' || !isdigit((unsigned char)text[1]))
		return NULL;
	end = text + 1 + strspn(text + 1, DIGITS);
	if (*end == ',')
		end += 1 + strspn(end + 1, DIGITS);
	return *end == '}' ? end + 1 : NULL;
}

/* The bytes of ^, $, \b and the like at text; 0: it is something else. */
static size_t assertion_length(const char *text)
{
	if (*text == '^' || *text == '$')
		return 1;
	return *text == '\\' && text[1] != '\0' && strchr("bBAz", text[1]) != NULL ? 2 : 0;
}

static int translate(const char *source, struct buf *out, struct error *err)
{
	for (const char *at = source; *at != '\0';) {
		const char *from = at;
		const char *end = quantifier_end(at);
		size_t assertion = assertion_length(at);

		if (assertion > 0 &&
		    quantifier_end(at + assertion) != NULL) { /* PCRE2 repeats only what is in a group */
			buf_printf(out, "(?:%.*s)", (int)assertion, at);
			at += assertion;
		} else if (end != NULL) {
			at = end + (*end == '?');
			buf_append(out, from, (size_t)(at - from));
			if (*at == '+') { /* to PCRE2 it is possessive */
				error_set(err, "repetition of a repetition is not supported");
				at = NULL;
			}
		} else if (*at == '\\') {
			at = copy_escape(at, false, out, err);
		} else if (*at == '[') {
			at = copy_class(at, out, err);
		} else if (*at == '(') {
			at = copy_group(at, out, err);
		} else {
			buf_puts(out, *at == '{' ? "\\" : "");
			buf_putc(out, *at++);
		}
		if (at == NULL)
			return error_wrap(err, "offset %td", from - source);
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
	cleanup_buf struct buf text = {0};
	pcre2_code *code = translate(source, &text, err) == 0 ? compile(&text, err) : NULL;
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
