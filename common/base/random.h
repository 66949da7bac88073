/* Random number generators that callers pass on, so that a seed can replay a run (common/README.md §1.5). Not for
 * secrets. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* xoshiro256** (Blackman and Vigna, 2018). */
struct random {
	uint64_t state[4];
};

/* Seeds from the kernel. */
void random_init(struct random *random);
void random_init_seed(struct random *random, uint64_t seed);
uint64_t random_u64(struct random *random);
/* Uniform in [low, high], both included; low <= high. */
int64_t random_between(struct random *random, int64_t low, int64_t high);

enum { UUID_SIZE = 37 };

/* A version 4 UUID (RFC 4122 §4.4), lower case. Returns out. */
char *random_uuid(struct random *random, char out[UUID_SIZE]);

#endif
