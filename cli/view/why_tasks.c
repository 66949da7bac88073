/* Answers that the Tasks give: what those that do not run wait for, and how those that run go on. */
#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "cli/view/why_note.h"
#include "common/base/mem.h"

enum { GROUPS_TOLD = 8 };

/* "says: message" for people: reason, message or both. */
static char *words_of(const struct wait_group *group)
{
	if (*group->reason != '\0' && *group->message != '\0')
		return mem_printf("%s: %s", group->reason, group->message);
	return mem_strdup(*group->reason != '\0' ? group->reason : group->message);
}

/* "Task worker[3]", or "3 Tasks, worker[3..5],". */
static char *subject_of(const struct wait_group *group)
{
	return group->count == 1 ? mem_printf("Task %s", group->tasks)
				 : mem_printf("%zu Tasks, %s,", group->count, group->tasks);
}

/* What a kind of wait means, what it is for, and what to do. {verb} depends on the number of Tasks. */
struct wait_words {
	const char *one;    /* after "Task worker[3] " */
	const char *many;   /* after "3 Tasks, worker[3..5], " */
	const char *advice; /* NULL: none */
	bool told;          /* Kubernetes' words follow */
};

static const struct wait_words *wait_words(enum wait_kind kind)
{
	static const struct wait_words words[] = {
		[WAIT_NEVER_STARTS] =
			{"can never start: the kubelet reports", "can never start: the kubelet reports",
			 "Correct the template (kubectl edit framework), and delete the Pods so that they "
			 "are made from it; with task.pendingPolicy the controller ends such Tasks itself.",
			 true},
		[WAIT_START] =
			{"does not start, and the kubelet tries again: it reports",
			 "do not start, and the kubelet tries again: it reports",
			 "Check the image's name, the rights to pull it, and the Secrets, ConfigMaps and volumes that "
			 "the template names; task.pendingPolicy.startTimeoutSec limits how long a Task waits.",
			 true},
		[WAIT_CRASH] = {"has a container that ends again and again: the kubelet reports",
				"have a container that ends again and again: the kubelet reports",
				"See its last words: kubectl framework logs, and kubectl logs --previous.", true},
		[WAIT_QUOTA] =
			{"has no Pod, because a quota is exceeded: the API server says",
			 "have no Pods, because a quota is exceeded: the API server says",
			 "The controller tries again by itself when room becomes free. See kubectl get resourcequota; "
			 "end other work of the namespace, or ask for a larger quota.",
			 true},
		[WAIT_REFUSED] =
			{"has no Pod, because the API server refuses it for now:",
			 "have no Pods, because the API server refuses them for now:",
			 "The controller tries again, at least once a minute, and at once when the Framework's spec "
			 "changes.",
			 true},
		[WAIT_FOREIGN] =
			{"has no Pod, because another Pod that is not the Framework's has its name.",
			 "have no Pods, because other Pods that are not the Framework's have their names.",
			 "See whether somebody needs that Pod, and delete it: the controller never touches what others "
			 "made.",
			 false},
		[WAIT_FORMER] =
			{"waits until the Pod of a former attempt, or of a former Framework of this name, is gone.",
			 "wait until Pods of a former attempt, or of a former Framework of this name, are gone.",
			 "See why that Pod does not go: finalizers, or a node that is lost.", false},
		[WAIT_UNSCHEDULABLE] =
			{"finds no node: the scheduler says", "find no node: the scheduler says",
			 "Make room, ask for less, or correct nodeSelector, affinity and tolerations of the "
			 "template; task.pendingPolicy.unschedulableTimeoutSec limits how long a Task waits.",
			 true},
		[WAIT_GATE] = {"is not scheduled before its scheduling gates are removed:",
			       "are not scheduled before their scheduling gates are removed:",
			       "Whoever has set the gate removes it: a queue, usually.", true},
		[WAIT_RETRY_DELAY] = {"is retried later.", "are retried later.", NULL, false},
		[WAIT_TERMINATION] = {"waits until its Pod is gone.", "wait until their Pods are gone.",
				      "A Pod goes when its kubelet confirms its end and its finalizers are removed.",
				      false},
		[WAIT_INIT] = {"runs an init container:", "run an init container:", NULL, true},
		[WAIT_SCHEDULER] = {"waits for the scheduler, which has not looked at its Pod.",
				    "wait for the scheduler, which has not looked at their Pods.",
				    "If this lasts: does the scheduler run that schedulerName of the template names?",
				    false},
		[WAIT_CREATING] = {"is being started by the kubelet.", "are being started by the kubelet.", NULL,
				   false},
		[WAIT_PENDING] = {"has a Pod that is Pending.", "have Pods that are Pending.", NULL, false},
		[WAIT_CREATION] = {"gets its Pod from the controller next.", "get their Pods from the controller next.",
				   NULL, false},
		[WAIT_BARRIER] = {"is held by the barrier until every Task of the Framework has an IP.",
				  "are held by the barrier until every Task of the Framework has an IP.", NULL, false},
	};

	return &words[kind];
}

