/* Delegated authentication and authorisation; see access.h. One table caches the user of each token, another one
 * whether a user may get Frameworks in a namespace. Each Pod of a service account has its own token, but all have the
 * same user: a thousand Pods cost a thousand TokenReviews and one SubjectAccessReview. Unknown tokens wait in a queue
 * for each source, and the queues take turns: a source that sends thousands of invalid tokens delays only itself. */
#include "barrier/access.h"

#include <ev.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "barrier/user_load.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/base/rate.h"
#include "common/framework/names.h"

/* The kubelet's defaults (authentication.webhook.cacheTTL, authorization.webhook.cache{Un,}authorizedTTL), the longer
 * one cut to the first. A token that is nobody's yet may be somebody's soon. */
enum {
	TOKEN_KNOWN_MS = 2 * 60 * 1000,
	TOKEN_UNKNOWN_MS = 10 * 1000,
	ALLOWED_MS = 2 * 60 * 1000,
	FORBIDDEN_MS = 30 * 1000,
	REVIEW_TIMEOUT_MS = 10 * 1000,
	DIGEST_SIZE = 32,
};

/* One answer, known or on its way, and those who wait for it. */
struct fact {
	UT_hash_handle hh;
	unsigned char digest[DIGEST_SIZE];
	struct access *access;
	struct source_queue *queue; /* of a token that waits for its turn */
	struct fact *prev_queued, *next_queued;
	bool asking;
	char *source;             /* while asking: of the queue that it has left; NULL: it was in none */
	bool counted;             /* … as a miss */
	struct kube_call *review; /* while asking */
	bool sent;                /* it was; until then it waits for the rate limit */
	enum access_verdict verdict;
	int64_t expires_ms;
	char *user;             /* of a token: what an access review says of its user, as JSON members */
	struct user_load *load; /* of a permission, while asking */
	struct access_check *checks;
};

/* The record of a queue's source: GOOD since an answer that allowed access, UNTRIED before that and after a rejected
 * token. A review for an UNTRIED source counts as a miss until an answer accepts the token. */
enum record { RECORD_GOOD, RECORD_UNTRIED, RECORDS };

/* The tokens of a source that wait for their turn. It is there as long as one does. */
struct source_queue {
	UT_hash_handle hh;
	char *source;
	enum record record;
	struct fact *first;
	struct source_queue *prev, *next;
};

struct access_check {
	struct access_check *prev, *next;
	struct fact *fact;
	const char *token;
	char *ns;
	access_done *done;
	void *arg;
};

struct access {
	struct ev_loop *loop;
	struct kube_client *client;
	size_t max_entries;
	int64_t keep_max_ms;
	struct fact *tokens;
	struct fact *permissions;            /* of a user in a namespace */
	struct user_load *loads;             /* by user */
	struct source_queue *queues;         /* by source */
	struct source_queue *turns[RECORDS]; /* the next one to have its turn first */
	enum record last;                    /* where the last one was taken from */
	size_t strangers_asked;              /* reviews of theirs under way */
	struct token_bucket misses;
	struct ev_timer again; /* when the next may be reviewed */
	struct access_counters counters;
	struct log_last complaint; /* otherwise each request causes a log line while the API server is away */
};

static void on_again(struct ev_loop *loop, ev_timer *timer, int events);

struct access *access_new(struct ev_loop *loop, struct kube_client *client, size_t max_entries)
{
	struct access *access = mem_calloc(1, sizeof(*access));

	access->loop = loop;
	token_bucket_init(&access->misses, ACCESS_MISSES_PER_SEC, ACCESS_MISSES_BURST, clock_boot_ms());
	ev_init(&access->again, on_again);
	access->again.data = access;
	access->client = client;
	access->max_entries = max_entries;
	access->keep_max_ms = INT64_MAX;
	return access;
}

static void check_free(struct access_check *check)
{
	free(check->ns);
	free(check);
}

/* ---- queues of strangers ------------------------------------------------------------------------------------------
 */

