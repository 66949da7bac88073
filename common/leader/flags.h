/* The options of leader election, as Kubernetes' components name them. */
#ifndef LEADER_FLAGS_H
#define LEADER_FLAGS_H

#include <getopt.h>
#include <stdint.h>

/* The times hold 1 s <= ..., retry * 1.2 < renew < lease. Strings are borrowed. */
struct leader_flags {
	int64_t lease_duration_ms; /* whole seconds */
	int64_t renew_deadline_ms;
	int64_t retry_period_ms;
	const char *lease_name;
	const char *lease_ns; /* NULL: not given, and not known from the process's Pod */
};

/* Values of these options, apart from those of enum process_option and of characters. */
enum leader_option {
	LEADER_ELECT = 2000,
	LEADER_LEASE_DURATION,
	LEADER_RENEW_DEADLINE,
	LEADER_RETRY_PERIOD,
	LEADER_LEASE_NAME,
	LEADER_LEASE_NAMESPACE,
};

/* For getopt_long(). */
#define LEADER_OPTIONS                                                                             \
	{"leader-elect", optional_argument, NULL, LEADER_ELECT},                                   \
		{"leader-elect-lease-duration", required_argument, NULL, LEADER_LEASE_DURATION},   \
		{"leader-elect-renew-deadline", required_argument, NULL, LEADER_RENEW_DEADLINE},   \
		{"leader-elect-retry-period", required_argument, NULL, LEADER_RETRY_PERIOD},       \
		{"leader-elect-resource-name", required_argument, NULL, LEADER_LEASE_NAME},        \
	{                                                                                          \
		"leader-elect-resource-namespace", required_argument, NULL, LEADER_LEASE_NAMESPACE \
	}

/* The times that client-go has by default, and the namespace of the process's Pod. */
struct leader_flags leader_flags_default(const char *lease_name);
/* Handles one of these options. 0; 1: it is another option; -1: a mistake, which is printed on stderr. */
int leader_flag(const char *program, int option, const char *argument, struct leader_flags *flags);
/* Whether the values fit together. 0, or -1 and a message on stderr. lease_ns must be set. */
int leader_flags_check(const char *program, const struct leader_flags *flags);

#endif
