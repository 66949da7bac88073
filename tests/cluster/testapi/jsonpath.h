/* The part of kubectl's JSONPath that printer columns use: .a.b, ['a'], ['a','b'], [0], [*], [?(@.a=="b")]. */
#ifndef TESTAPI_JSONPATH_H
#define TESTAPI_JSONPATH_H

#include <jansson.h>

/* The first value the path leads to, borrowed; NULL when there is none or the path is beyond this subset. */
json_t *jsonpath_first(const json_t *root, const char *path);

#endif
