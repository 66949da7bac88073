/* What a handler of the test API server says when it refuses: an API Status in the making
 * (API conventions, "Response Status Kind"). */
#ifndef TESTAPI_FAILURE_H
#define TESTAPI_FAILURE_H

#include <jansson.h>

#include "common/base/buf.h"

struct api_resource;

/* Owned by the caller, zero-initialised; free with api_failure_free. */
struct api_failure {
	int code;           /* HTTP status; 0: nothing failed */
	const char *reason; /* "NotFound", …: static text */
	char *message;
	json_t *details;   /* NULL: none */
	char *list_resume; /* metadata.continue of a 410 on a paged list, or NULL */
};

void api_failure_free(struct api_failure *failure);

/* All of these set *failure and return -1. */
int api_fail(struct api_failure *failure, int code, const char *reason, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same with details.{name, group, kind} of the object. */
int api_fail_object(struct api_failure *failure, int code, const char *reason, const struct api_resource *resource,
		    const char *name, const char *format, ...) __attribute__((format(printf, 6, 7)));
int api_fail_not_found(struct api_failure *failure, const struct api_resource *resource, const char *name);
/* 409 `Operation cannot be fulfilled on …: <cause>`. */
int api_fail_conflict(struct api_failure *failure, const struct api_resource *resource, const char *name,
		      const char *cause);
/* 409 with the text of a lost optimistic lock. */
int api_fail_modified(struct api_failure *failure, const struct api_resource *resource, const char *name);
int api_fail_bad_request(struct api_failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds {reason, message, field} to the list of an Invalid answer. causes is an array. */
void api_cause(json_t *causes, const char *reason, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* 422 out of such a list, which it takes over; 0 and nothing set when the list is empty. */
int api_fail_invalid(struct api_failure *failure, const struct api_resource *resource, const char *name,
		     json_t *causes);

/* "pods" or "frameworks.example.com": how messages name a resource. The caller frees. */
char *api_resource_title(const struct api_resource *resource);

/* Appends the Status object. */
void api_failure_print(const struct api_failure *failure, struct buf *out);

#endif
