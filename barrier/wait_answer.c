/* Answers the waiters of a group; see wait_internal.h. */
#include "barrier/wait_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

struct serve_request *waiter_take(struct waiter *waiter)
{
	struct wait_group *group = waiter->group;
	struct serve_request *request = waiter->request;

	ev_timer_stop(group->all->loop, &waiter->timer);
	DL_DELETE(group->waiters, waiter);
	group->count--;
	DL_DELETE2(group->share->waiters, waiter, prev_of_share, next_of_share);
	group->share->count--;
	group->all->counters.waiting--;
	free(waiter);
	return request;
}

static void answer_passed(struct waiter *waiter, struct serve_answer *answer)
{
	waiter->group->all->counters.passed++;
	serve_request_answer(waiter_take(waiter), answer);
}

static void answer_absent(struct waiter *waiter, const char *why)
{
	struct wait_group *group = waiter->group;

	group->all->counters.absent++;
	serve_request_fail(waiter_take(waiter), 404, -1, "Framework %s: %s", group->key, why);
}

void waiter_answer_away(struct waiter *waiter, const char *why)
{
	waiter->group->all->counters.sent_away++;
	serve_request_fail(waiter_take(waiter), 503, AWAY_RETRY_SEC, "%s", why);
}

void waiter_answer_displaced(struct waiter *waiter)
{
	struct wait_groups *groups = waiter->group->all;

	groups->counters.sent_away++;
	serve_request_fail(waiter_take(waiter), 429, AWAY_RETRY_SEC,
			   "%zu requests wait, the limit of this server, and no namespace has more than this one",
			   groups->max_waiters);
}

void waiter_answer_waiting(struct waiter *waiter, int64_t ready, int64_t total, const char *missing)
{
	cleanup_free char *body = mem_printf("{\"ready\":%" PRId64 ",\"total\":%" PRId64 ",\"missing\":%s}\n", ready,
					     total, missing);

	waiter->group->all->counters.timed_out++;
	serve_request_reply(waiter_take(waiter), 202, "application/json", body);
}

/* Whether the read was sent after the waiter came. */
static bool counts_for(const struct waiter *waiter)
{
	return waiter->number <= waiter->group->read_number;
}

void wait_group_answer_absent(struct wait_group *group)
{
	struct waiter *waiter;
	struct waiter *next;

	DL_FOREACH_SAFE(group->waiters, waiter, next)
		if (counts_for(waiter))
			answer_absent(waiter, "not found");
}

void wait_group_let_pass(struct wait_group *group, const struct kube_answer *from)
{
	struct serve_answer *answer = serve_answer_new(200, "application/json", from->body, from->body_len);
	struct wait_group_counters *counters = &group->all->counters;
	int64_t begun_ms = group->complete_ms != 0 ? group->complete_ms : clock_boot_ms();
	uint64_t passed = counters->passed;
	struct waiter *waiter;
	struct waiter *next;

	serve_answer_header(answer, "Connection", "close"); /* they have no more to ask */
	DL_FOREACH_SAFE(group->waiters, waiter, next)
		if (counts_for(waiter))
			answer_passed(waiter, answer);
	serve_answer_free(answer);
	passed = counters->passed - passed;
	if (passed > 0)
		metrics_histogram_observe(&counters->release, (double)(clock_boot_ms() - begun_ms) / 1000);
	group->complete_ms = 0;
	log_v(1, "Framework %s: released %llu waiters", group->key, (unsigned long long)passed);
}

void wait_group_dismiss_others(struct wait_group *group, const char *uid)
{
	struct waiter *waiter;
	struct waiter *next;

	DL_FOREACH_SAFE(group->waiters, waiter, next)
		if (counts_for(waiter) && waiter->uid != NULL && strcmp(waiter->uid, uid) != 0)
			answer_absent(waiter, "the Framework with this name has another uid");
}

void wait_group_answer_seen(struct wait_group *group, const struct gang *gang)
{
	cleanup_buf struct buf missing = {0};
	struct waiter *waiter;
	struct waiter *next;

	gang_write_missing(&missing, gang);
	DL_FOREACH_SAFE(group->waiters, waiter, next)
		if (counts_for(waiter) && waiter->expired)
			waiter_answer_waiting(waiter, gang->ready, gang->total, missing.data);
}
