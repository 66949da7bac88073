/* See hash.h. The product of two 64-bit numbers, folded, mixes all their bits. Nobody can predict it
 * without the key. */
#include "common/base/hash.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>

static uint64_t key[2];

__attribute__((constructor)) static void make_key(void)
{
	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		abort(); /* cannot fail for 16 bytes once the kernel has booted */
	key[1] |= 1;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

unsigned hash_keyed(const void *data, size_t len)
{
	const char *at = data;
	uint64_t hash = key[0] ^ len;
	uint64_t word = 0;

	for (; len > sizeof(word); len -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash ^ word, key[1]);
	}
	word = 0;
	memcpy(&word, at, len);
	hash = mix(hash ^ word, key[1]);
	return (unsigned)(hash ^ hash >> 32);
}
