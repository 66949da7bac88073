/* See wait_kind.h. */
#include "cli/view/wait_kind.h"

#include <stddef.h>
#include <string.h>

#include "common/base/mem.h"

static const struct wait_row rows[] = {
	[WAIT_NEVER_STARTS] =
		{
			.name = "never-starts",
			.one = "can never start: the kubelet reports",
			.many = "can never start: the kubelet reports",
			.advice = "Correct the template, and delete the Pods so that they are made from it; with "
				  "task.pendingPolicy the controller ends such Tasks itself.",
			.quotes_message = true,
			.describe = true,
			.edit = true,
		},
	[WAIT_START] =
		{
			.name = "start-fails",
			.one = "does not start, and the kubelet tries again: it reports",
			.many = "do not start, and the kubelet tries again: it reports",
			.advice = "Check the image's name, the rights to pull it, and the Secrets, ConfigMaps "
				  "and volumes that "
				  "the template names; task.pendingPolicy.startTimeoutSec limits how long a "
				  "Task waits.",
			.quotes_message = true,
			.describe = true,
		},
	[WAIT_CRASH] =
		{
			.name = "crash-loop",
			.one = "has a container that ends again and again: the kubelet reports",
			.many = "have a container that ends again and again: the kubelet reports",
			.advice = "See its last words: kubectl framework logs, and kubectl logs --previous.",
			.quotes_message = true,
			.describe = true,
		},
	[WAIT_TEMPLATE] =
		{
			.name = "bad-template",
			.one = "has no Pod, because its Pod template is wrong: the API server says",
			.many = "have no Pods, because their Pod template is wrong: the API server says",
			.advice =
				"Correct the template: the next Pods are made from it. Until then every attempt fails.",
			.quotes_message = true,
			.edit = true,
			.events = {"FailedCreatePod"},
			/* the API server's words for the reasons BadRequest and Invalid */
			.contains = {" cannot be handled as a Pod: ", "\" is invalid: "},
		},
	[WAIT_QUOTA] =
		{
			.name = "quota",
			.one = "has no Pod, because a quota is exceeded: the API server says",
			.many = "have no Pods, because a quota is exceeded: the API server says",
			.advice = "The controller tries again by itself when room becomes free. See kubectl "
				  "get resourcequota; "
				  "end other work of the namespace, or ask for a larger quota.",
			.quotes_message = true,
			.events = {"FailedCreatePod"},
			.contains = {"exceeded quota"},
		},
	[WAIT_REFUSED] =
		{
			.name = "creation-refused",
			.one = "has no Pod, because the API server refuses it for now:",
			.many = "have no Pods, because the API server refuses them for now:",
			.advice = "The controller tries again, at least once a minute, and at once when the "
				  "Framework's spec "
				  "changes.",
			.quotes_message = true,
			.events = {"FailedCreatePod"},
		},
	[WAIT_FOREIGN] =
		{
			.name = "foreign-pod",
			.one = "has no Pod, because another Pod that is not the Framework's has its name.",
			.many = "have no Pods, because other Pods that are not the Framework's have their "
				"names.",
			.advice = "See whether somebody needs that Pod, and delete it: the controller never changes "
				  "objects of others.",
			.pod = true,
			.events = {"NamingConflict"},
			.begins = "Pod ",
			.contains = {" is controlled by "},
		},
	[WAIT_FORMER] =
		{
			.name = "former-pod",
			.one = "waits until the Pod of a former attempt, or of a former Framework of this "
			       "name, is gone.",
			.many = "wait until Pods of a former attempt, or of a former Framework of this name, "
				"are gone.",
			.advice = "See why that Pod does not go: finalizers, or a node that is lost.",
			.pod = true,
			.events = {"NamingConflict"},
			.begins = "Pod ",
			.contains = {", of an earlier attempt or Framework of this name,"},
		},
	[WAIT_FOREIGN_SERVICE] =
		{
			.name = "foreign-service",
			.one = "has no Pod, because another Service that is not the Framework's has the name "
			       "that spec.network needs:",
			.many = "have no Pods, because another Service that is not the Framework's has the "
				"name that spec.network needs:",
			.advice = "See whether somebody needs that Service, and delete it: the controller "
				  "never changes objects of others. A new Framework can have another "
				  "spec.network.subdomain.",
			.quotes_message = true,
			.service = true,
			.events = {"NamingConflict"},
			.begins = "Service ",
		},
	[WAIT_SERVICE_REFUSED] =
		{
			.name = "service-refused",
			.one = "has no Pod, because the API server refuses the Service of spec.network, "
			       "without which there are none:",
			.many = "have no Pods, because the API server refuses the Service of spec.network, "
				"without which there are none:",
			.advice = "The controller tries again, at least once a minute. Its rights for Services "
				  "are in manifests/rbac/network.",
			.quotes_message = true,
			.service = true,
			.events = {"FailedCreateService"},
		},
	[WAIT_GANG] =
		{
			.name = "gang-unavailable",
			.one = "has no Pod, because the controller does not find the gangs of spec.gang in the "
			       "cluster:",
			.many = "have no Pods, because the controller does not find the gangs of spec.gang in the "
				"cluster:",
			.advice =
				"Ask a cluster administrator for the scheduler that spec.gang.scheduler names, or for "
				"the right that is missing: the controller looks again every minute. Or correct "
				"spec.gang.scheduler; if nothing happens then, suspend and resume the Framework.",
			.quotes_message = true,
			.events = {"GangUnavailable"},
		},
	[WAIT_FOREIGN_GROUP] =
		{
			.name = "foreign-pod-group",
			.one = "has no Pod, because another PodGroup that is not the Framework's has the name that "
			       "spec.gang "
			       "needs:",
			.many = "have no Pods, because another PodGroup that is not the Framework's has the name that "
				"spec.gang "
				"needs:",
			.advice = "See whether somebody needs that PodGroup, and delete it: the controller never "
				  "changes objects of others.",
			.quotes_message = true,
			.events = {"NamingConflict"},
			.begins = "PodGroup ",
		},
	[WAIT_GROUP_REFUSED] =
		{
			.name = "gang-refused",
			.one = "has no Pod, because the API server refuses the PodGroup of spec.gang:",
			.many = "have no Pods, because the API server refuses the PodGroup of spec.gang:",
			.advice = "The controller tries again, at least once a minute. Its rights for PodGroups are "
				  "not in every "
				  "installation: ask a cluster administrator.",
			.quotes_message = true,
			.events = {"FailedCreatePodGroup", "FailedPatchPodGroup"},
		},
	[WAIT_UNSCHEDULABLE] =
		{
			.name = "unschedulable",
			.one = "finds no node: the scheduler says",
			.many = "find no node: the scheduler says",
			.advice = "Make room, ask for less, or correct nodeSelector, affinity and tolerations "
				  "of the "
				  "template; task.pendingPolicy.unschedulableTimeoutSec limits how long a Task "
				  "waits.",
			.quotes_message = true,
			.describe = true,
		},
	[WAIT_GATE] =
		{
			.name = "scheduling-gate",
			.one = "is not scheduled before its scheduling gates are removed:",
			.many = "are not scheduled before their scheduling gates are removed:",
			.advice = "Whoever has set the gate removes it: a queue, usually.",
			.quotes_message = true,
		},
	[WAIT_RETRY_DELAY] =
		{
			.name = "retry-delay",
			.one = "is retried later.",
			.many = "are retried later.",
		},
	[WAIT_TERMINATION] =
		{
			.name = "termination",
			.one = "waits until its Pod is gone.",
			.many = "wait until their Pods are gone.",
			.advice = "A Pod goes when its kubelet confirms its end and its finalizers are removed.",
		},
	[WAIT_BARRIER] =
		{
			.name = "barrier",
			.one = "is held by the barrier until every Task of the Framework has an IP.",
			.many = "are held by the barrier until every Task of the Framework has an IP.",
		},
	[WAIT_INIT] =
		{
			.name = "init-container",
			.one = "runs an init container:",
			.many = "run an init container:",
			.quotes_message = true,
			.describe = true,
		},
	[WAIT_SCHEDULER] =
		{
			.name = "scheduler",
			.one = "waits for the scheduler, which has not looked at its Pod.",
			.many = "wait for the scheduler, which has not looked at their Pods.",
			.advice = "If this lasts: does the scheduler run that schedulerName of the template "
				  "names?",
		},
	[WAIT_CREATING] =
		{
			.name = "starting",
			.one = "is being started by the kubelet.",
			.many = "are being started by the kubelet.",
		},
	[WAIT_PENDING] =
		{
			.name = "pending",
			.one = "has a Pod that is Pending.",
			.many = "have Pods that are Pending.",
		},
	[WAIT_DEPENDS] =
		{
			.name = "depends-on",
			.one = "waits for TaskRole",
			.many = "wait for TaskRole",
			.advice = "taskRoles[].dependsOn asks for it. See how far those Tasks are: kubectl "
				  "framework tree.",
			.quotes_message = true,
		},
	[WAIT_CREATION] =
		{
			.name = "creation",
			.one = "gets its Pod from the controller next.",
			.many = "get their Pods from the controller next.",
		},
	[WAIT_UNDELETED] =
		{
			.name = "undeleted",
			.one = "waits for the controller, which has not yet deleted its Pod.",
			.many = "wait for the controller, which has not yet deleted their Pods.",
		},
	[WAIT_UNNOTICED] =
		{
			.name = "unnoticed",
			.one = "waits for the controller, which has not yet noted the end of its Pod:",
			.many = "wait for the controller, which has not yet noted the end of their Pods:",
			.quotes_message = true,
		},
	[WAIT_NONE] = {.name = "none"},
};

const struct wait_row *wait_row(enum wait_kind kind)
{
	return &rows[kind];
}

static bool is_about(const struct wait_row *row, const char *reason, const char *message)
{
	bool named = false, contains = row->contains[0] == NULL;

	for (size_t i = 0; i < ARRAY_LEN(row->events) && row->events[i] != NULL; i++)
		named = named || strcmp(row->events[i], reason) == 0;
	for (size_t i = 0; i < ARRAY_LEN(row->contains) && row->contains[i] != NULL; i++)
		contains = contains || strstr(message, row->contains[i]) != NULL;
	return named && contains && (row->begins == NULL || strncmp(message, row->begins, strlen(row->begins)) == 0);
}

enum wait_kind wait_kind_of_event(const char *reason, const char *message)
{
	enum wait_kind kind = 0;

	while (kind < WAIT_NONE && !is_about(&rows[kind], reason, message))
		kind++;
	return kind;
}
