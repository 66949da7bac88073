/* Why a Framework is as it is: one paragraph, the evidence for it, and what to do. */
#ifndef CLI_VIEW_WHY_H
#define CLI_VIEW_WHY_H

#include <jansson.h>
#include <stddef.h>

#include "cli/view/wait.h"

struct why_fact {
	char *source; /* where it is from: "status.state", "Pod hello-worker-0", "Event FailedCreatePod" */
	char *text;   /* of one line or several */
};

struct why_advice {
	char *text;    /* a sentence */
	char *command; /* to be copied into a shell, or NULL */
};

/* Texts can contain anything that the cluster says; only their printer makes them safe. */
struct why {
	const char *kind; /* one stable word for programs: "unschedulable", "failed"; README.md has all */
	char *brief;      /* a few words, for a column */
	char *answer;     /* one paragraph */
	struct why_fact *facts;
	size_t fact_count;
	struct why_advice *advice;
	size_t advice_count;
};

/* Answers with what the inquiry knows. Never fails. Free with why_free(). */
void why_explain(const struct inquiry *inquiry, struct why *out);
void why_free(struct why *why);
/* {"name", "namespace", "kind", "answer", "evidence": [{"source", "text"}], "advice": [{"text", "command"}]}. The
 * caller decrefs. */
json_t *why_json(const struct framework_view *framework, const struct why *why);

#endif
