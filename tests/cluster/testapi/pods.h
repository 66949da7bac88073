/* Pods, beyond plain storage: defaults, checks, graceful deletion, and what hangs below a Pod. */
#ifndef TESTAPI_PODS_H
#define TESTAPI_PODS_H

#include "tests/cluster/testapi/resource.h"

extern const struct api_strategy api_pod_strategy;

/* Fills in what a real API server fills in (pkg/apis/core/v1/defaults.go), in place. */
void api_pod_defaults(json_t *pod);
/* What the admission plugins that are on by default add to a new Pod: priority, default tolerations. */
void api_pod_admission(json_t *pod);
/* A part of pkg/apis/core/validation; as api_strategy's validate. */
void api_pod_validate(const struct api_resource *resource, const char *subresource, const json_t *pod,
		      const json_t *old, json_t *causes);
/* Types and names of a Pod's spec: reduces it to what Pods have. -1 and *failure (400) for a wrong JSON type. */
int api_pod_types(json_t *pod, struct api_failure *failure);

#endif
