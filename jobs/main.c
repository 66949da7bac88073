/* fc-jobs: runs TFJobs and PyTorchJobs as Frameworks (README.md). This file connects the parts. */
#include <ev.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/config/config.h"
#include "common/framework/names.h"
#include "common/health/health.h"
#include "common/kube/client.h"
#include "common/leader/flags.h"
#include "common/leader/lease.h"
#include "common/process/arguments.h"
#include "common/process/guard.h"
#include "common/process/process.h"
#include "common/serve/metrics.h"
#include "jobs/act.h"
#include "jobs/sources.h"

enum {
	QPS_DEFAULT = 200,
	BURST_DEFAULT = 400,
	RATE_MAX = 1000 * 1000,
	/* Jobs looked at, and their time, before the loop looks at its sockets again. Jobs of half a megabyte take up
	 * to 200 ms each, and the Lease must be renewed meanwhile. */
	TURN_MAX = 256,
	TURN_MS = 100,
};

static const char usage[] =
	"Usage: fc-jobs [options]\n"
	"Runs TFJobs of kubeflow.caicloud.io/v1alpha1, and TFJobs and PyTorchJobs of kubeflow.org/v1, as Frameworks.\n"
	"\n"
	"  --config FILE      configuration (default ./frameworkcontroller.yaml)\n"
	"  --strict-config    refuse unknown keys in the configuration\n"
	"  --kubeconfig FILE  overrides kubeConfigFilePath\n"
	"  --context NAME     use this context of the kubeconfig instead of current-context\n"
	"  --address URL      overrides kubeApiServerAddress\n"
	"  --expect-server URL  end with an error if the API server has another address than this\n"
	"  --kinds A,B        run only these kinds: tfjobs.kubeflow.caicloud.io, tfjobs.kubeflow.org, "
	"pytorchjobs.kubeflow.org\n"
	"  --gang-scheduler-name NAME\n"
	"                     each job of kubeflow.org is a gang of this scheduler: volcano, or one that has the "
	"plugin\n"
	"                     Coscheduling of scheduler-plugins. Default: jobs with a schedulingPolicy are refused\n"
	"  --qps N            requests to the API server per second, default 200\n"
	"  --burst N          requests to the API server in one burst, default 400\n"
	"  --http HOST:PORT   serve /healthz, /readyz and /metrics on a loopback address, without TLS\n"
	"  --http-insecure    allow --http on an address that other machines can reach\n"
	"  --leader-elect-lease-duration D   a standby waits this long before it takes over (default 15s)\n"
	"  --leader-elect-renew-deadline D   a leader leads this long without a renewal (default 10s)\n"
	"  --leader-elect-retry-period D     time between two renewals (default 2s)\n"
	"  --leader-elect-resource-name NAME\n"
	"                     name of the Lease (default fc-jobs)\n"
	"  --leader-elect-resource-namespace NAME\n"
	"                     namespace of the Lease (default: the namespace of the Pod, else kube-system)\n"
	"  -v LEVEL           log level, 0 (default) to 10\n"
	"  --help, --version\n";

struct jobs_options {
	struct process_flags flags;
	struct leader_flags leader;
	bool kinds[JOB_KINDS];
	const char *gang_scheduler; /* NULL: none */
	int64_t qps;
	int64_t burst;
};

struct jobs {
	struct ev_loop *loop;
	struct config config;
	struct kube_client *client;
	struct job_store *store;
	struct sources *sources;
	struct job_events *events;
	struct lease *lease;
	const char *lease_name;
	struct serve *health;
	struct act act;
	struct process_signals signals;
	struct ev_prepare before_sleep;
	struct ev_timer work; /* armed for the next turn when the queue is not empty */
	bool ending;
	int exit_code;
};

/* ---- the queue --------------------------------------------------------------------------------------------------- */

static void on_work(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
}

static void on_wake(void *arg)
{
	struct jobs *jobs = arg;

	ev_timer_set(&jobs->work, 0, 0);
	ev_timer_start(jobs->loop, &jobs->work);
}

/* Once before the loop sleeps, for all that came in this turn (CONTRIBUTING.md §6.6). */
static void on_before_sleep(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct jobs *jobs = prepare->data;

	(void)loop;
	(void)events;
	if (act_run(&jobs->act, TURN_MAX, clock_boot_ms() + TURN_MS))
		on_wake(jobs);
}

/* ---- leading ----------------------------------------------------------------------------------------------------- */

static bool leads(void *arg)
{
	const struct jobs *jobs = arg;

	return jobs->lease != NULL && !jobs->ending && lease_leads(jobs->lease);
}

static void on_led(void *arg, uint64_t epoch, int64_t former_until_ms)
{
	struct jobs *jobs = arg;

	(void)epoch;
	(void)former_until_ms;
	job_store_queue_all(jobs->store);
}

static void on_deposed(void *arg)
{
	(void)arg; /* leads() is false, and requests that wait are not sent */
}