static void join_queue(struct access *access, struct fact *fact, const char *source)
{
	struct source_queue *queue;

	HASH_FIND_STR(access->queues, source, queue);
	if (queue == NULL) {
		queue = mem_calloc(1, sizeof(*queue));
		queue->source = mem_strdup(source);
		HASH_ADD_KEYPTR(hh, access->queues, queue->source, strlen(queue->source), queue);
		queue->record = RECORD_UNTRIED;
		DL_APPEND(access->turns[queue->record], queue);
	}
	fact->queue = queue;
	DL_APPEND2(queue->first, fact, prev_queued, next_queued);
	access->counters.strangers++;
}

static void leave_queue(struct fact *fact)
{
	struct access *access = fact->access;
	struct source_queue *queue = fact->queue;

	if (queue == NULL)
		return;
	DL_DELETE2(queue->first, fact, prev_queued, next_queued);
	fact->queue = NULL;
	access->counters.strangers--;
	if (queue->first != NULL)
		return;
	DL_DELETE(access->turns[queue->record], queue);
	HASH_DEL(access->queues, queue);
	free(queue->source);
	free(queue);
}

/* Puts it behind all others of that record. */
static void end_turn(struct access *access, struct source_queue *queue, enum record record)
{
	DL_DELETE(access->turns[queue->record], queue);
	queue->record = record;
	DL_APPEND(access->turns[record], queue);
}

static struct fact *take_next(struct access *access, enum record record)
{
	struct source_queue *queue = access->turns[record];
	struct fact *fact = queue->first;

	access->last = record;
	fact->source = mem_strdup(queue->source);
	end_turn(access, queue, record);
	leave_queue(fact);
	return fact;
}

/* The answer to one token of a source decides in which turn the source's waiting tokens come. */
static void note_record(struct access *access, const char *source, enum record record)
{
	struct source_queue *queue;

	HASH_FIND_STR(access->queues, source, queue);
	if (queue != NULL && queue->record != record)
		end_turn(access, queue, record);
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static void fact_free(struct fact **table, struct fact *fact)
{
	struct access_check *check;
	struct access_check *next;

	DL_FOREACH_SAFE(fact->checks, check, next)
		check_free(check);
	leave_queue(fact);
	HASH_DEL(*table, fact);
	free(fact->user);
	free(fact->source);
	free(fact);
}

void access_free(struct access *access)
{
	struct fact *fact;
	struct fact *next;

	if (access == NULL)
		return;
	ev_timer_stop(access->loop, &access->again);
	HASH_ITER(hh, access->tokens, fact, next)
		fact_free(&access->tokens, fact);
	HASH_ITER(hh, access->permissions, fact, next)
		fact_free(&access->permissions, fact);
	free(access);
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

static void digest_of(const char *a, const char *b, unsigned char out[DIGEST_SIZE])
{
	cleanup_buf struct buf text = {0};

	buf_puts(&text, a);
	buf_putc(&text, '\0');
	buf_puts(&text, b);
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text.data, text.len, out) < 0)
		abort(); /* SHA-256 is always there */
}

/* Entries stand in the order of their last use: the oldest that nobody waits for goes. Those who wait for their turn
 * take nobody's room. */
static void make_room(struct access *access, struct fact **table)
{
	size_t queued = table == &access->tokens ? access->counters.strangers : 0;
	struct fact *fact;
	struct fact *next;

	HASH_ITER(hh, *table, fact, next) {
		if (HASH_COUNT(*table) - queued < access->max_entries)
			return;
		if (!fact->asking && fact->queue == NULL)
			fact_free(table, fact);
	}
}

/* The entry, moved to the end; made when there is none; emptied when it is out of date. */
static struct fact *fact_get(struct access *access, struct fact **table, const char *a, const char *b)
{
	unsigned char digest[DIGEST_SIZE];
	struct fact *fact;

