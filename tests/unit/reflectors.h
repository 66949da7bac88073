/* In the place of common/kube/reflector.c: what the code under test gave to its reflectors. */
#ifndef UNIT_REFLECTORS_H
#define UNIT_REFLECTORS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/kube/reflector.h"

enum { REFLECTORS_MAX = 8 };

struct reflector {
	const struct reflector_handler *handler;
	void *arg;
	int again; /* watches that were ended */
};

static struct reflector reflectors[REFLECTORS_MAX]; /* in the order in which they were made */
static size_t reflector_count;

struct reflector *reflector_new(struct ev_loop *loop, struct kube_client *client,
				const struct reflector_options *options, const struct reflector_handler *handler,
				void *arg)
{
	struct reflector *reflector = &reflectors[reflector_count++];

	(void)loop;
	(void)client;
	(void)options;
	assert_true(reflector_count <= REFLECTORS_MAX);
	*reflector = (struct reflector){.handler = handler, .arg = arg};
	return reflector;
}

void reflector_start(struct reflector *reflector)
{
	(void)reflector;
}

void reflector_watch_again(struct reflector *reflector)
{
	reflector->again++;
}

void reflector_free(struct reflector *reflector)
{
	(void)reflector;
}

void reflector_note_version(const struct reflector_object *object, const char *version)
{
	(void)object;
	(void)version;
}

/* The i-th lists, and finds nothing. */
static void list(size_t i)
{
	reflectors[i].handler->list_begin(reflectors[i].arg);
	reflectors[i].handler->list_end(reflectors[i].arg, "7");
}

#endif
