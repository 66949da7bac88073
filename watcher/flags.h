/* The command line of fc-watcher. */
#ifndef WATCHER_FLAGS_H
#define WATCHER_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bus/curve.h"
#include "common/config/config.h"

enum { NAMESPACES_MAX = 64 };
enum { EXIT_USAGE = 2 }; /* also for an invalid configuration */

/* Strings are those of argv; NULL where not given. */
struct flags {
	const char *config;
	const char *kubeconfig;
	const char *context; /* of the kubeconfig */
	const char *address;
	const char *namespaces[NAMESPACES_MAX]; /* watched; no others are */
	size_t namespace_count;                 /* 0: all are watched */
	const char *bus;
	struct bus_security security; /* of the bus */
	const char *reconciler;
	const char *verbosity;
	const char *http;
	const char *workers_http; /* of the first child; each further child has the next port */
	bool http_insecure;       /* also of the children */
	int workers;
	enum config_unknown unknown_keys;
	bool print_crd;
	/* Leader election, as kube components name it; the times hold 1 s <= ..., retry * 1.2 < renew < lease. */
	int64_t lease_duration_ms; /* whole seconds */
	int64_t renew_deadline_ms;
	int64_t retry_period_ms;
	const char *lease_name;
	const char
		*lease_ns; /* never NULL; default: the Pod's own, else the first of the namespaces, else kube-system */
};

/* 0: go on; 1: nothing more to do; -1: a mistake, which is printed on stderr. Sets log_verbosity. */
int flags_parse(int argc, char **argv, struct flags *flags);

#endif
