/* Lists: selectors, pages, versions. */
#ifndef TESTAPI_PAGES_H
#define TESTAPI_PAGES_H

#include "tests/cluster/testapi/request.h"

/* The list verb. Pages after the first show the store as it was at the first (410 when the log does not reach back,
 * with a token that goes on inconsistently, as the real server gives). */
int api_list(struct api *api, const struct api_request *request, struct api_answer *answer,
	     struct api_failure *failure);

/* ListOptions of a list or a watch that contradict each other: 422, as ValidateListOptions of k8s.io/apimachinery says
 * (1.32, where WatchList is on). */
int api_check_options(const struct api_request *request, struct api_failure *failure);
/* 504 for a version (as text, or NULL) that is newer than current. */
int api_check_not_newer(const char *text, uint64_t current, struct api_failure *failure);

/* The parts of a resource that are no objects of their own: pods/binding, pods/log,
 * namespaces/finalize. True when it was one of these (and answered or failed). pods.c. */
bool api_subresource(struct api *api, const struct api_request *request, struct api_answer *answer,
		     struct api_failure *failure);

#endif
