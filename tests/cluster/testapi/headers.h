/* The headers of answers, apart from how they travel. */
#ifndef TESTAPI_HEADERS_H
#define TESTAPI_HEADERS_H

#include "tests/cluster/testapi/request.h"

typedef void api_header(void *arg, const char *name, const char *value);

/* Calls add for each header of the answer. The strings live as long as the call. */
void api_answer_headers(const struct api_answer *answer, api_header *add, void *arg);

#endif
