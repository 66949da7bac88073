/* Frameworks at rest, folded: the statuses of their Tasks, and what is known of their Pods, packed into a few bytes for
 * each (common/base/pack.h). Most Frameworks run for hours without news. */
#ifndef SYNC_FOLD_H
#define SYNC_FOLD_H

#include "reconciler/sync/state.h"

/* More Tasks are not folded: to unfold them for each piece of news would take milliseconds. A byte counts them. */
enum { FOLD_TASKS_MAX = 200 };

/* Folds the Framework if nothing of it is on the way, nothing is to be written, and none of its Tasks has an outcome.
 * Until framework_unfold() only what is outside status.attempt.roles[].tasks and slots may be looked at. Returns
 * whether it is folded. */
bool framework_fold(struct framework *framework);
/* Everything is as it was before. Does nothing to one that is not folded. */
void framework_unfold(struct framework *framework);

#endif