/* ---- evidence ---------------------------------------------------------------------------------------------------- */

static void advise_describe(const struct inquiry *inquiry, const char *pod, struct why *why)
{
	char ns[80];

	why_advise(why, "All that Kubernetes says of the Pod:");
	why_command(why, "kubectl describe pod %s%s", pod, why_namespace(inquiry, ns));
}

static void tell_foreign(const struct inquiry *inquiry, const struct wait_group *group, struct why *why)
{
	const struct pod_view *pod = inquiry->pods == NULL ? NULL : pod_views_find(inquiry->pods, group->pod);
	cleanup_free char *source = mem_printf("Pod %s", group->pod);
	char age[WHY_AGE_SIZE];

	if (pod != NULL) {
		why_fact(why, source, "exists for %s, in phase %s%s%s", why_age(inquiry, pod->creation_time, age),
			 *pod->phase == '\0' ? "-" : pod->phase, *pod->finalizers == '\0' ? "" : ", with finalizers ",
			 pod->finalizers);
		advise_describe(inquiry, pod->name, why);
	}
	if (inquiry->events != NULL)
		why_fact_event(why, inquiry, event_views_latest(inquiry->events, "NamingConflict", 0, group->pod));
}

static void tell_group(const struct inquiry *inquiry, const struct wait_group *group, struct why *why)
{
	cleanup_free char *words = words_of(group);
	cleanup_free char *source = mem_printf("Tasks %s", group->tasks);
	char age[WHY_AGE_SIZE], due[WHY_DUE_SIZE];

	if (group->kind == WAIT_RETRY_DELAY)
		why_fact(why, source, "%s; the first retry at %s", wait_kind_name(group->kind),
			 why_due(inquiry, group->until, due));
	else
		why_fact(why, source, "%s for %s%s%s", wait_kind_name(group->kind), why_age(inquiry, group->since, age),
			 *words == '\0' ? "" : ": ", words);
}

/* The Tasks without an IP: "worker[2], ps[0]". The caller frees. */
static char *missing_tasks(const struct framework_view *framework, size_t *count)
{
	struct buf out = {0};

	*count = 0;
	for (size_t i = 0; i < framework->status.attempt.role_count; i++) {
		const struct role_status *role = &framework->status.attempt.roles[i];
		struct index_list indexes = {0};

		for (size_t j = 0; j < role->task_count; j++) {
			const char *ip = role->tasks[j].attempt.pod_ip;

			if (!role->tasks[j].deletion_pending && (ip == NULL || *ip == '\0'))
				index_list_add(&indexes, j);
		}
		*count += indexes.count;
		if (indexes.count > 0)
			buf_printf(&out, "%s%s[%s]", out.len > 0 ? ", " : "", role->name, index_list_text(&indexes));
		index_list_free(&indexes);
	}
	return buf_steal(&out);
}

static const struct wait_group *group_of(const struct wait_groups *groups, enum wait_kind kind)
{
	for (size_t i = 0; i < groups->count; i++)
		if (groups->list[i].kind == kind)
			return &groups->list[i];
	return NULL;
}

