/* The Pods of a Framework, as the views need them. */
#ifndef CLI_VIEW_POD_H
#define CLI_VIEW_POD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash.h"
#include "common/framework/object.h"

/* Strings are the object's; "" where missing. */
struct pod_view {
	UT_hash_handle hh; /* by name */
	json_t *object;    /* a reference */
	const char *name;
	const char *uid;
	const char *controller_uid; /* of the owner with controller: true */
	const char *phase;
	const char *node;
	int64_t creation_time;
	int64_t deletion_time;
	bool ready;           /* the condition Ready is True */
	struct pod *wait_of;  /* its wait is not NULL: why the Pod does not come to run (CONTRACT.md §6.10) */
	char *gates;          /* names of scheduling gates, separated by commas; "" if there are none */
	char *finalizers;     /* likewise */
	const char *init;     /* the init container that runs; NULL: none */
	int64_t init_start;   /* unix seconds: when that one was started; 0: unknown */
	bool in_barrier;      /* that one is frameworkbarrier (CONTRACT.md §16) */
	const char *creating; /* a container waits with a reason that passes by itself: ContainerCreating, … */
	const char *crashing; /* a container of a Pod that ran waits with this reason: CrashLoopBackOff */
	const char *crash_message;
	int64_t end_time; /* of one that is Succeeded or Failed: when it had ended; 0: unknown */
};

/* By name. Zero-initialise with NULL. */
struct pod_views {
	struct pod_view *by_name;
};

/* Adds a Pod; one that has no name is left out. Takes a reference. */
void pod_views_add(struct pod_views *pods, json_t *object);
const struct pod_view *pod_views_find(const struct pod_views *pods, const char *name);
void pod_views_free(struct pod_views *pods);

/* metadata.finalizers of any object, separated by commas. The caller frees. */
char *finalizers_text(const json_t *object);
/* The uid of the owner with controller: true, or "". */
const char *controller_uid_of(const json_t *object);

#endif
