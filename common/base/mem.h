/* Allocation that cannot fail, and scope-bound cleanup.
 * Out of memory logs and aborts: a restarted process recovers by design (common/README.md §1.4). */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* Logs and aborts likewise, after a library function failed for lack of memory. */
_Noreturn void mem_exhausted(void);

/* All return memory the caller frees with free(); sizes are overflow-checked. */
void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_calloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
/* NULL in, NULL out. */
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t len) __attribute__((returns_nonnull));
/* Copies len bytes, which may contain NULs, and adds a NUL. */
char *mem_memdup(const void *data, size_t len) __attribute__((returns_nonnull));
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/* Overwrites the text before it is freed. NULL: nothing. */
void mem_free_secret(char *text);

/* Replaces *slot (freed) by a copy of text (may be NULL). */
void mem_replace(char **slot, const char *text);

void mem_free_cleanup(void *pointer_to_pointer);
void fd_close_cleanup(int *fd);

#define cleanup_free __attribute__((cleanup(mem_free_cleanup)))
#define cleanup_close __attribute__((cleanup(fd_close_cleanup)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