/* If Tasks are in the barrier: who holds them up. */
static void tell_barrier(const struct inquiry *inquiry, const struct wait_groups *groups, struct why *why)
{
	const struct wait_group *held = group_of(groups, WAIT_BARRIER);
	cleanup_free char *missing = NULL;
	size_t count;

	if (held == NULL)
		return;
	missing = missing_tasks(inquiry->framework, &count);
	if (count > 0) {
		why_fact(why, "Barrier", "%zu Tasks are in it; without an IP: %s", held->count, missing);
		if (groups->list[0].kind == WAIT_BARRIER)
			why_say(why, "Without an IP: %s.", missing);
		else
			why_say(why, "Behind them, %zu Tasks wait in the barrier until every Task has an IP.",
				held->count);
	} else {
		why_fact(why, "Barrier", "every Task has an IP: frameworkbarrier lets its Pod go on when it asks next");
		if (groups->list[0].kind == WAIT_BARRIER)
			why_say(why, "Every Task has one: the containers start as soon as frameworkbarrier has asked "
				     "again.");
	}
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static void explain_first(const struct inquiry *inquiry, const struct wait_group *group, struct why *why)
{
	const struct wait_words *words = wait_words(group->kind);
	cleanup_free char *subject = subject_of(group);
	cleanup_free char *says = words_of(group);
	char due[WHY_DUE_SIZE];

	why->kind = wait_kind_name(group->kind);
	why_brief(why, "%s: %s", why->kind, group->tasks);
	why_say(why, "%s %s%s%s", subject, group->count == 1 ? words->one : words->many, words->told ? " " : "",
		words->told ? says : "");
	if (group->kind == WAIT_RETRY_DELAY)
		why_say(why, "The first retry is at %s.", why_due(inquiry, group->until, due));
	if (words->advice != NULL)
		why_advise(why, "%s", words->advice);
	if (group->kind == WAIT_FOREIGN || group->kind == WAIT_FORMER)
		tell_foreign(inquiry, group, why);
	else if (group->kind <= WAIT_CRASH || group->kind == WAIT_UNSCHEDULABLE || group->kind == WAIT_INIT)
		advise_describe(inquiry, group->pod, why);
}

bool why_tasks_wait(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	struct task_counts counts = framework_view_count(framework);
	struct wait_groups groups;
	char age[WHY_AGE_SIZE];

	wait_groups_read(inquiry, &groups);
	if (groups.count == 0 || framework->status.state < STATE_PREPARING) {
		wait_groups_free(&groups);
		return false;
	}
	if (counts.running == 0)
		why_say(why, "None of the %zu Tasks of Framework %s runs.", counts.total, framework->name);
	else
		why_say(why, "%zu of the %zu Tasks of Framework %s run.", counts.running, counts.total,
			framework->name);
	explain_first(inquiry, &groups.list[0], why);
	tell_barrier(inquiry, &groups, why);
	for (size_t i = 0; i < groups.count && i < GROUPS_TOLD; i++)
		tell_group(inquiry, &groups.list[i], why);
	if (groups.count > GROUPS_TOLD)
		why_fact(why, "Tasks", "%zu more groups: kubectl framework tree %s", groups.count - GROUPS_TOLD,
			 framework->name);
	why_fact(why, "status.state", "%s for %s", attempt_state_name(framework->status.state),
		 why_age(inquiry, framework->status.transition_time, age));
	wait_groups_free(&groups);
	return true;
}

static void tell_policy(const struct framework_view *framework, struct why *why)
{
	bool any = false;

	for (size_t i = 0; i < framework->spec.role_count; i++) {
		const struct task_role_spec *role = &framework->spec.roles[i];
		cleanup_free char *source = mem_printf("TaskRole %s", role->name);

		if (role->min_failed_tasks > 0) {
			why_fact(why, source, "%d failed Tasks fail the attempt", (int)role->min_failed_tasks);
			any = true;
		}
		if (role->min_succeeded_tasks > 0) {
			why_fact(why, source, "%d succeeded Tasks complete the attempt",
				 (int)role->min_succeeded_tasks);
			any = true;
		}
	}
	why_fact(why, "spec", "%s",
		 any ? "otherwise the attempt succeeds when all Tasks are Completed"
		     : "the attempt succeeds when all Tasks are Completed");
}

bool why_running(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	struct task_counts counts = framework_view_count(framework);
	char age[WHY_AGE_SIZE];

	if (framework->status.state != STATE_RUNNING)
		return false;
	why->kind = "running";
	why_brief(why, "%s", "");
	why_say(why,
		"Framework %s waits for nothing: of its %zu Tasks %zu run, %zu have succeeded and %zu have failed.",
		framework->name, counts.total, counts.running, counts.succeeded, counts.failed);
	why_fact(why, "status.state", "AttemptRunning for %s, attempt %d",
		 why_age(inquiry, framework->status.transition_time, age), (int)framework->status.attempt.id);
	tell_policy(framework, why);
	return true;
}

bool why_between(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	const char *state = attempt_state_name(framework->status.state);
	char age[WHY_AGE_SIZE];

	why->kind = "between";
	why_brief(why, "%s", "");
	why_say(why,
		"Framework %s is between two steps: its state is %s, and the controller takes the next step by itself.",
		framework->name, state);
	why_fact(why, "status.state", "%s for %s", state, why_age(inquiry, framework->status.transition_time, age));
	return true;
}
