/* Kinds of objects that not every API server serves: the core asks in its plan (plan.h), discovery.c finds out. */
#ifndef SYNC_SERVED_H
#define SYNC_SERVED_H

#include <stdbool.h>
#include <stdint.h>

/* The APIs that an API server may or may not serve. */
enum owned_api {
	API_CORE, /* is always served */
	API_POD_GROUPS_VOLCANO,
	API_POD_GROUPS_COSCHEDULING,
	API_POD_GROUPS_KUBERNETES_BETA,
	API_POD_GROUPS_KUBERNETES_ALPHA,
	API_WORKLOADS_BETA2,
	API_WORKLOADS_BETA1,
	OWNED_APIS
};

struct owned_resource {
	enum owned_api api;
	const char *api_version; /* "scheduling.volcano.sh/v1beta1" */
	const char *plural;      /* "podgroups" */
	bool whole;              /* more than its metadata is read */
};

const struct owned_resource *owned_api_resource(enum owned_api api);

/* The result of discovery, and for how long it counts. */
enum served_state { SERVED_UNKNOWN, SERVED_NO, SERVED_YES };
struct api_served {
	enum served_state state;
	int64_t until_ms;  /* CLOCK_BOOTTIME: to be asked about again from then on */
	char trouble[512]; /* why it is unknown, when that lasts: for whoever waits; "": it will be known soon */
};

#endif
