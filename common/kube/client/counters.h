/* Requests counted by method, resource and status code. */
#ifndef KUBE_COUNTERS_H
#define KUBE_COUNTERS_H

#include "common/kube/client.h"

struct counters {
	struct kube_counter *rows;
	size_t count;
	size_t cap;
};

/* One more request; method is what is shown: "LIST" and "WATCH" beside HTTP's own. */
void counters_add(struct counters *counters, const char *method, const char *resource, int code);
void counters_free(struct counters *counters);

#endif
