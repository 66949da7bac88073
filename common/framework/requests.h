/* The resource requests of a template's Pods: resources by name, as kube-scheduler adds them up. */
#ifndef FRAMEWORK_REQUESTS_H
#define FRAMEWORK_REQUESTS_H

#include <jansson.h>
#include <stddef.h>

#include "common/base/quantity.h"

/* Resources of different names that are added up; further ones are left out. Nobody checks a template's names before
 * its Pods, and a user may name 100 000. */
enum { REQUESTS_MAX = 32 };

struct request {
	char *name; /* "cpu", "nvidia.com/gpu" */
	struct quantity quantity;
};

struct requests {
	struct request *items;
	size_t count;
};

/* The requests of a Pod with this spec, as Kubernetes computes them (resource.PodRequests, and the defaults of a Pod):
 * of all containers and sidecars, or of the init container that asks for more, and the overhead. Requests of the Pod as
 * a whole (cpu, memory, hugepages) replace those of its containers. A container's limit is a request where it has none;
 * a limit of the Pod is one where neither the Pod nor a container asks for the resource, and of hugepages always. What
 * is no quantity counts for nothing: the API server refuses it. Start with {0}, free with requests_free(). */
void requests_of_pod(const json_t *pod_spec, struct requests *out);
/* Adds each of them so many times; with 0 as well, so that its name is there. */
void requests_add(struct requests *sum, const struct requests *other, int64_t times);
/* Appends a JSON object. */
void requests_write(struct buf *out, const struct requests *requests);
void requests_free(struct requests *requests);

#endif
