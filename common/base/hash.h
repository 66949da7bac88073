/* uthash with the project's memory: it ends the process when there is none left, with a word about it (mem.h). Include
 * this instead of uthash.h. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdlib.h>

#include "common/base/mem.h"

#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(pointer, size) free(pointer)
#include <uthash.h>

#endif
