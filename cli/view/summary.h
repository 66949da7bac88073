/* A Framework in one line, as lists of Frameworks show it. */
#ifndef CLI_VIEW_SUMMARY_H
#define CLI_VIEW_SUMMARY_H

#include <stdint.h>

#include "cli/view/framework.h"
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
	enum tone tone;        /* of the state */
};

/* With what the inquiry knows; of Pods and Events it need not know anything. Free with summary_free(). */
void summary_read(const struct inquiry *inquiry, struct summary *out);
void summary_free(struct summary *summary);

#endif