	digest_of(a, b, digest);
	HASH_FIND(hh, *table, digest, DIGEST_SIZE, fact);
	if (fact != NULL) {
		HASH_DEL(*table, fact);
	} else {
		make_room(access, table);
		fact = mem_calloc(1, sizeof(*fact));
		memcpy(fact->digest, digest, DIGEST_SIZE);
		fact->access = access;
	}
	HASH_ADD(hh, *table, digest, DIGEST_SIZE, fact);
	if (fact->verdict != ACCESS_PENDING && clock_boot_ms() >= fact->expires_ms)
		fact->verdict = ACCESS_PENDING;
	return fact;
}

static void fact_set(struct fact *fact, enum access_verdict verdict, int64_t valid_ms)
{
	int64_t keep_ms = valid_ms < fact->access->keep_max_ms ? valid_ms : fact->access->keep_max_ms;

	fact->verdict = verdict;
	fact->expires_ms = clock_boot_ms() + keep_ms;
}

void access_keep_at_most(struct access *access, int64_t ms)
{
	access->keep_max_ms = ms;
}

/* ---- reviews ----------------------------------------------------------------------------------------------------- */

static bool on_review_sent(void *arg, int64_t *timeout_ms)
{
	(void)timeout_ms;
	((struct fact *)arg)->sent = true;
	return true;
}

static void ask(struct fact *fact, const char *path, const struct buf *body, kube_done *done)
{
	const struct kube_request request = {
		.method = "POST",
		.path = path,
		.body = body->data,
		.body_len = body->len,
		.timeout_ms = REVIEW_TIMEOUT_MS,
		.before_send = on_review_sent,
	};

	fact->asking = true;
	fact->sent = false;
	fact->review = kube_client_call(fact->access->client, &request, done, fact);
}

/* The status of a review, or NULL: no answer that means anything. The caller decrefs *body. */
static const json_t *review_status(struct access *access, const struct kube_answer *answer, json_t **body)
{
	struct error err;
	const json_t *status;
	const char *why = *answer->message != '\0' ? answer->message
						   : "found an answer without status, expected a review";

	*body = NULL;
	if (answer->failure == KUBE_CANCELLED)
		return NULL;
	if (answer->failure == KUBE_OK && answer->http_status / 100 == 2) {
		*body = json_parse(answer->body, answer->body_len, &err);
		status = json_object_get(*body, "status");
		if (json_is_object(status))
			return status;
	}
	access->counters.failures++;
	if (log_is_news(&access->complaint, clock_boot_ms(), why))
		log_warning("cannot review a token or its user: %s", why);
	return NULL;
}

/* The checks that wait for a fact, one by one: a done may cancel others. */
static struct access_check *take_check(struct fact *fact)
{
	struct access_check *check = fact->checks;

	if (check != NULL)
		DL_DELETE(fact->checks, check);
	return check;
}

static void finish(struct access_check *check, enum access_verdict verdict)
{
	access_done *done = check->done;
	void *arg = check->arg;

	check_free(check);
	done(arg, verdict);
}

static void on_permission(void *arg, const struct kube_answer *answer)
{
	struct fact *fact = arg;
	json_t *body;
	const json_t *status = review_status(fact->access, answer, &body);
	enum access_verdict verdict = ACCESS_UNKNOWN;
	struct access_check *check;

	if (status != NULL) {
		verdict = json_bool(status, "allowed", false) ? ACCESS_ALLOWED : ACCESS_FORBIDDEN;
		fact_set(fact, verdict, verdict == ACCESS_ALLOWED ? ALLOWED_MS : FORBIDDEN_MS);
	}
	json_decref(body);
	while ((check = take_check(fact)) != NULL)
		finish(check, verdict);
	fact->asking = false;
	user_load_release(&fact->access->loads, fact->load);
}

/* NULL: the user has too many reviews under way. */
static struct fact *ask_permission(struct access *access, const char *user, const char *ns)
{
	struct fact *fact = fact_get(access, &access->permissions, user, ns);
	cleanup_buf struct buf body = {0};

