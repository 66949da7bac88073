/* Times as Kubernetes writes them (clock.h): what is written can be read again, in every year. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/mem.h"

static void test_both_ways(void **state)
{
	static const char *const times[] = {"0001-01-01T00:00:00Z", "0224-01-02T03:04:05Z", "1969-12-31T23:59:59Z",
					    "2024-02-29T12:00:00Z", "9999-12-31T23:59:59Z"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		char out[TIME_RFC3339_SIZE];
		int64_t seconds;

		assert_int_equal(time_parse_rfc3339(times[i], &seconds), 0);
		assert_string_equal(time_format_rfc3339(seconds, out), times[i]);
	}
}

static void test_offsets_and_fractions(void **state)
{
	int64_t seconds;

	(void)state;
	assert_int_equal(time_parse_rfc3339("2024-01-02T03:04:05.123456789+02:30", &seconds), 0);
	assert_int_equal(seconds, 1704155645);
	assert_int_equal(time_parse_rfc3339("2016-12-31T23:59:60Z", &seconds), 0);
	assert_int_equal(seconds, 1483228800);
	assert_int_equal(time_parse_rfc3339("2024-01-01t00:34:05-00:00", &seconds), 0);
	assert_int_equal(seconds, 1704069245);
}

static void test_refused(void **state)
{
	static const char *const times[] = {
		"",
		"2024-01-02",
		"2024-01-02T03:04:05",
		"2024-13-02T03:04:05Z",
		"2024-01-02T24:04:05Z",
		"2024-01-02T03:04:05.Z",
		"2024-01-02T03:04:05Zx",
		"2024-01-02T03:04:05+2:00",
		"2024-01-02T03:04:05+",
		"0000-12-31T23:59:59Z",
		"0001-01-01T00:00:00+01:00",
		"9999-12-31T23:59:59-01:00", /* of the year 10000, which would take five digits */
		" 024-01-02T03:04:05Z",
		"2021-02-29T00:00:00Z",
		"2024-02-30T00:00:00Z",
		"2024-04-31T23:59:59+01:00",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		int64_t seconds = 7;

		assert_int_equal(time_parse_rfc3339(times[i], &seconds), -1);
		assert_int_equal(seconds, 7);
	}
}

/* Every day of four centuries, and the ends of what can be written, as the C library has them. */
static void test_format_every_day(void **state)
{
	const int64_t first = -62135596800;
	const int64_t last = 253402300799;
	const int64_t from = -11676096000; /* 1600-01-01 */

	(void)state;
	for (int64_t day = -1; day < 146100; day++) {
		int64_t seconds = day < 0 ? first : day == 146099 ? last : from + day * 86400 + day % 86400;
		time_t at = (time_t)seconds;
		char expected[TIME_RFC3339_SIZE + 32];
		char out[TIME_RFC3339_SIZE];
		struct tm utc;

		assert_non_null(gmtime_r(&at, &utc));
		snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02dZ", utc.tm_year + 1900,
			 utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
		assert_string_equal(time_format_rfc3339(seconds, out), expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format_every_day),
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_offsets_and_fractions),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
