/* Command lines; see arguments.h. */
#include "common/process/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/process/process.h"

int process_no_arguments(const char *program, int argc, char **argv)
{
	if (optind == argc)
		return 0;
	fprintf(stderr, "%s: unexpected argument \"%s\". Try %s --help.\n", program, argv[optind], program);
	return -1;
}

int process_usage(int result, const char *usage)
{
	if (result > 0)
		fputs(usage, stdout);
	return result > 0 ? EXIT_SUCCESS : EXIT_BAD_USE;
}
