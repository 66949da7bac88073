/* The tables of the two state machines, and everything that changes a Framework's status; see state.h.
 *
 *   AttemptCreationPending → AttemptCreationRequested → AttemptPreparing → AttemptRunning
 *        ↑        │                 │                        │  (↔ Tasks)        │
 *        │        │                 │                        └────────┬──────────┘
 *      retry      │                 │                   AttemptDeletionPending → AttemptDeletionRequested
 *        │        │                 │                                 │                   │
 *        │        │                 └────────────────────→ AttemptDeleting ←──────────────┘
 *        │        ↓                                                   ↓
 *        └── AttemptCompleted ←──────────── (from every state before it)
 *                 │
 *                 ↓
 *             Completed
 */
#include "reconciler/sync/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/framework/shorten.h"
#include "reconciler/sync/podtemplate.h"
#include "reconciler/sync/rules.h"

#define BIT(state) (1U << (state))

/* CONTRACT.md §5: from each state, the states that may follow. */
static const unsigned framework_moves[STATE_COUNT] = {
	[STATE_CREATION_PENDING] = BIT(STATE_CREATION_REQUESTED) | BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_CREATION_REQUESTED] = BIT(STATE_PREPARING) | BIT(STATE_DELETING) | BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_PREPARING] = BIT(STATE_RUNNING) | BIT(STATE_DELETION_PENDING) | BIT(STATE_DELETING) |
			    BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_RUNNING] = BIT(STATE_DELETION_PENDING) | BIT(STATE_DELETING) | BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_DELETION_PENDING] = BIT(STATE_DELETION_REQUESTED) | BIT(STATE_DELETING) | BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_DELETION_REQUESTED] = BIT(STATE_DELETING) | BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_DELETING] = BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_ATTEMPT_COMPLETED] = BIT(STATE_CREATION_PENDING) | BIT(STATE_COMPLETED),
	[STATE_COMPLETED] = 0,
};

/* CONTRACT.md §6: the same for Tasks, and Running goes back to Preparing when its Pod goes back to Pending. */
static const unsigned task_moves[STATE_COUNT] = {
	[STATE_CREATION_PENDING] = BIT(STATE_CREATION_REQUESTED) | BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_CREATION_REQUESTED] = BIT(STATE_PREPARING) | BIT(STATE_DELETING) | BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_PREPARING] = BIT(STATE_RUNNING) | BIT(STATE_DELETION_PENDING) | BIT(STATE_DELETING) |
			    BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_RUNNING] = BIT(STATE_PREPARING) | BIT(STATE_DELETION_PENDING) | BIT(STATE_DELETING) |
			  BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_DELETION_PENDING] = BIT(STATE_DELETION_REQUESTED) | BIT(STATE_DELETING) | BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_DELETION_REQUESTED] = BIT(STATE_DELETING) | BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_DELETING] = BIT(STATE_ATTEMPT_COMPLETED),
	[STATE_ATTEMPT_COMPLETED] = BIT(STATE_CREATION_PENDING) | BIT(STATE_COMPLETED),
	[STATE_COMPLETED] = 0,
};

bool framework_move_allowed(enum attempt_state from, enum attempt_state to)
{
	return (framework_moves[from] & BIT(to)) != 0;
}

bool task_move_allowed(enum attempt_state from, enum attempt_state to)
{
	return (task_moves[from] & BIT(to)) != 0;
}

bool framework_completing(const struct framework *framework)
{
	return framework->status.attempt.completion != NULL;
}

bool framework_completing_for(const struct framework *framework, int32_t code)
{
	return framework_completing(framework) && framework->status.attempt.completion->code == code;
}

/* ---- counters ---- */

/* Before it is seen, a Pod has no IP; the status may still have that of the attempt before. */
static bool without_ip(const struct task_status *task)
{
	const char *ip = task->attempt.pod_ip;

	return task->state < STATE_PREPARING || (task->state <= STATE_RUNNING && (ip == NULL || ip[0] == '\0'));
}

