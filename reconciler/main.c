/* fc-reconciler: owns ranges of the key space and brings the Frameworks in them forward (DESIGN.md §1, §3). */
#include <errno.h>
#include <ev.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/config.h"
#include "common/health/health.h"
#include "common/kube/client.h"
#include "reconciler/events.h"
#include "reconciler/member.h"
#include "reconciler/metrics.h"
#include "reconciler/reconciler.h"

enum { EXIT_BAD_USE = 2, DRAIN_CHECK_MS = 20, DRAIN_LIMIT_MS = 10 * 1000 };

static const char usage[] =
	"Usage: fc-reconciler --name NAME [options]\n"
	"Brings the Frameworks of its ranges forward. Started by fc-watcher, or by a StatefulSet.\n"
	"\n"
	"  --name NAME        member name: pool slot or StatefulSet host name (default: the host name)\n"
	"  --bus ENDPOINT     the watcher's bus, ipc://path or tcp://host:port (default: busAddress of the "
	"configuration)\n"
	"  --bus-keys DIR     our key and the watcher's; see fc-watcher keygen\n"
	"  --bus-insecure     without keys to a watcher on another machine\n"
	"  --config FILE      default ./frameworkcontroller.yaml\n"
	"  --strict-config    refuse unknown keys in it\n"
	"  --kubeconfig FILE  overrides kubeConfigFilePath\n"
	"  --address URL      overrides kubeApiServerAddress\n"
	"  --http HOST:PORT   serve /healthz, /readyz and /metrics there, to this machine alone\n"
	"  --http-insecure    to others too, in the clear\n"
	"  --pool             started by fc-watcher, which has said what there is to say about the configuration\n"
	"  --parent PID       end when this parent process ends\n"
	"  -v LEVEL           log level, default 0\n";

struct options {
	const char *name;
	const char *bus;
	struct bus_security security;
	const char *config;
	const char *kubeconfig;
	const char *address;
	const char *http;
	bool http_insecure;
	pid_t parent;
	enum config_unknown unknown_keys;
};

struct process {
	struct ev_loop *loop;
	struct reconciler reconciler;
	ev_prepare prepare;
	ev_idle idle; /* keeps the loop from sleeping while rounds are left */
	ev_timer wake;
	struct config config;
	struct kube_client *client;
	struct member *member;
	struct serve *http;
	ev_signal terminate;
	ev_signal interrupt;
	ev_signal reload;
	ev_timer drain;
	int64_t drain_until_ms;
	int exit_code;
};

/* ---- the member's callbacks ---- */

static void on_granted(void *arg, const struct range_set *fresh)
{
	struct process *process = arg;

	process->reconciler.shards = member_shards(process->member);
	log_info("granted %u ranges", range_set_count(fresh));
	store_granted(&process->reconciler, fresh);
}

static void on_revoked(void *arg, const struct range_set *ranges)
{
	struct process *process = arg;

	log_info("%u ranges were taken away", range_set_count(ranges));
	store_revoked(&process->reconciler, ranges);
}

static void on_object(void *arg, enum object_kind kind, uint32_t range, json_t *object)
{
	struct process *process = arg;

	store_object(&process->reconciler, kind, range, object);
}

static void on_absent(void *arg, enum object_kind kind, uint32_t range, const struct bus_absent *absent)
{
	struct process *process = arg;

	store_absent(&process->reconciler, kind, range, absent);
}

static void on_complete(void *arg, const struct bus_snapshot_end *end)
{
	struct process *process = arg;

	store_complete(&process->reconciler, end);
	log_info("%u ranges are complete, %u Frameworks known", range_set_count(&end->ranges),
		 HASH_COUNT(process->reconciler.items));
}

