/* Answers that the Framework as a whole gives: who looks after it, and what its next step waits for. */
#include <string.h>

#include "cli/view/lease.h"
#include "cli/view/read.h"
#include "cli/view/why_note.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"

bool why_managed_by(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;

	if (framework->managed_by == NULL)
		return false;
	why->kind = "managed-by-another";
	why_brief(why, "managed by %s", framework->managed_by);
	why_say(why,
		"Framework %s is left to another controller: spec.managedBy is \"%s\", and FrameworkController reads "
		"and "
		"changes nothing of it.",
		framework->name, framework->managed_by);
	why_fact(why, "spec.managedBy", "%s", framework->managed_by);
	why_advise(why, "Ask the controller of that name. spec.managedBy cannot be changed: to run it here, create "
			"the Framework anew without this field.");
	return true;
}

bool why_malformed(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;

	if (framework->problem == NULL)
		return false;
	why->kind = "malformed";
	why_brief(why, "malformed: %s", framework->problem);
	why_say(why, "The controller does not act on Framework %s, because it is malformed: %s.", framework->name,
		framework->problem);
	if (inquiry->events != NULL)
		why_fact_event(why, inquiry, event_views_latest(inquiry->events, "Malformed", 0, NULL));
	if (strncmp(framework->problem, "status.", strlen("status.")) == 0) {
		char ns[80];

		why_advise(why, "Correct the field (with kubectl 1.24 or later); the controller continues by itself:");
		why_command(why, "kubectl edit framework %s --subresource=status%s", framework->name,
			    why_namespace(inquiry, ns));
		return true;
	}
	why_change(why, inquiry, "Correct the field; the controller continues by itself:", "edit framework", "");
	return true;
}

/* ---- nobody looks after it --------------------------------------------------------------------------------------- */

static bool watcher_leads(const struct inquiry *inquiry)
{
	return lease_is_held(inquiry->lease, inquiry->now);
}

bool why_nobody_leads(const struct inquiry *inquiry)
{
	return lease_is_given_up(inquiry->lease, framework_view_changed(inquiry->framework), inquiry->now);
}

void why_fact_lease(struct why *why, const struct inquiry *inquiry)
{
	const json_t *meta = json_object_get(inquiry->lease, "metadata");
	const json_t *spec = json_object_get(inquiry->lease, "spec");
	const char *holder = view_text(spec, "holderIdentity");
	cleanup_free char *source = NULL;
	char age[WHY_AGE_SIZE];

	if (inquiry->lease == NULL)
		return;
	source = mem_printf("Lease %s/%s", view_text(meta, "namespace"), view_text(meta, "name"));
	if (*holder == '\0')
		why_fact(why, source, "no fc-watcher leads: the last one has released it");
	else if (!watcher_leads(inquiry))
		why_fact(why, source, "fc-watcher %s led, and has not renewed it for %s", holder,
			 why_age(inquiry, json_time(spec, "renewTime"), age));
	else
		why_fact(why, source,
			 "fc-watcher %s leads: its reconcilers may have no right to write frameworks/status, this "
			 "Framework may be in a namespace that it does not watch (--namespaces), or no reconciler "
			 "holds the Framework's shard",
			 holder);
}

/* The causes, the likely ones first, and whom to ask. */
static void advise_controller(const struct inquiry *inquiry, struct why *why)
{
	static const char log[] = "Look for 403 in the reconcilers' log. If there is one, grant them the right to "
				  "write frameworks/status (manifests/README.md, Rights).";
	bool leads = watcher_leads(inquiry), given_up = why_nobody_leads(inquiry);

	if (leads)
		why_say(why, "fc-watcher leads. Either its reconcilers have no right to write frameworks/status: their "
			     "log then contains 403. Or none of them acts on this namespace.");
	else if (given_up)
		why_say(why, "No fc-watcher leads by the Lease.");
	else
		why_say(why, "Either no fc-watcher runs, or none of its reconcilers acts on this namespace, or these "
			     "have no right to write frameworks/status: their log then contains 403.");
	why_fact_lease(why, inquiry);
	if (leads)
		why_advise(why, "%s", log);
	why_advise(why, "Ask an administrator of FrameworkController whether fc-watcher leads and has reconcilers:");
	why_command(why, "fc-watcher status");
	if (given_up)
		return;
	why_advise(why, "If fc-watcher has --namespaces, %s must be one of them.", inquiry->framework->ns);
	if (!leads)
		why_advise(why, "%s", log);
}

