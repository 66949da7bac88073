/* A Framework that waits in a queue of Kueue (label kueue.x-k8s.io/queue-name). */
#include <string.h>

#include "cli/view/read.h"
#include "cli/view/why_note.h"
#include "common/base/mem.h"
#include "common/framework/workload.h"

/* The causes that hold a Framework in its queue. The latest Event with one of these reasons decides. */
static const struct {
	const char *event;
	const char *begins; /* the Event's message; NULL: anyhow */
	const char *behind; /* only the part of the message behind this is printed; NULL: all of it */
	const char *kind;
	const char *says; /* before the message */
	const char *advice;
} causes[] = {
	{"QueueWaiting", NULL, "): ", "queue", "Kueue has not admitted it:",
	 "The ClusterQueue needs free quota for all its Tasks at once. See the Workload and the queue:"},
	{"FrameworkEvicted", NULL, "again: ", "queue",
	 "Kueue took its quota back:", "It is admitted again when there is quota. See the Workload:"},
	{"KueueUnavailable", NULL, NULL, "queue-unavailable", "the controller cannot reach Kueue:",
	 "Ask a cluster administrator to install Kueue, or remove the label " KUEUE_QUEUE_LABEL "."},
	{"NamingConflict", "Workload ", NULL, "foreign-workload", "another Workload has the name that it needs:",
	 "See whether somebody needs that Workload, and delete it: the controller never changes objects of others."},
	{"FailedCreateWorkload", NULL, NULL, "queue-refused",
	 "the API server refuses its Workload:", "The controller tries again, at least once a minute."},
	{"FailedPatchWorkload", NULL, NULL, "queue-refused",
	 "the API server refuses a change of its Workload:", "The controller tries again, at least once a minute."},
	{"FailedDeleteWorkload", NULL, NULL, "queue-refused",
	 "the API server refuses the deletion of its Workload:", "The controller tries again, at least once a minute."},
	{"FailedReadKueue", NULL, NULL, "queue-refused", "the controller cannot read what the admission needs:",
	 "Ask a cluster administrator for the missing object or right."},
};

static size_t cause_of(const struct event_view *event)
{
	size_t i = 0;

	while (i < ARRAY_LEN(causes) &&
	       (strcmp(causes[i].event, event->reason) != 0 ||
		(causes[i].begins != NULL && strncmp(event->message, causes[i].begins, strlen(causes[i].begins)) != 0)))
		i++;
	return i;
}

/* NULL: there is none since the last admission. */
static const struct event_view *latest_cause(const struct event_views *events, size_t *cause)
{
	const struct event_view *latest = NULL;
	int64_t admitted = 0;

	for (size_t i = 0; events != NULL && i < events->count; i++) {
		size_t found = cause_of(&events->list[i]);

		if (strcmp(events->list[i].reason, "FrameworkAdmitted") == 0 && events->list[i].last_time > admitted)
			admitted = events->list[i].last_time;
		if (found < ARRAY_LEN(causes) && (latest == NULL || events->list[i].last_time >= latest->last_time)) {
			latest = &events->list[i];
			*cause = found;
		}
	}
	if (latest != NULL && latest->last_time < admitted) {
		*cause = 0;
		return NULL;
	}
	return latest;
}

static const char *words_of(const struct event_view *event, size_t cause)
{
	const char *behind = causes[cause].behind;
	const char *at = behind == NULL ? NULL : strstr(event->message, behind);

	return at == NULL ? event->message : at + strlen(behind);
}

bool why_queue(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	const char *queue = view_text(json_path(framework->object, "metadata", "labels", NULL), KUEUE_QUEUE_LABEL);
	const struct event_view *event;
	size_t cause = 0;
	char age[WHY_AGE_SIZE], ns[80];

	/* (without Kueue in the controller's configuration, the label means nothing) */
	if (*queue == '\0' || framework->status.state != STATE_CREATION_PENDING ||
	    json_path(framework->object, "status", "admission", NULL) != NULL)
		return false;
	event = latest_cause(inquiry->events, &cause);
	if (event == NULL && strcmp(framework_view_state(framework), "Suspended") != 0)
		return false;
	why->kind = causes[cause].kind;
	why_brief(why, "%s: %s", why->kind, queue);
	why_say(why, "Framework %s waits in the queue %s for %s:", framework->name, queue,
		why_age(inquiry, framework->status.transition_time, age));
	why_say(why, "%s %s", causes[cause].says,
		event == NULL ? "it is suspended until then." : words_of(event, cause));
	why_fact(why, "metadata.labels", KUEUE_QUEUE_LABEL " is %s", queue);
	why_fact_event(why, inquiry, event);
	why_advise(why, "%s", causes[cause].advice);
	why_command(why, "kubectl describe workload framework-%s%s", framework->name, why_namespace(inquiry, ns));
	return true;
}
