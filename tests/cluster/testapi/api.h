/* The test API server: one process, one thread, everything in memory (ARCHITECTURE.md §10.2).
 * http.c carries requests in and answers out; everything else works without a network. */
#ifndef TESTAPI_API_H
#define TESTAPI_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/random.h"
#include "tests/cluster/testapi/resource.h"

struct ev_loop;
struct api_access;
struct api_faults;
struct api_gc;
struct api_kubelet;

struct api_options {
	size_t event_log;       /* events kept per resource; 0: 16384 */
	double bookmark_sec;    /* time between bookmarks; 0: 60 */
	const char *token_file; /* NULL: no authentication, everyone is admin */
	uint64_t first_version; /* resourceVersion to start from; 0: 1 */
	double gc_delay_sec;    /* garbage collection looks this long after a change; 0: 5 ms */
};

struct api {
	struct ev_loop *loop;
	struct api_options options;
	struct random random;
	uint64_t version; /* the last resourceVersion given out */
	struct api_resource *resources;
	struct api_resource *pods;
	struct api_resource *namespaces;
	struct api_resource *crds;
	struct api_gc *gc;
	struct api_access *access;
	struct api_faults *faults;
	struct api_kubelet *kubelets; /* that logs were asked of: log.c's */
	struct api_object *cached;    /* versions whose parsed form is kept, most recent first (utlist) */
	size_t cached_count;
	/* Called when a watch that waits has something to send; set by http.c. */
	void (*wake)(void *arg, struct api_watch *watch);
	void *wake_arg;
};

/* loop is borrowed. NULL and *err when the token file cannot be read. */
struct error;
struct api *api_new(struct ev_loop *loop, const struct api_options *options, struct error *err);
void api_free(struct api *api);

#endif
