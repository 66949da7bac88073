/* Log lines that come again and again: worth writing when they say something else, and now and then. */
#ifndef BASE_LOG_LAST_H
#define BASE_LOG_LAST_H

#include <stdbool.h>
#include <stdint.h>

enum { LOG_AGAIN_MS = 60 * 1000 };

/* The last one written of its sort. Zeroed at first. */
struct log_last {
	bool any;
	int64_t at_ms;
	char text[512]; /* cut: longer ones are told apart by their beginning */
};

/* Whether to write this line: it is another one than the last, or that was LOG_AGAIN_MS ago. Then it is the last one.
 * The time is of any one clock. */
bool log_is_news(struct log_last *last, int64_t now_ms, const char *text);

#endif
