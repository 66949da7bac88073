/* The parts that the command lines of all programs share, including programs without the common options. */
#ifndef PROCESS_ARGUMENTS_H
#define PROCESS_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

/* For programs that take options only. Call it after getopt_long(). 0; -1: an argument is left, which is reported on
 * stderr. */
int process_no_arguments(const char *program, int argc, char **argv);

/* The number of an option, which is named without its dashes. 0 and *out; -1: it is no number in min..max, which is
 * reported on stderr. */
int process_number(const char *program, const char *option, const char *text, int64_t min, int64_t max, int64_t *out);

/* The level of -v, which klog's programs also take as -v=4. The same results. */
int process_verbosity(const char *program, const char *text, int64_t *out);

/* The exit code for the result of reading the command line that is not 0: prints the usage if it is 1 (--help). */
int process_usage(int result, const char *usage);

#endif
