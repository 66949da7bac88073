/* Wait groups and their reads; see wait_group.h.
 *
 * A group reads its Framework when the cache says that the gang is complete. It also reads a Framework that the cache
 * does not contain or has not counted, for the waiters that arrived since the last read, and polls one that the watcher
 * does not stream. A group has one read in flight at a time. Its answer decides for the waiters that arrived before it
 * was sent. Reads that clients can cause at will (of unknown names, or again of the same version) are few at a time for
 * each namespace, and wait for the rate limit. */
#include "barrier/wait_internal.h"

#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/base/version.h"
#include "common/framework/gang.h"
#include "common/framework/names.h"

enum {
	READ_TIMEOUT_MS = 10 * 1000,
	READ_BACKOFF_MS = 200,
	READ_BACKOFF_CAP_MS = 5000,
	READ_BACKOFF_RESET_MS = 60 * 1000,
	READ_RETRY_MAX_MS = 5000, /* however long the API server asks us to stay away */
	READ_AGAIN_MS = 100,      /* after a read that the view contradicts */
	POLL_MS = 3000,           /* between reads of an incomplete Framework that is not streamed */
	TASKS_PER_PLACE = 200,    /* some 150 KiB of status: reading a large Framework counts as several reads */
};

/* Reads the Framework if there is reason to: at once, or when it is the group's turn. Waiters that stayed for a read
 * that is not to be are answered: group_release() must follow. */
static void group_consider(struct wait_group *group);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* NULL: nobody waits for it. */
static struct wait_group *group_find(const struct wait_groups *groups, const char *key)
{
	struct wait_group *group;

	HASH_FIND_STR(groups->by_key, key, group);
	return group;
}

static void leave_queue(struct wait_group *group)
{
	if (group->queue == NULL)
		return;
	DL_DELETE2(*group->queue, group, prev_queued, next_queued);
	group->queue = NULL;
}

static void join_queue(struct wait_group *group, struct wait_group **queue)
{
	if (group->queue == queue)
		return;
	leave_queue(group);
	group->queue = queue;
	DL_APPEND2(*queue, group, prev_queued, next_queued);
}

static void group_free(struct wait_group *group)
{
	leave_queue(group);
	wait_share_leave(group);
	HASH_DEL(group->all->by_key, group);
	readiness_forget(group->all->readiness, group->key);
	ev_timer_stop(group->all->loop, &group->again);
	group->all->counters.frameworks--;
	free(group->key);
	free(group->uid);
	free(group->version);
	free(group->read_version);
	free(group);
}

/* To be called when a waiter or a read has left it: a group without waiters goes. */
static void group_release(struct wait_group *group)
{
	if (group->count == 0 && group->read == NULL)
		group_free(group);
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	ev_timer_stop(loop, timer);
	group_consider(timer->data);
	group_release(timer->data);
}

/* Made when there is none. */
static struct wait_group *group_get(struct wait_groups *groups, const char *ns, const char *name)
{
	cleanup_free char *key = mem_printf("%s/%s", ns, name);
	struct wait_group *group = group_find(groups, key);

	if (group != NULL)
		return group;
	group = mem_calloc(1, sizeof(*group));
	group->all = groups;
	group->key = mem_strdup(key);
	group->backoff = (struct backoff){
		.base_ms = READ_BACKOFF_MS,
		.cap_ms = READ_BACKOFF_CAP_MS,
		.reset_ms = READ_BACKOFF_RESET_MS,
	};
	ev_init(&group->again, on_again);
	group->again.data = group;
	HASH_ADD_KEYPTR(hh, groups->by_key, group->key, strlen(group->key), group);
	wait_share_join(group, ns);
	groups->counters.frameworks++;
	return group;
}

static void consider_after(struct wait_group *group, int64_t ms)
{
	group->again.repeat = (double)(ms < 1 ? 1 : ms) / 1000;
	ev_timer_again(group->all->loop, &group->again);
}

/* mem_replace(), but keeps an equal text: waiters come one by one to a Framework that does not change. */
static void note(char **kept, const char *text)
{
	if (*kept == NULL || text == NULL || strcmp(*kept, text) != 0)
		mem_replace(kept, text);
}

