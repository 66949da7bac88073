/* The gang scheduler: places the Pods of a PodGroup when minMember (minCount) of them exist and fit, and not before. As
 * the schedulers of Volcano, scheduler-plugins and Kubernetes do, it counts the Pods that are there: one that was
 * deleted counts no more. The Pods of one gang are bound before those of the next one, so that whoever watches sees at
 * most one gang that is placed in part. */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "tests/cluster/testkubelet/internal.h"

enum { CALL_TIMEOUT_MS = 10000 };

/* The PodGroup of a gang that lacks Pods is looked at again, and of one that waits for room. */
static const double look_again_s = 0.5;
static const double look_rarely_s = 5;

struct gang {
	struct kubelet *kubelet;
	char *path; /* of the PodGroup */
	bool of_kubernetes;
	struct kubelet_pod *members;
	int64_t min;    /* as last seen; 0: there is no such PodGroup, as far as known */
	bool asking;    /* a GET is on the way */
	bool ask_again; /* more Pods have come since */
	ev_timer look;
	UT_hash_handle hh; /* in order of arrival */
};

/* Where the PodGroup is; NULL: the Pod is of none. The caller frees. */
static char *group_path(const json_t *object, bool *of_kubernetes)
{
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *spec = json_object_get(object, "spec");
	const char *scheduler = json_str(spec, "schedulerName");
	const char *volcano = json_str(json_object_get(meta, "annotations"), VOLCANO_GROUP);
	const char *coscheduling = json_str(json_object_get(meta, "labels"), COSCHEDULING_GROUP);
	const char *kubernetes = json_str(json_object_get(spec, "schedulingGroup"), "podGroupName");
	const char *ns = json_str(meta, "namespace");

	*of_kubernetes = kubernetes != NULL;
	if (kubernetes != NULL)
		return mem_printf("/apis/scheduling.k8s.io/v1beta1/namespaces/%s/podgroups/%s", ns, kubernetes);
	if (volcano != NULL && scheduler != NULL && strcmp(scheduler, "volcano") == 0)
		return mem_printf("/apis/scheduling.volcano.sh/v1beta1/namespaces/%s/podgroups/%s", ns, volcano);
	if (coscheduling != NULL)
		return mem_printf("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/%s/podgroups/%s", ns, coscheduling);
	return NULL;
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	gang_consider(timer->data);
}

void gang_join(struct kubelet_pod *pod, const json_t *object)
{
	struct kubelet *kubelet = pod->kubelet;
	bool of_kubernetes;
	cleanup_free char *path = group_path(object, &of_kubernetes);
	struct gang *gang;

	if (path == NULL)
		return;
	HASH_FIND_STR(kubelet->gangs, path, gang);
	if (gang == NULL) {
		gang = mem_calloc(1, sizeof(*gang));
		*gang = (struct gang){.kubelet = kubelet, .path = mem_strdup(path), .of_kubernetes = of_kubernetes};
		ev_timer_init(&gang->look, on_look, 0, 0);
		gang->look.data = gang;
		HASH_ADD_KEYPTR(hh, kubelet->gangs, gang->path, strlen(gang->path), gang);
	}
	pod->gang = gang;
	DL_APPEND2(gang->members, pod, prev_member, next_member);
}

static void drop(struct gang *gang)
{
	struct kubelet *kubelet = gang->kubelet;

	if (kubelet->placing == gang)
		kubelet->placing = NULL;
	HASH_DEL(kubelet->gangs, gang);
	ev_timer_stop(kubelet->loop, &gang->look);
	free(gang->path);
	free(gang);
}

void gang_leave(struct kubelet_pod *pod)
{
	struct gang *gang = pod->gang;

	if (gang == NULL)
		return;
	DL_DELETE2(gang->members, pod, prev_member, next_member);
	pod->gang = NULL;
	if (gang->members == NULL && !gang->asking)
		drop(gang);
}

