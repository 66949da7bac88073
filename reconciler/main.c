/* fc-reconciler: owns shards of the key space and reconciles the Frameworks in them (ARCHITECTURE.md §1.2, §4). */
#include <ev.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/bus/client.h"
#include "common/config/config.h"
#include "common/kube/client.h"
#include "common/process/arguments.h"
#include "common/process/gather.h"
#include "common/process/guard.h"
#include "common/process/process.h"
#include "reconciler/events.h"
#include "reconciler/metrics.h"
#include "reconciler/reconciler.h"

enum { DRAIN_CHECK_MS = 20, DRAIN_LIMIT_MS = 10 * 1000 };

static const char usage[] =
	"Usage: fc-reconciler [options]\n"
	"Reconciles the Frameworks of the shards that fc-watcher grants it. fc-watcher or a StatefulSet starts it.\n"
	"\n" PROCESS_USAGE
	"  --pool             ignore unknown keys of the configuration; fc-watcher reports them and sets this flag\n";

struct reconciler_options {
	struct process_flags flags;
	bool pool;
};

struct process {
	struct ev_loop *loop;
	struct reconciler reconciler;
	ev_prepare prepare;
	ev_idle idle; /* keeps the loop from sleeping while reconciles are left */
	ev_timer wake;
	struct config config;
	struct kube_client *client;
	struct bus_client *bus;
	struct serve *http;
	struct process_signals signals;
	ev_timer drain;
	int64_t drain_until_ms;
	uint64_t epoch; /* of the last complete snapshot */
	bool left;      /* this process has sent its departure to the bus */
	bool pool;
	int exit_code;
};

/* ---- the bus ---- */

/* Several reconcilers together turn as often as one. */
static void gather_our_part(const struct process *process)
{
	const struct session *session = bus_client_session(process->bus);

	process_gather(gather_part_ms(GATHER_STREAM_MS, shard_set_count(session_shards(session)),
				      session_shard_count(session)));
}

static void on_granted(void *arg, const struct shard_set *fresh)
{
	struct process *process = arg;

	process->reconciler.shard_count = session_shard_count(bus_client_session(process->bus));
	log_info("%u shards were granted", shard_set_count(fresh));
	process_gather(GATHER_SOON_MS); /* else the snapshot's credit waits for what else is gathered */
	store_granted(&process->reconciler, fresh);
}

static void on_revoked(void *arg, const struct shard_set *shards)
{
	struct process *process = arg;

	log_info("%u shards were revoked", shard_set_count(shards));
	gather_our_part(process);
	store_revoked(&process->reconciler, shards);
}

static bool on_text(void *arg, enum object_kind kind, uint32_t shard, const char *text, size_t len)
{
	struct process *process = arg;

	return store_text(&process->reconciler, kind, shard, text, len);
}

static void on_absent(void *arg, enum object_kind kind, uint32_t shard, const struct bus_absent *absent)
{
	struct process *process = arg;

	store_absent(&process->reconciler, kind, shard, absent);
}

static void on_complete(void *arg, const struct bus_snapshot_end *end)
{
	struct process *process = arg;
	const char *found;
	const char *known;

	/* Only a new watcher can be behind: one that ran all the time has noticed the restore, and has ended. */
	if (session_epoch(bus_client_session(process->bus)) != process->epoch &&
	    store_went_back(&process->reconciler, end, &found, &known)) {
		log_error(
			"the watcher's Frameworks are of resourceVersion %s, after %s: the API server's store was "
			"restored from a backup, or the watcher's API server is far behind. This process ends, because "
			"one of the two views of the cluster is out of date",
			found, known);
		process->exit_code = EXIT_FAILURE;
		ev_break(process->loop, EVBREAK_ALL);
		return;
	}
	process->epoch = session_epoch(bus_client_session(process->bus));
	gather_our_part(process);
	store_complete(&process->reconciler, end);
	log_info("%u shards are complete, %u Frameworks cached", shard_set_count(&end->shards),
		 HASH_COUNT(process->reconciler.items));
}

static void on_rate(void *arg, double qps, int burst)
{
	struct process *process = arg;

	kube_client_set_rate(process->client, qps, burst);
	apply_set_share(&process->reconciler, process->config.worker_number,
			qps / config_reconcilers_qps(&process->config));
}

static void on_live(void *arg, bool live)
{
	struct process *process = arg;

	store_set_live(&process->reconciler, live);
}

static uint32_t on_backlog(void *arg)
{
	const struct process *process = arg;

	return process->reconciler.queue_length + process->reconciler.waiting_count;
}

static void on_draining(void *arg, struct shard_set *out)
{
	const struct process *process = arg;

	store_draining(&process->reconciler, out);
}

static void on_refused(void *arg, const char *reason, bool final)
{
	struct process *process = arg;

	if (process_refused(process->loop, reason, final))
		process->exit_code = EXIT_FAILURE;
}

