/* Namespaces, beyond plain storage. */
#ifndef TESTAPI_NAMESPACES_H
#define TESTAPI_NAMESPACES_H

#include "tests/cluster/testapi/resource.h"

extern const struct api_strategy api_namespace_strategy;

/* default, kube-system, kube-public, kube-node-lease. */
void api_namespaces_create(struct api *api);

#endif
