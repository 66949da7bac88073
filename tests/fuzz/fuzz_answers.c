/* What the API server answers to everything that is no list, watch or write of a reconciler: the Lease, the CRD, the
 * reviews of the barrier's clients; and what a credential plugin prints. Behind a client without sockets. Input is
 * lines:
 *   L N {…}  C N {…}  D N {…}   the call for Lease or record, the CRD's, discovery's is answered with N (0: no answer)
 *   l  c                        … is answered well: with what it has sent
 *   T                           a client with a token of its own asks to be let in
 *   A N {…}                     the oldest review is answered
 *   X {…}                       a plugin prints this
 * Requests are JSON, and nobody is let in but by two answers that say so. */
#include <ctype.h>
#include <ev.h>

#include "barrier/access.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/kube/client/answer.h"
#include "common/kube/config/exec_credential.h"
#include "tests/fuzz/fuzz.h"
#include "watcher/crd.h"
#include "common/leader/lease.h"

enum { LINES_MAX = 200, TURNS = 4, ENTRIES_MAX = 8, STATUS_END = 1000 };

/* Who asks: each has a client of its own. */
enum asker { LEASE, CRD, DISCOVERY, REVIEWS, ASKER_COUNT };

struct kube_client {
	struct kube_call *calls; /* the oldest first */
};

struct kube_call {
	struct kube_call *next;
	kube_done *done;
	void *arg;
	char *path;
	char *body;
	bool cancelled;
	bool permission; /* a SubjectAccessReview */
};

static struct world {
	struct ev_loop *loop;
	struct kube_client clients[ASKER_COUNT];
	struct lease *lease;
	struct crd_keeper *keepers[ASKER_COUNT];
	struct access *access;
	char tokens[LINES_MAX][24];
	bool authenticated; /* some token was said to be somebody's, and somebody to be allowed */
	bool allowed;
} world;

/* ---- the client ---- */

struct kube_call *kube_client_call(struct kube_client *client, const struct kube_request *request, kube_done *done,
				   void *arg)
{
	struct kube_call *call = mem_calloc(1, sizeof(*call));
	struct kube_call **end = &client->calls;

	FUZZ_EXPECT(strpbrk(request->path, " \r\n") == NULL && request->timeout_ms > 0);
	if (request->body_len > 0) {
		cleanup_json json_t *body = json_loadb(request->body, request->body_len, JSON_ALLOW_NUL, NULL);

		FUZZ_EXPECT(json_is_object(body));
	}
	call->done = done;
	call->arg = arg;
	call->path = mem_strdup(request->path);
	call->body = mem_strndup(request->body == NULL ? "" : request->body, request->body_len);
	call->permission = strstr(request->path, "subjectaccessreviews") != NULL;
	while (*end != NULL)
		end = &(*end)->next;
	*end = call;
	return call;
}

void kube_call_cancel(struct kube_call *call)
{
	call->cancelled = true;
}

static void answer_call(struct kube_client *client, struct kube_answer *answer)
{
	struct kube_call *call = client->calls;
	json_t *keep = NULL;

	if (call == NULL)
		return;
	client->calls = call->next;
	if (call->cancelled)
		answer->failure = KUBE_CANCELLED;
	else if (answer->http_status >= 400)
		answer_read_status(answer, call->path, &keep);
	call->done(call->arg, answer);
	json_decref(keep);
	free(call->path);
	free(call->body);
	free(call);
}

/* A review that lets somebody in, read in another way than access.c does. */
static void note_review(const struct kube_answer *answer)
{
	cleanup_json json_t *body = json_loadb(answer->body, answer->body_len, JSON_ALLOW_NUL, NULL);
	const json_t *status = json_object_get(body, "status");

	if (world.clients[REVIEWS].calls == NULL || answer->http_status / 100 != 2)
		return;
	if (world.clients[REVIEWS].calls->permission)
		world.allowed |= json_is_true(json_object_get(status, "allowed"));
	else
		world.authenticated |= json_is_true(json_object_get(status, "authenticated"));
}

/* ---- those who ask ---- */

static void on_led(void *arg, uint64_t epoch, int64_t former_until_ms)
{
	(void)arg;
	FUZZ_EXPECT(epoch <= ELECTION_EPOCH_MAX && former_until_ms >= 0);
}

static void on_nothing(void *arg)
{
	(void)arg;
}

static void on_failed(void *arg, const char *message)
{
	(void)arg;
	FUZZ_EXPECT(*message != '\0');
}

static void on_verdict(void *arg, enum access_verdict verdict)
{
	(void)arg;
	FUZZ_EXPECT(verdict != ACCESS_PENDING);
	FUZZ_EXPECT(verdict != ACCESS_ALLOWED || (world.authenticated && world.allowed));
}

