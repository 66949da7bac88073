/* A Framework in one line, as lists of Frameworks show it. */
#ifndef CLI_VIEW_SUMMARY_H
#define CLI_VIEW_SUMMARY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/view/framework.h"
#include "cli/view/reasons.h"
#include "cli/view/tree.h"

struct summary {
	char *ns;
	char *name;
	char *state;      /* short; "-" before there is a status */
	const char *kind; /* of struct why */
	char *why;        /* its brief form */
	char *code;       /* "", or the code and phrase of the present attempt */
	struct task_counts counts;
	int32_t retries;
	int64_t creation_time; /* unix seconds, 0: none */
	int64_t changed_time;  /* of the latest step, likewise */
	enum tone tone;        /* of the state */
	bool by_events;        /* the status does not contain the reason: Events may, now or later */
	bool over;             /* the controller does nothing more for it */
	bool by_time;          /* the reason may change by time alone */
};

/* From the Framework and, if its status does not contain the reason, from its Events. now: unix seconds. Free with
 * summary_free(). */
void summary_read(const struct framework_view *view, const struct reasons *reasons, int64_t now, struct summary *out);
/* Reads it again if Events or time may change it. object: of the Framework. Returns whether it has changed. */
bool summary_renew(struct summary *summary, json_t *object, const struct reasons *reasons, int64_t now);
void summary_free(struct summary *summary);

#endif
