/* The watches that fill the watcher's cache (ARCHITECTURE.md §3.1): one for each kind, or for each kind and
 * namespace. */
#ifndef WATCHER_STREAMS_H
#define WATCHER_STREAMS_H

#include <stdbool.h>

#include "common/kube/client.h"
#include "watcher/view/cache.h"

struct ev_loop;
struct streams;

struct streams_handler {
	/* A watch reports a deletion, with the object's last state as the server sent it. Called before the cache is
	 * updated. */
	void (*deleted)(void *arg, enum object_kind kind, const char *text, size_t len);
	void (*synced)(void *arg);          /* once: every kind of these was listed */
	void (*relisted)(void *arg);        /* afterwards: kinds were listed again, and all watches go on */
	void (*live)(void *arg, bool live); /* whether all watches are connected; when it changes */
};

/* The watched namespaces; none: all. */
struct namespaces {
	const char *const *names;
	size_t count;
};

/* Starts listing, by initial events where the server sends them (watch_list, common/kube/reflector.h). The cache must
 * outlive the streams. */
struct streams *streams_new(struct ev_loop *loop, struct kube_client *client, struct cache *cache,
			    const struct namespaces *namespaces, bool watch_list, const struct streams_handler *handler,
			    void *arg);
/* The same for Workloads alone, of group: "/apis/kueue.x-k8s.io/v1beta2". */
struct streams *streams_new_workloads(struct ev_loop *loop, struct kube_client *client, struct cache *cache,
				      const struct namespaces *namespaces, const char *group,
				      const struct streams_handler *handler, void *arg);
void streams_free(struct streams *streams);

#endif
