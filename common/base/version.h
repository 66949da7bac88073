/* The order of resourceVersions. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#include <stdint.h>

/* Orders two resourceVersions of one resource as the API's own clients do: decimals without leading zeros by length,
 * then bytes; anything else by equality only (0 when equal, else 1: it counts as newer). NULL and "" are the same,
 * older than all. <0, 0, >0. */
int version_compare(const char *a, const char *b);

/* VERSION_SETTLED_MS: longer than a watch can stand still without being noticed (common/kube/reflector_watch.c), so
 * that a watcher whose view is so old has not just waited. */
enum { VERSION_SIZE = 40, VERSION_SETTLED_MS = 11 * 60 * 1000 };

/* The newest version that a process has met, and what it was some time ago; {0} to begin with. A server whose answers
 * fall behind that has lost writes: its store was restored from a backup. */
struct version_mark {
	char newest[VERSION_SIZE];
	int64_t newest_ms; /* when it was met */
	char former[VERSION_SIZE];
	int64_t former_ms; /* when it was replaced as the newest one, after VERSION_SETTLED_MS at least */
	char settled[VERSION_SIZE];
};

/* now_ms: of CLOCK_BOOTTIME, as in all these. */
void version_mark_note(struct version_mark *mark, const char *version, int64_t now_ms);
/* A version that was met VERSION_SETTLED_MS ago or longer; "": none. Valid until the next note. */
const char *version_mark_settled(const struct version_mark *mark, int64_t now_ms);

#endif
