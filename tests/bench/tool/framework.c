/* The Frameworks that the bench works with, and a little arithmetic; see bench.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/mem.h"
#include "tests/bench/tool/bench.h"

enum { LIKE_MAX_BYTES = 1024 * 1024 };

static void put_head(struct buf *out, const char *api_version, const char *kind, const struct bench_options *options,
		     size_t index)
{
	buf_printf(out, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s%zu\"},\"spec\":{",
		   api_version, kind, options->prefix, index);
}

/* The template's metadata, and the beginning of what follows it. */
static void put_metadata(struct buf *out, const struct bench_options *options)
{
	buf_puts(out, "\"metadata\":{\"annotations\":{");
	if (options->run_seconds >= 0)
		buf_printf(out, "\"testkubelet/run-seconds\":\"%" PRId64 "\"", options->run_seconds);
	buf_puts(out, "}},\"spec\":{");
}

/* The file, with this name wherever BENCH_LIKE stands. */
static void put_like(struct buf *out, const char *file, const char *name)
{
	cleanup_buf struct buf text = {0};
	const char *at;
	struct error err;

	if (file_read(file, LIKE_MAX_BYTES, &text, NULL, &err) < 0)
		bench_fail("%s", err.message);
	for (at = text.data; strstr(at, BENCH_LIKE) != NULL; at = strstr(at, BENCH_LIKE) + strlen(BENCH_LIKE)) {
		buf_append(out, at, (size_t)(strstr(at, BENCH_LIKE) - at));
		buf_puts(out, name);
	}
	buf_puts(out, at);
}

/* As submit_many of tests/e2e/lib/scenario.sh makes them: the figures are comparable. */
void bench_framework(struct buf *out, const struct bench_options *options, size_t index)
{
	if (options->like != NULL) {
		cleanup_free char *name = mem_printf("%s%zu", options->prefix, index);

		put_like(out, options->like, name);
		return;
	}
	put_head(out, "frameworkcontroller.microsoft.com/v1", "Framework", options, index);
	buf_printf(out, "\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":%" PRId64 ",\"task\":{\"pod\":{",
		   options->tasks);
	put_metadata(out, options);
	buf_puts(out, "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}]}}");
}

void bench_tfjob(struct buf *out, const struct bench_options *options, size_t index)
{
	put_head(out, "kubeflow.org/v1", "TFJob", options, index);
	buf_printf(out,
		   "\"successPolicy\":\"AllWorkers\",\"tfReplicaSpecs\":{\"Worker\":{\"replicas\":%" PRId64
		   ",\"template\":{",
		   options->tasks);
	put_metadata(out, options);
	buf_puts(out, "\"containers\":[{\"name\":\"tensorflow\",\"image\":\"i\"}]}}}}}}");
}

void bench_job(struct buf *out, const struct bench_options *options, size_t index)
{
	put_head(out, "batch/v1", "Job", options, index);
	buf_printf(out, "\"parallelism\":%" PRId64 ",\"completions\":%" PRId64 ",\"template\":{", options->tasks,
		   options->tasks);
	put_metadata(out, options);
	buf_puts(out, "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
}

/* What the statuses of Frameworks and of Tasks have in common, up to the attempt's instanceUID. */
static void put_state(struct buf *out, const char *state)
{
	buf_printf(out,
		   "\"startTime\":\"2026-01-01T00:00:00Z\",\"completionTime\":null,\"state\":\"%s\","
		   "\"transitionTime\":\"2026-01-01T00:00:00Z\",\"retryPolicyStatus\":{\"totalRetriedCount\":0,"
		   "\"accountableRetriedCount\":0,\"retryDelaySec\":null},\"attemptStatus\":{\"id\":0,\"startTime\":"
		   "\"2026-01-01T00:00:00Z\",\"runTime\":null,\"completionTime\":null,\"instanceUID\":",
		   state);
}

static void put_task(struct buf *out, int64_t index, bool ready)
{
	unsigned digits = (unsigned)index & 0xffff;

	buf_printf(out,
		   "%s{\"index\":%" PRId64 ",\"instanceUID\":\"3c1e8a44-6e0f-4c6b-9b51-0e1d8f6a%04x\","
		   "\"deletionPending\":false,",
		   index > 0 ? "," : "", index, digits);
	put_state(out, ready ? "AttemptRunning" : "AttemptPreparing");
	buf_printf(out,
		   "\"0_5d9a4b1f-57f6-4c0b-8f43-7a2e90c1%04x\",\"podName\":\"pod-a-%" PRId64 "\",\"podUID\":"
		   "\"5d9a4b1f-57f6-4c0b-8f43-7a2e90c1%04x\",\"podNodeName\":\"node-0\",\"podIP\":",
		   digits, index, digits);
	if (ready)
		buf_printf(out, "\"10.1.%d.%d\"", (int)(index / 250 % 250), (int)(index % 250 + 1));
	else
		buf_puts(out, "null");
	buf_puts(out, ",\"podHostIP\":\"172.16.0.1\",\"completionStatus\":null}}");
}

static void put_status(struct buf *out, const struct bench_options *options, bool complete)
{
	buf_putc(out, '{');
	put_state(out, "AttemptRunning");
	buf_puts(out,
		 "\"0_77b5f3a0-8d0e-4a07-8f6c-e9cd1a4c9a01\",\"configMapName\":\"f-attempt\",\"configMapUID\":"
		 "\"77b5f3a0-8d0e-4a07-8f6c-e9cd1a4c9a01\",\"completionStatus\":null,\"taskRoleStatuses\":[{\"name\":"
		 "\"a\",\"podGracefulDeletionTimeoutSec\":null,\"taskStatuses\":[");
	for (int64_t i = 0; i < options->tasks; i++)
		put_task(out, i, complete || i + 1 < options->tasks);
	buf_puts(out, "]}]}}");
}

void bench_status_update(struct buf *out, const struct bench_options *options, size_t index, const char *uid,
			 const char *version, bool complete)
{
	buf_printf(out,
		   "{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"kind\":\"Framework\",\"metadata\":{"
		   "\"namespace\":\"%s\",\"name\":\"%s%zu\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"},\"status\":",
		   options->ns, options->prefix, index, uid, version);
	put_status(out, options, complete);
	buf_putc(out, '}');
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
