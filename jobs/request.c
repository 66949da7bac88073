/* Requests for jobs; see request.h. */
#include "jobs/request.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "common/framework/object.h"
#include "jobs/act.h"

enum { REQUEST_TIMEOUT_MS = 30 * 1000 }; /* a server asks several admission webhooks, for up to 10 s each */

#define MERGE_PATCH "application/merge-patch+json"

static bool before_send(void *arg, int64_t *timeout_ms)
{
	const struct step *step = arg;

	(void)timeout_ms;
	return step->act->leads(step->act->arg);
}

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct step *step = arg;
	struct item *item = step->item;

	item->call = NULL;
	if (item->gone) {
		job_store_release(item);
	} else if (answer->failure != KUBE_CANCELLED && answer->failure != KUBE_REFUSED) {
		step->done(step, answer);
		if (item->missed)
			job_store_queue_soon(item);
	}
	json_decref(step->status);
	free(step);
}

struct step *step_new(struct act *act, struct item *item,
		      void (*done)(struct step *step, const struct kube_answer *answer))
{
	struct step *step = mem_calloc(1, sizeof(*step));

	*step = (struct step){.act = act, .item = item, .done = done};
	return step;
}

void step_send_text(struct step *step, const char *method, const char *path, const char *accept, const char *body)
{
	const struct kube_request request = {
		.method = method,
		.path = path,
		.accept = accept,
		.content_type = strcmp(method, "PATCH") == 0 ? MERGE_PATCH : NULL,
		.body = body,
		.body_len = body == NULL ? 0 : strlen(body),
		.timeout_ms = REQUEST_TIMEOUT_MS,
		.before_send = before_send,
		.server_timeout = true,
	};

	step->sent_ms = clock_boot_ms();
	step->item->call = kube_client_call(step->act->client, &request, on_done, step);
}

void step_send(struct step *step, const char *method, const char *path, const char *accept, json_t *body)
{
	cleanup_free char *text = body == NULL ? NULL : json_text(body);

	json_decref(body);
	step_send_text(step, method, path, accept, text);
}

char *job_path(const struct job *job, const char *subresource)
{
	const struct job_names *names = job_names(job->kind);

	return mem_printf("/apis/%s/namespaces/%s/%s/%s%s", names->api_version, job->ns, names->resource, job->name,
			  subresource);
}

char *frameworks_path(const struct job *job, const char *name)
{
	return mem_printf("/apis/" FRAMEWORK_API_VERSION "/namespaces/%s/frameworks%s%s", job->ns,
			  name == NULL ? "" : "/", name == NULL ? "" : name);
}

bool answer_succeeded(const struct kube_answer *answer)
{
	return answer->failure == KUBE_OK && answer->http_status / 100 == 2;
}

bool answer_refused(const struct kube_answer *answer)
{
	if (answer->failure != KUBE_OK || answer->absent || answer->http_status < 400)
		return false;
	switch (answer->http_status) {
	case 409: /* somebody else was quicker */
	case 429:
	case 503:
	case 504: return false;
	default: return true;
	}
}

char *answer_version(const struct kube_answer *answer, int64_t *generation)
{
	struct object_identity identity;
	char *version;

	*generation = 0;
	if (!object_identity_read(answer->body, answer->body_len, &identity))
		return NULL;
	*generation = identity.generation;
	version = mem_strdup(identity.resource_version);
	object_identity_free(&identity);
	return version;
}
