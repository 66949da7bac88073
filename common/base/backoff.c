/* Backoff; see backoff.h. */
#include "common/base/backoff.h"

int64_t backoff_doubled(int64_t first, int times, int64_t limit)
{
	while (times-- > 0 && first < limit)
		first *= 2;
	return first < limit ? first : limit;
}

int64_t backoff_next(struct backoff *backoff, struct random *random, int64_t now_ms)
{
	int64_t wait_ms;

	if (backoff->next_ms == 0 || now_ms - backoff->called_ms > backoff->reset_ms)
		backoff->next_ms = backoff->base_ms;
	wait_ms = backoff->next_ms + random_between(random, 0, backoff->next_ms);
	if (wait_ms > backoff->cap_ms)
		wait_ms = backoff->cap_ms - random_between(random, 0, backoff->cap_ms / 4);
	if (backoff->next_ms < backoff->cap_ms)
		backoff->next_ms *= 2; /* past the cap: the next wait is that one with its jitter */
	/* the quiet while is counted from when the wait is over */
	backoff->called_ms = now_ms + wait_ms;
	return wait_ms;
}
