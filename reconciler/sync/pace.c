/* When the status is written (CONTRACT.md §12.16): changes wait for each other, and large statuses are written less
 * often; see rules.h. */
#include "reconciler/sync/rules.h"

/* A pause after which a change is written as promptly as the first. */
enum { GATHER_FORGET_MS = 3000 };
/* WRITE_RUNNING and WRITE_UIDS doubled that often: 1.6 s and 4 s at most. */
enum { GATHERED_MAX = 3 };
/* Changes of an attempt's objects after its outcome wait for so long, to be written with its end. */
enum { WRITE_ENDING_MS = 4000 };
/* A write costs 10 to 20 us for each Task: here, on the API server, and with everyone who watches. One after the other
 * they would leave large Frameworks no time for anything else: this makes it a few per cent. Of 10 Tasks it is nothing
 * to speak of. While writes follow each other the time between them grows to four times as much. */
enum { SPACING_US_PER_TASK = 400, SPACING_MAX_MS = 4000, SPACING_DOUBLINGS = 2 };
/* Writes take long where the API server has much to do, the rate limit lets few requests through, or the loop gathers
 * answers. Pods that belong together are created, run and end further apart there: the first one of an attempt is
 * created before the others. So changes wait for at least that many times as long as a write takes. */
enum { PATIENCE_WRITES = 64, PATIENCE_DECISIVE_WRITES = 8, PATIENCE_MAX_MS = 4000 };

/* Whether changes of the attempt's objects decide nothing any more: everybody waits for its end. */
static bool attempt_ending(const struct framework *framework)
{
	return framework->status.attempt.completion != NULL && framework->status.state < STATE_ATTEMPT_COMPLETED;
}

static int64_t patience_ms(const struct write_pace *pace, const struct sync_time *time)
{
	int64_t patience_ms = time->write_ms * (pace->decisive ? PATIENCE_DECISIVE_WRITES : PATIENCE_WRITES);

	return patience_ms < PATIENCE_MAX_MS ? patience_ms : PATIENCE_MAX_MS;
}

/* From the last write to the next one, unless it is urgent. */
static int64_t spacing_ms(const struct write_pace *pace)
{
	unsigned doublings = pace->decisive || pace->gathered == 0 ? 0 : pace->gathered - 1;

	return pace->spacing_ms << (doublings < SPACING_DOUBLINGS ? doublings : SPACING_DOUBLINGS);
}

void framework_touch(struct reconcile *reconcile, int64_t delay_ms)
{
	struct framework *framework = reconcile->framework;
	struct write_pace *pace = &framework->pace;
	int64_t by;

	if (reconcile->time.boot_ms - pace->last_ms > GATHER_FORGET_MS + spacing_ms(pace))
		pace->gathered = 0;
	if (delay_ms > 0)
		delay_ms = attempt_ending(framework) ? WRITE_ENDING_MS : delay_ms << pace->gathered;
	if (delay_ms > 0 && delay_ms < patience_ms(pace, &reconcile->time))
		delay_ms = patience_ms(pace, &reconcile->time);
	by = reconcile->time.boot_ms + delay_ms;
	if (delay_ms > 0 && by < pace->last_ms + spacing_ms(pace))
		by = pace->last_ms + spacing_ms(pace);
	framework->version++;
	if (by < pace->by_ms)
		pace->by_ms = by;
}

void pace_hurry(struct framework *framework)
{
	framework->pace.by_ms = 0;
}

void pace_forget(struct framework *framework)
{
	framework->pace.by_ms = INT64_MAX;
}

static int64_t least_spacing_ms(const struct framework *framework)
{
	int64_t least_ms = 0;

	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		least_ms += (int64_t)framework->status.attempt.roles[r].task_count * SPACING_US_PER_TASK;
	least_ms /= 1000;
	return least_ms < SPACING_MAX_MS ? least_ms : SPACING_MAX_MS;
}

void pace_started(struct framework *framework, int64_t boot_ms)
{
	struct write_pace *pace = &framework->pace;

	pace->last_ms = boot_ms;
	pace->spacing_ms = least_spacing_ms(framework);
	pace->decisive = false;
	if (pace->gathered < GATHERED_MAX && framework->status.state != STATE_CREATION_PENDING)
		pace->gathered++;
	pace->by_ms = INT64_MAX;
}

void pace_decisive(struct framework *framework)
{
	if (!attempt_ending(framework))
		framework->pace.decisive = true;
}

void pace_addressed(struct framework *framework)
{
	framework->pace.addressed = framework->version;
}

void pace_arrived(struct framework *framework, const struct task_status *task)
{
	struct write_pace *pace = &framework->pace;

	if (task->state == STATE_COMPLETED && task->deletion_pending) /* those that stay may have arrived before */
		pace->running = pace->ending = pace->over = framework->version;
	else if (task->state == STATE_RUNNING)
		pace->running = framework->version;
	else if (task->state == STATE_DELETION_PENDING)
		pace->ending = framework->version;
	else if (task->state == STATE_ATTEMPT_COMPLETED)
		pace->over = framework->version;
}

/* Whether the Tasks that move together have all arrived, the last one since the last write: all that are not over run,
 * or all that ran have ended, or all that ended are to be retried, and none is on its way out; or all that are to run
 * have their IPs. */
static bool gathered_all(const struct framework *framework)
{
	const struct write_pace *pace = &framework->pace;
	int32_t moving = 0;
	int32_t running = 0;
	int32_t ending = 0;
	int32_t over = 0;
	int32_t without_ip = 0;

	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		const struct role_work *work = &framework->roles[r];

		moving += work->live - work->running - work->ending - work->over - work->completed + work->leaving;
		running += work->running;
		ending += work->ending;
		over += work->over;
		without_ip += work->without_ip;
	}
	if (without_ip == 0 && framework->written < pace->addressed)
		return true;
	if (moving > 0 || (running > 0) + (ending > 0) + (over > 0) != 1)
		return false;
	return framework->written < (running > 0 ? pace->running : ending > 0 ? pace->ending : pace->over);
}

void pace_plan_write(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (reconcile->fence_wanted)
		reconcile->plan->write = true;
	if (framework->version == framework->written)
		return;
	if (reconcile->time.boot_ms >= framework->pace.by_ms || (!attempt_ending(framework) && gathered_all(framework)))
		reconcile->plan->write = true;
	else
		plan_wake(reconcile->plan, framework->pace.by_ms);
}
