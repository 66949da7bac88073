/* Blocking calls on top of the others, for start-up steps; see client.h. */
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/kube/client/call.h"

struct wait {
	struct ev_loop *loop;
	struct kube_answer *answer;
	bool done;
};

static void keep_answer(void *arg, const struct kube_answer *answer)
{
	struct wait *wait = arg;

	*wait->answer = *answer;
	wait->answer->body = mem_memdup(answer->body, answer->body_len);
	wait->answer->status.reason = mem_strdup(answer->status.reason);
	wait->answer->status.message = mem_strdup(answer->status.message);
	wait->answer->message = mem_strdup(answer->message);
	wait->done = true;
	ev_break(wait->loop, EVBREAK_ONE);
}

void kube_client_call_wait(struct kube_client *client, const struct kube_request *request, struct kube_answer *answer)
{
	struct wait wait = {.loop = client->loop, .answer = answer};
	struct kube_call *call = kube_client_call(client, request, keep_answer, &wait);

	ev_run(client->loop, 0);
	if (wait.done)
		return;
	/* somebody else stopped the loop, a signal say: its wish goes first */
	kube_call_cancel(call);
	call_deliver(call);
}

void kube_answer_free(struct kube_answer *answer)
{
	free((char *)answer->body);
	free((char *)answer->status.reason);
	free((char *)answer->status.message);
	free((char *)answer->message);
	*answer = (struct kube_answer){0};
}
