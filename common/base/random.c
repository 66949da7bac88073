/* Seeded random numbers; see random.h. */
#include "common/base/random.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <uuid/uuid.h>

static uint64_t rotate_left(uint64_t value, int count)
{
	return (value << count) | (value >> (64 - count));
}

void random_init(struct random *random)
{
	if (getrandom(random->state, sizeof(random->state), 0) != (ssize_t)sizeof(random->state))
		abort(); /* cannot fail for 32 bytes once the kernel has booted */
}

void random_init_seed(struct random *random, uint64_t seed)
{
	/* splitmix64 spreads the seed over the state, as xoshiro's authors recommend */
	for (int i = 0; i < 4; i++) {
		uint64_t mixed = (seed += 0x9E3779B97F4A7C15U);

		mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
		mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
		random->state[i] = mixed ^ (mixed >> 31);
	}
}

uint64_t random_u64(struct random *random)
{
	uint64_t *s = random->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate_left(s[3], 45);
	return result;
}

int64_t random_between(struct random *random, int64_t low, int64_t high)
{
	uint64_t span = (uint64_t)high - (uint64_t)low + 1;

	/* The bias of the remainder is below 2^-30 for any span used here (seconds, milliseconds). */
	return span == 0 ? (int64_t)random_u64(random) : (int64_t)((uint64_t)low + random_u64(random) % span);
}

char *random_uuid(struct random *random, char out[UUID_SIZE])
{
	uuid_t bytes;
	uint64_t words[2] = {random_u64(random), random_u64(random)};

	memcpy(bytes, words, sizeof(bytes));
	bytes[6] = (unsigned char)((bytes[6] & 0x0F) | 0x40);
	bytes[8] = (unsigned char)((bytes[8] & 0x3F) | 0x80);
	uuid_unparse_lower(bytes, out);
	return out;
}
