/* Memory that runs out: a core's n-th allocation ends its process in the midst of whatever it was doing, as abort()
 * would. What it held is left as it is, and lost to this program, so that workers are started anew from time to time.
 * Behind the linker's --wrap; the simulator's own files call the real functions, see sim.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

void *__wrap_mem_alloc(size_t size);
void *__wrap_mem_calloc(size_t count, size_t size);
void *__wrap_mem_realloc(void *old, size_t count, size_t size);
char *__wrap_mem_strdup(const char *text);

static jmp_buf way_out;
static struct process *inside; /* whose code runs */
static int shielded;

static void count(void)
{
	if (inside == NULL || shielded > 0 || inside->memory_left <= 0)
		return;
	inside->memory_left--;
	if (inside->memory_left == 0)
		longjmp(way_out, 1);
}

bool memory_run(struct process *process, void (*run)(struct world *world, void *arg), struct world *world, void *arg)
{
	bool lasted;

	inside = process;
	lasted = setjmp(way_out) == 0;
	if (lasted)
		run(world, arg);
	inside = NULL;
	return lasted;
}

void memory_shield(bool on)
{
	shielded += on ? 1 : -1;
}

void memory_ended(void)
{
	inside = NULL;
}

void *__wrap_mem_alloc(size_t size)
{
	count();
	return mem_alloc(size);
}

void *__wrap_mem_calloc(size_t items, size_t size)
{
	count();
	return mem_calloc(items, size);
}

void *__wrap_mem_realloc(void *old, size_t items, size_t size)
{
	count();
	return mem_realloc(old, items, size);
}

char *__wrap_mem_strdup(const char *text)
{
	count();
	return mem_strdup(text);
}