static void on_rate(void *arg, double qps, int burst)
{
	struct process *process = arg;

	kube_client_set_rate(process->client, qps, burst);
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

static void on_draining(void *arg, struct range_set *out)
{
	const struct process *process = arg;

	store_draining(&process->reconciler, out);
}

static void on_refused(void *arg, const char *reason, bool final)
{
	struct process *process = arg;

	if (!final) {
		log_warning("the watcher does not take us yet: %s", reason);
		return;
	}
	log_error("the watcher refuses us for good: %s", reason);
	process->exit_code = EXIT_FAILURE;
	ev_break(process->loop, EVBREAK_ALL);
}

static const struct member_handler handler = {
	.granted = on_granted,
	.revoked = on_revoked,
	.object = on_object,
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

static int64_t port_lease_left_ms(void *context, uint32_t range)
{
	const struct process *process = context;

	return member_lease_left_ms(process->member, range);
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

/* Rounds run right before the loop sleeps; then it sleeps no longer than to the next wake-up. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct process *process = prepare->data;
	int64_t next_ms;
	int64_t now_ms;

	(void)events;
	if (queue_run(&process->reconciler)) {
		ev_idle_start(loop, &process->idle);
		return;
	}
	ev_idle_stop(loop, &process->idle);
	ev_timer_stop(loop, &process->wake);
	next_ms = queue_next_ms(&process->reconciler);
	if (next_ms == INT64_MAX)
		return;
	now_ms = clock_boot_ms();
	ev_now_update(loop);
	/* One millisecond more, so that the round is not before its time. */
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

	(void)events;
	if (member_gone(process->member) || clock_boot_ms() >= process->drain_until_ms)
		ev_break(loop, EVBREAK_ALL);
}

/* Stop taking work, finish the calls in flight, give the ranges back (DESIGN.md §7). A second signal ends it at once.
 */
static void on_end_signal(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct process *process = signal->data;

	(void)events;
	if (process->drain_until_ms != 0) {
		ev_break(loop, EVBREAK_ALL);
		return;
	}
	log_info("draining");
	process->drain_until_ms = clock_boot_ms() + DRAIN_LIMIT_MS;
	member_leave(process->member);
	ev_timer_init(&process->drain, on_drain, DRAIN_CHECK_MS / 1000., DRAIN_CHECK_MS / 1000.);
	process->drain.data = process;
	ev_timer_start(loop, &process->drain);
}

static void on_reload(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct process *process = signal->data;

	(void)loop;
	(void)events;
	log_info("reading credentials again");
	kube_client_reload(process->client);
}

static void watch_signals(struct process *process)
{
	struct ev_loop *loop = process->loop;

	signal(SIGPIPE, SIG_IGN);
	ev_signal_init(&process->terminate, on_end_signal, SIGTERM);
	ev_signal_init(&process->interrupt, on_end_signal, SIGINT);
	ev_signal_init(&process->reload, on_reload, SIGHUP);
	process->terminate.data = process->interrupt.data = process->reload.data = process;
	ev_signal_start(loop, &process->terminate);
	ev_signal_start(loop, &process->interrupt);
	ev_signal_start(loop, &process->reload);
}

/* ---- health and metrics ---- */

static bool is_ready(void *arg, struct buf *why)
{
	const struct process *process = arg;

	if (process->drain_until_ms != 0)
		buf_puts(why, "draining");
	else if (!member_leased(process->member))
		buf_puts(why, "holding no lease");
	else
		return true;
	return false;
}

static void put_metrics(void *arg, struct buf *out)
{
	const struct process *process = arg;
	const struct reconciler_metrics from = {
		.reconciler = &process->reconciler,
		.ranges = member_ranges(process->member),
		.peer = member_counters(process->member),
		.bus = member_bus_counters(process->member),
		.client = process->client,
	};

	reconciler_metrics_write(out, &from);
}

static int start_serving(struct process *process, const struct options *options, struct error *err)
{
	const struct health_options health_options = {
		.address = options->http,
		.insecure = options->http_insecure,
		.ready = is_ready,
		.metrics = put_metrics,
		.arg = process,
	};

	if (options->http == NULL)
		return 0;
	process->http = health_new(process->loop, &health_options, err);
	return process->http == NULL ? -1 : 0;
}

/* ---- start ---- */

static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option known[] = {
		{"name", required_argument, NULL, 'n'},
		{"bus", required_argument, NULL, 'b'},
		{"bus-keys", required_argument, NULL, 'B'},
		{"bus-insecure", no_argument, NULL, 'U'},
		{"config", required_argument, NULL, 'c'},
		{"strict-config", no_argument, NULL, 's'},
		{"kubeconfig", required_argument, NULL, 'k'},
		{"address", required_argument, NULL, 'a'},
		{"http", required_argument, NULL, 'H'},
		{"http-insecure", no_argument, NULL, 'I'},
		{"pool", no_argument, NULL, 'o'},
		{"parent", required_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "v:h", known, NULL)) != -1) {
		switch (option) {
		case 'n': out->name = optarg; break;
		case 'b': out->bus = optarg; break;
		case 'B': out->security.keys = optarg; break;
		case 'U': out->security.insecure = true; break;
		case 'c': out->config = optarg; break;
		case 's': out->unknown_keys = CONFIG_UNKNOWN_REFUSE; break;
		case 'o': out->unknown_keys = CONFIG_UNKNOWN_IGNORE; break;
		case 'k': out->kubeconfig = optarg; break;
		case 'a': out->address = optarg; break;
		case 'H': out->http = optarg; break;
		case 'I': out->http_insecure = true; break;
		case 'p': out->parent = (pid_t)atoi(optarg); break;
		case 'v': log_verbosity = atoi(optarg); break;
		case 'h': fputs(usage, stdout); exit(EXIT_SUCCESS);
		default: fputs("Try fc-reconciler --help.\n", stderr); return -1;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "fc-reconciler: unexpected argument \"%s\". Try fc-reconciler --help.\n", argv[optind]);
		return -1;
	}
	return 0;
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
	};
	out->compress = config->large_framework_compression ? COMPRESS_LARGE : COMPRESS_NEVER;
	out->calls_max = config->worker_number < UINT32_MAX ? (uint32_t)config->worker_number : UINT32_MAX;
}

