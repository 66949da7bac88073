/* How a loop gathers its input; see gather.h. */
#include "common/process/gather.h"

#include <limits.h>
#include <stddef.h>

#include "common/base/clock.h"
#include "common/kube/client.h"

enum {
	LEAST_MS = 2,       /* of a gathering turn; less saves nothing (tests/bench/TRIED.md) */
	AT_ONCE_BURST = 20, /* the life of a small Framework takes about as many */
	PART_MOST_MS = 120, /* of one process of several: a status is 0.3 s late then (tests/bench/README.md) */
	PEERS_FREE = 4,     /* whom a process may wake in each turn */
	PEERS_MOST_MS = 40, /* of one that wakes others, which gather in their turn */
};

static int wait_ms(struct gather *gather)
{
	int64_t token_ms = token_bucket_wait_ms(&gather->at_once, clock_boot_ms());
	int patience_ms = gather->client == NULL ? INT_MAX : kube_client_patience_ms(gather->client);
	int stream_ms = token_ms == 0 ? 0 : gather->most_ms;

	if (token_ms <= gather->most_ms)
		token_bucket_take(&gather->at_once); /* also for a turn that gathers: a stream stays one */
	if (patience_ms == INT_MAX)
		return stream_ms;
	patience_ms = patience_ms > LEAST_MS ? patience_ms : LEAST_MS;
	return patience_ms < gather->most_ms ? patience_ms : gather->most_ms;
}

/* Before each turn. libev counts the interval from the end of the last sleep. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct gather *gather = prepare->data;

	(void)events;
	gather->now_ms = wait_ms(gather);
	ev_set_io_collect_interval(loop, gather->now_ms / 1000.);
}

void gather_start(struct gather *gather, struct ev_loop *loop, int most_ms)
{
	*gather = (struct gather){.most_ms = most_ms};
	token_bucket_init(&gather->at_once, 1000. / most_ms, AT_ONCE_BURST, clock_boot_ms());
	ev_prepare_init(&gather->prepare, on_prepare);
	gather->prepare.data = gather;
	ev_prepare_start(loop, &gather->prepare);
	ev_unref(loop); /* it alone does not keep the loop running */
}

void gather_set(struct gather *gather, int most_ms)
{
	gather->most_ms = most_ms;
	token_bucket_set(&gather->at_once, 1000. / most_ms, AT_ONCE_BURST, clock_boot_ms());
}

int gather_part_ms(int alone_ms, unsigned part, unsigned whole)
{
	int64_t wanted_ms = part > 0 ? (int64_t)alone_ms * whole / part : alone_ms;

	return (int)(wanted_ms < PART_MOST_MS ? wanted_ms : PART_MOST_MS);
}

int gather_peers_ms(int alone_ms, unsigned peers)
{
	int64_t wanted_ms = (int64_t)alone_ms * peers / PEERS_FREE;

	if (wanted_ms < alone_ms)
		return alone_ms;
	return (int)(wanted_ms < PEERS_MOST_MS ? wanted_ms : PEERS_MOST_MS);
}

void gather_for(struct gather *gather, const struct kube_client *client)
{
	gather->client = client;
}