/* A controller gives a Framework its status within seconds. */
enum { NEW_SEC = 60 };

bool why_no_controller(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	bool new = !framework->begun && !inquiry->stale && inquiry->now - framework->creation_time < NEW_SEC;
	char age[WHY_AGE_SIZE];

	if (framework->begun && (!inquiry->stale || framework->status.observed_generation >= framework->generation))
		return false;
	if (new) {
		why->kind = "new";
		why_brief(why, "new");
		why_say(why, "Framework %s was created %s ago, and the controller has not looked at it yet.",
			framework->name, why_age(inquiry, framework->creation_time, age));
		return true;
	}
	why->kind = "no-controller";
	why_brief(why, "no controller");
	why_say(why, "%s Framework %s:",
		watcher_leads(inquiry) ? "The controller does not act on" : "No controller looks after",
		framework->name);
	if (framework->begun) {
		why_say(why, "its spec has changed, and the status does not follow.");
		why_fact(why, "status.observedGeneration", "%lld, but metadata.generation is %lld",
			 (long long)framework->status.observed_generation, (long long)framework->generation);
	} else {
		why_say(why, "it has no status, %s after it was created.",
			why_age(inquiry, framework->creation_time, age));
		why_fact(why, "status", "absent");
	}
	advise_controller(inquiry, why);
	return true;
}

/* ---- it is going away -------------------------------------------------------------------------------------------- */

enum { PODS_LISTED = 5 };

/* The Pods that are left, as evidence. Returns how many there are. */
static size_t describe_pods(const struct inquiry *inquiry, struct why *why)
{
	const struct pod_view *pod, *next;
	size_t count = 0, listed = 0;
	char age[WHY_AGE_SIZE];

	if (inquiry->pods == NULL)
		return 0;
	HASH_ITER(hh, inquiry->pods->by_name, pod, next) {
		cleanup_free char *source = mem_printf("Pod %s", pod->name);

		count++;
		if (pod->deletion_time == 0 || listed++ >= PODS_LISTED)
			continue;
		if (*pod->finalizers != '\0')
			why_fact(why, source, "is being deleted for %s, and its finalizers hold it: %s",
				 why_age(inquiry, pod->deletion_time, age), pod->finalizers);
		else
			why_fact(why, source, "terminates on node %s, due %s ago", *pod->node == '\0' ? "-" : pod->node,
				 why_age(inquiry, pod->deletion_time, age));
	}
	return count;
}

static void say_left(struct why *why, size_t left)
{
	why_say(why, "%zu %s left.", left, left == 1 ? "Pod is" : "Pods are");
}

/* Advises about Pods whose deletion does not end. */
static void advise_pods(const struct inquiry *inquiry, struct why *why)
{
	const struct pod_view *pod, *next;
	bool held = false, late = false;
	char ns[80];

	if (inquiry->pods == NULL)
		return;
	why_namespace(inquiry, ns);
	HASH_ITER(hh, inquiry->pods->by_name, pod, next) {
		if (pod->deletion_time == 0)
			continue;
		if (*pod->finalizers != '\0' && !held) {
			why_advise(why, "Whoever has set the finalizer removes it. By hand, if that will not happen:");
			why_command(why, "kubectl edit pod %s%s", pod->name, ns);
			held = true;
		} else if (*pod->finalizers == '\0' && pod->deletion_time + 30 < inquiry->now && !late) {
			why_advise(why,
				   "The kubelet of node %s does not confirm the end of Pod %s. If the node is lost, "
				   "delete "
				   "the Node, or set podGracefulDeletionTimeoutSec.",
				   pod->node, pod->name);
			why_command(why, "kubectl get node %s", pod->node);
			late = true;
		}
	}
}

