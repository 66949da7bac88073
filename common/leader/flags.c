/* The options of leader election; see flags.h. */
#include "common/leader/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/kube/kubeconfig.h"

enum { DURATION_MAX_MS = 24 * 3600 * 1000 };

/* The namespace of our Pod, from its manifest or service account; NULL: unknown. */
static const char *own_namespace(void)
{
	static char name[64];
	const char *given = getenv("POD_NAMESPACE");
	cleanup_free char *found = NULL;

	if (given != NULL && given[0] != '\0')
		return given;
	found = getenv("KUBERNETES_SERVICE_HOST") == NULL ? NULL : kube_config_own_namespace();
	snprintf(name, sizeof(name), "%s", found == NULL ? "" : found);
	return name[0] == '\0' ? NULL : name;
}

struct leader_flags leader_flags_default(const char *lease_name)
{
	return (struct leader_flags){.lease_duration_ms = 15000,
				     .renew_deadline_ms = 10000,
				     .retry_period_ms = 2000,
				     .lease_name = lease_name,
				     .lease_ns = own_namespace()};
}

/* Milliseconds of "15s", "1m30s", "500ms": Go's time.ParseDuration, of which nobody needs more. */
static int read_duration(const char *program, const char *flag, const char *text, int64_t *out)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = {{"ms", 1}, {"h", 3600e3}, {"m", 60e3}, {"s", 1e3}};
	const char *at = text;
	double sum = 0;

	do {
		char *end = NULL;
		double number = *at >= '0' && *at <= '9' ? strtod(at, &end) : 0;
		size_t unit = 0;

		while (end != NULL && unit < ARRAY_LEN(units) &&
		       strncmp(end, units[unit].name, strlen(units[unit].name)) != 0)
			unit++;
		if (end == NULL || unit == ARRAY_LEN(units) || (sum += number * units[unit].ms) > DURATION_MAX_MS) {
			fprintf(stderr, "%s: %s %s: expected a duration like 15s or 500ms, at most a day\n", program,
				flag, text);
			return -1;
		}
		at = end + strlen(units[unit].name);
	} while (*at != '\0');
	*out = (int64_t)sum;
	return 0;
}

int leader_flag(const char *program, int option, const char *argument, struct leader_flags *flags)
{
	switch (option) {
	case LEADER_ELECT:
		fprintf(stderr,
			"%s: --leader-elect was removed: this program always takes part in the election; remove the "
			"flag\n",
			program);
		return -1;
	case LEADER_LEASE_DURATION:
		return read_duration(program, "--leader-elect-lease-duration", argument, &flags->lease_duration_ms);
	case LEADER_RENEW_DEADLINE:
		return read_duration(program, "--leader-elect-renew-deadline", argument, &flags->renew_deadline_ms);
	case LEADER_RETRY_PERIOD:
		return read_duration(program, "--leader-elect-retry-period", argument, &flags->retry_period_ms);
	case LEADER_LEASE_NAME: flags->lease_name = argument; return 0;
	case LEADER_LEASE_NAMESPACE: flags->lease_ns = argument; return 0;
	default: return 1;
	}
}

/* client-go's rules, but for the first. */
int leader_flags_check(const char *program, const struct leader_flags *flags)
{
	const char *wrong = NULL;

	if (flags->lease_duration_ms < 1000 || flags->lease_duration_ms % 1000 != 0)
		wrong = "--leader-elect-lease-duration: expected whole seconds";
	else if (flags->lease_duration_ms <= flags->renew_deadline_ms)
		wrong = "--leader-elect-lease-duration: expected more than --leader-elect-renew-deadline";
	else if (flags->retry_period_ms < 1 || flags->renew_deadline_ms * 10 <= flags->retry_period_ms * 12)
		wrong = "--leader-elect-renew-deadline: expected more than 1.2 times --leader-elect-retry-period";
	else if (flags->lease_name[0] == '\0' || flags->lease_ns[0] == '\0')
		wrong = "--leader-elect-resource-name, --leader-elect-resource-namespace: expected a name";
	if (wrong != NULL)
		fprintf(stderr, "%s: %s\n", program, wrong);
	return wrong == NULL ? 0 : -1;
}