	if (fact->verdict != ACCESS_PENDING || fact->asking)
		return fact;
	fact->load = user_load_take(&access->loads, user, ACCESS_REVIEWS_PER_USER);
	if (fact->load == NULL) {
		fact_free(&access->permissions, fact);
		return NULL;
	}
	access->counters.access_reviews++;
	buf_puts(&body, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{"
			"\"resourceAttributes\":{\"namespace\":");
	buf_json_string(&body, ns);
	buf_printf(&body, ",\"verb\":\"get\",\"group\":\"%s\",\"version\":\"v1\",\"resource\":\"frameworks\"},%s}}",
		   FRAMEWORK_GROUP, user);
	ask(fact, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &body, on_permission);
	return fact;
}

/* The user as an access review names it. Extra values named authentication.kubernetes.io/… name the Pod that a token is
 * bound to: RBAC looks at none of them, and with them every Pod would be a user of its own. */
static char *describe_user(const json_t *user)
{
	static const char bound[] = "authentication.kubernetes.io/";
	cleanup_json json_t *described = json_object();
	cleanup_free char *text = NULL;
	json_t *extra = json_object();
	const char *name;
	json_t *value;

	/* as it is: a name with a NUL in it must not become another one */
	json_object_set(described, "user", json_object_get(user, "username"));
	if (json_str(user, "uid") != NULL)
		json_object_set(described, "uid", json_object_get(user, "uid"));
	if (json_is_array(json_object_get(user, "groups")))
		json_object_set(described, "groups", json_object_get(user, "groups"));
	json_object_foreach(json_object_get(user, "extra"), name, value) {
		if (strncmp(name, bound, sizeof(bound) - 1) != 0)
			json_object_set(extra, name, value);
	}
	json_object_set_new(described, "extra", extra);
	text = json_text(described);
	return mem_strndup(text + 1, strlen(text) - 2); /* without its braces */
}

static void review_strangers(struct access *access);

/* A review that a stranger had to wait for has ended. Only a token that is nobody's counts against the rate: what other
 * answers cost, --qps bounds. */
static void stranger_reviewed(struct fact *fact, enum access_verdict verdict)
{
	struct access *access = fact->access;

	if (fact->source == NULL)
		return;
	access->strangers_asked--;
	if (fact->counted && verdict != ACCESS_UNAUTHORIZED)
		token_bucket_give_back(&access->misses);
	if (verdict == ACCESS_ALLOWED)
		note_record(access, fact->source, RECORD_GOOD);
	else if (verdict == ACCESS_UNAUTHORIZED)
		note_record(access, fact->source, RECORD_UNTRIED);
	mem_replace(&fact->source, NULL);
}

static void on_token(void *arg, const struct kube_answer *answer)
{
	struct fact *fact = arg;
	struct access *access = fact->access;
	json_t *body;
	const json_t *status = review_status(access, answer, &body);
	const json_t *user = json_object_get(status, "user");
	enum access_verdict verdict = ACCESS_UNKNOWN;
	struct access_check *check;

	if (status != NULL && json_bool(status, "authenticated", false) && json_str(user, "username") != NULL) {
		verdict = ACCESS_ALLOWED;
		free(fact->user);
		fact->user = describe_user(user);
		fact_set(fact, verdict, TOKEN_KNOWN_MS);
	} else if (status != NULL) {
		verdict = ACCESS_UNAUTHORIZED;
		mem_replace(&fact->user, NULL);
		fact_set(fact, verdict, TOKEN_UNKNOWN_MS);
	}
	json_decref(body);
	stranger_reviewed(fact, verdict);
	while ((check = take_check(fact)) != NULL) {
		struct fact *permission;

		if (verdict != ACCESS_ALLOWED) {
			finish(check, verdict);
			continue;
		}
		permission = ask_permission(access, fact->user, check->ns);
		if (permission == NULL || permission->verdict != ACCESS_PENDING) {
			finish(check, permission == NULL ? ACCESS_BUSY : permission->verdict);
			continue;
		}
		check->fact = permission;
		DL_APPEND(permission->checks, check);
	}
	fact->asking = false;
	review_strangers(access);
}

static void ask_token(struct access *access, struct fact *fact)
{
	cleanup_buf struct buf body = {0};

	access->counters.token_reviews++;
	buf_puts(&body, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\",\"spec\":{\"token\":");
	buf_json_string(&body, fact->checks->token);
	buf_puts(&body, "}}");
	ask(fact, "/apis/authentication.k8s.io/v1/tokenreviews", &body, on_token);
}

/* The kind of source that the next review is for: both kinds take turns. RECORDS: none may be reviewed now. */
static enum record next_record(struct access *access)
{
	bool good = access->turns[RECORD_GOOD] != NULL;
	int64_t wait_ms;

