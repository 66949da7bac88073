/* --version; see release.h. */
#include "common/base/release.h"

#include <stdio.h>
#include <stdlib.h>

void release_print(const char *program)
{
	printf("%s %s\n", program, RELEASE);
	exit(EXIT_SUCCESS);
}