bool why_deleting(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	cleanup_free char *finalizers = NULL;
	char age[WHY_AGE_SIZE], ns[80];
	size_t left;

	if (framework->deletion_time == 0)
		return false;
	finalizers = finalizers_text(framework->object);
	why->kind = "deleting";
	why_brief(why, "deleted; finalizers: %s", finalizers);
	why_say(why, "Framework %s is being deleted for %s, and exists until its finalizers are removed: %s.",
		framework->name, why_age(inquiry, framework->deletion_time, age), finalizers);
	why_fact(why, "metadata.finalizers", "%s", finalizers);
	left = describe_pods(inquiry, why);
	if (strstr(finalizers, "foregroundDeletion") != NULL) {
		why_say(why, "foregroundDeletion means that the garbage collector deletes the ConfigMap and the Pods "
			     "first.");
		if (inquiry->pods != NULL)
			say_left(why, left);
	}
	advise_pods(inquiry, why);
	if (strcmp(finalizers, "foregroundDeletion") != 0) {
		why_advise(why, "Whoever has set a finalizer removes it. By hand, if that will not happen:");
		why_command(why, "kubectl edit framework %s%s", framework->name, why_namespace(inquiry, ns));
	}
	return true;
}

/* By a missing right, say, or by an admission webhook. */
static void describe_refused_deletion(const struct inquiry *inquiry, struct why *why)
{
	int64_t since = inquiry->framework->status.attempt.start_time;
	const struct event_view *refused = NULL;

	if (inquiry->events != NULL)
		refused = event_views_latest(inquiry->events, "FailedDeleteConfigMap", since, NULL);
	if (inquiry->events != NULL && refused == NULL)
		refused = event_views_latest(inquiry->events, "FailedDeletePod", since, NULL);
	if (refused == NULL)
		return;
	why_say(why, "The API server refuses that: %s.", refused->message);
	why_fact_event(why, inquiry, refused);
	why_advise(why, "The controller tries again by itself, at least once a minute.");
}

bool why_ending(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	const struct framework_status *status = &framework->status;
	const struct completion *completion = status->attempt.completion;
	char age[WHY_AGE_SIZE];
	size_t left;

	if (completion == NULL || status->state < STATE_DELETION_PENDING || status->state > STATE_DELETING)
		return false;
	why->kind = "ending";
	why_brief(why, "ends with code %d", (int)completion->code);
	why_say(why,
		"Attempt %d of Framework %s has ended with code %d (%s). The controller deletes its Pods, and goes on "
		"when "
		"they are gone, since %s.",
		(int)status->attempt.id, framework->name, (int)completion->code, completion->phrase,
		why_age(inquiry, status->transition_time, age));
	why_fact(why, "status.attemptStatus.completionStatus", "%s", completion->diagnostics);
	describe_refused_deletion(inquiry, why);
	left = describe_pods(inquiry, why);
	if (inquiry->pods != NULL)
		say_left(why, left);
	advise_pods(inquiry, why);
	return true;
}

/* ---- it waits for somebody's word -------------------------------------------------------------------------------- */

bool why_suspended(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	bool suspended = strcmp(framework_view_state(framework), "Suspended") == 0;
	char age[WHY_AGE_SIZE];
	size_t left;

	if (!framework->has_spec || !framework->spec.suspend || framework->spec.execution_type == EXECUTION_STOP)
		return false;
	why->kind = suspended ? "suspended" : "suspending";
	why_brief(why, "%s", suspended ? "spec.suspend" : "to be suspended");
	if (suspended)
		why_say(why,
			"Framework %s is suspended: spec.suspend is true, and none of its Pods exists. It starts again "
			"when "
			"spec.suspend is false.",
			framework->name);
	else
		why_say(why, "Framework %s is being suspended: spec.suspend is true, and its Pods are deleted.",
			framework->name);
	why_fact(why, "spec.suspend", "true; in state %s for %s", attempt_state_name(framework->status.state),
		 why_age(inquiry, framework->status.transition_time, age));
	left = suspended ? 0 : describe_pods(inquiry, why);
	if (left > 0)
		say_left(why, left);
	if (!suspended)
		advise_pods(inquiry, why);
	why_change(why, inquiry, "To let it run:", "framework resume", "");
	return true;
}