/* Notes what the view says of the Framework; true when that calls for a read. */
static bool group_observe(struct wait_group *group)
{
	struct readiness_entry entry = {0};
	bool known = readiness_find(group->all->readiness, group->key, &entry);
	bool complete = entry.streamed && entry.counted && entry.ready == entry.total;
	bool fresh = known && !entry.streamed && entry.ready < entry.total && clock_boot_ms() < entry.read_ms + POLL_MS;

	group->places = 1 + (size_t)entry.total / TASKS_PER_PLACE;
	if (group->uid != NULL && (!known || strcmp(group->uid, entry.uid) != 0))
		group->must_read = true;
	note(&group->uid, known ? entry.uid : NULL);
	note(&group->version, known ? entry.resource_version : NULL);
	if (!complete)
		group->complete_ms = 0;
	else if (group->complete_ms == 0)
		group->complete_ms = clock_boot_ms();
	group->poll_ms = fresh && !group->must_read ? entry.read_ms + POLL_MS : 0;
	if (group->polls && group->poll_ms == 0) {
		group->polls = false;
		ev_timer_stop(group->all->loop, &group->again);
	}
	return group->must_read || (!entry.streamed && !fresh) || !entry.counted || complete;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Answers a waiter whose time is over with the numbers of the view, if these are up to date. For a Framework that is
 * not streamed, the view has the numbers of the last read, unless reads fail. */
static void answer_expired(struct waiter *waiter)
{
	const struct wait_group *group = waiter->group;
	struct readiness_entry entry;

	if (!readiness_synced(group->all->readiness))
		waiter_answer_away(waiter, "the view of the cluster is not up to date: try again");
	else if (!readiness_find(group->all->readiness, group->key, &entry) || !entry.counted ||
		 entry.ready >= entry.total || (!entry.streamed && group->must_read))
		waiter_answer_away(waiter, "the Framework could not be read in time: try again");
	else
		waiter_answer_waiting(waiter, entry.ready, entry.total, entry.missing);
}

/* Those who stayed beyond their time for a read. */
static void answer_all_expired(struct wait_group *group)
{
	struct waiter *waiter;
	struct waiter *next;

	DL_FOREACH_SAFE(group->waiters, waiter, next)
		if (waiter->expired)
			answer_expired(waiter);
}

/* ---- what a read says -------------------------------------------------------------------------------------------- */

static void judge_gang(struct wait_group *group, const struct kube_answer *from, const struct object_meta *meta,
		       const struct gang *gang)
{
	mem_replace(&group->read_version, meta->resource_version);
	wait_group_dismiss_others(group, meta->uid);
	if (gang_passed(gang))
		wait_group_let_pass(group, from);
	else
		wait_group_answer_seen(group, gang);
	readiness_learn(group->all->readiness, meta, gang);
}

/* 0, or -1 and *err when it cannot be read. */
static int judge(struct wait_group *group, const struct kube_answer *from, struct error *err)
{
	struct object_parts parts;
	struct gang gang;
	int result;

	if (object_parts_read(from->body, from->body_len, &parts, err) < 0)
		return -1;
	result = gang_read(&parts, &gang, err);
	if (result == 0) {
		result = gang_unpack(&gang, err);
		if (result == 0)
			judge_gang(group, from, &parts.meta, &gang);
		gang_free(&gang);
	}
	object_meta_free(&parts.meta);
	return result;
}

/* A lasting fault fails the reads of all groups again and again: the warning of a cause names one of the Frameworks.
 * The message is no cause: it contains the Framework's path. */
static void complain(struct wait_group *group, const struct kube_answer *answer, const char *message)
{
	int code = answer->failure == KUBE_OK ? answer->http_status : (int)answer->failure;
	cleanup_free char *cause = mem_printf("%d", code);

	if (log_is_news(&group->all->complaints[code % COMPLAINTS_KEPT], clock_boot_ms(), cause))
		log_warning("cannot read Framework %s: %s", group->key, message);
	else
		log_v(1, "cannot read Framework %s: %s", group->key, message);
}

static void read_failed(struct wait_group *group, const struct kube_answer *answer, const char *message)
{
	int64_t wait_ms = backoff_next(&group->backoff, &group->all->random, clock_boot_ms());

	group->must_read = true; /* whatever called for it was not answered */
	if (answer->failure != KUBE_CANCELLED) {
		group->all->counters.reads_failed++;
		complain(group, answer, message);
	}
	if (answer->retry_after_ms > wait_ms)
		wait_ms = answer->retry_after_ms < READ_RETRY_MAX_MS ? answer->retry_after_ms : READ_RETRY_MAX_MS;
	answer_all_expired(group);
	consider_after(group, wait_ms);
}

/* Waiters and changes that arrived during the read get a read of their own. If the view still calls for a read of the
 * version that was read, the two contradict each other: the next read waits. */
static void after_read(struct wait_group *group)
{
	bool all_seen = group->waiters == NULL || group->waiters->prev->number <= group->read_number;

	if (all_seen && group_observe(group) && version_compare(group->version, group->read_version) <= 0)
		consider_after(group, READ_AGAIN_MS);
	else
		group_consider(group);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool has_room(const struct wait_group *group)
{
	size_t taken = group->all->places_taken;

	return taken == 0 || taken + group->places <= WAIT_GROUP_READS_AT_ONCE;
}

static void read_next(struct wait_groups *groups)
{
	while (groups->queue != NULL && has_room(groups->queue)) {
		struct wait_group *group = groups->queue;

		group_consider(group); /* takes it out of the queue */
		group_release(group);
	}
}

static bool may_share(const struct wait_group *group)
{
	return group->share->reads < WAIT_GROUP_READS_PER_NAMESPACE;
}

/* The group's read no longer counts for its namespace: others of the namespace have their turn. */
static void release_share(struct wait_group *group)
{
	struct wait_share *share = group->share;

	if (!group->shared)
		return;
	group->shared = false;
	share->reads--;
	while (share->queue != NULL && may_share(share->queue)) {
		struct wait_group *next = share->queue;

		group_consider(next); /* takes it out of the queue */
		group_release(next);
	}
}

static void on_read(void *arg, const struct kube_answer *answer)
{
	struct wait_group *group = arg;
	struct wait_groups *groups = group->all;
	struct error err;

	release_share(group);
	group->read = NULL;
	groups->places_taken -= group->places_taken;
	group->places_taken = 0;
	if (answer->absent) {
		mem_replace(&group->read_version, NULL);
		readiness_forget(groups->readiness, group->key);
		wait_group_answer_absent(group);
		after_read(group);
	} else if (answer->failure != KUBE_OK || answer->http_status / 100 != 2) {
		read_failed(group, answer, answer->message);
	} else if (judge(group, answer, &err) < 0) {
		read_failed(group, answer, err.message);
	} else {
		after_read(group);
	}
	group_release(group);
	read_next(groups);
}

/* A complete gang's, while its read is under way. */
static void take_places(struct wait_group *group)
{
	if (group->complete_ms == 0 || group->places_taken != 0)
		return;
	group->places_taken = group->places;
	group->all->places_taken += group->places_taken;
}

/* Immediately before the read is sent: its answer is for all waiters that have arrived by now. A read takes no places
 * while it waits for the rate limit: otherwise clients could hold all places. */
static bool on_read_sent(void *arg, int64_t *timeout_ms)
{
	struct wait_group *group = arg;

	(void)timeout_ms;
	group->read_number = group->all->last_number;
	take_places(group);
	return true;
}

/* exempt: the first read of a gang that is complete waits behind no reviews: its Pods had many writes. */
static void start_read(struct wait_group *group, bool exempt)
{
	const char *slash = strchr(group->key, '/');
	cleanup_free char *path = mem_printf("/apis/" FRAMEWORK_API_VERSION "/namespaces/%.*s/frameworks%s",
					     (int)(slash - group->key), group->key, slash);
	const struct kube_request request = {
		.method = "GET",
		.path = path,
		.timeout_ms = READ_TIMEOUT_MS,
		.exempt = exempt,
		.before_send = on_read_sent,
	};

	leave_queue(group);
	ev_timer_stop(group->all->loop, &group->again);
	group->read_number = 0;
	group->must_read = false;
	group->polls = false;
	group->shared = !exempt;
	if (exempt)
		take_places(group);
	else
		group->share->reads++;
	group->all->counters.reads++;
	group->read = kube_client_call(group->all->client, &request, on_read, group);
}

/* After a failure, or a read that the view contradicts, not before its time. */
static void group_consider(struct wait_group *group)
{
	struct wait_groups *groups = group->all;
	bool reason = group_observe(group);
	bool complete = group->complete_ms != 0;
	bool first = groups->queue == NULL || groups->queue == group;

	if (group->poll_ms != 0 && group->read == NULL && !ev_is_active(&group->again)) {
		group->polls = true;
		consider_after(group, group->poll_ms - clock_boot_ms());
	}
	if (!reason || group->waiters == NULL || group->read != NULL || ev_is_active(&group->again)) {
		leave_queue(group);
		if (group->read == NULL)
			answer_all_expired(group);
	} else if (complete && !(first && has_room(group))) {
		join_queue(group, &groups->queue);
	} else if (complete && readiness_claim(groups->readiness, group->key)) {
		start_read(group, true);
	} else if (may_share(group)) {
		start_read(group, false);
	} else {
		join_queue(group, &group->share->queue);
	}
}

/* ---- who comes and goes ------------------------------------------------------------------------------------------ */

struct wait_groups *wait_groups_new(struct ev_loop *loop, struct kube_client *client, struct readiness *readiness,
				    size_t max_waiters, size_t max_of_group)
{
	struct wait_groups *groups = mem_calloc(1, sizeof(*groups));

	groups->loop = loop;
	groups->client = client;
	groups->readiness = readiness;
	groups->max_waiters = max_waiters;
	groups->max_of_group = max_of_group;
	random_init(&groups->random);
	metrics_histogram_init(&groups->counters.release, 0.001, 2, 15);
	return groups;
}

void wait_groups_free(struct wait_groups *groups)
{
	struct wait_group *group;
	struct wait_group *next;

	if (groups == NULL)
		return;
	HASH_ITER(hh, groups->by_key, group, next)
		group_free(group);
	free(groups);
}

/* A waiter has left without an answer to the read. Without the cancellation, reads for clients that come and go at once
 * would pile up in the rate limit. */
static void group_left(struct wait_group *group)
{
	if (group->count == 0 && group->read != NULL && group->read_number == 0)
		kube_call_cancel(group->read);
	group_release(group);
}

static void on_gone(void *arg)
{
	struct waiter *waiter = arg;
	struct wait_group *group = waiter->group;

	group->all->counters.left++;
	waiter_take(waiter);
	group_left(group);
}

static void on_expired(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct waiter *waiter = timer->data;
	struct wait_group *group = waiter->group;

	(void)loop;
	(void)events;
	if (group->read != NULL || group->queue != NULL) {
		waiter->expired = true;
		return;
	}
	answer_expired(waiter);
	group_release(group);
}

static bool is_full(const struct wait_groups *groups)
{
	return groups->counters.waiting >= groups->max_waiters;
}

bool wait_groups_refuse(const struct wait_groups *groups, struct serve_request *request, const char *ns)
{
	if (!is_full(groups) || wait_share_giving_way(groups, ns) != NULL)
		return false;
	serve_request_fail(request, 429, AWAY_RETRY_SEC, "%zu requests wait already, the limit of this server",
			   groups->max_waiters);
	return true;
}

static void make_room(struct wait_groups *groups, const char *ns)
{
	struct waiter *waiter = wait_share_giving_way(groups, ns);
	struct wait_group *group = waiter->group;

	waiter_answer_displaced(waiter);
	group_left(group);
}

void wait_groups_add(struct wait_groups *groups, struct serve_request *request, const char *ns, const char *name,
		     const char *uid, int64_t timeout_ms)
{
	struct wait_group *group;
	struct waiter *waiter;

	if (wait_groups_refuse(groups, request, ns))
		return;
	group = group_get(groups, ns, name);
	if (group->count >= groups->max_of_group) {
		serve_request_fail(request, 429, AWAY_RETRY_SEC,
				   "%zu requests wait for Framework %s already, the limit of this server", group->count,
				   group->key);
		return;
	}
	if (is_full(groups))
		make_room(groups, ns);
	waiter = mem_calloc(1, sizeof(*waiter));
	waiter->group = group;
	waiter->request = request;
	waiter->uid = uid == NULL || *uid == '\0' ? NULL : uid;
	waiter->number = ++groups->last_number;
	ev_timer_init(&waiter->timer, on_expired, (double)timeout_ms / 1000, 0);
	waiter->timer.data = waiter;
	ev_timer_start(groups->loop, &waiter->timer);
	DL_APPEND(group->waiters, waiter);
	group->count++;
	DL_APPEND2(group->share->waiters, waiter, prev_of_share, next_of_share);
	group->share->count++;
	groups->counters.waiting++;
	serve_request_park(request, on_gone, waiter);
	group_observe(group);
	if (waiter->uid != NULL && group->uid != NULL && strcmp(waiter->uid, group->uid) != 0)
		group->must_read = true;
	group_consider(group);
}

void wait_groups_changed(struct wait_groups *groups, const char *key)
{
	struct wait_group *group = group_find(groups, key);

	if (group == NULL)
		return;
	group_consider(group);
	group_release(group);
}

bool wait_groups_wanted(const struct wait_groups *groups, const char *key)
{
	return group_find(groups, key) != NULL;
}

void wait_groups_send_away(struct wait_groups *groups, const char *reason)
{
	struct wait_group *group;
	struct wait_group *next;

	HASH_ITER(hh, groups->by_key, group, next) {
		while (group->waiters != NULL)
			waiter_answer_away(group->waiters, reason);
		group_release(group);
	}
}

const struct wait_group_counters *wait_groups_counters(const struct wait_groups *groups)
{
	return &groups->counters;
}
