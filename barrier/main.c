/* fc-barrier: the Pods of a Framework wait here for each other instead of polling the API server (ARCHITECTURE.md
 * §8). */
#include <ev.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "barrier/access.h"
#include "barrier/front.h"
#include "barrier/readiness.h"
#include "barrier/wait_group.h"
#include "common/base/address.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/bus/client.h"
#include "common/config/config.h"
#include "common/health/health.h"
#include "common/kube/client.h"
#include "common/process/arguments.h"
#include "common/process/guard.h"
#include "common/process/process.h"
#include "common/serve/metrics.h"
#include "common/serve/serve.h"

enum {
	CONNECTIONS_DEFAULT = 12000,
	WAITERS_DEFAULT = 10000,
	LIMIT_MAX = 1000 * 1000,
	HEAD_DEFAULT = 3072, /* each waiter holds that much memory; room for tokens of 1 700 bytes; those of Pods have
				some 1 000 */
	HEAD_LEAST = 1024,
	QPS_DEFAULT = 500, /* of reviews, mostly; beside kubeClientQps, which is the reconcilers' */
	BURST_DEFAULT = 1000,
	ACCESS_ENTRIES = 20000,
	SPARE_DIVISOR = 16, /* of max_connections: when no more are left, strangers share theirs out by address */
	END_MS = 300,       /* for the last answers to go out */
};

static const char usage[] =
	"Usage: fc-barrier [options]\n"
	"Answers waiting init containers of a Framework's Pods when every Task of the Framework has an IP.\n"
	"\n"
	"  --listen HOST:PORT address for init containers (default 127.0.0.1:9095)\n"
	"  --tls-cert FILE    certificate chain of --listen, PEM; read again when it changes\n"
	"  --tls-key FILE     private key of the certificate, PEM; read again when it changes\n"
	"  --insecure-no-tls  serve without TLS although other machines can reach --listen\n"
	"  --insecure-no-auth accept requests without a token: for development only\n"
	"  --max-connections N  open connections, default 12000\n"
	"  --max-waiters N    waiting requests of all Frameworks, default 10000\n"
	"  --max-waiters-per-framework N  waiting requests of one Framework, default 10000\n"
	"  --max-head N       bytes for the head of a request, default 3072 (room for a token of 1700 bytes)\n"
	"  --qps N            requests to the API server per second, default 500\n"
	"  --burst N          requests to the API server in one burst, default 1000\n" PROCESS_USAGE;

struct barrier_options {
	struct process_flags flags;
	const char *listen;
	const char *tls_cert;
	const char *tls_key;
	bool no_tls;
	bool no_auth;
	int64_t max_connections;
	int64_t max_waiters;
	int64_t max_waiters_per_framework;
	int64_t max_head;
	int64_t qps;
	int64_t burst;
};

struct barrier {
	struct ev_loop *loop;
	struct config config;
	struct kube_client *client;
	struct readiness *readiness;
	struct wait_groups *groups;
	struct access *access;
	struct serve *serve;
	struct serve *health; /* NULL: served by serve alone */
	struct front *front;
	struct bus_client *bus;
	bool ending;
	int exit_code;
	struct process_signals signals;
	ev_timer end;
};

/* ---- the bus ----------------------------------------------------------------------------------------------------- */

static void on_granted(void *arg, const struct shard_set *fresh)
{
	readiness_granted(((struct barrier *)arg)->readiness, fresh);
}

static void on_revoked(void *arg, const struct shard_set *shards)
{
	readiness_revoked(((struct barrier *)arg)->readiness, shards);
}

static bool on_text(void *arg, enum object_kind kind, uint32_t shard, const char *text, size_t len)
{
	(void)shard;
	return kind != KIND_FRAMEWORK || readiness_object(((struct barrier *)arg)->readiness, text, len);
}

static void on_absent(void *arg, enum object_kind kind, uint32_t shard, const struct bus_absent *absent)
{
	(void)shard;
	if (kind == KIND_FRAMEWORK)
		readiness_absent(((struct barrier *)arg)->readiness, absent);
}

static void on_complete(void *arg, const struct bus_snapshot_end *end)
{
	const struct barrier *barrier = arg;

	readiness_complete(barrier->readiness, &end->shards, session_shard_count(bus_client_session(barrier->bus)));
	log_info("%zu Frameworks cached", readiness_count(barrier->readiness));
}

