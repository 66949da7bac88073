/* Folds the Frameworks to which nothing happens (sync/fold.h), and unfolds them; see reconciler.h. */
#include <malloc.h>
#include <utlist.h>

#include "reconciler/reconciler.h"

enum {
	FOLDED_AT_ONCE = 64,  /* some ms of work */
	FOLDED_TO_TRIM = 256, /* so many give back so much memory that it is worth asking for it */
};

void rest_end(struct item *item)
{
	if (!item->resting)
		return;
	DL_DELETE2(item->reconciler->resting, item, prev_resting, next_resting);
	item->resting = false;
}

static bool idle(const struct item *item)
{
	return item->calls_on_way == 0 && !item->writing;
}

static void fold(struct item *item)
{
	item->interleaved = false;
	rest_end(item);
	item->folded = framework_fold(item->framework);
	if (item->folded == NULL)
		return;
	item->framework = NULL;
	item->reconciler->folded++;
}

static void unfold(struct item *item)
{
	item->framework = framework_unfold(item->folded);
	item->folded = NULL;
	if (item->unseen_due)
		framework_set_unseen(item->framework);
	if (item->fence_due)
		framework_fence(item->framework);
	item->unseen_due = false;
	item->fence_due = false;
}

struct framework *item_framework(struct item *item)
{
	if (item->folded != NULL)
		unfold(item);
	return item->framework;
}

/* A snapshot mostly shows the Pods of one Framework after the other: nothing happens to any before its end. One whose
 * Pods come in several runs is folded once, and then stays unfolded until the snapshot is over. */
static void fold_former(struct reconciler *reconciler, const struct item *present)
{
	struct item *former = reconciler->resting == NULL ? NULL : reconciler->resting->prev_resting;

	if (former != NULL && former != present && !former->interleaved &&
	    !shard_set_has(&reconciler->ready, former->shard) && idle(former))
		fold(former);
}

void rest_begin(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	if (item->folded != NULL && !item->unseen_due && !shard_set_has(&reconciler->ready, item->shard))
		item->interleaved = true;
	item_framework(item);
	if (item->orphan)
		return;
	fold_former(reconciler, item);
	rest_end(item);
	item->resting = true;
	item->rested_ms = reconciler->ports.boot_ms(reconciler->ports.context);
	DL_APPEND2(reconciler->resting, item, prev_resting, next_resting);
}

static bool is_due(const struct reconciler *reconciler, int64_t now_ms)
{
	return reconciler->resting != NULL && now_ms - reconciler->resting->rested_ms >= reconciler->rest_ms;
}

void rest_resume(struct item *item)
{
	if (item->framework->exists && idle(item))
		fold(item);
}

bool rest_fold(struct reconciler *reconciler)
{
	int64_t now_ms = reconciler->ports.boot_ms(reconciler->ports.context);

	for (int i = 0; i < FOLDED_AT_ONCE && is_due(reconciler, now_ms); i++) {
		struct item *item = reconciler->resting;

		/* the reconcile of one that is queued begins its rest anew */
		if (!item->queued && idle(item))
			fold(item);
		else
			rest_end(item);
	}
	if (is_due(reconciler, now_ms))
		return true;
	if (reconciler->folded >= FOLDED_TO_TRIM) {
		malloc_trim(0);
		reconciler->folded = 0;
	}
	return false;
}