static void count_task(struct role_work *work, const struct task_status *task, int32_t sign)
{
	if (task->state == STATE_CREATION_PENDING)
		work->creation_pending += sign;
	if (task->deletion_pending) {
		if (task->state != STATE_COMPLETED)
			work->leaving += sign;
		return;
	}
	work->live += sign;
	if (task->state == STATE_RUNNING)
		work->running += sign;
	if (task->state == STATE_DELETION_PENDING)
		work->ending += sign;
	if (task->state == STATE_ATTEMPT_COMPLETED)
		work->over += sign;
	if (task->state >= STATE_DELETION_PENDING && task->state <= STATE_ATTEMPT_COMPLETED)
		work->ended += sign;
	if (without_ip(task))
		work->without_ip += sign;
	if (task->state != STATE_COMPLETED)
		return;
	work->completed += sign;
	if (task->attempt.completion != NULL && task->attempt.completion->succeeded)
		work->succeeded += sign;
	else
		work->failed += sign;
}

struct role_work role_count(const struct role_status *role)
{
	struct role_work work = {0};

	for (size_t i = 0; i < role->task_count; i++)
		count_task(&work, &role->tasks[i], 1);
	return work;
}

/* ---- states ---- */

static void refuse_move(const struct framework *framework, const char *who, enum attempt_state from,
			enum attempt_state to)
{
	log_error("[%s/%s]: %s: the state machine has no move from %s to %s: the process aborts", framework->ns,
		  framework->name, who, attempt_state_name(from), attempt_state_name(to));
	abort();
}

void framework_enter(struct reconcile *reconcile, enum attempt_state state, int64_t write_delay_ms)
{
	struct framework *framework = reconcile->framework;
	struct framework_status *status = &framework->status;

	if (!framework_move_allowed(status->state, state))
		refuse_move(framework, "Framework", status->state, state);
	log_v(2, "[%s/%s]: %s -> %s", framework->ns, framework->name, attempt_state_name(status->state),
	      attempt_state_name(state));
	status->state = state;
	status->transition_time = reconcile->now_sec;
	if (state == STATE_RUNNING) {
		status->attempt.run_time = reconcile->now_sec;
		if (status->run_time == 0)
			status->run_time = reconcile->now_sec;
	} else if (state == STATE_ATTEMPT_COMPLETED) {
		status->attempt.completion_time = reconcile->now_sec;
	} else if (state == STATE_COMPLETED) {
		status->completion_time = reconcile->now_sec;
	}
	framework_touch(reconcile, write_delay_ms);
	framework->decided = framework->version;
	framework->sweep = true;
}

void task_enter(struct reconcile *reconcile, size_t role, size_t index, enum attempt_state state,
		int64_t write_delay_ms)
{
	struct framework *framework = reconcile->framework;
	struct role_work *work = &framework->roles[role];
	struct task_status *task = &framework->status.attempt.roles[role].tasks[index];

	if (!task_move_allowed(task->state, state))
		refuse_move(framework, "Task", task->state, state);
	log_v(3, "[%s/%s][%s][%zu]: %s -> %s", framework->ns, framework->name,
	      framework->status.attempt.roles[role].name, index, attempt_state_name(task->state),
	      attempt_state_name(state));
	count_task(work, task, -1);
	task->state = state;
	count_task(work, task, 1);
	task->transition_time = reconcile->now_sec;
	if (state == STATE_RUNNING) {
		task->attempt.run_time = reconcile->now_sec;
		if (task->run_time == 0)
			task->run_time = reconcile->now_sec;
	} else if (state == STATE_ATTEMPT_COMPLETED) {
		task->attempt.completion_time = reconcile->now_sec;
	} else if (state == STATE_COMPLETED) {
		task->completion_time = reconcile->now_sec;
		if (task->deletion_pending)
			framework->scale = true;
	}
	if (state != STATE_COMPLETED && task->attempt.completion != NULL && policy_end_decides(framework, role, task))
		pace_decisive(framework);
	framework_touch(reconcile, write_delay_ms);
	work->tasks[index].decided = framework->version;
	pace_arrived(framework, task);
}