/* ---- placing ---- */

struct tally {
	int64_t placed;   /* bound, or about to be */
	int64_t unplaced; /* wait for the others */
	bool binding;     /* one is about to be */
};

static struct tally count(const struct gang *gang)
{
	struct tally tally = {0};

	for (const struct kubelet_pod *pod = gang->members; pod != NULL; pod = pod->next_member) {
		if (kubelet_pod_unplaced(pod))
			tally.unplaced++;
		else if (pod->counted && !pod->deleting && !pod->gone)
			tally.placed++;
		if (pod->counted && pod->node < 0 && !pod->deleting && !pod->gone)
			tally.binding = true;
	}
	return tally;
}

/* As many as fit, if enough fit. */
static bool place(struct gang *gang)
{
	struct tally tally = count(gang);
	size_t room = kubelet_room(gang->kubelet);
	int64_t need = gang->min - tally.placed;

	if (gang->min == 0 || tally.unplaced == 0)
		return false;
	if (need < 1)
		need = 1;
	if (tally.unplaced < need || room < (size_t)need)
		return false;
	for (struct kubelet_pod *pod = gang->members; pod != NULL && room > 0; pod = pod->next_member) {
		if (!kubelet_pod_unplaced(pod))
			continue;
		kubelet_pod_place(pod);
		room--;
	}
	log_v(1, "%s: placed, %lld of %lld", gang->path, (long long)(tally.placed + tally.unplaced),
	      (long long)gang->min);
	return true;
}

void gangs_place(struct kubelet *kubelet)
{
	struct gang *gang;
	struct gang *next;

	if (kubelet->stopping || (kubelet->placing != NULL && count(kubelet->placing).binding))
		return;
	kubelet->placing = NULL;
	HASH_ITER(hh, kubelet->gangs, gang, next) {
		if (!place(gang))
			continue;
		kubelet->placing = gang;
		kubelet_pump(kubelet);
		return;
	}
}

/* ---- the PodGroup ---- */

static void on_group(void *arg, const struct kube_answer *answer)
{
	struct gang *gang = arg;
	struct kubelet *kubelet = gang->kubelet;
	cleanup_json json_t *group = json_parse(answer->body, answer->body_len, NULL);
	const json_t *spec = json_object_get(group, "spec");
	struct tally tally;
	bool lacking;

	gang->asking = false;
	if (gang->members == NULL || answer->failure == KUBE_CANCELLED) {
		if (gang->members == NULL)
			drop(gang);
		return;
	}
	if (answer->http_status == 200)
		gang->min = gang->of_kubernetes
				    ? json_int(json_path(spec, "schedulingPolicy", "gang", NULL), "minCount", 0)
				    : json_int(spec, "minMember", 0);
	if (gang->ask_again) {
		gang->ask_again = false;
		gang_consider(gang);
	}
	gangs_place(kubelet);
	tally = count(gang);
	if (tally.unplaced == 0 || kubelet->stopping)
		return;
	lacking = gang->min == 0 || tally.placed + tally.unplaced < gang->min;
	ev_timer_set(&gang->look, lacking ? look_again_s : look_rarely_s, 0);
	ev_timer_start(kubelet->loop, &gang->look);
}

void gang_consider(struct gang *gang)
{
	const struct kube_request request = {.method = "GET", .path = gang->path, .timeout_ms = CALL_TIMEOUT_MS};

	if (gang->kubelet->stopping)
		return;
	if (gang->asking) {
		gang->ask_again = true;
		return;
	}
	ev_timer_stop(gang->kubelet->loop, &gang->look);
	gang->asking = true;
	kube_client_call(gang->kubelet->client, &request, on_group, gang);
}

void gangs_free(struct kubelet *kubelet)
{
	struct gang *gang;
	struct gang *next;

	HASH_ITER(hh, kubelet->gangs, gang, next)
		drop(gang);
}
