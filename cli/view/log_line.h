/* The lines of a container's log as the API server streams them, each behind its time. Pure. */
#ifndef CLI_VIEW_LOG_LINE_H
#define CLI_VIEW_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"

enum { LOG_TIME_SIZE = 40, LOG_LINE_MAX = 64 * 1024 };

/* Zero-initialise. Free pending with buf_free(). */
struct log_lines {
	struct buf pending;          /* the part of a line that was received */
	char time[LOG_TIME_SIZE];    /* of the line that is being received; "" if it has none */
	bool within;                 /* a piece of it was handed on */
	bool known;                  /* it was received before */
	char last[LOG_TIME_SIZE];    /* time of the last whole line; "" before */
	char resumed[LOG_TIME_SIZE]; /* lines up to this time were received before; "": none */
};

/* time: as the server wrote it, with nanoseconds. line has no line end and is NUL-terminated; a NUL in it is a \1. */
typedef void log_line_take(void *arg, const char *time, const char *line);

/* Takes received bytes: calls take for each complete line. Lines longer than LOG_LINE_MAX come in pieces, each with the
 * line's time. */
void log_lines_add(struct log_lines *lines, const char *data, size_t len, log_line_take *take, void *arg);
/* The stream has ended: hands on a last line without a line end. */
void log_lines_end(struct log_lines *lines, log_line_take *take, void *arg);
/* A stream that begins at `last` (sinceTime has seconds only) repeats lines: those are left out. */
void log_lines_resume(struct log_lines *lines);

#endif
