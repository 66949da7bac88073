/* Files and directories of a test: below the runner's directory, which goes with the run whatever becomes of the test.
 */
#ifndef TESTS_UNIT_TEMP_H
#define TESTS_UNIT_TEMP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of a path in the result; short enough that a socket in the directory has an address (unix(7)). */
enum { TEMP_PATH_SIZE = 80 };

static inline void temp_path(char path[TEMP_PATH_SIZE])
{
	const char *room = getenv("TMPDIR");

	assert_true(snprintf(path, TEMP_PATH_SIZE, "%s/test.XXXXXX", room == NULL ? "/tmp" : room) < TEMP_PATH_SIZE);
}

/* A new directory; the test removes what is in it, so that it sees what it leaves. */
static inline void temp_directory(char path[TEMP_PATH_SIZE])
{
	temp_path(path);
	assert_non_null(mkdtemp(path));
}

/* A new file, open for writing. */
static inline int temp_file(char path[TEMP_PATH_SIZE])
{
	int fd;

	temp_path(path);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	return fd;
}

#endif
