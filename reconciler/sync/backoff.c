/* retryPolicy.backoff (CONTRACT.md §9): how long retries in a row wait; see rules.h. */
#include "reconciler/sync/rules.h"

int64_t retry_backoff_sec(const struct retry_backoff *backoff, struct retry_status *status, int64_t run_time,
			  int64_t completion_time)
{
	int64_t delay_sec = backoff->initial_sec;

	if (delay_sec == 0)
		return 0;
	if (run_time != 0 && completion_time - run_time >= backoff->reset_after_sec)
		status->backoff_count = 0;
	for (int32_t i = 0; i < status->backoff_count && delay_sec < backoff->max_sec; i++)
		delay_sec *= 2;
	status->backoff_count++;
	return delay_sec < backoff->max_sec ? delay_sec : backoff->max_sec;
}
