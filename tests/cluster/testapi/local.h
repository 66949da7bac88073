/* Requests to the API server without a network: for unit tests, in the same process. */
#ifndef TESTAPI_LOCAL_H
#define TESTAPI_LOCAL_H

#include "tests/cluster/testapi/request.h"

struct api_local {
	const char *accept;       /* NULL: none */
	const char *content_type; /* NULL: none, which counts as JSON */
	const char *authorization;
};

/* Carries out method on url (path and query, percent-encoded) with body (NULL: none), headers from local (NULL: none).
 * Whatever answer holds is freed first; the caller frees it in the end (api_answer_free). Returns the status. */
int api_local(struct api *api, const struct api_local *local, const char *method, const char *url, const char *body,
	      struct api_answer *answer);
/* The answer's text; borrowed until the answer is freed. */
const char *api_answer_text(const struct api_answer *answer);

#endif