void task_set_pod_ip(struct reconcile *reconcile, size_t role, size_t index, const char *ip)
{
	struct framework *framework = reconcile->framework;
	struct role_work *work = &framework->roles[role];
	struct task_status *task = &framework->status.attempt.roles[role].tasks[index];
	bool first = task->attempt.pod_ip == NULL || task->attempt.pod_ip[0] == '\0';

	if (task->attempt.pod_ip != NULL && strcmp(task->attempt.pod_ip, ip) == 0)
		return;
	count_task(work, task, -1);
	mem_replace(&task->attempt.pod_ip, ip);
	count_task(work, task, 1);
	framework_touch(reconcile, ip[0] == '\0' ? WRITE_UIDS : WRITE_RUNNING);
	pace_arrived(framework, task);
	if (first && ip[0] != '\0')
		pace_addressed(framework);
}

void task_mark_deletion(struct reconcile *reconcile, size_t role, size_t index)
{
	struct framework *framework = reconcile->framework;
	struct task_status *task = &framework->status.attempt.roles[role].tasks[index];

	count_task(&framework->roles[role], task, -1);
	task->deletion_pending = true;
	count_task(&framework->roles[role], task, 1);
	framework_touch(reconcile, WRITE_NOW);
	framework->roles[role].tasks[index].decided = framework->version;
}

/* ---- Tasks and roles ---- */

static char *new_uuid(struct reconcile *reconcile)
{
	char text[UUID_SIZE];

	return mem_strdup(random_uuid(reconcile->random, text));
}

static void task_begin(struct reconcile *reconcile, struct task_status *task)
{
	*task = (struct task_status){
		.instance_uid = new_uuid(reconcile),
		.start_time = reconcile->now_sec,
		.transition_time = reconcile->now_sec,
		.state = STATE_CREATION_PENDING,
		.retry = {.delay_sec = DELAY_NULL},
		.attempt = {.start_time = reconcile->now_sec},
	};
}

static void role_reserve(struct role_status *role, struct role_work *work, size_t count)
{
	if (count > role->task_cap) {
		role->task_cap = count > role->task_cap * 2 ? count : role->task_cap * 2;
		role->tasks = mem_realloc(role->tasks, role->task_cap, sizeof(*role->tasks));
	}
	if (role->task_cap > work->cap) {
		work->tasks = mem_realloc(work->tasks, role->task_cap, sizeof(*work->tasks));
		memset(work->tasks + work->cap, 0, (role->task_cap - work->cap) * sizeof(*work->tasks));
		work->cap = role->task_cap;
	}
}

void role_append_task(struct reconcile *reconcile, size_t role)
{
	struct framework *framework = reconcile->framework;
	struct role_status *status = &framework->status.attempt.roles[role];
	struct role_work *work = &framework->roles[role];
	size_t index = status->task_count;

	role_reserve(status, work, index + 1);
	task_begin(reconcile, &status->tasks[index]);
	status->task_count++;
	count_task(work, &status->tasks[index], 1);
	framework_touch(reconcile, WRITE_NOW);
	work->tasks[index].decided = framework->version;
}

void role_replace_task(struct reconcile *reconcile, size_t role, size_t index)
{
	struct framework *framework = reconcile->framework;
	struct task_status *task = &framework->status.attempt.roles[role].tasks[index];

	count_task(&framework->roles[role], task, -1);
	task_status_free(task);
	task_begin(reconcile, task);
	count_task(&framework->roles[role], task, 1);
	framework_touch(reconcile, WRITE_NOW);
	framework->roles[role].tasks[index].decided = framework->version;
}

