/* Bounds of time in tests, which a tool that makes everything slower sets apart: TEST_SLOW is how many times. */
#ifndef TESTS_SLOW_H
#define TESTS_SLOW_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline long slow_times(void)
{
	const char *times = getenv("TEST_SLOW");

	return times == NULL ? 1 : strtol(times, NULL, 10);
}

static inline int64_t allowed_ms(int64_t ms)
{
	return ms * slow_times();
}

/* What the process has used. */
static inline int64_t cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline double allowed_s(double seconds)
{
	return seconds * (double)slow_times();
}

#endif