static void on_live(void *arg, bool live)
{
	log_info(live ? "the watcher's streams are live" : "the watcher's streams are not live");
	readiness_live(((struct barrier *)arg)->readiness, live);
}

static void on_refused(void *arg, const char *reason, bool final)
{
	struct barrier *barrier = arg;

	if (process_refused(barrier->loop, reason, final))
		barrier->exit_code = EXIT_FAILURE;
}

static const struct session_handler bus_handler = {
	.granted = on_granted,
	.revoked = on_revoked,
	.text = on_text,
	.absent = on_absent,
	.complete = on_complete,
	.live = on_live,
	.refused = on_refused,
};

static void on_changed(void *arg, const char *key)
{
	wait_groups_changed(((struct barrier *)arg)->groups, key);
}

static bool is_wanted(void *arg, const char *key)
{
	return wait_groups_wanted(((struct barrier *)arg)->groups, key);
}

static const struct readiness_handler readiness_handler = {.changed = on_changed, .wanted = is_wanted};

/* ---- health and metrics ------------------------------------------------------------------------------------------ */

static bool is_ready(void *arg, struct buf *why)
{
	const struct barrier *barrier = arg;

	if (barrier->ending)
		buf_puts(why, "shutting down");
	else if (!readiness_synced(barrier->readiness))
		buf_puts(why, "not synced with the watcher");
	else
		return true;
	return false;
}

static void put_waiter_metrics(struct buf *out, const struct wait_group_counters *counters)
{
	static const char name[] = "frameworkcontroller_barrier_answers_total";

	metrics_gauge(out, "frameworkcontroller_barrier_waiting", "Requests that wait.", (double)counters->waiting);
	metrics_gauge(out, "frameworkcontroller_barrier_frameworks_waited_for", "Frameworks that requests wait for.",
		      (double)counters->frameworks);
	metrics_family(out, name, "counter", "Requests that no longer wait, by result.");
	metrics_value(out, name, (double)counters->passed, "result", "passed", NULL);
	metrics_value(out, name, (double)counters->timed_out, "result", "timed_out", NULL);
	metrics_value(out, name, (double)counters->absent, "result", "absent", NULL);
	metrics_value(out, name, (double)counters->sent_away, "result", "sent_away", NULL);
	metrics_value(out, name, (double)counters->left, "result", "left", NULL);
	metrics_counter(out, "frameworkcontroller_barrier_reads_total",
			"Frameworks read from the API server to decide about waiting requests.", counters->reads);
	metrics_counter(out, "frameworkcontroller_barrier_reads_failed_total", "Reads of Frameworks that failed.",
			counters->reads_failed);
	metrics_histogram_write(out, "frameworkcontroller_barrier_release_seconds",
				"Seconds from the change that completes a gang to the answers to its waiting requests.",
				NULL, NULL, &counters->release);
}

static void put_access_metrics(struct buf *out, const struct access_counters *counters)
{
	static const char name[] = "frameworkcontroller_barrier_reviews_total";

	metrics_family(out, name, "counter", "Reviews requested from the API server.");
	metrics_value(out, name, (double)counters->token_reviews, "kind", "TokenReview", NULL);
	metrics_value(out, name, (double)counters->access_reviews, "kind", "SubjectAccessReview", NULL);
	metrics_counter(out, "frameworkcontroller_barrier_reviews_failed_total", "Reviews without a valid answer.",
			counters->failures);
	metrics_gauge(out, "frameworkcontroller_barrier_strangers", "Unknown tokens that wait for their review.",
		      (double)counters->strangers);
	metrics_counter(out, "frameworkcontroller_barrier_access_cached_total", "Requests that needed no review.",
			counters->hits);
}

