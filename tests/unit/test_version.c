/* The order of resourceVersions over time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/version.h"

/* Once a second a version comes, of that second: what is settled is old enough, and at most twice as old. */
static void test_settled(void **state)
{
	const long settles = VERSION_SETTLED_MS / 1000;
	const long last = 20 * settles;
	struct version_mark mark = {0};

	(void)state;
	assert_string_equal(version_mark_settled(&mark, 5000), "");
	for (long second = 1; second <= last; second++) {
		char version[24];
		long settled;

		snprintf(version, sizeof(version), "%ld", second);
		version_mark_note(&mark, version, second * 1000);
		version_mark_note(&mark, "1", second * 1000);
		settled = strtol(version_mark_settled(&mark, second * 1000), NULL, 10);
		assert_true(settled <= second - settles || settled == 0);
		assert_true(settled >= second - 2 * settles - 1);
	}
	assert_true(strtol(version_mark_settled(&mark, last * 1000 + VERSION_SETTLED_MS - 1), NULL, 10) < last);
	assert_int_equal(strtol(version_mark_settled(&mark, last * 1000 + VERSION_SETTLED_MS), NULL, 10), last);
}

/* What is no version of ours, or too long to be one. */
static void test_ignored(void **state)
{
	struct version_mark mark = {0};

	(void)state;
	version_mark_note(&mark, NULL, 1);
	version_mark_note(&mark, "", 1);
	version_mark_note(&mark, "1234567890123456789012345678901234567890", 1);
	assert_string_equal(version_mark_settled(&mark, 1 + VERSION_SETTLED_MS), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
