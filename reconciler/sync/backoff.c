/* retryPolicy.backoff (CONTRACT.md §9): how long retries in a row wait; see rules.h. */
#include "common/base/backoff.h"
#include "reconciler/sync/rules.h"

void retry_backoff_reset(const struct retry_backoff *backoff, struct retry_status *status, int64_t run_time,
			 int64_t completion_time)
{
	if (backoff->initial_sec > 0 && run_time != 0 && completion_time - run_time >= backoff->reset_after_sec)
		status->backoff_count = 0;
}

/* What the clocks of two machines, or a machine's before and after NTP's correction, may differ by. */
enum { CLOCK_SKEW_SEC = 60 };

bool delay_over(int64_t now_sec, int64_t since_sec, int64_t delay_sec)
{
	return now_sec >= since_sec + delay_sec || now_sec < since_sec - CLOCK_SKEW_SEC;
}

int64_t retry_backoff_sec(const struct retry_backoff *backoff, struct retry_status *status, int64_t run_time,
			  int64_t completion_time)
{
	if (backoff->initial_sec == 0)
		return 0;
	retry_backoff_reset(backoff, status, run_time, completion_time);
	return backoff_doubled(backoff->initial_sec, status->backoff_count++, backoff->max_sec);
}
