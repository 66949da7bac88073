/* Folds the Frameworks to which nothing happens (sync/fold.h), and unfolds them; see reconciler.h. */
#include <malloc.h>
#include <utlist.h>

#include "reconciler/reconciler.h"
#include "reconciler/sync/fold.h"

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

void rest_begin(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	framework_unfold(item->framework);
	if (item->orphan)
		return;
	rest_end(item);
	item->resting = true;
	item->rested_ms = reconciler->ports.boot_ms(reconciler->ports.context);
	DL_APPEND2(reconciler->resting, item, prev_resting, next_resting);
}

static bool is_due(const struct reconciler *reconciler, int64_t now_ms)
{
	return reconciler->resting != NULL && now_ms - reconciler->resting->rested_ms >= reconciler->rest_ms;
}

/* The reconcile of one that is not at rest begins its rest anew. */
static bool at_rest(const struct item *item)
{
	return !item->queued && item->calls_on_way == 0 && !item->writing;
}

bool rest_fold(struct reconciler *reconciler)
{
	int64_t now_ms = reconciler->ports.boot_ms(reconciler->ports.context);

	for (int i = 0; i < FOLDED_AT_ONCE && is_due(reconciler, now_ms); i++) {
		struct item *item = reconciler->resting;

		rest_end(item);
		if (at_rest(item) && framework_fold(item->framework))
			reconciler->folded++;
	}
	if (is_due(reconciler, now_ms))
		return true;
	if (reconciler->folded >= FOLDED_TO_TRIM) {
		malloc_trim(0);
		reconciler->folded = 0;
	}
	return false;
}