void role_remove_last_task(struct framework *framework, size_t role)
{
	struct role_status *status = &framework->status.attempt.roles[role];
	struct task_status *task = &status->tasks[status->task_count - 1];

	count_task(&framework->roles[role], task, -1);
	task_status_free(task);
	status->task_count--;
}

size_t framework_append_role(struct reconcile *reconcile, const char *name, int64_t graceful_timeout_sec)
{
	struct framework *framework = reconcile->framework;
	struct framework_attempt_status *attempt = &framework->status.attempt;
	size_t role = attempt->role_count++;

	attempt->roles = mem_realloc(attempt->roles, attempt->role_count, sizeof(*attempt->roles));
	framework->roles = mem_realloc(framework->roles, attempt->role_count, sizeof(*framework->roles));
	attempt->roles[role] = (struct role_status){
		.name = mem_strdup(name),
		.instance_uid = new_uuid(reconcile),
		.pod_graceful_deletion_timeout_sec = graceful_timeout_sec,
	};
	framework->roles[role] = (struct role_work){0};
	framework_touch(reconcile, WRITE_NOW);
	return role;
}

void framework_remove_role(struct framework *framework, size_t role)
{
	struct framework_attempt_status *attempt = &framework->status.attempt;
	size_t last = attempt->role_count - 1;

	role_status_free(&attempt->roles[role]);
	free(framework->roles[role].tasks);
	attempt->roles[role] = attempt->roles[last];
	framework->roles[role] = framework->roles[last];
	attempt->role_count--;
}

static void free_role_work(struct framework *framework)
{
	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		free(framework->roles[r].tasks);
	free(framework->roles);
	framework->roles = NULL;
}

static void forget_shortening(struct framework *framework)
{
	framework->shorten_step = SHORTEN_NOTHING;
	framework->shortened = false;
	framework->shortened_reported = false;
	framework->text_bytes = 0;
	framework->status_max = 0;
}

void framework_new_attempt(struct reconcile *reconcile, int32_t id)
{
	struct framework *framework = reconcile->framework;
	struct framework_attempt_status *attempt = &framework->status.attempt;
	enum gang_scheduler former = attempt->gang;

	free_role_work(framework);
	framework_attempt_status_free(attempt);
	forget_shortening(framework);
	framework->waits_reported = 0;
	framework->inherited = false;
	owned_attempt_begins(framework);
	slots_forget_lost(framework);
	attempt->id = id;
	attempt->gang = framework->spec.gang.scheduler;
	if (attempt->gang != former) /* it is in them */
		pod_templates_free(framework);
	attempt->start_time = reconcile->now_sec;
	for (size_t r = 0; r < framework->spec.role_count; r++) {
		const struct task_role_spec *spec = &framework->spec.roles[r];
		size_t role = framework_append_role(reconcile, spec->name, spec->pod_graceful_deletion_timeout_sec);

		if (framework->spec.too_many_tasks)
			continue;
		role_reserve(&attempt->roles[role], &framework->roles[role], (size_t)spec->task_number);
		for (int32_t i = 0; i < spec->task_number; i++)
			role_append_task(reconcile, role);
	}
	framework->scale = framework->spec.too_many_tasks; /* which then says so */
	framework_touch(reconcile, WRITE_NOW);
	framework->sweep = true;
}

void task_new_attempt(struct reconcile *reconcile, size_t role, size_t index)
{
	struct task_status *task = &reconcile->framework->status.attempt.roles[role].tasks[index];

	task_attempt_status_free(&task->attempt);
	task->attempt.id = task->retry.total;
	task->attempt.start_time = reconcile->now_sec;
}

/* ---- the Framework ---- */

struct framework *framework_new(const char *ns, const char *name)
{
	struct framework *framework = mem_calloc(1, sizeof(*framework));

