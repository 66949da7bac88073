/* PodSecurity admission: the profile "restricted" of the Pod Security Standards, by labels of the Pod's namespace. */
#ifndef TESTAPI_PODSECURITY_H
#define TESTAPI_PODSECURITY_H

#include "tests/cluster/testapi/api.h"

/* 403 for a Pod that violates the profile, where its namespace's label pod-security.kubernetes.io/enforce names it. */
int api_podsecurity_admit(const struct api *api, const struct api_resource *resource, const json_t *pod,
			  struct api_failure *failure);
/* The same for the label pod-security.kubernetes.io/warn: appends a line to warnings. */
void api_podsecurity_warn(const struct api *api, const json_t *pod, struct buf *warnings);

#endif
