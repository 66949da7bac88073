/* See wait.h. */
#include "cli/view/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "common/base/mem.h"
#include "common/framework/depends.h"

char *pod_name_of(const struct framework_view *framework, const char *role, size_t index)
{
	return mem_printf("%s-%s-%zu", framework->name, role, index);
}

/* ---- one Task ---------------------------------------------------------------------------------------------------- */

/* The Pod of the Task's present attempt. The status may be a moment behind it: it is written less often than it changes
 * (CONTRACT.md §12.16). */
static bool is_own(const struct inquiry *inquiry, const struct pod_view *pod, const struct task_status *task)
{
	const json_t *annotations = json_path(pod->object, "metadata", "annotations", NULL);
	cleanup_free char *attempt = mem_printf("%d", (int)inquiry->framework->status.attempt.id);
	cleanup_free char *task_attempt = mem_printf("%d", (int)task->attempt.id);

	return strcmp(view_text(annotations, FC_FRAMEWORK_UID), inquiry->framework->uid) == 0 &&
	       strcmp(view_text(annotations, FC_FRAMEWORK_ATTEMPT_ID), attempt) == 0 &&
	       strcmp(view_text(annotations, FC_TASK_ATTEMPT_ID), task_attempt) == 0;
}

/* A Pod that was made for an attempt of a Framework of this name, and that goes by itself: it is being deleted, or the
 * garbage collector deletes it after its controller. An orphan stays (kubectl delete --cascade=orphan). */
static bool is_former(const struct inquiry *inquiry, const struct pod_view *pod)
{
	const json_t *annotations = json_path(pod->object, "metadata", "annotations", NULL);

	return strcmp(view_text(annotations, FC_FRAMEWORK_NAME), inquiry->framework->name) == 0 &&
	       (pod->deletion_time != 0 || *pod->controller_uid != '\0');
}

static size_t failed_tasks(const struct role_status *role)
{
	size_t count = 0;

	for (size_t i = 0; role != NULL && i < role->task_count; i++)
		count += task_view_failed(&role->tasks[i]);
	return count;
}

void role_wait_read(const struct inquiry *inquiry, const struct role_status *role, struct role_wait *out)
{
	const struct framework_view *framework = inquiry->framework;
	int at = framework->has_spec ? framework_spec_find_role(&framework->spec, role->name) : -1;

	*out = (struct role_wait){.inquiry = inquiry, .role = role};
	if (at >= 0 && framework->spec.roles[at].depends_count > 0) {
		cleanup_free struct depends_role *roles = depends_roles(&framework->spec, &framework->status.attempt);

		out->unmet = role_dependency_unmet(&framework->spec, roles, &framework->spec.roles[at], role,
						   &out->awaited, &out->all);
		if (out->unmet != NULL)
			out->failed = failed_tasks(roles[out->unmet->role].status);
	}
}

static void depends(const struct role_wait *role, struct task_wait *wait)
{
	wait->kind = WAIT_DEPENDS;
	wait->reason = role->inquiry->framework->spec.roles[role->unmet->role].name;
	if (role->unmet->status == DEPENDS_SUCCEEDED && role->failed > 0)
		snprintf(wait->counted, sizeof(wait->counted), "%zu of its %zu %s %s failed for good", role->failed,
			 role->all, task_word(role->all), role->failed == 1 ? "has" : "have");
	else
		snprintf(wait->counted, sizeof(wait->counted), "%zu of its %zu %s %s not yet %s", role->awaited,
			 role->all, task_word(role->all), role->awaited == 1 ? "is" : "are",
			 depends_status_name(role->unmet->status));
}

/* "Pod f-a-0 with uid …". */
static bool names_pod(const char *message, const char *pod)
{
	size_t len = strlen(pod);

	return strncmp(message, "Pod ", 4) == 0 && strncmp(message + 4, pod, len) == 0 && message[4 + len] == ' ';
}

/* By the latest Event that a row is about. pod: the name of the Task's Pod. */
static void reported_creation(const struct inquiry *inquiry, const struct task_status *task, const char *pod,
			      bool has_service, struct task_wait *wait)
{
	int64_t latest = task->attempt.start_time;

	for (size_t i = 0; inquiry->events != NULL && i < inquiry->events->count; i++) {
		const struct event_view *event = &inquiry->events->list[i];
		enum wait_kind kind = wait_kind_of_event(event->reason, event->message);

		if (kind == WAIT_NONE || event->last_time < latest || (wait_row(kind)->service && has_service) ||
		    (wait_row(kind)->pod && (inquiry->pods != NULL || !names_pod(event->message, pod))))
			continue;
		latest = event->last_time;
		wait->kind = kind;
		wait->message = wait_row(kind)->pod ? "" : event->message;
	}
}

