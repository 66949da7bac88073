/* Allocation wrappers; see mem.h. */
#define _GNU_SOURCE
#include "common/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void mem_exhausted(void)
{
	static const char message[] = "out of memory: aborting\n";
	/* The logger allocates, too, and may be the caller. */
	ssize_t ignored = write(STDERR_FILENO, message, sizeof(message) - 1);

	(void)ignored;
	abort();
}

static void *checked(void *memory)
{
	if (memory == NULL)
		mem_exhausted();
	return memory;
}

void *mem_alloc(size_t size)
{
	return checked(malloc(size == 0 ? 1 : size));
}

void *mem_calloc(size_t count, size_t size)
{
	return checked(calloc(count == 0 ? 1 : count, size == 0 ? 1 : size));
}

void *mem_realloc(void *old, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		checked(NULL);
	return checked(realloc(old, total == 0 ? 1 : total));
}

char *mem_strdup(const char *text)
{
	return text == NULL ? NULL : checked(strdup(text));
}

char *mem_strndup(const char *text, size_t len)
{
	return checked(strndup(text, len));
}

char *mem_memdup(const void *data, size_t len)
{
	char *copy = mem_alloc(len + 1);

	memcpy(copy, data, len);
	copy[len] = '\0';
	return copy;
}

char *mem_printf(const char *format, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return checked(text);
}

void mem_free_secret(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

void mem_replace(char **slot, const char *text)
{
	char *copy = mem_strdup(text);

	free(*slot);
	*slot = copy;
}

void mem_free_cleanup(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

void fd_close_cleanup(int *fd)
{
	/* Not repeated on EINTR: on Linux the descriptor is gone either way. */
	if (*fd >= 0)
		close(*fd);
}
