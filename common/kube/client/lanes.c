/* The calls that wait to be sent, in lanes (common/README.md §2.3); see call.h. */
#include <utlist.h>

#include "common/kube/client/call.h"

/* Of so many calls that are sent while others of both lanes wait, one is of LANE_LOW: under a load without end, Events
 * say what is wrong. */
enum { LOW_PART = 10 };

void lane_add(struct kube_call *call)
{
	struct kube_client *client = call->client;

	call->state = CALL_QUEUED;
	DL_APPEND(client->lanes[call->lane], call);
	if (call->lane == LANE_LOW)
		client->low_waiting++;
}

void lane_remove(struct kube_call *call)
{
	struct kube_client *client = call->client;

	DL_DELETE(client->lanes[call->lane], call);
	if (call->lane == LANE_LOW)
		client->low_waiting--;
}

void lane_send(struct kube_call *call)
{
	struct kube_client *client = call->client;

	lane_remove(call);
	if (call->lane == LANE_LOW)
		client->passed_low = 0;
	else if (call->lane == LANE_NORMAL && client->low_waiting > 0)
		client->passed_low++;
}

bool lane_is_limited(enum lane lane)
{
	return lane > LANE_HTTP1;
}

struct kube_call *lane_first(const struct kube_client *client, enum lane lane)
{
	while (lane < LANES && client->lanes[lane] == NULL)
		lane++;
	return lane < LANES ? client->lanes[lane] : NULL;
}

struct kube_call *lane_next(const struct kube_client *client, enum lane lane)
{
	bool low = lane == LANE_NORMAL && client->passed_low >= LOW_PART - 1 && client->lanes[LANE_LOW] != NULL;

	return client->lanes[low ? LANE_LOW : lane];
}
