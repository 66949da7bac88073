/* Many objects at once, from a file: what an API server that has run for long would have in its store. */
#ifndef TESTAPI_LOAD_H
#define TESTAPI_LOAD_H

#include "common/base/error.h"
#include "tests/cluster/testapi/api.h"

/* Stores the objects of a file, one line of JSON each, as they are: with their uids, statuses and managedFields, and
 * without admission or validation. Each gets a new resourceVersion. Objects in the order of their keys load fastest.
 * Returns how many there were; -1 and *err at the first line that is no object of a known kind, or has no name or uid:
 * the lines before it are stored. */
int64_t api_load(struct api *api, const char *path, struct error *err);

#endif
