/* The Frameworks that the bench works with, and a little arithmetic; see bench.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tests/bench/tool/bench.h"

/* As submit_many of tests/e2e/lib/scenario.sh makes them: the figures are comparable. */
void bench_framework(struct buf *out, const struct bench_options *options, size_t index)
{
	buf_printf(out,
		   "{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"kind\":\"Framework\",\"metadata\":{"
		   "\"name\":\"%s%zu\"},\"spec\":{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":%" PRId64
		   ",\"task\":{\"pod\":{\"metadata\":{\"annotations\":{",
		   options->prefix, index, options->tasks);
	if (options->run_seconds >= 0)
		buf_printf(out, "\"testkubelet/run-seconds\":\"%" PRId64 "\"", options->run_seconds);
	buf_puts(out,
		 "}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}]}}");
}

static int compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a;
	int64_t right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

int64_t bench_percentile(int64_t *values, size_t count, double hundredths)
{
	size_t index;

	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), compare);
	index = (size_t)ceil((double)count * hundredths / 100);
	return values[index == 0 ? 0 : index - 1];
}
