/* Requests counted by method, resource and status code. */
#ifndef KUBE_COUNTERS_H
#define KUBE_COUNTERS_H

#include "common/kube/client.h"

struct counters {
	struct kube_counter *rows;
	size_t count;
	size_t cap;
};

/* Counts a request. method: an HTTP method, "LIST" or "WATCH". */
void counters_add(struct counters *counters, const char *method, const char *resource, int code);
void counters_free(struct counters *counters);

#endif
