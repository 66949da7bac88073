/* uthash with the allocation functions of mem.h, which log and end the process when memory runs out. Include this
 * instead of uthash.h. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdlib.h>

#include "common/base/mem.h"

#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(pointer, size) free(pointer)
#include <uthash.h>

#endif