static void on_released(void *arg)
{
	ev_break(((struct jobs *)arg)->loop, EVBREAK_ALL);
}

static void on_restored(void *arg)
{
	struct jobs *jobs = arg;

	jobs->exit_code = EXIT_FAILURE;
	ev_break(jobs->loop, EVBREAK_ALL);
}

static const struct lease_handler lease_handler = {
	.led = on_led, .deposed = on_deposed, .restored = on_restored, .released = on_released};

/* A second signal ends it at once. */
static void on_end(void *arg)
{
	struct jobs *jobs = arg;

	if (jobs->ending || jobs->lease == NULL) {
		ev_break(jobs->loop, EVBREAK_ALL);
		return;
	}
	jobs->ending = true;
	lease_release(jobs->lease, true);
}

static void on_served(void *arg, enum job_kind kind, bool status_subresource)
{
	((struct jobs *)arg)->act.status_subresource[kind] = status_subresource;
}

static void on_doubt(void *arg, enum job_kind kind)
{
	sources_doubt(((struct jobs *)arg)->sources, kind);
}

/* ---- health and metrics ------------------------------------------------------------------------------------------ */

static bool is_ready(void *arg, struct buf *why)
{
	const struct jobs *jobs = arg;

	if (jobs->ending)
		buf_puts(why, "shutting down");
	else if (!sources_synced(jobs->sources))
		buf_puts(why, "jobs and Frameworks are not listed yet");
	else
		return true;
	return false;
}

