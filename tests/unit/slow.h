/* Bounds of real time in tests, which a tool that makes everything slower sets apart: TEST_SLOW is how many times. */
#ifndef TESTS_SLOW_H
#define TESTS_SLOW_H

#include <stdint.h>
#include <stdlib.h>

static inline long slow_times(void)
{
	const char *times = getenv("TEST_SLOW");

	return times == NULL ? 1 : strtol(times, NULL, 10);
}

static inline int64_t allowed_ms(int64_t ms)
{
	return ms * slow_times();
}

static inline double allowed_s(double seconds)
{
	return seconds * (double)slow_times();
}

#endif
