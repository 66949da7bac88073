/* The demo itself: starts the embedded cluster and the controller as real processes, submits the examples, shows how
 * they go, judges how they end, and leaves nothing behind. */
#ifndef DEMO_DEMO_H
#define DEMO_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct demo_options {
	const char *bin;          /* directory of fc-testapi, fc-testkubelet, fc-watcher, … */
	const char *config;       /* frameworkcontroller.yaml */
	const char *const *files; /* examples */
	size_t file_count;
	int workers;        /* >= 1 */
	int64_t timeout_ms; /* for everything but stopping */
	bool keep;          /* leave the cluster up when the examples have been seen */
};

/* Runs it to its end, bounded by the timeout. The exit status for the process: 0 when every example ended as expected,
 * 1 when not, 2 when an example or the configuration cannot be read, 128 + signal when it was interrupted. */
int demo_run(const struct demo_options *options);

#endif
