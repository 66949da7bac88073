/* The command line of fc-watcher. */
#ifndef WATCHER_FLAGS_H
#define WATCHER_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/leader/flags.h"
#include "common/process/process.h"

enum { NAMESPACES_MAX = 64 };

/* Strings are those of argv; NULL where not given. */
struct flags {
	struct process_flags process;
	const char *namespaces[NAMESPACES_MAX]; /* watched; no others are */
	size_t namespace_count;                 /* 0: all are watched */
	const char *reconciler;
	const char *workers_http; /* of the first child; each further child has the next port */
	int workers;
	bool print_crd;
	struct leader_flags leader; /* lease_ns is never NULL: else the first of the namespaces, else kube-system */
};

/* 0: go on; 1: nothing more to do; -1: a mistake, which is printed on stderr. Sets log_verbosity. */
int flags_parse(int argc, char **argv, struct flags *flags);

#endif
