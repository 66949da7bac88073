/* How long to wait before the next try: doubling, with jitter, reset after a quiet while (as client-go's reflectors
 * do: 0.8 s to 30 s, forgotten after 2 min; common/README.md §6.7). */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

#include "common/base/random.h"

struct backoff {
	int64_t base_ms;  /* > 0 */
	int64_t cap_ms;   /* longest wait */
	int64_t reset_ms; /* no call for this long: start over */
	/* private */
	int64_t next_ms;
	int64_t called_ms;
};

/* first × 2^times, at most limit, in any unit: for waits that their owner counts itself. */
int64_t backoff_doubled(int64_t first, int times, int64_t limit);

/* The wait before the next try, in [d, 2d] but at most cap_ms. now_ms: boot milliseconds. */
int64_t backoff_next(struct backoff *backoff, struct random *random, int64_t now_ms);

#endif
