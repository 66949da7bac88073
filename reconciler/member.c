/* The reconciler as a member of the bus; see member.h. The protocol itself is common/bus/peer.c, which the barrier
 * shares. */
#include "reconciler/member.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "common/bus/client.h"

struct member {
	struct bus_client *client;
};

struct member *member_new(struct ev_loop *loop, const char *endpoint, const struct bus_security *security,
			  const char *name, const struct member_handler *handler, void *arg, struct error *err)
{
	const struct peer_handler peer_handler = {
		.granted = handler->granted,
		.revoked = handler->revoked,
		.text = handler->text,
		.absent = handler->absent,
		.complete = handler->complete,
		.rate = handler->rate,
		.live = handler->live,
		.backlog = handler->backlog,
		.draining = handler->draining,
		.refused = handler->refused,
	};
	struct bus_client *client = bus_client_new(loop, endpoint, security, BUS_ROLE_RECONCILER, name, &peer_handler,
						   arg, err);
	struct member *member;

	if (client == NULL)
		return NULL;
	member = mem_calloc(1, sizeof(*member));
	member->client = client;
	return member;
}

void member_free(struct member *member)
{
	if (member == NULL)
		return;
	bus_client_free(member->client);
	free(member);
}

void member_leave(struct member *member)
{
	bus_client_leave(member->client);
}

bool member_gone(const struct member *member)
{
	return peer_gone(bus_client_peer(member->client));
}

int64_t member_lease_left_ms(const struct member *member, uint32_t range)
{
	return peer_lease_left_ms(bus_client_peer(member->client), range);
}

bool member_leased(const struct member *member)
{
	return peer_leased(bus_client_peer(member->client));
}

uint32_t member_shards(const struct member *member)
{
	return peer_shards(bus_client_peer(member->client));
}

const struct range_set *member_ranges(const struct member *member)
{
	return peer_ranges(bus_client_peer(member->client));
}

void member_ping_soon(struct member *member)
{
	bus_client_ping_soon(member->client);
}

const struct peer_counters *member_counters(const struct member *member)
{
	return peer_counters(bus_client_peer(member->client));
}

const struct bus_counters *member_bus_counters(const struct member *member)
{
	return bus_client_counters(member->client);
}
