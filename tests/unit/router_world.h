/* The world of bus_world.h for each test of a program about the router; see test_router*.c. */
#ifndef TESTS_ROUTER_WORLD_H
#define TESTS_ROUTER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/bus_world.h"

static struct world *world;

static int set_up(void **state)
{
	(void)state;
	world = world_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	world_free(world);
	return 0;
}

/* How many messages of the type are on their way to the node. */
static inline size_t count_of(const struct node *node, enum bus_type type)
{
	size_t count = 0;

	for (const struct message *message = node->down.first; message != NULL; message = message->next)
		if (message->head.type == type)
			count++;
	return count;
}

#endif