static void put_metrics(void *arg, struct buf *out)
{
	static const char leader_name[] = "leader_election_master_status";
	static const char jobs_name[] = "frameworkcontroller_jobs";
	static const char writes_name[] = "frameworkcontroller_jobs_writes_total";
	struct jobs *jobs = arg;
	const struct act_counters *counters = &jobs->act.counters;

	metrics_family(out, leader_name, "gauge", "Whether this process holds the Lease of that name.");
	metrics_value(out, leader_name, leads(jobs), "name", jobs->lease_name, NULL);
	metrics_gauge(out, "frameworkcontroller_jobs_synced",
		      "Whether Frameworks and the jobs of all served kinds have been listed.",
		      sources_synced(jobs->sources));
	metrics_family(out, jobs_name, "gauge", "Jobs, by kind; kinds that the API server does not serve are missing.");
	for (enum job_kind kind = 0; kind < JOB_KINDS; kind++)
		if (sources_is_served(jobs->sources, kind))
			metrics_value(out, jobs_name, (double)job_store_count(jobs->store, kind), "kind",
				      job_names(kind)->full, NULL);
	metrics_family(out, writes_name, "counter", "Writes that succeeded, by what was written.");
	metrics_value(out, writes_name, (double)counters->created, "what", "framework_created", NULL);
	metrics_value(out, writes_name, (double)counters->patched, "what", "framework_changed", NULL);
	metrics_value(out, writes_name, (double)counters->statuses, "what", "job_status", NULL);
	metrics_value(out, writes_name, (double)counters->deleted, "what", "job_deleted", NULL);
	metrics_counter(out, "frameworkcontroller_jobs_refused_total",
			"Jobs, and changes of jobs, that cannot be expressed as a Framework.", counters->refused);
	metrics_counter(out, "frameworkcontroller_jobs_naming_conflicts_total",
			"Times that a foreign Framework had a job's name.", counters->conflicts);
	metrics_counter(out, "frameworkcontroller_jobs_requests_failed_total", "Requests for jobs that failed.",
			counters->failed);
	metrics_counter(out, "frameworkcontroller_jobs_events_total", "Events posted about jobs.",
			job_events_count(jobs->events));
	health_put_client(out, jobs->client);
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

/* "A,B": cut apart where it stands. */
static int read_kinds(char *text, bool out[JOB_KINDS])
{
	char *rest;

	memset(out, 0, sizeof(bool) * JOB_KINDS);
	for (char *name = strtok_r(text, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
		enum job_kind kind = 0;

		while (kind < JOB_KINDS && strcmp(job_names(kind)->full, name) != 0)
			kind++;
		if (kind == JOB_KINDS) {
			fprintf(stderr, "fc-jobs: --kinds: found \"%s\", expected some of %s, %s, %s\n", name,
				job_names(0)->full, job_names(1)->full, job_names(2)->full);
			return -1;
		}
		out[kind] = true;
	}
	return 0;
}

/* The name is that of Pods' schedulerName; "" is none, as for the training operator. */
static int read_gang_scheduler(const char *text, const char **out)
{
	*out = text[0] == '\0' ? NULL : text;
	if (*out == NULL || object_name_valid(text))
		return 0;
	fprintf(stderr,
		"fc-jobs: --gang-scheduler-name: found \"%s\", expected the name of a scheduler: lower case letters, "
		"digits, - and .\n",
		text);
	return -1;
}

/* As process_flag(). */
static int parse_options(int argc, char **argv, struct jobs_options *out)
{
	static const struct option known[] = {
		{"kinds", required_argument, NULL, 'k'},
		{"gang-scheduler-name", required_argument, NULL, 'g'},
		{"qps", required_argument, NULL, 'q'},
		{"burst", required_argument, NULL, 'B'},
		LEADER_OPTIONS,
		PROCESS_OPTIONS,
		{NULL, 0, NULL, 0},
	};
	int option;
	int taken;

	while ((option = getopt_long(argc, argv, "v:h", known, NULL)) != -1) {
		taken = option == 'k'   ? read_kinds(optarg, out->kinds)
			: option == 'g' ? read_gang_scheduler(optarg, &out->gang_scheduler)
			: option == 'q' ? process_number("fc-jobs", "qps", optarg, 1, RATE_MAX, &out->qps)
			: option == 'B' ? process_number("fc-jobs", "burst", optarg, 1, RATE_MAX, &out->burst)
					: leader_flag("fc-jobs", option, optarg, &out->leader);
		if (taken > 0)
			taken = process_flag("fc-jobs", option, optarg, &out->flags);
		if (taken != 0)
			return taken;
	}
	if (process_no_arguments("fc-jobs", argc, argv) < 0)
		return -1;
	if (out->leader.lease_ns == NULL)
		out->leader.lease_ns = "kube-system";
	return leader_flags_check("fc-jobs", &out->leader);
}

static int start(struct jobs *jobs, const struct jobs_options *options, struct error *err)
{
	const struct leader_flags *leader = &options->leader;
	const struct kube_client_options client_options = {
		.qps = (double)options->qps, .burst = (int)options->burst, .user_agent = "fc-jobs/" RELEASE};
	const struct lease_options lease_options = {
		.ns = leader->lease_ns,
		.name = leader->lease_name,
		.election = {.lease_ms = leader->lease_duration_ms,
			     .renew_ms = leader->renew_deadline_ms,
			     .retry_ms = leader->retry_period_ms,
			     .grants = ELECTION_GRANTS_NONE},
	};
	const struct serve_options health_options = {.ready = is_ready, .metrics = put_metrics, .arg = jobs};

	jobs->client = process_client(jobs->loop, &options->flags, &jobs->config, &client_options, err);
	if (jobs->client == NULL)
		return -1;
	jobs->lease_name = leader->lease_name;
	jobs->store = job_store_new(jobs->loop, on_wake, jobs);
	jobs->events = job_events_new(jobs->client);
	jobs->act = (struct act){.store = jobs->store,
				 .client = jobs->client,
				 .events = jobs->events,
				 .gang_scheduler = options->gang_scheduler,
				 .leads = leads,
				 .doubt = on_doubt,
				 .arg = jobs};
	act_init(&jobs->act);
	jobs->sources = sources_new(jobs->loop, jobs->client, jobs->store, options->kinds, on_served, jobs);
	if (process_serve(jobs->loop, &options->flags, &health_options, &jobs->health, err) < 0)
		return -1;
	ev_prepare_init(&jobs->before_sleep, on_before_sleep);
	jobs->before_sleep.data = jobs;
	ev_prepare_start(jobs->loop, &jobs->before_sleep);
	jobs->lease = lease_new(jobs->loop, jobs->client, &lease_options, &lease_handler, jobs);
	return 0;
}

static void stop(struct jobs *jobs)
{
	serve_free(jobs->health);
	lease_free(jobs->lease);
	jobs->lease = NULL;
	sources_stop(jobs->sources);
	kube_client_free(jobs->client);
	sources_free(jobs->sources);
	job_store_free(jobs->store);
	job_events_free(jobs->events);
	config_free(&jobs->config);
	ev_loop_destroy(jobs->loop);
}

int main(int argc, char **argv)
{
	static struct jobs jobs;
	struct jobs_options options = {.leader = leader_flags_default("fc-jobs"),
				       .kinds = {true, true, true},
				       .qps = QPS_DEFAULT,
				       .burst = BURST_DEFAULT};
	struct error err;
	int parsed;

	process_guard();
	parsed = parse_options(argc, argv, &options);
	if (parsed != 0)
		return process_usage(parsed, usage);
	log_set_prefix("fc-jobs: ");
	if (config_load(options.flags.config, options.flags.unknown_keys, &jobs.config, &err) < 0) {
		log_error("%s", err.message);
		return EXIT_BAD_USE;
	}
	jobs.loop = process_loop(GATHER_SLOW_MS);
	ev_timer_init(&jobs.work, on_work, 0, 0);
	process_signals_start(&jobs.signals, jobs.loop, on_end, &jobs, &jobs.client);
	if (start(&jobs, &options, &err) < 0) {
		log_error("%s", err.message);
		jobs.exit_code = process_start_code(&err);
	} else {
		ev_run(jobs.loop, 0);
	}
	stop(&jobs);
	return jobs.exit_code;
}
