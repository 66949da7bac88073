/* The Lease on the server that says who leads: what election.h decides, carried out by the Kubernetes client. */
#ifndef WATCHER_LEASE_H
#define WATCHER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/kube/client.h"
#include "watcher/election.h"

struct ev_loop;
struct lease;

struct lease_options {
	const char *ns; /* copied, as all strings */
	const char *name;
	struct election_options election; /* identity, process and jitter_ms are filled in */
};

/* All run from the loop, never from within a lease_*() call. */
struct lease_handler {
	/* This process leads from now on, until deposed() or released(). inherits: somebody may still act on ranges of
	 * a former leader. */
	void (*led)(void *arg, uint64_t epoch, bool inherits);
	void (*deposed)(void *arg);
	/* Once, after lease_release(): it was given back, was not ours, or could not be given back in time. */
	void (*released)(void *arg);
};

/* Begins at once. A server that refuses or does not answer is asked again for ever; why is logged once a minute. */
struct lease *lease_new(struct ev_loop *loop, struct kube_client *client, const struct lease_options *options,
			const struct lease_handler *handler, void *arg);
/* No handler runs any more. Before the client is freed. NULL is fine. */
void lease_free(struct lease *lease);

/* Whether this process leads at this very moment, by a clock read now: deposed() may not have been called yet. */
bool lease_leads(const struct lease *lease);
/* Gives it back, if it is ours. drained: nobody acts on ranges granted by us any more. */
void lease_release(struct lease *lease, bool drained);

/* election_first() of the present term. */
bool lease_first(const struct lease *lease);
/* election_settled(). */
void lease_settled(struct lease *lease);
/* election_former_end_ms() of the present term. */
int64_t lease_former_end_ms(const struct lease *lease);
/* election_former_member_ms() of the present term. */
int64_t lease_former_member_ms(const struct lease *lease);
const char *lease_identity(const struct lease *lease);
/* Who holds it by what was last read; "" for nobody. */
const char *lease_holder(const struct lease *lease);

#endif