bool why_not_started(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	char age[WHY_AGE_SIZE];

	if (framework->status.state != STATE_CREATION_PENDING || framework->spec.execution_type != EXECUTION_CREATE)
		return false;
	why->kind = "not-started";
	why_brief(why, "executionType Create");
	why_say(why,
		"Framework %s has not been started: spec.executionType is Create, which means that nothing of it "
		"runs yet.",
		framework->name);
	why_fact(why, "spec.executionType", "Create; the Framework was created %s ago",
		 why_age(inquiry, framework->creation_time, age));
	why_change(why, inquiry, "To let it run:", "framework start", "");
	return true;
}

/* Names the owner of the object. */
static void describe_owner(const json_t *object, struct why *why, const char *source)
{
	const json_t *owner = view_controller(object);

	if (owner != NULL)
		why_fact(why, source, "is controlled by %s %s", view_text(owner, "kind"), view_text(owner, "name"));
	else
		why_fact(why, source, "is controlled by nobody");
}

/* Whether another ConfigMap has the name. If the ConfigMap is not known, the attempt's latest Event decides. */
static bool config_map_is_foreign(const struct inquiry *inquiry, const struct event_view *conflict,
				  const struct event_view *refused)
{
	if (inquiry->config_map != NULL)
		return strcmp(controller_uid_of(inquiry->config_map), inquiry->framework->uid) != 0;
	return !inquiry->config_map_known && inquiry->framework->status.state == STATE_CREATION_PENDING &&
	       conflict != NULL && (refused == NULL || conflict->last_time >= refused->last_time);
}

bool why_config_map(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	int64_t since = framework->status.attempt.start_time;
	const struct event_view *refused = NULL, *conflict = NULL;
	cleanup_free char *source = mem_printf("ConfigMap %s-attempt", framework->name);
	char ns[80];

	if (framework->status.state != STATE_CREATION_PENDING && framework->status.state != STATE_CREATION_REQUESTED)
		return false;
	if (inquiry->events != NULL) {
		refused = event_views_latest(inquiry->events, "FailedCreateConfigMap", since, NULL);
		conflict = event_views_latest(inquiry->events, "NamingConflict", since, source);
	}
	if (config_map_is_foreign(inquiry, conflict, refused)) {
		why->kind = "foreign-config-map";
		why_brief(why, "another %s", source);
		why_say(why,
			"Framework %s cannot start, because %s exists and is not its own. The controller needs this "
			"name, does not change objects of others, and continues when the name is free.",
			framework->name, source);
		if (inquiry->config_map != NULL)
			describe_owner(inquiry->config_map, why, source);
		why_fact_event(why, inquiry, conflict);
		why_advise(why, "See whether somebody needs it, and delete it:");
		why_command(why, "kubectl delete configmap %s-attempt%s", framework->name, why_namespace(inquiry, ns));
		return true;
	}
	if (refused == NULL)
		return false;
	why->kind = strstr(refused->message, "exceeded quota") != NULL ? "quota" : "config-map-refused";
	why_brief(why, "%s refused", source);
	why_say(why, "Framework %s cannot start, because the API server refuses %s, without which it has no Pods: %s.",
		framework->name, source, refused->message);
	why_fact_event(why, inquiry, refused);
	why_advise(why, "The controller tries again by itself, at least once a minute.");
	return true;
}

