/* Frameworks at rest, folded: all that is known of them, packed into a few bytes (common/base/pack.h). Most Frameworks
 * run for hours without news. */
#ifndef SYNC_FOLD_H
#define SYNC_FOLD_H

#include "reconciler/sync/state.h"

/* More Tasks are not folded: to unfold them for each piece of news would take milliseconds. A byte counts them. */
enum { FOLD_TASKS_MAX = 200 };

/* A folded Framework. The members that metrics count stay readable. */
struct folded {
	bool exists;
	bool has_status;
	bool suspended;
	unsigned char state;              /* enum attempt_state */
	unsigned char tasks[STATE_COUNT]; /* how many of each state */
	unsigned char packed[];
};

/* Folds the Framework if nothing of it is on the way, nothing is to be written, and none of its Tasks has an outcome;
 * frees it then. NULL: it stays as it is. Free with framework_unfold(). */
struct folded *framework_fold(struct framework *framework);
/* The Framework as it was. Frees what it was folded to. */
struct framework *framework_unfold(struct folded *folded);

#endif
