/* What may be done under the present grant, and on what is not persisted yet (CONTRACT.md §12.4, §12.14); see rules.h.
 *
 *               framework_fence                    framework_fence
 *     FENCE_NEW ───────────────▶ FENCE_FORMER      ┌─────────────────▶ FENCE_RENEWED
 *         │                           │            │                         │
 *         └───────────────────────────┴───▶ FENCE_PASSED ◀───────────────────┘
 *                         fence_pass: a write has succeeded
 *
 * fence_forget (the object is gone, or has a namesake) leads back to the left: nothing stored is ours. */
#include "reconciler/sync/rules.h"

bool framework_fenced(const struct framework *framework)
{
	return framework->fence == FENCE_FORMER || framework->fence == FENCE_RENEWED;
}

bool fence_proven(const struct framework *framework)
{
	return framework->fence == FENCE_PASSED || framework->fence == FENCE_RENEWED;
}

void framework_fence(struct framework *framework)
{
	framework->fence = fence_proven(framework) ? FENCE_RENEWED : FENCE_FORMER;
	framework->sweep = true;
}

void fence_pass(struct framework *framework)
{
	framework->fence = FENCE_PASSED;
}

void fence_forget(struct framework *framework)
{
	framework->fence = framework_fenced(framework) ? FENCE_FORMER : FENCE_NEW;
}

/* Whether a write that is made for the fence alone would change nothing: then it makes no new version, and does not
 * keep out what a former owner sent on the present one, however late it comes. */
static bool fence_alone(const struct framework *framework)
{
	return framework_fenced(framework) && framework->version == framework->written;
}

bool framework_fence_mark(const struct framework *framework)
{
	return framework->status.fenced != fence_alone(framework);
}

bool reconcile_may_act(struct reconcile *reconcile, struct slot *slot, uint64_t decided)
{
	struct framework *framework = reconcile->framework;

	if (!framework_fenced(framework) && framework->written >= decided)
		return true;
	if (framework_fenced(framework))
		reconcile->fence_wanted = true;
	if (slot->kind == SLOT_POD)
		slot_mark_waiting(framework, slot);
	return false;
}
