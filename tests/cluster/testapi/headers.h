/* The headers and bodies of answers, apart from how they travel. */
#ifndef TESTAPI_HEADERS_H
#define TESTAPI_HEADERS_H

#include "tests/cluster/testapi/request.h"

typedef void api_header(void *arg, const char *name, const char *value);

/* Calls add for each header of the answer. The strings live as long as the call. */
void api_answer_headers(const struct api_answer *answer, api_header *add, void *arg);

/* Whether the body goes out in chunks: servers give a length only to one that fits into their buffer. */
bool api_answer_in_chunks(const struct api_answer *answer);
/* Copies at most max bytes of the body from this position on. Returns how many; 0: the body has ended. */
size_t api_answer_part(const struct api_answer *answer, size_t position, char *out, size_t max);

#endif