bool why_retry_delay(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	const struct framework_status *status = &framework->status;
	const struct completion *completion = status->attempt.completion;
	char due[WHY_DUE_SIZE], ns[80];

	if (status->state != STATE_ATTEMPT_COMPLETED || status->retry.delay_sec == DELAY_NULL || completion == NULL)
		return false;
	why->kind = "retry-delay";
	why_due(inquiry, status->attempt.completion_time + status->retry.delay_sec, due);
	why_brief(why, "retry at %.20s", due);
	why_say(why, "Attempt %d of Framework %s ended with code %d (%s), and the Framework is retried at %s.",
		(int)status->attempt.id, framework->name, (int)completion->code, completion->phrase, due);
	if (status->retry.backoff_count > 0 && framework->spec.retry.backoff.initial_sec > 0)
		why_say(why, "spec.retryPolicy.backoff delays it: it is retry %d in a row.",
			(int)status->retry.backoff_count);
	else if (completion->traits & TRAIT_CONFLICT)
		why_say(why, "The failure is of type Conflict: others may need the same resources now.");
	why_fact(why, "status.retryPolicyStatus",
		 "retryDelaySec %lld, totalRetriedCount %d, accountableRetriedCount %d",
		 (long long)status->retry.delay_sec, (int)status->retry.total, (int)status->retry.accountable);
	why_completion(inquiry, completion, why);
	why_advise(why, "%sTo give up:", why->advice_count > 0 ? "" : "Nothing needs to be done. ");
	why_command(why, "kubectl framework stop %s%s", framework->name, why_namespace(inquiry, ns));
	return true;
}

/* Tasks that a smaller taskNumber removes, and whose Pods still terminate. */
static size_t count_removed(const struct framework_attempt_status *attempt)
{
	size_t count = 0;

	for (size_t i = 0; i < attempt->role_count; i++)
		for (size_t j = 0; j < attempt->roles[i].task_count; j++)
			count += attempt->roles[i].tasks[j].deletion_pending ? 1 : 0;
	return count;
}

/* The command names the TaskRole if there is only one. */
static void advise_tasks(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_spec *spec = &inquiry->framework->spec;
	cleanup_free char *number = mem_printf(" %s=N", spec->role_count == 1 ? spec->roles[0].name : "ROLE");

	if (spec->role_count == 0)
		why_change(why, inquiry, "Add a TaskRole, or stop it:", "edit framework", "");
	else
		why_change(why, inquiry, "Add Tasks, or stop it:", "framework scale", number);
}

bool why_no_tasks(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	size_t removed = count_removed(&framework->status.attempt);

	if (framework_spec_task_count(&framework->spec) > 0 || framework->status.attempt.completion != NULL ||
	    framework_view_count(framework).total > 0)
		return false;
	why->kind = "no-tasks";
	why_brief(why, "no Tasks");
	why_say(why,
		"Framework %s has no Tasks: no TaskRole has a taskNumber above 0. It does not complete by itself until "
		"Tasks "
		"are added, or until it is stopped.",
		framework->name);
	why_fact(why, "spec.taskRoles", "the sum of taskNumber is 0");
	if (removed > 0) {
		why_say(why, "%zu %s being removed, and %s until %s gone.", removed,
			removed == 1 ? "former Task is" : "former Tasks are", removed == 1 ? "exists" : "exist",
			removed == 1 ? "its Pod is" : "their Pods are");
		describe_pods(inquiry, why);
		advise_pods(inquiry, why);
	}
	advise_tasks(inquiry, why);
	return true;
}

bool why_too_many(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	long long count = framework_spec_task_count(&framework->spec);

	if (!framework->spec.too_many_tasks || framework->status.attempt.completion != NULL)
		return false;
	why->kind = "too-many-tasks";
	why_brief(why, "%lld Tasks, at most %d", count, FRAMEWORK_TASKS_MAX);
	why_say(why,
		"The TaskRoles of Framework %s have %lld Tasks together, expected at most %d. The controller adds no "
		"Task until the spec has fewer.",
		framework->name, count, FRAMEWORK_TASKS_MAX);
	why_change(why, inquiry, "Reduce taskNumber:", "framework scale", " ROLE=N");
	return true;
}
