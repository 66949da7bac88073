/* The Lease on the server that says who leads, and its record, the ConfigMap NAME-epoch beside it: what election.h
 * decides, carried out by the Kubernetes client. */
#ifndef WATCHER_LEASE_H
#define WATCHER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/kube/client.h"
#include "watcher/leader/election.h"

struct ev_loop;
struct lease;

struct lease_options {
	const char *ns; /* copied, as all strings */
	const char *name;
	struct election_options election; /* identity, process and jitter_ms are filled in */
};

/* All run from the loop, never from within a lease_*() call. */
struct lease_handler {
	/* This process leads from now on, until deposed() or released(). former_until_ms: as
	 * election_former_until_ms(). */
	void (*led)(void *arg, uint64_t epoch, int64_t former_until_ms);
	void (*deposed)(void *arg);
	/* Once, after lease_release(): it was given back, was not ours, or could not be given back in time. */
	void (*released)(void *arg);
};

/* Begins at once. A server that refuses or does not answer is asked again for ever; why is logged now and then. */
struct lease *lease_new(struct ev_loop *loop, struct kube_client *client, const struct lease_options *options,
			const struct lease_handler *handler, void *arg);
/* No handler runs any more. Before the client is freed. NULL is fine. */
void lease_free(struct lease *lease);

/* Whether this process leads at this very moment, by a clock read now: deposed() may not have been called yet. */
bool lease_leads(const struct lease *lease);
/* Gives it back, if it is ours. drained: nobody acts on shards granted by us any more. */
void lease_release(struct lease *lease, bool drained);

const char *lease_identity(const struct lease *lease);
/* Who holds it by what was last read; "" for nobody. */
const char *lease_holder(const struct lease *lease);

#endif
