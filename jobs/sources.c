/* Watches of jobs and Frameworks; see sources.h. */
#include "jobs/sources.h"

#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "common/kube/reflector.h"

enum { LOOK_AGAIN_MS = 5000, LOOK_TIMEOUT_MS = 15000 };

struct job_source {
	struct sources *sources;
	enum job_kind kind;
	struct kube_call *call; /* asks whether the kind is served */
	struct reflector *reflector;
	bool open; /* whether it is served is not known yet */
	bool synced;
	bool told; /* that it is not served */
	bool status_subresource;
	struct log_last complaint;
	ev_timer timer;
};

struct sources {
	struct ev_loop *loop;
	struct kube_client *client;
	struct job_store *store;
	sources_served *served;
	void *arg;
	struct reflector *frameworks;
	struct job_source kinds[JOB_KINDS];
	bool stopped;
};

/* ---- Frameworks ------------------------------------------------------------------------------------------------- */

static int on_framework(void *arg, const struct reflector_object *object, bool gone, struct error *err)
{
	const struct sources *sources = arg;

	if (gone) {
		job_store_framework_gone(sources->store, object->data, object->len);
		return 0;
	}
	return job_store_framework(sources->store, object, JOB_STORE_WATCHED, err);
}

static void on_frameworks_begin(void *arg)
{
	job_store_frameworks_begin(((struct sources *)arg)->store);
}

static void on_frameworks_end(void *arg, const char *resource_version)
{
	job_store_frameworks_end(((struct sources *)arg)->store, resource_version);
}

static void on_live(void *arg, bool live)
{
	(void)arg;
	(void)live;
}

static void on_framework_malformed(void *arg, const char *ns, const char *name, const char *message)
{
	(void)arg;
	log_error("the Framework %s/%s cannot be read and is left out: %s", ns, name, message);
}

static const struct reflector_handler framework_handler = {
	.raw = on_framework,
	.list_begin = on_frameworks_begin,
	.list_end = on_frameworks_end,
	.live = on_live,
	.malformed = on_framework_malformed,
};

/* ---- jobs ------------------------------------------------------------------------------------------------------- */

static void on_malformed(void *arg, const char *ns, const char *name, const char *message)
{
	const struct job_source *source = arg;

	log_error("%s %s/%s cannot be read and is left out: %s", job_names(source->kind)->full, ns, name, message);
}

static int on_job(void *arg, const struct reflector_object *object, bool gone, struct error *err)
{
	const struct job_source *source = arg;

	if (!gone)
		return job_store_job(source->sources->store, source->kind, object, err);
	job_store_job_gone(source->sources->store, source->kind, object->data, object->len);
	return 0;
}

static void on_begin(void *arg)
{
	const struct job_source *source = arg;

	job_store_jobs_begin(source->sources->store, source->kind);
}

static void on_end(void *arg, const char *resource_version)
{
	struct job_source *source = arg;

	(void)resource_version;
	job_store_jobs_end(source->sources->store, source->kind);
	source->synced = true;
}

static const struct reflector_handler job_handler = {
	.raw = on_job,
	.list_begin = on_begin,
	.list_end = on_end,
	.live = on_live,
	.malformed = on_malformed,
};

/* ---- which kinds there are --------------------------------------------------------------------------------------- */

static void start(struct job_source *source)
{
	struct sources *sources = source->sources;
	const struct job_names *names = job_names(source->kind);
	cleanup_free char *path = mem_printf("/apis/%s/%s", names->api_version, names->resource);
	const struct reflector_options options = {.path = path, .what = names->what};

	source->reflector = reflector_new(sources->loop, sources->client, &options, &job_handler, source);
	reflector_start(source->reflector);
}

/* Whether the kind's CRD has a status subresource. */
static void tell(struct job_source *source, bool status_subresource)
{
	struct sources *sources = source->sources;

	if (source->reflector == NULL || source->status_subresource != status_subresource)
		log_info("the API server serves %s%s", job_names(source->kind)->full,
			 status_subresource ? "" : ", without a status subresource");
	source->status_subresource = status_subresource;
	sources->served(sources->arg, source->kind, status_subresource);
}

