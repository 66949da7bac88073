/* Requests to the two servers; see ask.h. The barrier server answers a request when the gang is complete or the time of
 * the request is over, so requests follow each other without a pause. Requests to the API server have an interval. */
#include "barrier/init/ask.h"

#include <ev.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/address.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/base/release.h"
#include "common/config/config.h"
#include "common/framework/names.h"
#include "common/kube/client.h"
#include "common/kube/config/url.h"

enum {
	API_TIMEOUT_MS = 30 * 1000,
	LAST_TIMEOUT_MS = 10 * 1000, /* the last answer is the verdict, and all of a gang ask for theirs together */
	HOLD_MIN_MS = 1000,
	HOLD_MAX_SEC = 30,           /* how long the server may hold a question; it allows 60 */
	HOLD_MARGIN_MS = 15 * 1000,  /* for the answer to come after that: it may wait for a read, of 10 s at most */
	SERVER_PAUSE_MS = 60 * 1000, /* a server that did not answer in time is left alone for this */
	SOON_MS = 1000,              /* between questions to a server that answers at once */
	JITTER_PERCENT = 20,
	AGAIN_MAX_MS = 5000, /* of a Retry-After */
	AGAIN_JITTER_MS = 1000,
};

struct asker {
	const struct environment *environment;
	struct ev_loop *loop;
	struct kube_config api_config;
	struct kube_config server_config;
	struct kube_client *api;
	struct kube_client *server; /* NULL: none */
	struct random random;
	bool server_answered;   /* it has, once */
	unsigned failures;      /* of the server, in a row */
	int64_t server_from_ms; /* not before */
};

/* ---- connections ------------------------------------------------------------------------------------------------- */

static struct kube_client *connect_to(struct asker *asker, const struct kube_config *config, struct error *err)
{
	const struct kube_client_options options = {.user_agent = "frameworkbarrier/" RELEASE, .max_connections = 2};

	return kube_client_new(asker->loop, config, &options, err);
}

static int load_api_config(struct kube_config *out, struct error *err)
{
	cleanup_free char *address = NULL;
	cleanup_free char *kubeconfig = config_environment_kubeconfig();

	if (config_environment_address(&address, err) < 0)
		return -1;
	config_warn_kubeconfig(kubeconfig);
	return kube_config_load(address, kubeconfig, getenv("KUBE_CONTEXT"), out, err);
}

/* The server gets the token for the API server, or the one of the token file that is named for the server. Over plain
 * HTTP, a token goes only to this machine, unless it was named for the server. */
static void fill_server_config(const struct environment *environment, const struct kube_config *api,
			       struct kube_config *out)
{
	bool plain = strncmp(out->server, "https://", 8) != 0;

	out->source = mem_strdup("FRAMEWORK_BARRIER_ADDRESS");
	if (*environment->barrier_ca_file != '\0') {
		out->ca_file = mem_strdup(environment->barrier_ca_file);
	} else {
		out->ca_file = mem_strdup(api->ca_file);
		out->ca_data = mem_strdup(api->ca_data);
	}
	if (*environment->barrier_token_file != '\0') {
		out->token_file = mem_strdup(environment->barrier_token_file);
	} else if (!plain || address_is_loopback(strstr(out->server, "://") + strlen("://"))) {
		out->token = mem_strdup(api->token);
		out->token_file = mem_strdup(api->token_file);
	}
}

/* Without the server, polling goes on as if none had been named. */
static void connect_server(struct asker *asker)
{
	const char *address = asker->environment->barrier_address;
	const char *fault;
	struct error err;

	if (*address == '\0')
		return;
	fault = url_check_server(address, &asker->server_config.server);
	if (fault != NULL) {
		log_warning("FRAMEWORK_BARRIER_ADDRESS: found \"%.200s\": %s; asking the API server instead",
			    url_redacted(address), fault);
		return;
	}
	fill_server_config(asker->environment, &asker->api_config, &asker->server_config);
	asker->server = connect_to(asker, &asker->server_config, &err);
	if (asker->server == NULL)
		log_warning("cannot use the barrier server: %s; asking the API server instead", err.message);
}

struct asker *asker_new(const struct environment *environment, struct error *err)
{
	struct asker *asker = mem_calloc(1, sizeof(*asker));

	asker->environment = environment;
	asker->loop = ev_default_loop(EVFLAG_AUTO);
	random_init(&asker->random);
	if (load_api_config(&asker->api_config, err) == 0)
		asker->api = connect_to(asker, &asker->api_config, err);
	if (asker->api == NULL) {
		asker_free(asker);
		return NULL;
	}
	connect_server(asker);
	return asker;
}