static void start_lease(void)
{
	static const struct lease_handler handler = {.led = on_led, .deposed = on_nothing, .released = on_nothing};
	const struct lease_options options = {
		.ns = "ns",
		.name = "lease",
		.election = {.lease_ms = 15000, .renew_ms = 10000, .grants = ELECTION_GRANTS_MEMBERS},
	};

	world.lease = lease_new(world.loop, &world.clients[LEASE], &options, &handler, NULL);
}

static void start_keeper(enum asker asker)
{
	static const struct crd_handler handler = {.established = on_nothing, .failed = on_failed};
	const struct crd_options options = {.timeout_ms = 60000, .discover = asker == DISCOVERY};

	crd_keeper_free(world.keepers[asker]);
	world.keepers[asker] = crd_keeper_new(world.loop, &world.clients[asker], &options, &handler, NULL);
	crd_keeper_set_writes(world.keepers[asker], true);
}

static void look_at_plugin(const char *text, size_t len)
{
	struct kube_exec exec = {.api_version = (char *)"client.authentication.k8s.io/v1"};
	struct exec_credential credential;
	struct error err;

	if (exec_credential_read(&exec, text, len, &credential, &err) < 0)
		return;
	FUZZ_EXPECT(credential.token != NULL || credential.client_cert != NULL);
	for (const char *at = credential.token; at != NULL && *at != '\0'; at++)
		FUZZ_EXPECT(!iscntrl((unsigned char)*at));
	exec_credential_free(&credential);
}

static void ask_to_be_let_in(int number)
{
	char *token = world.tokens[number]; /* borrowed until it is reviewed */
	enum access_verdict verdict;

	snprintf(token, sizeof(world.tokens[number]), "token-%d", number);
	access_ask(world.access, number % 3 == 0 ? "10.0.0.1" : "10.0.0.2", token, number % 2 == 0 ? "a" : "b",
		   on_verdict, NULL, &verdict);
	if (verdict != ACCESS_PENDING)
		on_verdict(NULL, verdict);
}

/* ---- lines ---- */

static void run_answer(enum asker asker, const char *text, size_t len)
{
	cleanup_free char *copy = mem_strndup(text, len);
	char *body;
	unsigned long status = strtoul(copy, &body, 10) % STATUS_END;
	struct kube_answer answer = {
		.failure = status == 0 ? KUBE_TIMEOUT : KUBE_OK,
		.http_status = (int)status,
		.sent = true,
		.body = body,
		.body_len = strlen(body),
		.retry_after_ms = -1,
		.message = status >= 400 ? "it was so" : "",
		.status = {.reason = "", .message = ""},
	};

	if (asker == REVIEWS)
		note_review(&answer);
	answer_call(&world.clients[asker], &answer);
}

static void run_well(enum asker asker)
{
	const struct kube_call *call = world.clients[asker].calls;
	const char *sent = call == NULL ? "" : call->body;
	cleanup_free char *answer = mem_printf("200 %s", sent);

	run_answer(asker, answer, strlen(answer));
}

static void run_line(const char *text, size_t len, int number)
{
	static const char askers[] = "LCDA";
	const char *asker = len == 0 || *text == '\0' ? NULL : strchr(askers, *text);

	if (asker != NULL)
		run_answer((enum asker)(asker - askers), text + 1, len - 1);
	else if (len > 0 && (*text == 'l' || *text == 'c'))
		run_well(*text == 'l' ? LEASE : CRD);
	else if (len > 0 && *text == 'T')
		ask_to_be_let_in(number);
	else if (len > 0 && *text == 'X')
		look_at_plugin(text + 1, len - 1);
	for (int i = 0; i < TURNS; i++)
		ev_run(world.loop, EVRUN_NOWAIT);
	/* one that waits before it asks again gives way to a new one */
	for (enum asker i = CRD; i <= DISCOVERY; i++)
		if (world.clients[i].calls == NULL)
			start_keeper(i);
}

static void end_world(void)
{
	struct kube_answer cancelled = {.failure = KUBE_CANCELLED,
					.body = "",
					.message = "",
					.retry_after_ms = -1,
					.status = {0, "", "", false}};

	lease_free(world.lease);
	crd_keeper_free(world.keepers[CRD]);
	crd_keeper_free(world.keepers[DISCOVERY]);
	for (enum asker i = 0; i < ASKER_COUNT; i++)
		while (world.clients[i].calls != NULL)
			answer_call(&world.clients[i], &cancelled);
	access_free(world.access);
	world = (struct world){.loop = world.loop};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {.data = data, .left = size};

	if (world.loop == NULL)
		world.loop = ev_loop_new(EVFLAG_AUTO);
	world.access = access_new(world.loop, &world.clients[REVIEWS], ENTRIES_MAX);
	start_lease();
	start_keeper(CRD);
	start_keeper(DISCOVERY);
	ev_run(world.loop, EVRUN_NOWAIT);
	for (int i = 0; i < LINES_MAX && input.left > 0; i++) {
		size_t len;
		const char *line = fuzz_line(&input, &len);

		run_line(line, len, i);
	}
	end_world();
	return 0;
}