	if (access->turns[RECORD_UNTRIED] == NULL || (good && access->last == RECORD_UNTRIED))
		return good ? RECORD_GOOD : RECORDS;
	wait_ms = token_bucket_wait_ms(&access->misses, clock_boot_ms());
	if (wait_ms == 0)
		return RECORD_UNTRIED;
	ev_now_update(access->loop);
	ev_timer_stop(access->loop, &access->again);
	ev_timer_set(&access->again, (double)wait_ms / 1000, 0);
	ev_timer_start(access->loop, &access->again);
	return good ? RECORD_GOOD : RECORDS;
}

static void review_strangers(struct access *access)
{
	enum record record;

	while (access->strangers_asked < ACCESS_REVIEWS_AT_ONCE && (record = next_record(access)) != RECORDS) {
		struct fact *fact = take_next(access, record);

		fact->counted = record == RECORD_UNTRIED;
		if (fact->counted)
			token_bucket_take(&access->misses);
		access->strangers_asked++;
		ask_token(access, fact);
	}
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	review_strangers(timer->data);
}

/* A token that was somebody's when it was last reviewed waits for nobody. */
static void ask_about(struct access *access, struct fact *fact, const char *source)
{
	if (fact->user != NULL) {
		ask_token(access, fact);
		return;
	}
	join_queue(access, fact, source);
	review_strangers(access);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

struct access_check *access_ask(struct access *access, const char *source, const char *token, const char *ns,
				access_done *done, void *arg, enum access_verdict *verdict)
{
	struct fact *fact = fact_get(access, &access->tokens, token, "");
	struct access_check *check;

	*verdict = fact->verdict;
	if (*verdict == ACCESS_ALLOWED) {
		fact = ask_permission(access, fact->user, ns);
		*verdict = fact == NULL ? ACCESS_BUSY : fact->verdict;
	}
	if (*verdict != ACCESS_PENDING) {
		access->counters.hits += *verdict != ACCESS_BUSY;
		return NULL;
	}
	check = mem_calloc(1, sizeof(*check));
	check->fact = fact;
	check->ns = mem_strdup(ns);
	check->done = done;
	check->arg = arg;
	check->token = token;
	DL_APPEND(fact->checks, check);
	if (fact->verdict == ACCESS_PENDING && !fact->asking && fact->queue == NULL)
		ask_about(access, fact, source);
	return check;
}

/* A review that nobody waits for leaves the queue: those of clients that come and go at once would fill it faster than
 * the rate limit empties it, and everybody else's would wait behind them. One that was sent is as good as paid for. */
void access_cancel(struct access_check *check)
{
	struct fact *fact;

	if (check == NULL)
		return;
	fact = check->fact;
	DL_DELETE(fact->checks, check);
	check_free(check);
	if (fact->checks != NULL)
		return;
	if (fact->queue != NULL)
		fact_free(&fact->access->tokens, fact);
	else if (fact->asking && !fact->sent)
		kube_call_cancel(fact->review);
}

const struct access_counters *access_counters(const struct access *access)
{
	return &access->counters;
}
