/* Finds the version of Workloads that the API server serves, and has it watched; see workloads.h. */
#include "watcher/view/workloads.h"

#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"

#define GROUP_PATH "/apis/kueue.x-k8s.io"

enum { REQUEST_TIMEOUT_MS = 15000, LOOK_EVERY_SEC = 10 };

/* Those that we can read, the best first. */
static const char *const versions[] = {"v1beta2", "v1beta1"};

struct workloads {
	struct ev_loop *loop;
	struct kube_client *client;
	struct cache *cache;
	struct namespaces namespaces;
	const char *version; /* that is watched; NULL: none */
	struct streams *streams;
	struct kube_call *call; /* at most one */
	bool freed;             /* waits for that call's callback */
	void (*listed)(void *arg);
	void *arg;
	struct log_last complaint;
	ev_timer timer;
};

static void ignore_deleted(void *arg, enum object_kind kind, const char *text, size_t len)
{
	(void)arg;
	(void)kind;
	(void)text;
	(void)len;
}

static void on_listed(void *arg)
{
	const struct workloads *workloads = arg;

	workloads->listed(workloads->arg);
}

static void ignore_live(void *arg, bool live)
{
	(void)arg;
	(void)live;
}

static const struct streams_handler handler = {
	.deleted = ignore_deleted, .synced = on_listed, .relisted = on_listed, .live = ignore_live};

static bool serves(const json_t *group, const char *version)
{
	return json_find(json_object_get(group, "versions"), "version", version) != NULL;
}

/* Objects that were seen stay in the cache: a server that does not answer says nothing about its objects. */
static void watch(struct workloads *workloads, const char *version)
{
	cleanup_free char *group = mem_printf(GROUP_PATH "/%s", version);

	if (workloads->version != NULL && strcmp(workloads->version, version) == 0)
		return;
	log_info("watching Workloads of kueue.x-k8s.io/%s", version);
	streams_free(workloads->streams);
	workloads->version = version;
	workloads->streams = streams_new_workloads(workloads->loop, workloads->client, workloads->cache,
						   &workloads->namespaces, group, &handler, workloads);
}

static void complain(struct workloads *workloads, const char *message)
{
	if (log_is_news(&workloads->complaint, clock_boot_ms(), message))
		log_warning("cannot watch Workloads (the configuration has kueue: true), trying again: %s", message);
}

static void on_group(void *arg, const struct kube_answer *answer)
{
	struct workloads *workloads = arg;
	cleanup_json json_t *group = NULL;
	struct error err;

	workloads->call = NULL;
	if (workloads->freed) {
		free(workloads);
		return;
	}
	ev_timer_again(workloads->loop, &workloads->timer);
	if (answer->failure == KUBE_OK && answer->http_status / 100 == 2)
		group = json_parse(answer->body, answer->body_len, &err);
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		if (serves(group, versions[i])) {
			watch(workloads, versions[i]);
			return;
		}
	}
	complain(workloads, answer->http_status == 404 || answer->message[0] == '\0'
				    ? "the API server serves neither kueue.x-k8s.io/v1beta2 nor v1beta1"
				    : answer->message);
}

static void look(struct workloads *workloads)
{
	const struct kube_request request = {.method = "GET", .path = GROUP_PATH, .timeout_ms = REQUEST_TIMEOUT_MS};

	workloads->call = kube_client_call(workloads->client, &request, on_group, workloads);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	ev_timer_stop(loop, timer); /* the answer starts it again */
	look(timer->data);
}

struct workloads *workloads_new(struct ev_loop *loop, struct kube_client *client, struct cache *cache,
				const struct namespaces *namespaces, void (*listed)(void *arg), void *arg)
{
	struct workloads *workloads = mem_calloc(1, sizeof(*workloads));

	workloads->loop = loop;
	workloads->client = client;
	workloads->cache = cache;
	workloads->namespaces = *namespaces;
	workloads->listed = listed;
	workloads->arg = arg;
	ev_timer_init(&workloads->timer, on_timer, 0, LOOK_EVERY_SEC);
	workloads->timer.data = workloads;
	look(workloads);
	return workloads;
}

void workloads_free(struct workloads *workloads)
{
	if (workloads == NULL)
		return;
	ev_timer_stop(workloads->loop, &workloads->timer);
	streams_free(workloads->streams);
	if (workloads->call != NULL) {
		workloads->freed = true; /* its callback frees */
		kube_call_cancel(workloads->call);
		return;
	}
	free(workloads);
}
