/* What one run of a container prints: a part of the container's log file. Each line has the time at which it was seen
 * to begin, which stays the same for all readers. Of the loop's thread only. */
#ifndef TESTKUBELET_RUNLOG_H
#define TESTKUBELET_RUNLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"

struct ev_loop;
struct run_log;
struct log_reader;

/* A run begins: what the file has from now on is its. The file is made if it is missing. One reference; NULL and *err.
 */
struct run_log *run_log_begin(struct ev_loop *loop, const char *path, struct error *err);
/* Where it begins in the file. */
off_t run_log_start(const struct run_log *log);
/* The run is over, and has printed what the file has now. Again: no effect. */
void run_log_end(struct run_log *log);
/* NULL is fine. */
void run_log_unref(struct run_log *log);

/* As PodLogOptions has it. */
struct log_query {
	bool follow;         /* until the run has ended */
	bool timestamps;     /* before each line, RFC 3339 with nanoseconds */
	int64_t tail_lines;  /* the last ones, or -1 */
	int64_t since_ms;    /* lines of this time (wall clock) and later */
	int64_t limit_bytes; /* or -1 */
};

/* wake: called whenever log_reader_take may have more than the last time, not from within it. Takes a reference. */
struct log_reader *log_reader_new(struct run_log *log, const struct log_query *query, void (*wake)(void *arg),
				  void *arg);
void log_reader_free(struct log_reader *reader);

enum { LOG_READER_NOTHING = 0, LOG_READER_END = -1 };

/* Up to max bytes; LOG_READER_NOTHING: wait for wake; LOG_READER_END: that was all. */
ssize_t log_reader_take(struct log_reader *reader, char *out, size_t max);

#endif
