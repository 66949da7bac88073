/* Writing the Prometheus text format (version 0.0.4). */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* The HELP and TYPE lines of a metric, once before its values. type: "counter", "gauge", "histogram". */
void metrics_family(struct buf *out, const char *name, const char *type, const char *help);
/* One value. Labels are pairs of a name and a value (escaped here), ended by NULL: metrics_value(out,
 * "frameworkcontroller_frameworks", 3, "state", "Completed", NULL). */
void metrics_value(struct buf *out, const char *name, double value, ...) __attribute__((sentinel));
/* A metric of one value without labels. */
void metrics_counter(struct buf *out, const char *name, const char *help, uint64_t value);
void metrics_gauge(struct buf *out, const char *name, const char *help, double value);

enum { METRICS_BUCKETS_MAX = 20 };

/* A histogram of seconds. Zero-initialise, then set bounds (ascending) and count of them. */
struct metrics_histogram {
	double bounds[METRICS_BUCKETS_MAX];
	size_t bound_count;
	uint64_t buckets[METRICS_BUCKETS_MAX + 1];
	double sum;
};

/* bounds: first, first * factor, … ; count of them, at most METRICS_BUCKETS_MAX. */
void metrics_histogram_init(struct metrics_histogram *histogram, double first, double factor, size_t count);
void metrics_histogram_observe(struct metrics_histogram *histogram, double value);
/* label NULL: none. */
void metrics_histogram_write(struct buf *out, const char *name, const char *help, const char *label, const char *value,
			     const struct metrics_histogram *histogram);

/* process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds, process_start_time_seconds: named as
 * Prometheus client libraries do. serve.h adds them to /metrics by itself. */
void metrics_process(struct buf *out);

#endif
