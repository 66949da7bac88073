/* See summary.h. */
#include "cli/view/summary.h"

#include <stdlib.h>
#include <string.h>

#include "cli/view/why.h"
#include "common/base/mem.h"

static enum tone tone_of_summary(const struct framework_view *view, const char *kind)
{
	if (view->problem != NULL ||
	    (view->begun && view->status.state == STATE_COMPLETED && view->status.attempt.completion != NULL &&
	     !view->status.attempt.completion->succeeded))
		return TONE_BAD;
	return strcmp(kind, "running") == 0 || strcmp(kind, "succeeded") == 0 ? TONE_GOOD : TONE_WAITS;
}

/* The Framework alone does not show why these wait: its Tasks, those that others of them wait for, or it as a whole for
 * its ConfigMap. */
static bool is_vague(const struct framework_view *view, const char *kind)
{
	return strcmp(kind, wait_row(WAIT_PENDING)->name) == 0 || strcmp(kind, wait_row(WAIT_CREATION)->name) == 0 ||
	       strcmp(kind, wait_row(WAIT_DEPENDS)->name) == 0 ||
	       (strcmp(kind, "between") == 0 && view->status.state <= STATE_CREATION_REQUESTED);
}

void summary_read(const struct framework_view *view, const struct reasons *reasons, int64_t now, struct summary *out)
{
	struct inquiry inquiry = {.framework = view, .now = now};
	const struct completion *completion = view->begun ? view->status.attempt.completion : NULL;
	const char *state = framework_view_state(view);
	bool by_events;
	struct why why;

	why_explain(&inquiry, &why);
	by_events = is_vague(view, why.kind);
	inquiry.events = by_events ? reasons_of(reasons, view->uid) : NULL;
	if (inquiry.events != NULL) {
		why_free(&why);
		why_explain(&inquiry, &why);
	}
	*out = (struct summary){
		.ns = mem_strdup(view->ns),
		.name = mem_strdup(view->name),
		.state = mem_strdup(*state == '\0' ? "-" : state_brief(state)),
		.kind = why.kind,
		.why = mem_strdup(why.brief),
		.code = completion == NULL ? mem_strdup("")
					   : mem_printf("%d %s", (int)completion->code, completion->phrase),
		.counts = framework_view_count(view),
		.retries = view->begun ? view->status.retry.total : 0,
		.creation_time = view->creation_time,
		.changed_time = framework_view_changed(view),
		.tone = tone_of_summary(view, why.kind),
		.by_events = by_events,
		.over = view->managed_by != NULL || (view->begun && view->status.state == STATE_COMPLETED),
		.by_time = strcmp(why.kind, "new") == 0,
	};
	why_free(&why);
}

bool summary_renew(struct summary *summary, json_t *object, const struct reasons *reasons, int64_t now)
{
	struct framework_view view;
	struct summary new;
	bool changed = false;

	if (!summary->by_events && !summary->by_time)
		return false;
	if (framework_view_read(object, &view, NULL) == 0) {
		summary_read(&view, reasons, now, &new);
		changed = strcmp(new.kind, summary->kind) != 0 || strcmp(new.why, summary->why) != 0;
		summary_free(summary);
		*summary = new;
	}
	framework_view_free(&view);
	return changed;
}

void summary_free(struct summary *summary)
{
	free(summary->ns);
	free(summary->name);
	free(summary->state);
	free(summary->why);
	free(summary->code);
}
