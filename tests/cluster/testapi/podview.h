/* A Pod's row in a Table. */
#ifndef TESTAPI_PODVIEW_H
#define TESTAPI_PODVIEW_H

#include <jansson.h>

#include "common/base/buf.h"

/* Name, ready containers, status, restarts, age, IP, node, nominated node, readiness gates. */
void podview_cells(struct buf *out, const json_t *pod);

#endif
