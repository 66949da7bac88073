/* Answers that the Tasks give: what those that do not run wait for, and how those that run go on. */
#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "cli/view/why_note.h"
#include "common/base/mem.h"

enum { GROUPS_LISTED = 8 };

/* "says: message" for people: reason, message or both. */
static char *words_of(const struct waiting_tasks *group)
{
	if (*group->reason != '\0' && *group->message != '\0')
		return mem_printf("%s: %s", group->reason, group->message);
	return mem_strdup(*group->reason != '\0' ? group->reason : group->message);
}

static bool ends_sentence(const char *words)
{
	size_t len = strlen(words);

	return len > 0 && strchr(".!?", words[len - 1]) != NULL;
}

/* "Task worker[3]", or "3 Tasks, worker[3..5],". */
static char *subject_of(const struct waiting_tasks *group)
{
	return group->count == 1 ? mem_printf("Task %s", group->tasks)
				 : mem_printf("%zu Tasks, %s,", group->count, group->tasks);
}

/* ---- evidence ---------------------------------------------------------------------------------------------------- */

static void advise_describe(const struct inquiry *inquiry, const char *pod, struct why *why)
{
	char ns[80];

	why_advise(why, "All that Kubernetes says of the Pod:");
	why_command(why, "kubectl describe pod %s%s", pod, why_namespace(inquiry, ns));
}

static void describe_foreign(const struct inquiry *inquiry, const struct waiting_tasks *group, struct why *why)
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