static void look_again(struct job_source *source)
{
	ev_timer_set(&source->timer, LOOK_AGAIN_MS / 1000., 0);
	ev_timer_start(source->sources->loop, &source->timer);
}

static bool has_resource(const json_t *list, const char *name)
{
	return json_find(json_object_get(list, "resources"), "name", name) != NULL;
}

static void on_discovered(void *arg, const struct kube_answer *answer)
{
	struct job_source *source = arg;
	const struct job_names *names = job_names(source->kind);
	cleanup_free char *status = mem_printf("%s/status", names->resource);
	cleanup_json json_t *list = NULL;
	bool known = answer->failure == KUBE_OK && answer->http_status == 404;
	const char *message = answer->message;
	struct error err;

	source->call = NULL;
	if (source->sources->stopped || answer->failure == KUBE_CANCELLED)
		return;
	if (answer->failure == KUBE_OK && answer->http_status == 200) {
		list = json_parse(answer->body, answer->body_len, &err);
		known = list != NULL;
		if (list == NULL)
			message = err.message;
	}
	source->open = source->open && !known;
	if (has_resource(list, names->resource)) {
		tell(source, has_resource(list, status));
		if (source->reflector == NULL)
			start(source);
		return;
	}
	if (source->reflector != NULL)
		return; /* it is asked again when there is the next doubt */
	if (known) {
		if (!source->told)
			log_info("the API server does not serve %s: looking again every %d s", names->full,
				 LOOK_AGAIN_MS / 1000);
		source->told = true;
	} else if (log_is_news(&source->complaint, clock_boot_ms(), message)) {
		log_warning("whether the API server serves %s is not known: %s", names->full, message);
	}
	look_again(source);
}

static void look(struct job_source *source)
{
	cleanup_free char *path = mem_printf("/apis/%s", job_names(source->kind)->api_version);
	const struct kube_request request = {
		.method = "GET", .path = path, .timeout_ms = LOOK_TIMEOUT_MS, .exempt = true};

	source->call = kube_client_call(source->sources->client, &request, on_discovered, source);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	look(timer->data);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

struct sources *sources_new(struct ev_loop *loop, struct kube_client *client, struct job_store *store,
			    const bool wanted[JOB_KINDS], sources_served *served, void *arg)
{
	static const struct reflector_options options = {
		.path = "/apis/" FRAMEWORK_API_VERSION "/frameworks",
		.label_selector = JOB_LABEL,
		.what = "Frameworks of jobs",
	};
	struct sources *sources = mem_calloc(1, sizeof(*sources));

	*sources = (struct sources){.loop = loop, .client = client, .store = store, .served = served, .arg = arg};
	sources->frameworks = reflector_new(loop, client, &options, &framework_handler, sources);
	reflector_start(sources->frameworks);
	for (enum job_kind kind = 0; kind < JOB_KINDS; kind++) {
		struct job_source *source = &sources->kinds[kind];

		source->sources = sources;
		source->kind = kind;
		ev_timer_init(&source->timer, on_timer, 0, 0);
		source->timer.data = source;
		source->open = wanted[kind];
		if (wanted[kind])
			look(source);
	}
	return sources;
}

void sources_stop(struct sources *sources)
{
	if (sources == NULL)
		return;
	sources->stopped = true;
	reflector_free(sources->frameworks);
	for (enum job_kind kind = 0; kind < JOB_KINDS; kind++) {
		ev_timer_stop(sources->loop, &sources->kinds[kind].timer);
		if (sources->kinds[kind].reflector != NULL)
			reflector_free(sources->kinds[kind].reflector);
	}
}

void sources_free(struct sources *sources)
{
	free(sources);
}

bool sources_synced(const struct sources *sources)
{
	for (enum job_kind kind = 0; kind < JOB_KINDS; kind++)
		if (sources->kinds[kind].open ||
		    (sources->kinds[kind].reflector != NULL && !sources->kinds[kind].synced))
			return false;
	return job_store_synced(sources->store);
}

void sources_doubt(struct sources *sources, enum job_kind kind)
{
	if (sources->kinds[kind].call == NULL)
		look(&sources->kinds[kind]);
}

bool sources_is_served(const struct sources *sources, enum job_kind kind)
{
	return sources->kinds[kind].reflector != NULL;
}
