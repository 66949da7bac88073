/* Of texts that commands and views write. */
#ifndef TESTS_UNIT_CLI_ASSERTS_H
#define TESTS_UNIT_CLI_ASSERTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define assert_contains(text, part)                                                      \
	do {                                                                             \
		const char *found_ = (text) == NULL ? "" : (text);                       \
		if (strstr(found_, (part)) == NULL)                                      \
			fail_msg("found \"%s\", expected \"%s\" in it", found_, (part)); \
	} while (0)

#endif