static const struct session_handler handler = {
	.granted = on_granted,
	.revoked = on_revoked,
	.text = on_text,
	.absent = on_absent,
	.complete = on_complete,
	.rate = on_rate,
	.live = on_live,
	.backlog = on_backlog,
	.draining = on_draining,
	.refused = on_refused,
};

/* ---- ports ---- */

static struct kube_call *port_request(void *context, const struct kube_request *request, kube_done *done, void *arg)
{
	const struct process *process = context;

	return kube_client_call(process->client, request, done, arg);
}

static int64_t port_lease_left_ms(void *context, uint32_t shard)
{
	const struct process *process = context;

	return session_lease_left_ms(bus_client_session(process->bus), shard);
}

static int64_t port_boot_ms(void *context)
{
	(void)context;
	return clock_boot_ms();
}

static int64_t port_wall_ms(void *context)
{
	(void)context;
	return clock_wall_ms();
}

/* ---- the loop ---- */

static void on_idle(struct ev_loop *loop, ev_idle *idle, int events)
{
	(void)loop;
	(void)idle;
	(void)events;
}

static void on_wake(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
}

/* Reconciles run right before the loop sleeps; then it sleeps no longer than to the next wake-up. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct process *process = prepare->data;
	int64_t next_ms;
	int64_t owed_ms;
	int64_t now_ms;

	(void)events;
	if (reconciler_run(&process->reconciler)) {
		ev_idle_start(loop, &process->idle);
		return;
	}
	ev_idle_stop(loop, &process->idle);
	ev_timer_stop(loop, &process->wake);
	next_ms = queue_next_ms(&process->reconciler);
	owed_ms = events_run(process->reconciler.events);
	if (owed_ms < next_ms)
		next_ms = owed_ms;
	if (next_ms == INT64_MAX)
		return;
	now_ms = clock_boot_ms();
	if (next_ms < now_ms + process_gathers_ms()) /* in a stream the next turn comes anyway */
		next_ms = now_ms + process_gathers_ms();
	ev_now_update(loop);
	/* One millisecond more, so that the reconcile is not before its time. */
	ev_timer_set(&process->wake, (double)((next_ms > now_ms ? next_ms - now_ms : 0) + 1) / 1000., 0.);
	ev_timer_start(loop, &process->wake);
}

static void watch_queue(struct process *process)
{
	ev_prepare_init(&process->prepare, on_prepare);
	process->prepare.data = process;
	ev_prepare_start(process->loop, &process->prepare);
	ev_idle_init(&process->idle, on_idle);
	ev_init(&process->wake, on_wake);
}

/* ---- signals ---- */

static void on_drain(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct process *process = timer->data;
	int64_t now_ms = clock_boot_ms();

	(void)events;
	if (!process->left &&
	    (apply_left(&process->reconciler) || now_ms >= process->drain_until_ms - DRAIN_LIMIT_MS + LAST_WRITES_MS)) {
		process->left = true;
		bus_client_leave(process->bus);
	}
	if (session_gone(bus_client_session(process->bus)) || now_ms >= process->drain_until_ms)
		ev_break(loop, EVBREAK_ALL);
}

/* Stop taking work, write pending statuses, give the shards back, finish the calls in flight. A second signal ends it
 * at once, unless it is a child: a signal to the whole process group reaches it, and then one of its parent, which
 * kills it in time. */
static void on_end(void *arg)
{
	struct process *process = arg;

	if (process->drain_until_ms != 0) {
		if (!process->pool)
			ev_break(process->loop, EVBREAK_ALL);
		return;
	}
	log_info("draining");
	process->drain_until_ms = clock_boot_ms() + DRAIN_LIMIT_MS;
	apply_leave(&process->reconciler);
	ev_timer_init(&process->drain, on_drain, 0., DRAIN_CHECK_MS / 1000.);
	process->drain.data = process;
	ev_timer_start(process->loop, &process->drain);
}

/* ---- health and metrics ---- */

static bool is_ready(void *arg, struct buf *why)
{
	const struct process *process = arg;

	if (process->drain_until_ms != 0)
		buf_puts(why, "draining");
	else if (!session_leased(bus_client_session(process->bus)))
		buf_puts(why, "the reconciler holds no lease");
	else
		return true;
	return false;
}

static void put_metrics(void *arg, struct buf *out)
{
	const struct process *process = arg;
	const struct reconciler_metrics from = {
		.reconciler = &process->reconciler,
		.shards = session_shards(bus_client_session(process->bus)),
		.session = session_counters(bus_client_session(process->bus)),
		.bus = bus_client_counters(process->bus),
		.client = process->client,
	};

	reconciler_metrics_write(out, &from);
}

/* ---- start ---- */

