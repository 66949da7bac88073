/* uthash with the allocation functions of mem.h, which log and end the process when memory runs out, and with a hash
 * function whose key is random: users choose the names that are keys, and for a known function they can choose names
 * that all fall into one bucket. A table keeps its order of insertion, whatever the key is. Include this instead of
 * uthash.h.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdlib.h>

#include "common/base/mem.h"

/* The same for the same bytes, in one process. */
unsigned hash_keyed(const void *data, size_t len);

#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(pointer, size) free(pointer)
#define HASH_FUNCTION(data, len, out) ((out) = hash_keyed(data, len))
#include <uthash.h>

#endif