/* Why its Pod of that name was not created. The Event of a refusal names the Pod that was refused, or stands for
 * several. */
static struct task_wait creation_of(const struct role_wait *role, const struct pod_view *pod, const char *name,
				    const struct task_status *task)
{
	const struct inquiry *inquiry = role->inquiry;
	struct task_wait wait = {.kind = WAIT_CREATION, .reason = "", .message = "", .since = task->transition_time};
	bool has_service = inquiry->service != NULL &&
			   strcmp(controller_uid_of(inquiry->service), inquiry->framework->uid) == 0;

	if (pod != NULL) {
		wait.kind = is_former(inquiry, pod) ? WAIT_FORMER : WAIT_FOREIGN;
		if (pod->creation_time > wait.since)
			wait.since = pod->creation_time;
	} else if (role->unmet != NULL) {
		depends(role, &wait);
	} else {
		reported_creation(inquiry, task, name, has_service, &wait);
		if (inquiry->service != NULL && !has_service) {
			wait.message = wait.kind == WAIT_FOREIGN_SERVICE ? wait.message : "";
			wait.kind = WAIT_FOREIGN_SERVICE;
			wait.reason = view_text(json_object_get(inquiry->service, "metadata"), "name");
		}
	}
	return wait;
}

static struct task_wait pending_wait(const struct pod_wait *of, const struct task_status *task)
{
	static const enum wait_kind kinds[] = {
		[POD_WAIT_START] = WAIT_START,
		[POD_WAIT_NEVER] = WAIT_NEVER_STARTS,
		[POD_WAIT_UNSCHEDULABLE] = WAIT_UNSCHEDULABLE,
		[POD_WAIT_GATED] = WAIT_GATE,
	};

	return (struct task_wait){
		.kind = strcmp(of->reason, "CrashLoopBackOff") == 0 ? WAIT_CRASH : kinds[of->kind],
		.reason = of->reason,
		.message = of->message,
		.since = of->since != 0                    ? of->since
			 : task->attempt.waiting_time != 0 ? task->attempt.waiting_time
							   : task->transition_time,
	};
}

/* "Task worker[0] waits: {reason}: {message}", perhaps behind other words. */
struct report {
	const struct task_status *task; /* NULL: the Framework has none of this name, or the text is another one */
	enum wait_kind kind;
	const char *words; /* behind "waits: " */
};

static void report_read(const struct inquiry *inquiry, const char *message, struct report *out)
{
	static const char head[] = "Task ", verb[] = " waits: ", unschedulable[] = "Unschedulable";
	const char *name = strstr(message, head), *words = strstr(message, verb);
	char role[64];
	long long index;

	*out = (struct report){0};
	if (name == NULL || words == NULL || sscanf(name + strlen(head), "%63[^[][%lld]", role, &index) != 2)
		return;
	out->task = framework_view_task(inquiry->framework, role, index);
	out->words = words + strlen(verb);
	out->kind = strncmp(out->words, unschedulable, strlen(unschedulable)) == 0 ? WAIT_UNSCHEDULABLE : WAIT_START;
}

/* Whether the Task has waited since that Event without a change of its status: it is still Pending, and a scheduler has
 * not placed it since. */
static bool waits_since(const struct task_status *task, enum wait_kind kind, int64_t time)
{
	bool placed = task->attempt.pod_node_name != NULL && *task->attempt.pod_node_name != '\0';

	return task->state == STATE_PREPARING && task->attempt.start_time <= time && task->transition_time <= time &&
	       !(placed && kind == WAIT_UNSCHEDULABLE);
}

/* Without its Pod: the Event that the controller writes after a minute. The Event stands for all Tasks that wait in the
 * same way (CONTRACT.md §6.12), as long as the Task that it names waits. */
static struct task_wait reported_wait(const struct inquiry *inquiry, const struct task_status *task)
{
	struct task_wait wait = {.kind = WAIT_PENDING, .reason = "", .message = "", .since = task->transition_time};
	int64_t latest = 0;

	for (size_t i = 0; inquiry->events != NULL && i < inquiry->events->count; i++) {
		const struct event_view *event = &inquiry->events->list[i];
		struct report report;

		if (strcmp(event->reason, "TaskWaiting") != 0 || event->last_time < latest)
			continue;
		report_read(inquiry, event->message, &report);
		if (report.task == NULL || !waits_since(report.task, report.kind, event->last_time) ||
		    !waits_since(task, report.kind, event->last_time))
			continue;
		latest = event->last_time;
		wait.kind = report.kind;
		wait.message = report.words;
	}
	return wait;
}

