/* Who may do what: a token file as kube-apiserver's --token-auth-file, and the reviews that ask about it. */
#ifndef TESTAPI_ACCESS_H
#define TESTAPI_ACCESS_H

#include "common/base/error.h"
#include "tests/cluster/testapi/request.h"

struct api_access;

/* Lines of token,user,uid[,"group,group"]; path NULL: everyone is admin. NULL and *err. */
struct api_access *access_new(const char *path, struct error *err);
void access_free(struct api_access *access);
/* The token of a user in system:masters, borrowed; NULL when there is none or no authentication. */
const char *access_admin_token(const struct api_access *access);

/* 401 without a known token. The group system:masters may all; a group
 * testapi:VERB:RESOURCE[:NAMESPACE] ('*' for any verb or resource; without a namespace, everywhere) may that; others
 * get 403. Health, version, discovery and reviews of oneself are for all who are known. */
int access_check(struct api *api, const struct api_request *request, struct api_failure *failure);

/* TokenReview, SubjectAccessReview, SelfSubjectAccessReview: answered at once, never stored. */
bool access_is_review(const struct api_resource *resource);
int access_review(struct api *api, const struct api_request *request, struct api_answer *answer,
		  struct api_failure *failure);

#endif