	framework->ns = mem_strdup(ns);
	framework->name = mem_strdup(name);
	framework->config_map.kind = SLOT_CONFIG_MAP;
	framework->config_map.name = mem_printf("%s-attempt", name);
	for (int i = 0; i < OWNED_KINDS; i++)
		framework->owned[i].kind = (enum slot_kind)(SLOT_SERVICE + i);
	pace_forget(framework);
	framework->sweep_at_ms = INT64_MAX;
	return framework;
}

/* A namesake has Events of its own, and a status of its own size. */
static void forget_reports(struct framework *framework)
{
	framework->compress_always = false;
	framework->compress_reported = false;
	framework->body_refused_len = 0;
	framework->body_refused_reported = false;
	framework->too_many_reported = 0;
	mem_replace(&framework->refused, NULL);
	framework->refused_again_ms = 0;
	for (int i = 0; i < OWNED_KINDS; i++)
		framework->owned_work[i].reported_ms = 0;
}

void framework_forget(struct framework *framework)
{
	free_role_work(framework);
	framework_status_free(&framework->status);
	kueue_forget(framework);
	forget_shortening(framework);
	framework->has_status = false;
	framework->inherited = false;
	framework->hold = 0;
	framework->written = framework->version;
	pace_forget(framework);
	framework->retention_sent = false;
	forget_reports(framework);
	fence_forget(framework);
	backoff_reset(&framework->creates);
	backoff_reset(&framework->config_map_creates);
	backoff_reset(&framework->others);
	backoff_reset(&framework->owned_calls);
	framework->owned_awaited = false;
	framework->create_window = 0;
	framework->lowest_first = false;
	framework->sweep = true;
	framework->sweep_at_ms = INT64_MAX;
	framework->scale = true;
}

/* Its author may have created objects since a GET has shown that there were none. */
static void forget_confirmed(struct framework *framework)
{
	slot_news(&framework->config_map);
	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		slot_news(slot);
}

void framework_adopt_status(struct framework *framework, struct framework_status *status)
{
	uint64_t version = ++framework->version;

	if (!framework->has_status || framework->status.attempt.id != status->attempt.id)
		owned_attempt_begins(framework);
	free_role_work(framework);
	framework_status_free(&framework->status);
	pod_templates_free(framework); /* they contain the admission, and the attempt's gang */
	framework->status = *status;
	*status = (struct framework_status){0};
	forget_shortening(framework);
	framework->text_bytes = attempt_text_bytes(&framework->status.attempt);
	framework->has_status = true;
	framework->inherited = true;
	framework->roles = mem_calloc(framework->status.attempt.role_count, sizeof(*framework->roles));
	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		struct role_status *role = &framework->status.attempt.roles[r];

		framework->roles[r] = role_count(role);
		framework->roles[r].cap = role->task_cap;
		framework->roles[r].tasks = mem_calloc(role->task_cap, sizeof(struct task_work));
		for (size_t i = 0; i < role->task_count; i++)
			framework->roles[r].tasks[i].decided = version;
	}
	forget_confirmed(framework);
	/* The status that was read is the one that is stored. */
	framework->written = version;
	pace_forget(framework);
	framework->hold = 0;
	framework->decided = version;
	framework->sweep = true;
	framework->scale = true;
}

void framework_free(struct framework *framework)
{
	struct slot *slot;
	struct slot *next;

	if (framework == NULL)
		return;
	HASH_ITER(hh, framework->slots, slot, next)
		slot_delete(framework, slot);
	slot_free_parts(&framework->config_map);
	for (int i = 0; i < OWNED_KINDS; i++)
		slot_free_parts(&framework->owned[i]);
	free(framework->config_map_end);
	framework_forget(framework);
	pod_templates_free(framework);
	kueue_free(framework);
	free(framework->task_texts);
	framework_spec_free(&framework->spec);
	free(framework->ns);
	free(framework->name);
	free(framework->uid);
	free(framework->gone_version);
	free(framework->resource_version);
	free(framework->metadata_text);
	free(framework->spec_text);
	free(framework->problem);
	free(framework->refused);
	free(framework);
}