static void put_metrics(void *arg, struct buf *out)
{
	const struct barrier *barrier = arg;
	const struct session_counters *session = session_counters(bus_client_session(barrier->bus));

	metrics_gauge(out, "frameworkcontroller_barrier_synced",
		      "Whether all Frameworks were received and the watcher's watches are connected.",
		      readiness_synced(barrier->readiness));
	metrics_gauge(out, "frameworkcontroller_barrier_frameworks", "Frameworks cached.",
		      (double)readiness_count(barrier->readiness));
	put_waiter_metrics(out, wait_groups_counters(barrier->groups));
	if (barrier->access != NULL)
		put_access_metrics(out, access_counters(barrier->access));
	metrics_counter(out, "frameworkcontroller_bus_objects_total", "Objects received from the watcher.",
			session->objects);
	metrics_counter(out, "frameworkcontroller_bus_hellos_total", "HELLO messages sent to the watcher.",
			session->hellos);
	metrics_counter(out, "frameworkcontroller_bus_sequence_gaps_total",
			"Times that messages from the watcher were lost.", session->sequence_gaps);
	health_put_bus(out, bus_client_counters(barrier->bus));
	health_put_client(out, barrier->client);
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static void on_ended(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

/* Everybody is asked to try again (another replica, or the API server); a second signal ends it at once. */
static void on_end(void *arg)
{
	struct barrier *barrier = arg;

	if (barrier->ending) {
		ev_break(barrier->loop, EVBREAK_ALL);
		return;
	}
	log_info("shutting down: %zu waiting requests are answered with 503",
		 wait_groups_counters(barrier->groups)->waiting);
	barrier->ending = true;
	front_close(barrier->front);
	bus_client_leave(barrier->bus);
	ev_timer_init(&barrier->end, on_ended, END_MS / 1000., 0);
	ev_timer_start(barrier->loop, &barrier->end);
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

/* As process_flag(). */
static int parse_options(int argc, char **argv, struct barrier_options *out)
{
	static const struct option known[] = {
		{"listen", required_argument, NULL, 'l'},
		{"tls-cert", required_argument, NULL, 'C'},
		{"tls-key", required_argument, NULL, 'K'},
		{"insecure-no-tls", no_argument, NULL, 'T'},
		{"insecure-no-auth", no_argument, NULL, 'A'},
		{"max-connections", required_argument, NULL, 'm'},
		{"max-waiters", required_argument, NULL, 'w'},
		{"max-waiters-per-framework", required_argument, NULL, 'f'},
		{"max-head", required_argument, NULL, 'M'},
		{"qps", required_argument, NULL, 'q'},
		{"burst", required_argument, NULL, 'B'},
		{"name", required_argument, NULL, PROCESS_NAME},
		PROCESS_BUS_OPTIONS,
		PROCESS_OPTIONS,
		{NULL, 0, NULL, 0},
	};
	int64_t *const numbers[] = {
		['m'] = &out->max_connections, ['w'] = &out->max_waiters, ['f'] = &out->max_waiters_per_framework,
		['M'] = &out->max_head,        ['q'] = &out->qps,         ['B'] = &out->burst,
	};
	int option;
	int index = 0;
	int taken;

	while ((option = getopt_long(argc, argv, "v:h", known, &index)) != -1) {
		switch (option) {
		case 'l': out->listen = optarg; break;
		case 'C': out->tls_cert = optarg; break;
		case 'K': out->tls_key = optarg; break;
		case 'T': out->no_tls = true; break;
		case 'A': out->no_auth = true; break;
		default:
			if (option < (int)ARRAY_LEN(numbers) && numbers[option] != NULL)
				taken = process_number("fc-barrier", known[index].name, optarg,
						       option == 'M' ? HEAD_LEAST : 1, LIMIT_MAX, numbers[option]);
			else
				taken = process_flag("fc-barrier", option, optarg, &out->flags);
			if (taken != 0)
				return taken;
		}
	}
	return process_no_arguments("fc-barrier", argc, argv);
}

/* Tokens travel here: in the clear on this machine only, unless somebody insists (common/README.md §12.1). */
static int check_listener(const struct serve *serve, const struct barrier_options *options, struct error *err)
{
	if (options->tls_cert != NULL || options->no_tls || address_is_loopback(serve_address(serve)))
		return 0;
	return error_set(err,
			 "--listen %s: other machines can reach this address: expected --tls-cert and --tls-key (or "
			 "--insecure-no-tls)",
			 options->listen);
}

static int start_serving(struct barrier *barrier, const struct barrier_options *options, struct error *err)
{
	const struct serve_options serve_options = {
		.address = options->listen,
		.tls_cert_file = options->tls_cert,
		.tls_key_file = options->tls_key,
		.max_connections = (unsigned)options->max_connections,
		.spare = (unsigned)options->max_connections / SPARE_DIVISOR,
		.head_max = (size_t)options->max_head,
		.ready = is_ready,
		.metrics = put_metrics,
		.arg = barrier,
	};
	struct serve_options health_options = {.ready = is_ready, .metrics = put_metrics, .arg = barrier};

	barrier->serve = serve_new(barrier->loop, &serve_options, err);
	if (barrier->serve == NULL)
		return error_wrap(err, "--listen");
	if (check_listener(barrier->serve, options, err) < 0)
		return -1;
	health_options.counted = barrier->serve;
	if (process_serve(barrier->loop, &options->flags, &health_options, &barrier->health, err) < 0)
		return -1;
	barrier->front = front_new(barrier->serve, barrier->access, barrier->readiness, barrier->groups);
	log_info("listening on %s%s", serve_address(barrier->serve),
		 options->no_auth ? ", accepting requests without a token: for development only" : "");
	return 0;
}

static int start(struct barrier *barrier, const struct barrier_options *options, struct error *err)
{
	const struct kube_client_options client_options = {
		.qps = (double)options->qps,
		.burst = (int)options->burst,
		.max_connections = WAIT_GROUP_READS_AT_ONCE, /* with HTTP/1.1 */
		.user_agent = "fc-barrier/" RELEASE,
	};

	barrier->client = process_client(barrier->loop, &options->flags, &barrier->config, &client_options, err);
	if (barrier->client == NULL)
		return -1;
	barrier->readiness = readiness_new(&readiness_handler, barrier);
	barrier->groups = wait_groups_new(barrier->loop, barrier->client, barrier->readiness,
					  (size_t)options->max_waiters, (size_t)options->max_waiters_per_framework);
	if (!options->no_auth)
		barrier->access = access_new(barrier->loop, barrier->client, ACCESS_ENTRIES);
	barrier->bus = bus_client_new(barrier->loop, process_bus(&options->flags, &barrier->config),
				      &options->flags.security, BUS_ROLE_BARRIER, options->flags.name, &bus_handler,
				      barrier, err);
	return barrier->bus == NULL ? -1 : start_serving(barrier, options, err);
}

/* The order of front.h: the server reports clients that left, the client's calls come back, then nobody is left. */
static void stop(struct barrier *barrier)
{
	serve_free(barrier->health); /* counts what the other one does */
	serve_free(barrier->serve);
	kube_client_free(barrier->client);
	front_free(barrier->front);
	access_free(barrier->access);
	wait_groups_free(barrier->groups);
	bus_client_free(barrier->bus);
	readiness_free(barrier->readiness);
	config_free(&barrier->config);
	ev_loop_destroy(barrier->loop);
}

int main(int argc, char **argv)
{
	static struct barrier barrier;
	struct barrier_options options = {
		.listen = "127.0.0.1:9095",
		.max_connections = CONNECTIONS_DEFAULT,
		.max_waiters = WAITERS_DEFAULT,
		.max_waiters_per_framework = WAITERS_DEFAULT,
		.max_head = HEAD_DEFAULT,
		.qps = QPS_DEFAULT,
		.burst = BURST_DEFAULT,
	};
	struct process_flags *flags = &options.flags;
	int parsed;
	struct error err;
	char host[64] = "";

	process_guard();
	/* This thread frees the memory that the bus's thread allocates: with an arena for each thread, a burst of news
	 * could not reuse the memory that leaving waiters give back. */
	mallopt(M_ARENA_MAX, 1);
	parsed = parse_options(argc, argv, &options);
	if (parsed != 0)
		return process_usage(parsed, usage);
	if (flags->name == NULL) {
		gethostname(host, sizeof(host) - 1);
		flags->name = host;
	}
	if (config_load(flags->config, flags->unknown_keys, &barrier.config, &err) < 0) {
		log_error("%s", err.message);
		return EXIT_BAD_USE;
	}
	barrier.loop = process_loop(GATHER_SOON_MS);
	process_signals_start(&barrier.signals, barrier.loop, on_end, &barrier, &barrier.client);
	if (start(&barrier, &options, &err) < 0) {
		log_error("%s", err.message);
		barrier.exit_code = process_start_code(&err);
	} else {
		ev_run(barrier.loop, 0);
	}
	log_info("stopped");
	stop(&barrier);
	return barrier.exit_code;
}