/* The Task's Pod has ended, or is gone, and its status does not follow; WAIT_NONE: not so. */
static struct task_wait unnoticed(const struct inquiry *inquiry, const struct pod_view *pod,
				  const struct task_status *task)
{
	struct task_wait wait = {.kind = WAIT_NONE, .reason = "", .message = ""};

	if (inquiry->pods == NULL || task->attempt.pod_uid == NULL || task->attempt.completion != NULL)
		return wait;
	if (pod == NULL || strcmp(pod->uid, task->attempt.pod_uid) != 0) {
		wait.kind = WAIT_UNNOTICED;
		wait.message = "the Pod is gone";
	} else if (pod->end_time != 0 && inquiry->now - pod->end_time > WAIT_NOTICE_SEC) {
		wait.kind = WAIT_UNNOTICED;
		wait.message = strcmp(pod->phase, "Failed") == 0 ? "the Pod has failed" : "the Pod has succeeded";
		wait.since = pod->end_time;
	}
	return wait;
}

static struct task_wait preparing_of(const struct inquiry *inquiry, const struct pod_view *pod,
				     const struct task_status *task)
{
	struct task_wait wait = {.kind = WAIT_PENDING, .reason = "", .message = "", .since = task->transition_time};

	if (pod == NULL)
		return reported_wait(inquiry, task);
	if (strcmp(pod->phase, "Pending") != 0) { /* the status will follow */
		wait.kind = WAIT_NONE;
		return wait;
	}
	if (*pod->gates != '\0') {
		wait.kind = WAIT_GATE;
		wait.message = pod->gates;
		return wait;
	}
	if (pod->wait_of != NULL && pod->wait_of->wait != NULL)
		return pending_wait(pod->wait_of->wait, task);
	if (pod->init != NULL) {
		wait.kind = pod->in_barrier ? WAIT_BARRIER : WAIT_INIT;
		wait.reason = pod->init;
	} else if (*pod->node == '\0') {
		wait.kind = WAIT_SCHEDULER;
	} else {
		wait.kind = WAIT_CREATING;
		wait.reason = pod->creating == NULL ? "" : pod->creating;
	}
	return wait;
}

static struct task_wait termination_of(const struct pod_view *pod, const struct task_status *task)
{
	return (struct task_wait){
		.kind = WAIT_TERMINATION,
		.reason = "",
		.message = pod == NULL ? "" : pod->finalizers,
		.since = pod == NULL || pod->deletion_time == 0 ? task->transition_time : pod->deletion_time,
	};
}

/* Of a Task whose Pod is to go, and is not being deleted. */
static struct task_wait deletion_of(const struct inquiry *inquiry, const struct pod_view *pod,
				    const struct task_status *task)
{
	struct task_wait wait = termination_of(pod, task);

	if (inquiry->pods == NULL || inquiry->now - task->transition_time <= WAIT_NOTICE_SEC)
		return wait;
	if (pod == NULL) {
		wait.kind = WAIT_UNNOTICED;
		wait.message = "the Pod is gone";
	} else if (task->state != STATE_DELETING) {
		wait.kind = WAIT_UNDELETED;
	}
	return wait;
}

struct task_wait wait_of(const struct role_wait *role, size_t index)
{
	const struct inquiry *inquiry = role->inquiry;
	const struct task_status *task = &role->role->tasks[index];
	struct task_wait wait = {.kind = WAIT_NONE, .reason = "", .message = ""};
	cleanup_free char *name = pod_name_of(inquiry->framework, role->role->name, index);
	const struct pod_view *pod = inquiry->pods == NULL ? NULL : pod_views_find(inquiry->pods, name);

