/* Lists: selectors, pages, versions. */
#ifndef TESTAPI_PAGES_H
#define TESTAPI_PAGES_H

#include "tests/cluster/testapi/request.h"

/* The list verb. Pages after the first show the store as it was at the first (410 when the log does not reach back,
 * with a token that goes on inconsistently, as the real server gives). */
int api_list(struct api *api, const struct api_request *request, struct api_answer *answer,
	     struct api_failure *failure);

/* The parts of a resource that are no objects of their own: pods/binding, pods/eviction, pods/log,
 * namespaces/finalize. True when it was one of these (and answered or failed). pods.c. */
bool api_subresource(struct api *api, const struct api_request *request, struct api_answer *answer,
		     struct api_failure *failure);

#endif
