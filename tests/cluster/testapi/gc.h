/* The server's own controllers: garbage collection by ownerReferences (background, foreground, orphan), and the
 * emptying of deleted namespaces and CRDs. A while after each change, as in a real cluster, where another process
 * does it. */
#ifndef TESTAPI_GC_H
#define TESTAPI_GC_H

#include "tests/cluster/testapi/store.h"

struct api_gc *api_gc_new(struct api *api);
void api_gc_free(struct api_gc *gc);

/* The store went from old to new; either may be NULL. */
void api_gc_changed(struct api *api, struct api_object *old, struct api_object *new);
/* Whether the object must stay until its content is gone (a namespace, a CRD). */
bool api_gc_holds(const struct api *api, const struct api_object *object);
/* Does what is due, now; the timer calls it. True when there is more. */
bool api_gc_run(struct api *api);

#endif
