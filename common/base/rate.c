/* Token bucket; see rate.h. */
#include "common/base/rate.h"

#include <math.h>

/* A rate that would have us wait longer is looked at again by then. */
enum { WAIT_MAX_MS = 60 * 60 * 1000 };
/* Those who wait for tokens go on with so many at a time, unless it takes longer than the last one, or is sooner than
 * the other. */
enum { GATHER_TOKENS = 8, GATHER_LEAST_MS = 20, GATHER_MOST_MS = 160 };

static void refill(struct token_bucket *bucket, int64_t now_ms)
{
	if (now_ms > bucket->filled_ms)
		bucket->tokens += (double)(now_ms - bucket->filled_ms) * bucket->qps / 1000.0;
	bucket->filled_ms = now_ms;
	if (bucket->tokens > bucket->burst)
		bucket->tokens = bucket->burst;
}

void token_bucket_init(struct token_bucket *bucket, double qps, int burst, int64_t now_ms)
{
	bucket->qps = qps > 0 ? qps : 0;
	bucket->burst = burst < 1 ? 1 : burst;
	bucket->tokens = bucket->burst;
	bucket->filled_ms = now_ms;
}

void token_bucket_set(struct token_bucket *bucket, double qps, int burst, int64_t now_ms)
{
	refill(bucket, now_ms);
	bucket->qps = qps > 0 ? qps : 0;
	bucket->burst = burst < 1 ? 1 : burst;
	if (bucket->tokens > bucket->burst)
		bucket->tokens = bucket->burst;
}

int64_t token_bucket_wait_ms(struct token_bucket *bucket, int64_t now_ms)
{
	if (bucket->qps <= 0)
		return 0;
	refill(bucket, now_ms);
	if (bucket->tokens >= 1)
		return 0;
	/* (divided by a tiny rate it is more than any integer holds) */
	return (int64_t)fmin(ceil((1 - bucket->tokens) * 1000.0 / bucket->qps), WAIT_MAX_MS);
}

int64_t token_bucket_gather_ms(struct token_bucket *bucket, int64_t now_ms)
{
	int64_t wait_ms = token_bucket_wait_ms(bucket, now_ms);
	double several_ms;
	double full_ms;

	if (wait_ms == 0)
		return 0;
	several_ms = fmin(fmax(GATHER_TOKENS * 1000.0 / bucket->qps, GATHER_LEAST_MS), GATHER_MOST_MS);
	full_ms = (bucket->burst - 1) * 1000.0 / bucket->qps;
	return (int64_t)fmax((double)wait_ms, fmin(several_ms, full_ms));
}

void token_bucket_take(struct token_bucket *bucket)
{
	if (bucket->qps > 0)
		bucket->tokens -= 1;
}

void token_bucket_give_back(struct token_bucket *bucket)
{
	if (bucket->qps > 0)
		bucket->tokens = fmin(bucket->tokens + 1, bucket->burst);
}
