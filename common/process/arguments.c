/* Command lines; see arguments.h. */
#include "common/process/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/process/process.h"

int process_no_arguments(const char *program, int argc, char **argv)
{
	if (optind == argc)
		return 0;
	fprintf(stderr, "%s: unexpected argument \"%s\". Try %s --help.\n", program, argv[optind], program);
	return -1;
}

int process_number(const char *program, const char *option, const char *text, int64_t min, int64_t max, int64_t *out)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < min || value > max) {
		fprintf(stderr, "%s: %s%s %s: expected a number %" PRId64 "..%" PRId64 "\n", program,
			option[1] == '\0' ? "-" : "--", option, text, min, max);
		return -1;
	}
	*out = value;
	return 0;
}

int process_verbosity(const char *program, const char *text, int64_t *out)
{
	return process_number(program, "v", *text == '=' ? text + 1 : text, 0, LOG_VERBOSITY_MAX, out);
}

int process_usage(int result, const char *usage)
{
	if (result > 0)
		fputs(usage, stdout);
	return result > 0 ? EXIT_SUCCESS : EXIT_BAD_USE;
}
