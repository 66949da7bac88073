/* The log lines that only a leader writes: history snapshots of deletions (CONTRACT.md §14). A standby sees the same
 * events; it holds its lines back for a while, and writes them when it takes over: the former leader may have written
 * some of them too (a duplicate is allowed), but none is lost. One per process, as the log is. */
#ifndef WATCHER_HOLDBACK_H
#define WATCHER_HOLDBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HOLDBACK_BYTES_MAX = 16 * 1024 * 1024, /* the oldest make room */
	HOLDBACK_SLACK_MS = 5000,
};

/* keep_ms: how long a leader can have been gone before this process takes over. Until this is called, lines are written
 * at once. */
void holdback_begin(int64_t keep_ms);
/* Whether this process leads; what is held is written when it does. */
void holdback_set_leading(bool leading);
/* A line for log_write_text(): written now, or held. */
void holdback_line(const char *text, size_t len);
/* Forgets what is held; lines are written at once again. */
void holdback_end(void);

#endif