static int start(struct process *process, const struct options *options, struct error *err)
{
	struct reconciler *reconciler = &process->reconciler;
	const struct config *config = &process->config;
	struct kube_config kube = {0};
	const struct kube_client_options client_options = {
		/* Until the watcher has told our share. */
		.qps = 1,
		.burst = 1,
		.user_agent = "fc-reconciler/1.0",
	};

	if (kube_config_load(options->address != NULL ? options->address : config->kube_api_server_address,
			     options->kubeconfig != NULL ? options->kubeconfig : config->kube_config_file_path, &kube,
			     err) < 0)
		return -1;
	process->client = kube_client_new(process->loop, &kube, &client_options, err);
	kube_config_free(&kube);
	if (process->client == NULL)
		return -1;
	fill_sync_config(config, reconciler);
	reconciler->ports = (struct reconciler_ports){
		.context = process,
		.request = port_request,
		.lease_left_ms = port_lease_left_ms,
		.boot_ms = port_boot_ms,
		.wall_ms = port_wall_ms,
	};
	reconciler->name = options->name;
	random_init(&reconciler->random);
	reconciler->events = events_new(reconciler);
	watch_queue(process);
	process->member = member_new(process->loop, options->bus != NULL ? options->bus : config->bus_address,
				     &options->security, options->name, &handler, process, err);
	return process->member == NULL ? -1 : start_serving(process, options, err);
}

static void stop(struct process *process)
{
	serve_free(process->http);
	if (process->member != NULL)
		member_free(process->member);
	apply_stop(&process->reconciler);
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
	struct options options = {0};
	struct error err;
	char host[64] = "";
	char prefix[96];

	if (parse_options(argc, argv, &options) < 0)
		return EXIT_BAD_USE;
	if (options.parent != 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != options.parent)
			return EXIT_FAILURE; /* it died before we asked to be told */
	}
	if (options.name == NULL) {
		gethostname(host, sizeof(host) - 1);
		options.name = host;
	}
	snprintf(prefix, sizeof(prefix), "%s: ", options.name);
	log_set_prefix(prefix);
	if (config_load(options.config, options.unknown_keys, &process.config, &err) < 0) {
		log_error("%s", err.message);
		return EXIT_BAD_USE;
	}
	process.loop = ev_default_loop(0);
	watch_signals(&process);
	if (start(&process, &options, &err) < 0) {
		log_error("%s", err.message);
		process.exit_code = EXIT_FAILURE;
	} else {
		ev_run(process.loop, 0);
	}
	log_info("ends");
	stop(&process);
	return process.exit_code;
}