void asker_free(struct asker *asker)
{
	kube_client_free(asker->server);
	kube_client_free(asker->api);
	kube_config_free(&asker->server_config);
	kube_config_free(&asker->api_config);
	ev_loop_destroy(asker->loop);
	free(asker);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

void answer_free(struct answer *answer)
{
	gang_free(&answer->gang);
	free(answer->framework);
	free(answer->missing);
	free(answer->message);
	*answer = (struct answer){0};
}

static void set_failed(struct answer *out, enum verdict verdict, const char *message)
{
	out->verdict = verdict;
	mem_replace(&out->message, message);
}

/* ["a","b"] → "a, b", as much of it as are strings. */
static char *join_names(const json_t *names)
{
	struct buf text = {0};

	for (size_t i = 0; i < json_array_size(names) && i < GANG_MISSING_MAX; i++) {
		const char *name = json_string_value(json_array_get(names, i));

		if (name != NULL)
			buf_printf(&text, "%s%.130s", text.len > 0 ? ", " : "", name);
	}
	return buf_steal(&text);
}

static char *name_missing(const struct gang *gang)
{
	cleanup_buf struct buf text = {0};
	cleanup_json json_t *names = NULL;

	gang_write_missing(&text, gang);
	names = json_parse(text.data, text.len, NULL);
	return join_names(names);
}

/* The Framework in an answer, decompressed; NULL and *err when it cannot be read. */
static char *read_framework(const struct kube_answer *from, struct error *err)
{
	cleanup_json json_t *framework = json_parse(from->body, from->body_len, err);

	return framework == NULL || framework_decompress(framework, err) < 0 ? NULL : json_text(framework);
}

static int judge_gang(const struct environment *environment, const char *framework, struct answer *out,
		      struct error *err)
{
	struct object_parts parts;
	int result;

	if (object_parts_read(framework, strlen(framework), &parts, err) < 0)
		return -1;
	if (*environment->uid != '\0' && strcmp(parts.meta.uid, environment->uid) != 0) {
		set_failed(out, VERDICT_ABSENT, "this Pod's Framework was deleted, and another Framework has its name");
		object_meta_free(&parts.meta);
		return 0;
	}
	result = gang_read(&parts, &out->gang, err);
	object_meta_free(&parts.meta);
	if (result < 0)
		return -1;
	out->ready = out->gang.ready;
	out->total = out->gang.total;
	out->verdict = gang_passed(&out->gang) ? VERDICT_PASSED : VERDICT_WAITING;
	if (out->verdict == VERDICT_WAITING)
		out->missing = name_missing(&out->gang);
	return 0;
}

/* Judges a Framework as the API server has it. */
static void judge(const struct environment *environment, const struct kube_answer *from, struct answer *out)
{
	struct error err;

	out->framework = read_framework(from, &err);
	if (out->framework == NULL || judge_gang(environment, out->framework, out, &err) < 0)
		set_failed(out, VERDICT_FAILED, err.message);
}

static int64_t jittered(struct asker *asker)
{
	int64_t ms = asker->environment->check_interval_sec * 1000;

	return ms + random_between(&asker->random, -ms * JITTER_PERCENT / 100, ms * JITTER_PERCENT / 100);
}

/* ---- the API server ---------------------------------------------------------------------------------------------- */

/* 429 and 5xx with a Retry-After, as client-go repeats them, and some jitter: all of a gang are told the same time. */
static int64_t again_after(struct asker *asker, const struct kube_answer *answer)
{
	int64_t ms = answer->retry_after_ms < AGAIN_MAX_MS ? answer->retry_after_ms : AGAIN_MAX_MS;

	if (ms < 0 || (answer->http_status != 429 && answer->http_status / 100 != 5))
		return 0;
	return ms + random_between(&asker->random, 1, AGAIN_JITTER_MS);
}

static void ask_api(struct asker *asker, int64_t left_ms, struct answer *out)
{
	const struct environment *environment = asker->environment;
	cleanup_free char *path = mem_printf("/apis/" FRAMEWORK_API_VERSION "/namespaces/%s/frameworks/%s",
					     environment->ns, environment->name);
	const struct kube_request request = {
		.method = "GET",
		.path = path,
		.timeout_ms = left_ms < LAST_TIMEOUT_MS  ? LAST_TIMEOUT_MS
			      : left_ms < API_TIMEOUT_MS ? left_ms
							 : API_TIMEOUT_MS,
	};
	struct kube_answer answer;

	out->source = "the API server";
	kube_client_call_wait(asker->api, &request, &answer);
	if (answer.failure != KUBE_OK || answer.http_status / 100 != 2) {
		set_failed(out, answer.absent ? VERDICT_ABSENT : VERDICT_FAILED, answer.message);
		out->again_ms = again_after(asker, &answer);
	} else {
		judge(environment, &answer, out);
	}
	kube_answer_free(&answer);
	out->next_ms = jittered(asker);
}

/* ---- the barrier server ------------------------------------------------------------------------------------------ */

static void read_waiting(const struct kube_answer *from, struct answer *out)
{
	struct error err;
	cleanup_json json_t *body = json_parse(from->body, from->body_len, &err);

	if (body == NULL) {
		set_failed(out, VERDICT_FAILED, err.message);
		return;
	}
	out->verdict = VERDICT_WAITING;
	out->ready = json_int(body, "ready", 0);
	out->total = json_int(body, "total", 0);
	out->missing = join_names(json_object_get(body, "missing"));
}

/* The server has counted; what it hands out is counted all the same. */
static void judge_passed(const struct environment *environment, const struct kube_answer *from, struct answer *out)
{
	judge(environment, from, out);
	if (out->verdict == VERDICT_WAITING)
		set_failed(out, VERDICT_FAILED, "the barrier server sent a Framework with Tasks that have no IP");
}

static void ask_server(struct asker *asker, int64_t left_ms, struct answer *out)
{
	const struct environment *environment = asker->environment;
	int64_t hold_sec = left_ms / 1000 < HOLD_MAX_SEC ? left_ms / 1000 : HOLD_MAX_SEC;
	cleanup_free char *path = mem_printf("/v1/namespaces/%s/frameworks/%s/barrier?timeoutSeconds=%" PRId64 "%s%s",
					     environment->ns, environment->name, hold_sec,
					     *environment->uid == '\0' ? "" : "&uid=", environment->uid);
	const struct kube_request request = {
		.method = "GET",
		.path = path,
		.timeout_ms = hold_sec * 1000 + HOLD_MARGIN_MS,
		.gzip = true, /* the same large answer goes to every Pod of a large gang at once */
	};
	int64_t asked_ms = clock_boot_ms();
	struct kube_answer answer;

	out->source = "the barrier server";
	kube_client_call_wait(asker->server, &request, &answer);
	if (answer.failure == KUBE_OK && answer.http_status == 200)
		judge_passed(environment, &answer, out);
	else if (answer.failure == KUBE_OK && answer.http_status == 202)
		read_waiting(&answer, out);
	else
		set_failed(out, answer.http_status == 404 ? VERDICT_ABSENT : VERDICT_FAILED, answer.message);
	if (answer.failure == KUBE_TIMEOUT)
		asker->server_from_ms = clock_boot_ms() + SERVER_PAUSE_MS;
	kube_answer_free(&answer);
	/* it may hold questions for less than we ask */
	out->next_ms = clock_boot_ms() - asked_ms < SOON_MS ? SOON_MS : 0;
}

/* True when that settles this question. A server that goes (an update, say) sends all its waiters away at once: they
 * come back to it spread over half an interval, before they turn to the API server, if there is time for that before
 * end_ms. */
static bool try_server(struct asker *asker, int64_t left_ms, int64_t end_ms, struct answer *out)
{
	ask_server(asker, left_ms, out);
	if (out->verdict == VERDICT_PASSED || out->verdict == VERDICT_WAITING) {
		asker->server_answered = true;
		asker->failures = 0;
		return true;
	}
	if (out->verdict == VERDICT_FAILED)
		asker->failures++;
	/* a 404 may come from something that is no barrier server: the API server decides */
	if (out->verdict == VERDICT_ABSENT || !asker->server_answered || asker->failures > 1 ||
	    clock_boot_ms() >= end_ms) {
		log_warning("%s; asking the API server", out->message);
		return false;
	}
	out->next_ms = random_between(&asker->random, 0, asker->environment->check_interval_sec * 1000 / 2);
	return true;
}

void asker_ask(struct asker *asker, int64_t left_ms, struct answer *out)
{
	int64_t end_ms = clock_boot_ms() + left_ms;

	if (left_ms < HOLD_MIN_MS)
		left_ms = HOLD_MIN_MS;
	*out = (struct answer){0};
	if (asker->server != NULL && clock_boot_ms() >= asker->server_from_ms) {
		int64_t asked_ms = clock_boot_ms();

		if (try_server(asker, left_ms, end_ms, out))
			return;
		left_ms -= clock_boot_ms() - asked_ms;
		answer_free(out);
	}
	ask_api(asker, left_ms, out);
}