/* As process_flag(). */
static int parse_options(int argc, char **argv, struct reconciler_options *out)
{
	static const struct option known[] = {
		{"pool", no_argument, NULL, 'o'},
		{"name", required_argument, NULL, PROCESS_NAME},
		PROCESS_BUS_OPTIONS,
		PROCESS_OPTIONS,
		{NULL, 0, NULL, 0},
	};
	int option;
	int taken;

	while ((option = getopt_long(argc, argv, "v:h", known, NULL)) != -1) {
		switch (option) {
		case 'o':
			out->pool = true;
			out->flags.unknown_keys = CONFIG_UNKNOWN_IGNORE;
			out->flags.http_option = "--workers-http"; /* of fc-watcher, which made --http from it */
			break;
		default:
			taken = process_flag("fc-reconciler", option, optarg, &out->flags);
			if (taken != 0)
				return taken;
		}
	}
	return process_no_arguments("fc-reconciler", argc, argv);
}

static void fill_sync_config(const struct config *config, struct reconciler *out)
{
	out->config = (struct sync_config){
		.failures = &config->pod_failure_spec,
		.creation_timeout_sec = config->object_local_cache_creation_timeout_sec,
		.completed_retain_sec = config->framework_completed_retain_sec,
		.conflict_delay_min_sec = config->framework_min_retry_delay_sec_for_transient_conflict_failed,
		.conflict_delay_max_sec = config->framework_max_retry_delay_sec_for_transient_conflict_failed,
		.snapshot_framework_retry = config->log_object_snapshot.on_framework_retry,
		.snapshot_framework_deletion = config->log_object_snapshot.on_framework_deletion,
		.snapshot_task_retry = config->log_object_snapshot.on_task_retry,
		.snapshot_task_deletion = config->log_object_snapshot.on_task_deletion,
		.kueue = config->kueue,
	};
	out->compress = config->large_framework_compression ? COMPRESS_LARGE : COMPRESS_NEVER;
	out->calls_max = 1; /* until the watcher has sent our share */
	out->rest_ms = REST_MS;
}

static int start(struct process *process, const struct reconciler_options *options, struct error *err)
{
	struct reconciler *reconciler = &process->reconciler;
	const struct config *config = &process->config;
	const struct kube_client_options client_options = {
		/* Until the watcher has sent our share. */
		.qps = 1,
		.burst = 1,
		.user_agent = "fc-reconciler/" RELEASE,
		.fenced = true,
	};
	const struct serve_options health_options = {.ready = is_ready, .metrics = put_metrics, .arg = process};

	process->client = process_client(process->loop, &options->flags, config, &client_options, err);
	if (process->client == NULL)
		return -1;
	fill_sync_config(config, reconciler);
	discovery_init(reconciler);
	reconciler->ports = (struct reconciler_ports){
		.context = process,
		.request = port_request,
		.lease_left_ms = port_lease_left_ms,
		.boot_ms = port_boot_ms,
		.wall_ms = port_wall_ms,
	};
	reconciler->name = options->flags.name;
	random_init(&reconciler->random);
	snprintf(reconciler->writer, sizeof(reconciler->writer), "%08" PRIx64,
		 random_u64(&reconciler->random) & UINT32_MAX);
	metrics_histogram_init(&reconciler->waits, 0.001, 4, 9);
	reconciler->events = events_new(reconciler);
	watch_queue(process);
	process->bus = bus_client_new(process->loop, process_bus(&options->flags, config), &options->flags.security,
				      BUS_ROLE_RECONCILER, options->flags.name, &handler, process, err);
	if (process->bus == NULL)
		return -1;
	return process_serve(process->loop, &options->flags, &health_options, &process->http, err);
}

static void stop(struct process *process)
{
	serve_free(process->http);
	bus_client_free(process->bus);
	waiting_abandon_all(&process->reconciler);
	if (process->client != NULL)
		kube_client_free(process->client); /* its callbacks still need the store */
	if (process->reconciler.events != NULL) {
		ev_prepare_stop(process->loop, &process->prepare);
		store_free(&process->reconciler);
		events_free(process->reconciler.events);
	}
	config_free(&process->config);
	ev_loop_destroy(process->loop);
}

int main(int argc, char **argv)
{
	static struct process process;
	struct reconciler_options options = {0};
	struct process_flags *flags = &options.flags;
	int parsed;
	struct error err;
	char host[64] = "";
	char prefix[96];

	process_guard();
	parsed = parse_options(argc, argv, &options);
	if (parsed != 0)
		return process_usage(parsed, usage);
	process.pool = options.pool;
	if (flags->name == NULL) {
		gethostname(host, sizeof(host) - 1);
		flags->name = host;
	}
	snprintf(prefix, sizeof(prefix), "%s: ", flags->name);
	log_set_prefix(prefix);
	if (config_load(flags->config, flags->unknown_keys, &process.config, &err) < 0) {
		log_error("%s", err.message);
		return EXIT_BAD_USE;
	}
	process.loop = process_loop(GATHER_STREAM_MS);
	process_signals_start(&process.signals, process.loop, on_end, &process, &process.client);
	if (start(&process, &options, &err) < 0) {
		log_error("%s", err.message);
		process.exit_code = process_start_code(&err);
	} else {
		ev_run(process.loop, 0);
	}
	log_info("stopped");
	stop(&process);
	return process.exit_code;
}
