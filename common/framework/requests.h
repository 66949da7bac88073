/* What the Pods of a template ask the scheduler for: resources by name, as kube-scheduler adds them up. */
#ifndef FRAMEWORK_REQUESTS_H
#define FRAMEWORK_REQUESTS_H

#include <jansson.h>
#include <stddef.h>

#include "common/base/quantity.h"

struct request {
	char *name; /* "cpu", "nvidia.com/gpu" */
	struct quantity quantity;
};

struct requests {
	struct request *items;
	size_t count;
};

/* The requests of a Pod with this spec: of all containers, or of the init container that asks for more, and the
 * overhead; those of the Pod as a whole go before. A limit is a request where there is none. What is no quantity counts
 * for nothing: the API server refuses it. Start with {0}, free with requests_free(). */
void requests_of_pod(const json_t *pod_spec, struct requests *out);
/* Adds each of them so many times; with 0 as well, so that its name is there. */
void requests_add(struct requests *sum, const struct requests *other, int64_t times);
/* Appends a JSON object. */
void requests_write(struct buf *out, const struct requests *requests);
void requests_free(struct requests *requests);

#endif
