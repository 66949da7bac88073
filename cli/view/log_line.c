/* See log_line.h. */
#include "cli/view/log_line.h"

#include <string.h>

#include "common/base/mem.h"

/* Times of one log have one form, RFC 3339 with nanoseconds in UTC, with zeros at the end left out: up to the second
 * they compare as texts, and behind it as fractions. */
static int compare_times(const char *a, const char *b)
{
	enum { SECONDS = 19 }; /* "2006-01-02T15:04:05" */
	int order = strncmp(a, b, SECONDS);
	size_t i = SECONDS;

	if (order != 0 || strlen(a) < SECONDS || strlen(b) < SECONDS)
		return order;
	for (;; i++) {
		char one = a[i] >= '.' && a[i] <= '9' ? a[i] : '\0', other = b[i] >= '.' && b[i] <= '9' ? b[i] : '\0';

		if (one == '\0' && other == '\0')
			return 0;
		if (one == '\0' || other == '\0') {
			const char *rest = one == '\0' ? b + i : a + i;
			size_t zeros = strspn(rest, ".0");

			if (rest[zeros] < '1' || rest[zeros] > '9')
				return 0;
			return one == '\0' ? -1 : 1;
		}
		if (one != other)
			return one < other ? -1 : 1;
	}
}

/* The time before a line. Returns the text behind it. */
static char *take_time(struct log_lines *lines, char *text)
{
	size_t len = strcspn(text, " ");

	lines->time[0] = '\0';
	if (len >= sizeof(lines->time) || text[0] < '0' || text[0] > '9')
		return text;
	memcpy(lines->time, text, len);
	lines->time[len] = '\0';
	return text + len + (text[len] == ' ' ? 1 : 0);
}

/* A piece of a line; ended: its last one. A line counts as received when it has ended: if a stream breaks off within a
 * line, the next stream sends that line again. */
static void hand_on(struct log_lines *lines, char *text, bool ended, log_line_take *take, void *arg)
{
	if (!lines->within) {
		text = take_time(lines, text);
		lines->known = lines->resumed[0] != '\0' && lines->time[0] != '\0' &&
			       compare_times(lines->time, lines->resumed) <= 0;
	}
	if (!lines->known && !(lines->within && *text == '\0'))
		take(arg, lines->time, text);
	if (ended && !lines->known && lines->time[0] != '\0')
		memcpy(lines->last, lines->time, sizeof(lines->last));
	lines->within = !ended;
}

/* Where a text of LOG_LINE_MAX bytes is cut, so that no character is (RFC 3629 §3). */
static size_t cut_of(const struct buf *text)
{
	size_t at = text->len;

	for (int i = 0; i < 3 && ((unsigned char)text->data[at - 1] & 0xC0) == 0x80; i++)
		at--;
	return (unsigned char)text->data[at - 1] >= 0xC0 ? at - 1 : text->len;
}

static void hand_on_piece(struct log_lines *lines, log_line_take *take, void *arg)
{
	size_t cut = cut_of(&lines->pending);
	cleanup_free char *piece = mem_strndup(lines->pending.data, cut);

	hand_on(lines, piece, false, take, arg);
	buf_consume(&lines->pending, cut);
}

static void hand_on_end(struct log_lines *lines, log_line_take *take, void *arg)
{
	char nothing[] = "";

	hand_on(lines, lines->pending.len == 0 ? nothing : lines->pending.data, true, take, arg);
	buf_clear(&lines->pending);
}

/* (a NUL would end the text) */
static void append(struct buf *text, const char *data, size_t len)
{
	size_t at = text->len;

	buf_append(text, data, len);
	for (; at < text->len; at++)
		if (text->data[at] == '\0')
			text->data[at] = '\1';
}

void log_lines_add(struct log_lines *lines, const char *data, size_t len, log_line_take *take, void *arg)
{
	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t part = newline == NULL ? len : (size_t)(newline - data);
		size_t room = LOG_LINE_MAX - lines->pending.len;

		if (part > room) {
			part = room;
			newline = NULL;
		}
		append(&lines->pending, data, part);
		part += newline == NULL ? 0 : 1;
		data += part;
		len -= part;
		if (newline != NULL)
			hand_on_end(lines, take, arg);
		else if (lines->pending.len == LOG_LINE_MAX)
			hand_on_piece(lines, take, arg);
	}
}

void log_lines_end(struct log_lines *lines, log_line_take *take, void *arg)
{
	if (lines->pending.len > 0 || lines->within)
		hand_on_end(lines, take, arg);
}

void log_lines_resume(struct log_lines *lines)
{
	memcpy(lines->resumed, lines->last, sizeof(lines->resumed));
	lines->within = false;
	buf_clear(&lines->pending);
}
