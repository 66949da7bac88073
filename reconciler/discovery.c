/* Finds out by the API server's discovery which kinds of objects it serves beside its own: PodGroups, for example, come
 * with the scheduler that reads them. One request answers for all Frameworks of this process; see reconciler.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "reconciler/reconciler.h"

enum {
	KNOWN_MS = 60 * 1000,  /* somebody may install it, or upgrade the cluster */
	UNKNOWN_MS = 5 * 1000, /* after a failure; twice as long after the next one, and KNOWN_MS at most */
	TROUBLE_FAILURES = 3,  /* in a row: it lasts */
	ASK_TIMEOUT_MS = 30 * 1000,
	HTTP_UNAUTHORIZED = 401,
	HTTP_FORBIDDEN = 403,
	HTTP_NOT_FOUND = 404,
};

void discovery_init(struct reconciler *reconciler)
{
	for (int i = 0; i < OWNED_APIS; i++)
		reconciler->discoveries[i] = (struct discovery){.reconciler = reconciler, .api = (enum owned_api)i};
	reconciler->config.served = reconciler->served;
}

/* Whether an APIResourceList has it. */
static bool lists(const struct kube_answer *answer, const char *plural)
{
	cleanup_json json_t *list = json_parse(answer->body, answer->body_len, NULL);

	return json_find(json_object_get(list, "resources"), "name", plural) != NULL;
}

static void wake_askers(struct reconciler *reconciler, enum owned_api api)
{
	struct item *item;
	struct item *next;

	HASH_ITER(hh, reconciler->items, item, next) {
		if ((item->asked & 1U << api) == 0)
			continue;
		item->asked &= ~(1U << api);
		queue_add(item);
	}
}

static int64_t again_after_ms(const struct discovery *discovery, const struct kube_answer *answer)
{
	int64_t delay_ms = backoff_doubled(UNKNOWN_MS, discovery->failures - 1, KNOWN_MS);

	return answer->retry_after_ms > delay_ms ? answer->retry_after_ms : delay_ms;
}

/* Nobody knows. What does not pass by itself is told to whoever waits (owned.c). */
static void note_failure(struct discovery *discovery, const struct kube_answer *answer, int64_t now_ms)
{
	struct api_served *served = &discovery->reconciler->served[discovery->api];
	bool refused = answer->http_status == HTTP_FORBIDDEN || answer->http_status == HTTP_UNAUTHORIZED;

	discovery->failures++;
	*served = (struct api_served){.state = SERVED_UNKNOWN, .until_ms = now_ms + again_after_ms(discovery, answer)};
	if (discovery->failures == 1)
		log_warning("cannot find out whether the API server serves %s: %s",
			    owned_api_resource(discovery->api)->api_version, answer->message);
	if (refused || discovery->failures >= TROUBLE_FAILURES)
		snprintf(served->trouble, sizeof(served->trouble), "%.300s%s", answer->message,
			 refused ? ". The ServiceAccount of the controller lacks the right to discovery, which the "
				   "ClusterRole system:discovery has: bind that to it"
				 : "");
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct discovery *discovery = arg;
	struct reconciler *reconciler = discovery->reconciler;
	struct api_served *served = &reconciler->served[discovery->api];
	int64_t now_ms = reconciler->ports.boot_ms(reconciler->ports.context);

	discovery->asking = false;
	if (answer->http_status == HTTP_NOT_FOUND ||
	    (answer->http_status / 100 == 2 && !lists(answer, owned_api_resource(discovery->api)->plural))) {
		*served = (struct api_served){.state = SERVED_NO, .until_ms = now_ms + KNOWN_MS};
	} else if (answer->http_status / 100 == 2) {
		*served = (struct api_served){.state = SERVED_YES, .until_ms = now_ms + KNOWN_MS};
	} else if (answer->failure == KUBE_CANCELLED) {
		*served = (struct api_served){.state = SERVED_UNKNOWN, .until_ms = now_ms + UNKNOWN_MS};
	} else {
		note_failure(discovery, answer, now_ms);
	}
	if (served->state != SERVED_UNKNOWN)
		discovery->failures = 0;
	wake_askers(reconciler, discovery->api);
}

static void ask(struct discovery *discovery)
{
	struct reconciler *reconciler = discovery->reconciler;
	cleanup_free char *path = mem_printf("/apis/%s", owned_api_resource(discovery->api)->api_version);
	const struct kube_request request = {.method = "GET", .path = path, .timeout_ms = ASK_TIMEOUT_MS};

	discovery->asking = true;
	reconciler->ports.request(reconciler->ports.context, &request, on_answer, discovery);
}

void discovery_ask(struct item *item, unsigned apis)
{
	item->asked |= apis;
	for (int i = 0; i < OWNED_APIS; i++)
		if ((apis & 1U << i) != 0 && !item->reconciler->discoveries[i].asking)
			ask(&item->reconciler->discoveries[i]);
}