	if (pod != NULL && pod->deletion_time != 0 && task->state != STATE_COMPLETED &&
	    (task->state >= STATE_PREPARING || is_own(inquiry, pod, task)))
		return termination_of(pod, task);
	if (task->state == STATE_PREPARING || task->state == STATE_RUNNING)
		wait = unnoticed(inquiry, pod, task);
	if (wait.kind != WAIT_NONE)
		return wait;
	switch (task->state) {
	case STATE_CREATION_PENDING:
	case STATE_CREATION_REQUESTED:
		return pod != NULL && is_own(inquiry, pod, task) ? preparing_of(inquiry, pod, task)
								 : creation_of(role, pod, name, task);
	case STATE_PREPARING: return preparing_of(inquiry, pod, task);
	case STATE_RUNNING:
		if (pod != NULL && pod->crashing != NULL) {
			wait.kind = WAIT_CRASH;
			wait.reason = pod->crashing;
			wait.message = pod->crash_message;
		}
		break;
	case STATE_DELETION_PENDING:
	case STATE_DELETION_REQUESTED:
	case STATE_DELETING: return deletion_of(inquiry, pod, task);
	case STATE_ATTEMPT_COMPLETED:
		if (task->retry.delay_sec != DELAY_NULL) {
			wait.kind = WAIT_RETRY_DELAY;
			wait.until = task->attempt.completion_time + task->retry.delay_sec;
		}
		break;
	default: break;
	}
	wait.since = task->transition_time;
	return wait;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

struct group {
	struct waiting_tasks known;
	struct index_list indexes; /* of the role that is looked at */
	struct buf tasks;
};

struct collection {
	struct group *list;
	size_t count;
	size_t last; /* the group of the Task before: neighbours are mostly alike */
};

static const char *message_of(const struct task_wait *wait)
{
	return wait->counted[0] != '\0' ? wait->counted : wait->message;
}

/* Texts that differ only in the name of the Pod make no group of their own. */
static bool is_same(const struct group *group, const struct task_wait *wait)
{
	return group->known.kind == wait->kind && strcmp(group->known.reason, wait->reason) == 0 &&
	       (strcmp(group->known.message, message_of(wait)) == 0 || wait->kind == WAIT_START ||
		wait->kind == WAIT_NEVER_STARTS || wait->kind == WAIT_CRASH);
}

static struct group *group_for(struct collection *groups, const struct task_wait *wait)
{
	struct group *group;

	if (groups->last < groups->count && is_same(&groups->list[groups->last], wait))
		return &groups->list[groups->last];
	for (size_t i = 0; i < groups->count; i++)
		if (is_same(&groups->list[i], wait)) {
			groups->last = i;
			return &groups->list[i];
		}
	groups->list = mem_realloc(groups->list, groups->count + 1, sizeof(*groups->list));
	groups->last = groups->count;
	group = &groups->list[groups->count++];
	*group = (struct group){.known = {.kind = wait->kind,
					  .reason = mem_strdup(wait->reason),
					  .message = mem_strdup(message_of(wait))}};
	return group;
}

static void add_task(struct collection *groups, const struct role_wait *role, size_t index)
{
	const struct task_wait wait = wait_of(role, index);
	struct group *group;

	if (wait.kind == WAIT_NONE)
		return;
	group = group_for(groups, &wait);
	if (group->known.pod == NULL) {
		group->known.pod = pod_name_of(role->inquiry->framework, role->role->name, index);
		group->known.completion = role->role->tasks[index].attempt.completion;
	}
	if (wait.since != 0 && (group->known.since == 0 || wait.since < group->known.since))
		group->known.since = wait.since;
	if (wait.until != 0 && (group->known.until == 0 || wait.until < group->known.until))
		group->known.until = wait.until;
	group->known.count++;
	index_list_add(&group->indexes, index);
}

static void close_role(struct collection *groups, const char *role)
{
	for (size_t i = 0; i < groups->count; i++) {
		struct group *group = &groups->list[i];

		if (group->indexes.count == 0)
			continue;
		buf_printf(&group->tasks, "%s%s[%s]", group->tasks.len > 0 ? ", " : "", role,
			   index_list_text(&group->indexes));
		index_list_free(&group->indexes);
		group->indexes = (struct index_list){0};
	}
}

static int compare(const void *a, const void *b)
{
	const struct waiting_tasks *one = a, *other = b;

	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return (one->count < other->count) - (one->count > other->count);
}

void waiting_list_read(const struct inquiry *inquiry, struct waiting_list *out)
{
	const struct framework_attempt_status *attempt = &inquiry->framework->status.attempt;
	struct collection groups = {0};

	for (size_t i = 0; inquiry->framework->begun && i < attempt->role_count; i++) {
		struct role_wait role;

		role_wait_read(inquiry, &attempt->roles[i], &role);
		for (size_t j = 0; j < role.role->task_count; j++)
			add_task(&groups, &role, j);
		close_role(&groups, role.role->name);
	}
	*out = (struct waiting_list){.list = mem_calloc(groups.count + 1, sizeof(*out->list)), .count = groups.count};
	for (size_t i = 0; i < groups.count; i++) {
		out->list[i] = groups.list[i].known;
		out->list[i].tasks = buf_steal(&groups.list[i].tasks);
	}
	free(groups.list);
	qsort(out->list, out->count, sizeof(*out->list), compare);
}

void waiting_list_free(struct waiting_list *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->list[i].reason);
		free(groups->list[i].message);
		free(groups->list[i].tasks);
		free(groups->list[i].pod);
	}
	free(groups->list);
	*groups = (struct waiting_list){0};
}
