/* Reading Kueue's objects that have no namespace: ResourceFlavors, WorkloadPriorityClasses (CONTRACT.md §21); see
 * kueue.h. They are read when a decision needs them, and kept until the Workload is admitted. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "reconciler/sync/kueue.h"
#include "reconciler/sync/owned_kind.h"
#include "reconciler/sync/rules.h"

enum { HTTP_FORBIDDEN = 403 };

/* Takes over the name. */
static struct kueue_lookup *find_or_add(struct framework *framework, char *name)
{
	struct kueue_lookup *lookup = kueue_find_lookup(framework, name);

	if (lookup != NULL) {
		free(name);
		return lookup;
	}
	lookup = mem_calloc(1, sizeof(*lookup));
	lookup->name = name;
	lookup->next = framework->kueue.lookups;
	framework->kueue.lookups = lookup;
	return lookup;
}

/* The name becomes a part of a path. */
static bool can_be_asked(const char *name)
{
	return name[0] != '\0' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == strlen(name);
}

const json_t *kueue_look_up(struct reconcile *reconcile, const char *plural, const char *name)
{
	struct framework *framework = reconcile->framework;
	struct slot *slot = owned_slot(framework, SLOT_WORKLOAD);
	struct kueue_lookup *lookup = find_or_add(framework, mem_printf("%s/%s", plural, name));
	struct call *call;

	if (lookup->object != NULL || lookup->asking)
		return lookup->object;
	if (lookup->error != NULL) {
		plan_event(reconcile->plan, true, "FailedReadKueue",
			   "Cannot read %s of kueue.x-k8s.io, which its admission needs: %s", lookup->name,
			   lookup->error);
		mem_replace(&lookup->error, NULL);
	}
	if (reconcile->time.boot_ms < lookup->backoff.until_ms) {
		plan_wake(reconcile->plan, lookup->backoff.until_ms);
		return NULL;
	}
	if (!can_be_asked(name)) {
		plan_event(
			reconcile->plan, true, "FailedReadKueue",
			"Cannot read %s of kueue.x-k8s.io, which its admission needs: found \"%s\", expected the name "
			"of an object",
			plural, name);
		lookup->backoff.until_ms = reconcile->time.boot_ms + REPORT_AGAIN_MS;
		plan_wake(reconcile->plan, lookup->backoff.until_ms);
		return NULL;
	}
	if (!owned_find_resource(reconcile, slot))
		return NULL;
	lookup->asking = true;
	plan_call(reconcile->plan, CALL_GET_KUEUE, lookup->name, NULL, false);
	call = &reconcile->plan->calls[reconcile->plan->call_count - 1];
	call->object = SLOT_WORKLOAD;
	call->resource = slot_resource(framework, slot);
	return NULL;
}

void kueue_answer(struct framework *framework, const struct call *call, const struct call_answer *answer,
		  const struct sync_time *time, struct random *random)
{
	struct kueue_lookup *lookup = kueue_find_lookup(framework, call->name);

	if (lookup == NULL)
		return;
	lookup->asking = false;
	if (!answer->sent)
		return;
	if (answer->http_status / 100 == 2)
		lookup->object = json_parse(answer->body, strlen(answer->body), NULL);
	if (lookup->object != NULL)
		return;
	/* somebody may create it, or grant the right */
	backoff_fail(&lookup->backoff, random, time->boot_ms, answer->retry_after_ms);
	free(lookup->error);
	lookup->error = mem_printf("%s%s", answer->message[0] == '\0' ? "no answer" : answer->message,
				   answer->http_status == HTTP_FORBIDDEN ? workload_kind.hint : "");
}
