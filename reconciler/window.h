/* How many creations, deletions and reads a reconciler has in flight, within its share of workerNumber.
 *
 * A busy API server does not answer more requests a second because more of them wait for it. They wait longer, and so
 * do the requests of everybody else, up to their timeouts. So the window shrinks while answers take longer than
 * WINDOW_ANSWER_MS, and grows while they do not. Pure: the caller says how long an answer took. */
#ifndef RECONCILER_WINDOW_H
#define RECONCILER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WINDOW_LEAST = 8,
	WINDOW_MOST = 4096,
	WINDOW_ANSWER_MS = 300, /* the loop alone gathers answers for up to 120 ms (ARCHITECTURE.md §5.2) */
};

struct window {
	uint32_t size;    /* WINDOW_LEAST to WINDOW_MOST */
	uint32_t answers; /* of the present round, which has as many as the window had places */
	int64_t sum_ms;   /* … how long they took together */
	bool filled;      /* … whether all places were taken, and requests waited for one */
};

void window_init(struct window *window);
/* An answer came after took_ms. filled: until then all places were taken, and requests waited for one. */
void window_answered(struct window *window, int64_t took_ms, bool filled);

#endif
