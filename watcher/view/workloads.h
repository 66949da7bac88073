/* The watch of Kueue's Workloads, for a configuration that asks for it (CONTRACT.md §21). The cluster may not serve
 * them, now or later: nothing else waits for this watch, and what a reconciler has not been sent it asks for by name.
 */
#ifndef WATCHER_WORKLOADS_H
#define WATCHER_WORKLOADS_H

#include "common/kube/client.h"
#include "watcher/view/cache.h"
#include "watcher/view/streams.h"

struct ev_loop;
struct workloads;

/* Asks the API server which version of Workloads it serves, every 10 s, and watches that one. The cache must outlive
 * it. listed runs after each list: a reconciler may know a Workload by its own creation alone, and no event tells that
 * it was deleted while there was no watch. */
struct workloads *workloads_new(struct ev_loop *loop, struct kube_client *client, struct cache *cache,
				const struct namespaces *namespaces, void (*listed)(void *arg), void *arg);
/* NULL is fine. */
void workloads_free(struct workloads *workloads);

#endif
