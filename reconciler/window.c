/* The window of requests in flight; see window.h. */
#include "reconciler/window.h"

enum { SIZE_AT_FIRST = 64 };

void window_init(struct window *window)
{
	*window = (struct window){.size = SIZE_AT_FIRST};
}

void window_answered(struct window *window, int64_t took_ms, bool filled)
{
	window->sum_ms += took_ms;
	window->filled = window->filled || filled;
	if (++window->answers < window->size)
		return;
	if (window->sum_ms / window->answers > WINDOW_ANSWER_MS)
		window->size -= window->size / 4;
	else if (window->filled)
		window->size += window->size / 4;
	if (window->size < WINDOW_LEAST)
		window->size = WINDOW_LEAST;
	if (window->size > WINDOW_MOST)
		window->size = WINDOW_MOST;
	window->answers = 0;
	window->sum_ms = 0;
	window->filled = false;
}
