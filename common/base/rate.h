/* A token bucket: qps tokens a second; it holds at most burst tokens. */
#ifndef BASE_RATE_H
#define BASE_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct token_bucket {
	double qps; /* 0: unlimited */
	double burst;
	double tokens;
	int64_t filled_ms;
};

/* Starts full. qps <= 0 is unlimited; a burst below 1 counts as 1. now_ms: boot milliseconds, as everywhere here. */
void token_bucket_init(struct token_bucket *bucket, double qps, int burst, int64_t now_ms);
/* Keeps the present tokens, at most the new burst. */
void token_bucket_set(struct token_bucket *bucket, double qps, int burst, int64_t now_ms);
/* Milliseconds until the next token; 0: there is one. */
int64_t token_bucket_wait_ms(struct token_bucket *bucket, int64_t now_ms);
/* When those who wait for tokens should look again, so that several go on together: in 20 to 160 ms, or sooner if the
 * bucket would overflow before, or later if there is no token yet then; 0: there is one. */
int64_t token_bucket_gather_ms(struct token_bucket *bucket, int64_t now_ms);
/* Takes one token; only if token_bucket_wait_ms returned 0. */
void token_bucket_take(struct token_bucket *bucket);
/* Returns a token: the request that took it does not count. */
void token_bucket_give_back(struct token_bucket *bucket);

#endif