static void describe_group(const struct inquiry *inquiry, const struct waiting_tasks *group, struct why *why)
{
	cleanup_free char *words = words_of(group);
	cleanup_free char *source = mem_printf("Tasks %s", group->tasks);
	char age[WHY_AGE_SIZE], due[WHY_DUE_SIZE];

	if (group->kind == WAIT_RETRY_DELAY)
		why_fact(why, source, "%s; the first retry at %s", wait_row(group->kind)->name,
			 why_due(inquiry, group->until, due));
	else
		why_fact(why, source, "%s for %s%s%s", wait_row(group->kind)->name, why_age(inquiry, group->since, age),
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

static const struct waiting_tasks *group_of(const struct waiting_list *groups, enum wait_kind kind)
{
	for (size_t i = 0; i < groups->count; i++)
		if (groups->list[i].kind == kind)
			return &groups->list[i];
	return NULL;
}

/* frameworkbarrier asks every 12 s at most by default (barrier/README.md). */
enum { BARRIER_SLOW_SEC = 20 };

/* When the last Task reached the barrier, or passed it: by then, all had an IP. */
static int64_t barrier_full_since(const struct inquiry *inquiry)
{
	const struct framework_attempt_status *attempt = &inquiry->framework->status.attempt;
	const struct pod_view *pod, *next;
	int64_t since = 0;

	for (size_t i = 0; i < attempt->role_count; i++)
		for (size_t j = 0; j < attempt->roles[i].task_count; j++)
			if (attempt->roles[i].tasks[j].transition_time > since)
				since = attempt->roles[i].tasks[j].transition_time;
	HASH_ITER(hh, inquiry->pods->by_name, pod, next) {
		if (pod->init_start > since)
			since = pod->init_start;
	}
	return since;
}

/* Every Task has an IP, and the barrier does not let them go: mostly, its Pods have no right to read the Framework. */
static void advise_barrier(const struct inquiry *inquiry, const struct waiting_tasks *held, struct why *why)
{
	const struct pod_view *pod = pod_views_find(inquiry->pods, held->pod);
	const char *ns = inquiry->framework->ns, *account = "";
	char option[80];

	if (pod != NULL)
		account = view_text(json_object_get(pod->object, "spec"), "serviceAccountName");
	why_say(why, "Every Task has one, but frameworkbarrier has not let them go: it may not be able to read the "
		     "Framework.");
	why_advise(why, "Read the log of frameworkbarrier:");
	why_command(why, "kubectl framework logs %s -c %s%s", inquiry->framework->name, held->reason,
		    why_namespace(inquiry, option));
	why_advise(why, "If it contains 403, the service account of the Pods has no right to get Frameworks. Ask a "
			"cluster administrator for this RoleBinding (manifests/README.md, Rights):");
	why_command(why,
		    "kubectl create rolebinding frameworkbarrier --clusterrole=frameworkbarrier "
		    "--serviceaccount=%s:%s%s",
		    ns, *account == '\0' ? "default" : account, option);
}

/* If Tasks are in the barrier: who holds them up. */
static void describe_barrier(const struct inquiry *inquiry, const struct waiting_list *groups, struct why *why)
{
	const struct waiting_tasks *held = group_of(groups, WAIT_BARRIER);
	cleanup_free char *missing = NULL;
	size_t count;

	if (held == NULL)
		return;
	missing = missing_tasks(inquiry->framework, &count);
	if (count > 0) {
		why_fact(why, "Barrier", "%zu %s in it; without an IP: %s", held->count,
			 held->count == 1 ? "Task is" : "Tasks are", missing);
		if (groups->list[0].kind == WAIT_BARRIER)
			why_say(why, "Without an IP: %s.", missing);
		else
			why_say(why, "Behind them, %zu %s in the barrier until every Task has an IP.", held->count,
				held->count == 1 ? "Task waits" : "Tasks wait");
	} else {
		why_fact(why, "Barrier", "every Task has an IP: frameworkbarrier lets its Pod go on when it asks next");
		if (groups->list[0].kind == WAIT_BARRIER &&
		    inquiry->now - barrier_full_since(inquiry) > BARRIER_SLOW_SEC)
			advise_barrier(inquiry, held, why);
		else if (groups->list[0].kind == WAIT_BARRIER)
			why_say(why, "Every Task has one: the containers start as soon as frameworkbarrier has asked "
				     "again.");
	}
}

static bool has_dependencies(const struct framework_spec *spec)
{
	bool found = false;

	for (size_t i = 0; i < spec->role_count; i++)
		found = found || spec->roles[i].depends_count > 0;
	return found;
}

/* Whether the controller should have taken the next step by now. Nobody knows when a dependency was met. */
static bool is_late(const struct inquiry *inquiry, enum wait_kind kind, int64_t since)
{
	return kind == WAIT_UNDELETED || kind == WAIT_UNNOTICED ||
	       (kind == WAIT_CREATION && inquiry->events != NULL && since != 0 &&
		inquiry->now - since > WAIT_NOTICE_SEC && !has_dependencies(&inquiry->framework->spec));
}

/* Who should have taken the step, and what the API server has refused to them. */
static void describe_late(const struct inquiry *inquiry, struct why *why)
{
	static const char *const reasons[] = {"FailedUpdateStatus", "FailedGetPod", "FailedGetConfigMap",
					      "FailedDeletePod"};

	why_advise(why, "The controller does this within a minute, or within minutes for thousands of Tasks. If it "
			"lasts, no fc-watcher leads, or no reconciler holds the Framework's shard: ask whoever runs "
			"FrameworkController, who sees it with fc-watcher status.");
	if (!why_nobody_leads(inquiry)) /* (or why_explain() says it) */
		why_fact_lease(why, inquiry);
	for (size_t i = 0; inquiry->events != NULL && i < ARRAY_LEN(reasons); i++)
		why_fact_event(why, inquiry, event_views_latest(inquiry->events, reasons[i], 0, NULL));
}

/* The latest Event of each reason that reports this kind. */
static void describe_reports(const struct inquiry *inquiry, enum wait_kind kind, struct why *why)
{
	const struct wait_row *row = wait_row(kind);

	for (size_t i = 0; i < ARRAY_LEN(row->events) && row->events[i] != NULL; i++) {
		const struct event_view *latest = NULL;

		for (size_t j = 0; inquiry->events != NULL && j < inquiry->events->count; j++) {
			const struct event_view *event = &inquiry->events->list[j];

			if (strcmp(event->reason, row->events[i]) == 0 &&
			    wait_kind_of_event(event->reason, event->message) == kind &&
			    (latest == NULL || event->last_time >= latest->last_time))
				latest = event;
		}
		why_fact_event(why, inquiry, latest);
	}
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* How the attempt ended after which the first Task is retried. */
static void describe_end(const struct inquiry *inquiry, const struct waiting_tasks *group, struct why *why)
{
	const struct completion *completion = group->completion;

	if (completion == NULL)
		return;
	why_say(why, "%s attempt ended with code %d (%s).", group->count == 1 ? "Its" : "The first one's",
		(int)completion->code, completion->phrase);
	why_completion(inquiry, completion, why);
}

static void explain_first(const struct inquiry *inquiry, const struct waiting_tasks *group, struct why *why)
{
	const struct wait_row *row = wait_row(group->kind);
	cleanup_free char *subject = subject_of(group);
	cleanup_free char *says = words_of(group);
	char due[WHY_DUE_SIZE];

	why->kind = row->name;
	why_brief(why, "%s: %s", why->kind, group->tasks);
	why_say(why, "%s %s%s%s%s", subject, group->count == 1 ? row->one : row->many, row->quotes_message ? " " : "",
		row->quotes_message ? says : "", row->quotes_message && !ends_sentence(says) ? "." : "");
	if (group->kind == WAIT_RETRY_DELAY) {
		why_say(why, "The first retry is at %s.", why_due(inquiry, group->until, due));
		describe_end(inquiry, group, why);
	}
	if (row->advice != NULL)
		why_advise(why, "%s", row->advice);
	if (row->edit)
		why_edit(why, inquiry);
	if (is_late(inquiry, group->kind, group->since))
		describe_late(inquiry, why);
	if (group->kind == WAIT_FOREIGN || group->kind == WAIT_FORMER)
		describe_foreign(inquiry, group, why);
	if (row->describe)
		advise_describe(inquiry, group->pod, why);
	if (!row->pod) /* (describe_foreign() has the Event) */
		describe_reports(inquiry, group->kind, why);
}

bool why_tasks_wait(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	struct task_counts counts = framework_view_count(framework);
	struct waiting_list groups;
	char age[WHY_AGE_SIZE], ns[80];

	waiting_list_read(inquiry, &groups);
	if (groups.count == 0 || framework->status.state < STATE_PREPARING) {
		waiting_list_free(&groups);
		return false;
	}
	if (counts.total == 1)
		why_say(why, "The only Task of Framework %s %s.", framework->name,
			counts.running == 0 ? "does not run" : "runs");
	else if (counts.running == 0)
		why_say(why, "None of the %zu Tasks of Framework %s runs.", counts.total, framework->name);
	else
		why_say(why, "%zu of the %zu Tasks of Framework %s %s.", counts.running, counts.total, framework->name,
			counts.running == 1 ? "runs" : "run");
	explain_first(inquiry, &groups.list[0], why);
	describe_barrier(inquiry, &groups, why);
	for (size_t i = 0; i < groups.count && i < GROUPS_LISTED; i++)
		describe_group(inquiry, &groups.list[i], why);
	if (groups.count > GROUPS_LISTED)
		why_fact(why, "Tasks", "%zu more groups: kubectl framework tree %s%s%s", groups.count - GROUPS_LISTED,
			 framework->name, why_namespace(inquiry, ns), inquiry->flags == NULL ? "" : inquiry->flags);
	why_fact(why, "status.state", "%s for %s", attempt_state_name(framework->status.state),
		 why_age(inquiry, framework->status.transition_time, age));
	waiting_list_free(&groups);
	return true;
}

static void describe_policy(const struct framework_view *framework, struct why *why)
{
	bool any = false;

	for (size_t i = 0; i < framework->spec.role_count; i++) {
		const struct task_role_spec *role = &framework->spec.roles[i];
		cleanup_free char *source = mem_printf("TaskRole %s", role->name);

		if (role->min_failed_tasks > 0) {
			why_fact(why, source, "%d failed %s the attempt", (int)role->min_failed_tasks,
				 role->min_failed_tasks == 1 ? "Task fails" : "Tasks fail");
			any = true;
		}
		if (role->min_succeeded_tasks > 0) {
			why_fact(why, source, "%d succeeded %s the attempt", (int)role->min_succeeded_tasks,
				 role->min_succeeded_tasks == 1 ? "Task completes" : "Tasks complete");
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
	why_say(why, "Framework %s waits for nothing: of its %zu %s %zu %s, %zu %s succeeded and %zu %s failed.",
		framework->name, counts.total, task_word(counts.total), counts.running,
		counts.running == 1 ? "runs" : "run", counts.succeeded, counts.succeeded == 1 ? "has" : "have",
		counts.failed, counts.failed == 1 ? "has" : "have");
	why_fact(why, "status.state", "AttemptRunning for %s, attempt %d",
		 why_age(inquiry, framework->status.transition_time, age), (int)framework->status.attempt.id);
	describe_policy(framework, why);
	return true;
}

bool why_between(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	const char *state = attempt_state_name(framework->status.state);
	char age[WHY_AGE_SIZE];

	why->kind = "between";
	why_brief(why, "%s", "");
	why_age(inquiry, framework->status.transition_time, age);
	/* in Preparing, a Pod may have started a moment ago */
	if (framework->status.state == STATE_PREPARING ||
	    inquiry->now - framework->status.transition_time <= WAIT_NOTICE_SEC) {
		why_say(why,
			"Framework %s is between two steps: its state is %s, and the controller takes the next step by "
			"itself.",
			framework->name, state);
	} else {
		why_say(why,
			"Framework %s is between two steps: its state is %s for %s, and the controller, which takes "
			"the next step, has not taken it.",
			framework->name, state, age);
		describe_late(inquiry, why);
	}
	why_fact(why, "status.state", "%s for %s", state, age);
	return true;
}
