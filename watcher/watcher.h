/* The parts of the watcher's process. main.c creates and runs them, serving.c serves their state over HTTP. */
#ifndef WATCHER_WATCHER_H
#define WATCHER_WATCHER_H

#include <ev.h>
#include <stdbool.h>

#include "common/bus/socket.h"
#include "common/config/config.h"
#include "common/kube/client.h"
#include "common/leader/lease.h"
#include "common/serve/serve.h"
#include "watcher/crd.h"
#include "watcher/flags.h"
#include "watcher/leader/term.h"
#include "watcher/view/cache.h"
#include "watcher/view/streams.h"
#include "watcher/view/workloads.h"

struct watcher {
	struct ev_loop *loop;
	struct flags flags;
	struct config config;
	struct kube_client *client;
	struct crd_keeper *crd;
	struct cache *cache;
	ev_timer fold; /* of the cache */
	struct streams *streams;
	struct workloads *workloads; /* NULL: the configuration does not ask for Kueue */
	struct bus_socket *socket;
	struct lease *lease;
	struct term *term; /* NULL: another one leads */
	struct serve *http;
	char *endpoint;      /* of the bus */
	char *bus_directory; /* NULL when there is no pool */
	int bus_lock;        /* of that directory */
	struct process_signals signals;
	bool synced;
	bool live;
	bool stopping;
	int exit_code;
};

/* Serves --http, if the flag is set: /healthz, /readyz, /metrics, /debug/shards. 0, or -1 and *err. */
int watcher_serve(struct watcher *watcher, struct error *err);

#endif
