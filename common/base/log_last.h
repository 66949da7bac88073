/* Limits repeated log lines: a line is written if its text changed, or once a minute. */
#ifndef BASE_LOG_LAST_H
#define BASE_LOG_LAST_H

#include <stdbool.h>
#include <stdint.h>

enum { LOG_AGAIN_MS = 60 * 1000 };

/* The last written line of one kind. Zero-initialise. */
struct log_last {
	bool any;
	int64_t at_ms;
	char text[512]; /* cut; longer texts are compared by their beginning */
};

/* Whether to write this line: its text differs from the last one, or that was written LOG_AGAIN_MS ago. If so, it
 * becomes the last one. now_ms: of any clock, always the same one. */
bool log_is_news(struct log_last *last, int64_t now_ms, const char *text);

#endif
