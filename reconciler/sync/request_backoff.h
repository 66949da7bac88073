/* Slows down requests that fail (CONTRACT.md §12.15). The functions are in slot.c. */
#ifndef SYNC_REQUEST_BACKOFF_H
#define SYNC_REQUEST_BACKOFF_H

#include <stdint.h>

struct random;

struct request_backoff {
	int failures;
	int64_t until_ms; /* CLOCK_BOOTTIME; 0: free */
	int64_t asked_ms; /* until when the server asked to be left alone (Retry-After): nothing shortens that */
};

/* One more failure: until_ms moves on. retry_after_ms: what the answer asks for; 0 or less: nothing. */
void backoff_fail(struct request_backoff *backoff, struct random *random, int64_t now_ms, int64_t retry_after_ms);
void backoff_reset(struct request_backoff *backoff);

#endif
