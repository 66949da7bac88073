/* The Lease that names the leader, and its record, the ConfigMap NAME-epoch: sends the requests of election.h with the
 * Kubernetes client. */
#ifndef LEADER_LEASE_H
#define LEADER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/kube/client.h"
#include "common/leader/election.h"

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
	/* Once: the Lease or the record has a version from before one that was read or written: the API server's store
	 * was restored from a backup. This process's view of the cluster is out of date. */
	void (*restored)(void *arg);
	/* Once, after lease_release(): the Lease was released, was not ours, or could not be released in time. */
	void (*released)(void *arg);
};

/* Starts at once. It retries failed requests for ever, and logs the reasons now and then. */
struct lease *lease_new(struct ev_loop *loop, struct kube_client *client, const struct lease_options *options,
			const struct lease_handler *handler, void *arg);
/* No handler runs any more. Before the client is freed. NULL is fine. */
void lease_free(struct lease *lease);

/* Whether this process leads now. Reads the clock, so it may be false before deposed() is called. */
bool lease_leads(const struct lease *lease);
/* Releases the Lease, if this process holds it. drained: nobody acts on shards that we granted. */
void lease_release(struct lease *lease, bool drained);

const char *lease_identity(const struct lease *lease);
/* The holder when the Lease was last read; "": none. */
const char *lease_holder(const struct lease *lease);

#endif
