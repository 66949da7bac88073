/* See log_line.h. */
#include "cli/view/log_line.h"

#include <string.h>

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

static void hand_on(struct log_lines *lines, char *text, log_line_take *take, void *arg)
{
	size_t len = strcspn(text, " ");
	char time[LOG_TIME_SIZE] = "";

	if (len < sizeof(time) && text[0] >= '0' && text[0] <= '9') {
		memcpy(time, text, len);
		time[len] = '\0';
		text += len + (text[len] == ' ' ? 1 : 0);
	}
	if (lines->resumed[0] != '\0' && time[0] != '\0' && compare_times(time, lines->resumed) <= 0)
		return;
	if (time[0] != '\0')
		memcpy(lines->last, time, sizeof(time));
	take(arg, time, text);
}

void log_lines_add(struct log_lines *lines, const char *data, size_t len, log_line_take *take, void *arg)
{
	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t part = newline == NULL ? len : (size_t)(newline - data);
		size_t room = LOG_LINE_MAX - lines->pending.len;

		if (part > room)
			part = room;
		buf_append(&lines->pending, data, part);
		data += part;
		len -= part;
		if (lines->pending.len >= LOG_LINE_MAX || (len > 0 && *data == '\n')) {
			if (len > 0 && *data == '\n') {
				data++;
				len--;
			}
			hand_on(lines, lines->pending.data, take, arg);
			buf_clear(&lines->pending);
		}
	}
}

void log_lines_end(struct log_lines *lines, log_line_take *take, void *arg)
{
	if (lines->pending.len > 0)
		hand_on(lines, lines->pending.data, take, arg);
	buf_clear(&lines->pending);
}

void log_lines_resume(struct log_lines *lines)
{
	memcpy(lines->resumed, lines->last, sizeof(lines->resumed));
	buf_clear(&lines->pending);
}
