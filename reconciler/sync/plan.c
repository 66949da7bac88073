/* Filling and emptying plans; see plan.h. */
#define _GNU_SOURCE
#include "reconciler/sync/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"

void plan_reset(struct plan *plan)
{
	for (size_t i = 0; i < plan->call_count; i++) {
		free(plan->calls[i].name);
		free(plan->calls[i].uid);
		free(plan->calls[i].version);
	}
	for (size_t i = 0; i < plan->snapshot_count; i++)
		free(plan->snapshots[i].text);
	for (size_t i = 0; i < plan->event_count; i++)
		free(plan->events[i].message);
	free(plan->calls);
	free(plan->snapshots);
	free(plan->events);
	*plan = (struct plan){.wake_ms = INT64_MAX};
}

enum call_verb call_verb(enum call_kind kind)
{
	switch (kind) {
	case CALL_CREATE_CONFIG_MAP:
	case CALL_CREATE_POD:
	case CALL_CREATE_OWNED: return VERB_CREATE;
	case CALL_PATCH_OWNED:
	case CALL_PATCH_OWNED_STATUS: return VERB_PATCH;
	case CALL_DELETE_CONFIG_MAP:
	case CALL_DELETE_POD:
	case CALL_DELETE_OWNED:
	case CALL_DELETE_FRAMEWORK: return VERB_DELETE;
	default: return VERB_GET;
	}
}

void plan_call(struct plan *plan, enum call_kind kind, const char *name, const char *uid, bool force)
{
	if (plan->call_count == plan->call_cap) {
		plan->call_cap = plan->call_cap == 0 ? 8 : plan->call_cap * 2;
		plan->calls = mem_realloc(plan->calls, plan->call_cap, sizeof(*plan->calls));
	}
	plan->calls[plan->call_count++] = (struct call){
		.kind = kind, .name = mem_strdup(name), .uid = mem_strdup(uid), .force = force};
}

void plan_snapshot(struct plan *plan, const struct plan_snapshot *snapshot)
{
	if (plan->snapshot_count == plan->snapshot_cap) {
		plan->snapshot_cap = plan->snapshot_cap == 0 ? 8 : plan->snapshot_cap * 2;
		plan->snapshots = mem_realloc(plan->snapshots, plan->snapshot_cap, sizeof(*plan->snapshots));
	}
	plan->snapshots[plan->snapshot_count++] = *snapshot;
}

void plan_snapshot_write(const struct plan_snapshot *snapshot, struct buf *out)
{
	buf_append(out, snapshot->text, snapshot->spec_at);
	buf_append(out, snapshot->spec, snapshot->spec_len);
	buf_puts(out, snapshot->text + snapshot->spec_at);
}

void plan_event(struct plan *plan, bool warning, const char *reason, const char *format, ...)
{
	va_list args;
	char *message;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		mem_exhausted();
	va_end(args);
	plan->events = mem_realloc(plan->events, plan->event_count + 1, sizeof(*plan->events));
	plan->events[plan->event_count++] = (struct plan_event){warning, reason, message};
}

void plan_wake(struct plan *plan, int64_t at_ms)
{
	if (at_ms < plan->wake_ms)
		plan->wake_ms = at_ms;
}
