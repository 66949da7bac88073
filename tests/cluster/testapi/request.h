/* A request and its answer, apart from how they travel. */
#ifndef TESTAPI_REQUEST_H
#define TESTAPI_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/cluster/testapi/store.h"
#include "tests/cluster/testapi/table.h"

struct api_log;
struct api_watch;

/* Most a request's body may have (the real server's limit for resource requests). */
enum { REQUEST_BYTES_MAX = 3 * 1024 * 1024 };

enum { QUERY_MAX = 24, PATH_PARTS_MAX = 10 };

struct query_item {
	const char *name;
	const char *value;
};

/* All strings are borrowed from the transport for the time of the request; NULL where a header is absent. */
struct api_request {
	const char *method;
	const char *path; /* decoded, without the query */
	struct query_item query[QUERY_MAX];
	size_t query_count;
	const char *accept;
	const char *content_type;
	const char *authorization;
	const char *user_agent;
	const char *body;
	size_t body_len;
	unsigned connection; /* its number, from 0 */
	bool too_large;      /* the body was over REQUEST_BYTES_MAX and is not here */

	/* Filled by api_route. */
	char *parts_text;
	const char *parts[PATH_PARTS_MAX];
	size_t part_count;
	const char *verb; /* "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"; or the
			     method in lower case for what is no resource */
	struct api_resource *resource; /* NULL: no resource request, or an unknown one */
	const char *resource_name;     /* the path's word for it, known or not; NULL */
	const char *group;
	const char *namespace_name; /* "" */
	const char *name;           /* "" */
	const char *subresource;    /* "" */

	uint64_t as_of; /* a fault: reads see the store as it was at this version; 0: as it is */
};

/* Zero-initialise, free with api_answer_free. Either a watch, or a log, or an object's
 * text, or body. */
struct api_answer {
	int status;
	const char *content_type;
	struct buf body;
	struct api_object *object; /* its text is the body */
	struct api_watch *watch;
	struct api_log *log;
	int retry_after;     /* seconds, 0: no header */
	struct buf warnings; /* a line each */
	bool close;          /* the connection is closed after it */
};

void api_answer_free(struct api_answer *answer);
void api_answer_failure(struct api_answer *answer, const struct api_failure *failure);

/* The body as an object; NULL and *failure: 400, or 415 for a form not taken. The caller decrefs. */
json_t *api_body(const struct api_request *request, struct api_failure *failure);

/* Finds out what the request is about. */
void api_route(struct api *api, struct api_request *request);
void api_request_free(struct api_request *request);
/* Carries out a routed request. */
void api_handle(struct api *api, struct api_request *request, struct api_answer *answer);

const char *api_query(const struct api_request *request, const char *name);
/* "true" or "1" (or given without a value). */
bool api_query_flag(const struct api_request *request, const char *name);

/* The form the client prefers; -1 when it takes none of ours (406). */
int api_accept(const struct api_request *request, enum api_form *form);

/* Whether the answer is to be protobuf: for lists and watches of Pods whose client prefers it. */
bool api_accept_protobuf(const struct api_request *request);

/* Reads everything that is no resource: discovery, version, health. False when the path is none of these. */
bool api_discovery(struct api *api, const struct api_request *request, struct api_answer *answer);

#endif
