/* Request counters; see counters.h. A few dozen rows at most, so a scan is the fastest table. */
#include "common/kube/client/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

/* Method × resource × code of what this project asks for stays far below; past it rows are lumped together. */
enum { ROWS_MAX = 500 };

static struct kube_counter *find(struct counters *counters, const struct kube_counter *key)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct kube_counter *row = &counters->rows[i];

		if (row->code == key->code && strcmp(row->resource, key->resource) == 0 &&
		    strcmp(row->method, key->method) == 0)
			return row;
	}
	return NULL;
}

void counters_add(struct counters *counters, const char *method, const char *resource, int code)
{
	struct kube_counter key = {.code = code};
	struct kube_counter *row;

	snprintf(key.method, sizeof(key.method), "%s", method);
	snprintf(key.resource, sizeof(key.resource), "%s", resource);
	row = find(counters, &key);
	if (row == NULL && counters->count >= ROWS_MAX) {
		snprintf(key.resource, sizeof(key.resource), "other");
		row = find(counters, &key);
	}
	if (row == NULL) {
		if (counters->count == counters->cap) {
			counters->cap = counters->cap == 0 ? 16 : counters->cap * 2;
			counters->rows = mem_realloc(counters->rows, counters->cap, sizeof(*counters->rows));
		}
		row = &counters->rows[counters->count++];
		*row = key;
	}
	row->count++;
}

void counters_free(struct counters *counters)
{
	free(counters->rows);
	*counters = (struct counters){0};
}
