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

void summary_read(const struct inquiry *inquiry, struct summary *out)
{
	const struct framework_view *view = inquiry->framework;
	const struct completion *completion = view->begun ? view->status.attempt.completion : NULL;
	const char *state = framework_view_state(view);
	struct why why;

	why_explain(inquiry, &why);
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
		.tone = tone_of_summary(view, why.kind),
	};
	why_free(&why);
}

void summary_free(struct summary *summary)
{
	free(summary->ns);
	free(summary->name);
	free(summary->state);
	free(summary->why);
	free(summary->code);
}
