/* Events and log lines; see report.h. */
#include "jobs/report.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "jobs/act.h"

bool say(struct act *act, struct item *item, const char *type, const char *reason, const char *message)
{
	cleanup_free char *text = mem_printf("%s %s", reason, message);

	if (item->said != NULL && strcmp(item->said, text) == 0)
		return false;
	mem_replace(&item->said, text);
	job_events_post(act->events, &item->job, type, reason, message);
	return true;
}

int64_t try_again(struct act *act, struct item *item, const struct kube_answer *answer, enum trouble trouble)
{
	static const struct {
		const char *reason;
		const char *doing;
	} texts[] = {
		[TROUBLE_READING] = {"FailedRead", "reading"},
		[TROUBLE_CREATING] = {"FailedCreate", "creating"},
		[TROUBLE_UPDATING] = {"FailedUpdate", "updating"},
		[TROUBLE_DELETING] = {"FailedDelete", "deleting"},
	};
	int64_t wait_ms = backoff_next(&item->backoff, &act->random, clock_boot_ms());
	cleanup_free char *message = mem_printf("Error %s: %s", texts[trouble].doing, answer->message);

	act->counters.failed++;
	if (answer_refused(answer) && say(act, item, "Warning", texts[trouble].reason, message))
		log_warning("[%s/%s]: %s", item->job.ns, item->job.name, answer->message);
	else
		log_v(1, "[%s/%s]: %s", item->job.ns, item->job.name, answer->message);
	item->waits = true;
	if (answer->retry_after_ms > wait_ms)
		wait_ms = answer->retry_after_ms;
	job_store_queue_after(item, wait_ms);
	return wait_ms;
}
