/* The command line of fc-watcher; see flags.h. */
#include "watcher/flags.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/release.h"

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

enum { WORKERS_DEFAULT = 4, WORKERS_MAX = 256, DURATION_MAX_MS = 24 * 3600 * 1000 };

static void print_usage(FILE *out)
{
	fputs("Usage: fc-watcher [options]\n"
	      "       fc-watcher status [--http HOST:PORT] [-o table|json]\n"
	      "       fc-watcher keygen DIR [NAME...]\n"
	      "Watches Frameworks, their ConfigMaps and Pods, and distributes the Frameworks over reconcilers.\n"
	      "\n"
	      "  --config FILE        configuration (default ./frameworkcontroller.yaml)\n"
	      "  --strict-config      refuse unknown keys in the configuration\n"
	      "  --kubeconfig FILE    overrides kubeConfigFilePath\n"
	      "  --context NAME       use this context of the kubeconfig instead of current-context\n"
	      "  --address URL        address of the API server; overrides kubeApiServerAddress\n"
	      "  --namespaces A,B     watch only these namespaces; needs Roles there instead of ClusterRoles\n"
	      "  --workers N          run N reconcilers as children (default 4); 0: reconcilers are started "
	      "separately\n"
	      "  --reconciler FILE    program of the children (default: fc-reconciler beside this one)\n"
	      "  --bus ENDPOINT       listen there for reconcilers and barriers: tcp://HOST:PORT or ipc://PATH\n"
	      "                       (default with --workers 0: busAddress)\n"
	      "  --bus-keys DIR       our key, and the public keys that may connect; see fc-watcher keygen\n"
	      "  --bus-insecure       allow a bus without keys on an address that other machines can reach\n"
	      "  --http HOST:PORT     serve /healthz, /readyz, /metrics and /debug/shards on a loopback address\n"
	      "  --workers-http HOST:PORT  the children serve there: the first one on PORT, the next one on PORT + 1, "
	      "...\n"
	      "  --http-insecure      allow both on addresses that other machines can reach, without TLS\n"
	      "  --leader-elect-lease-duration D   others wait this long before they take over (default 15s)\n"
	      "  --leader-elect-renew-deadline D   a leader leads this long without a renewal (default 10s)\n"
	      "  --leader-elect-retry-period D     time between two renewals (default 2s)\n"
	      "  --leader-elect-resource-name NAME\n"
	      "                       name of the Lease (default frameworkcontroller)\n"
	      "  --leader-elect-resource-namespace NAME\n"
	      "                       namespace of the Lease (default: the namespace of the Pod, else the first of\n"
	      "                       --namespaces, else kube-system)\n"
	      "  --print-crd          print the CustomResourceDefinition as YAML and exit\n"
	      "  -v N                 log more: 0 (default) to 10\n"
	      "  --help, --version\n",
	      out);
}

static int parse_number(const char *text, int min, int max, int *out)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < min || value > max)
		return -1;
	*out = (int)value;
	return 0;
}

/* Milliseconds of "15s", "1m30s", "500ms": Go's time.ParseDuration, of which nobody needs more. */
static int read_duration(const char *flag, const char *text, int64_t *out)
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
			fprintf(stderr, "fc-watcher: %s %s: expected a duration like 15s or 500ms, at most a day\n",
				flag, text);
			return -1;
		}
		at = end + strlen(units[unit].name);
	} while (*at != '\0');
	*out = (int64_t)sum;
	return 0;
}

/* client-go's rules, but for the first. */
static int check_election(const struct flags *flags)
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
		fprintf(stderr, "fc-watcher: %s\n", wrong);
	return wrong == NULL ? 0 : -1;
}

static int check_workers(const struct flags *flags)
{
	if (flags->workers_http == NULL || flags->workers > 0)
		return 0;
	fprintf(stderr,
		"fc-watcher: --workers-http %s: expected --workers 1 or more: --workers 0 starts no children that "
		"could serve there\n",
		flags->workers_http);
	return -1;
}

/* The namespace of our Pod, from its manifest or service account; NULL: unknown. */
static const char *own_namespace(void)
{
	static char name[64];
	const char *given = getenv("POD_NAMESPACE");
	const char *mount = getenv("KUBERNETES_SERVICE_ACCOUNT_DIR");
	cleanup_free char *path = mem_printf("%s/namespace",
					     mount != NULL && mount[0] != '\0' ? mount : SERVICE_ACCOUNT_DIR);
	FILE *file;

	if (given != NULL && given[0] != '\0')
		return given;
	file = getenv("KUBERNETES_SERVICE_HOST") == NULL ? NULL : fopen(path, "re");
	if (file != NULL) {
		if (fgets(name, sizeof(name), file) != NULL)
			name[strcspn(name, "\n")] = '\0';
		fclose(file);
	}
	return name[0] == '\0' ? NULL : name;
}

/* "a,b": cut apart where it stands. */
static int read_namespaces(char *text, struct flags *flags)
{
	const char *wrong = NULL;
	char *rest;

	flags->namespace_count = 0;
	for (char *name = strtok_r(text, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
		size_t i = 0;

		while (i < flags->namespace_count && strcmp(flags->namespaces[i], name) != 0)
			i++;
		if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0' || strlen(name) > 63)
			wrong = "is not a valid name of a namespace";
		else if (i < flags->namespace_count)
			wrong = "is named twice";
		else if (i == NAMESPACES_MAX)
			wrong = "is one too many; to watch more namespaces, omit --namespaces";
		else
			flags->namespaces[flags->namespace_count++] = name;
		if (wrong != NULL) {
			fprintf(stderr, "fc-watcher: --namespaces: %s %s\n", name, wrong);
			return -1;
		}
	}
	if (flags->namespace_count > 0)
		return 0;
	fputs("fc-watcher: --namespaces: expected names, separated by commas\n", stderr);
	return -1;
}

int flags_parse(int argc, char **argv, struct flags *flags)
{
	enum {
		NAMESPACES = 256,
		WORKERS,
		RECONCILER,
		WORKERS_HTTP,
		PRINT_CRD,
		LEADER_ELECT,
		LEASE_DURATION,
		RENEW_DEADLINE,
		RETRY_PERIOD,
		LEASE_NAME,
		LEASE_NAMESPACE
	};
	static const struct option options[] = {
		{"namespaces", required_argument, NULL, NAMESPACES},
		{"workers", required_argument, NULL, WORKERS},
		{"reconciler", required_argument, NULL, RECONCILER},
		{"workers-http", required_argument, NULL, WORKERS_HTTP},
		{"print-crd", no_argument, NULL, PRINT_CRD},
		{"leader-elect", optional_argument, NULL, LEADER_ELECT},
		{"leader-elect-lease-duration", required_argument, NULL, LEASE_DURATION},
		{"leader-elect-renew-deadline", required_argument, NULL, RENEW_DEADLINE},
		{"leader-elect-retry-period", required_argument, NULL, RETRY_PERIOD},
		{"leader-elect-resource-name", required_argument, NULL, LEASE_NAME},
		{"leader-elect-resource-namespace", required_argument, NULL, LEASE_NAMESPACE},
		PROCESS_OPTIONS,
		{NULL, 0, NULL, 0},
	};
	int common;
	int option;

	*flags = (struct flags){
		.workers = WORKERS_DEFAULT,
		.lease_duration_ms = 15000,
		.renew_deadline_ms = 10000,
		.retry_period_ms = 2000,
		.lease_name = "frameworkcontroller",
		.lease_ns = own_namespace(),
	};
	while ((option = getopt_long(argc, argv, "v:h", options, NULL)) != -1) {
		switch (option) {
		case RECONCILER: flags->reconciler = optarg; break;
		case WORKERS_HTTP: flags->workers_http = optarg; break;
		case PRINT_CRD: flags->print_crd = true; break;
		case LEADER_ELECT:
			fputs("fc-watcher: --leader-elect was removed: a watcher always takes part in the election; "
			      "remove the flag\n",
			      stderr);
			return -1;
		case LEASE_DURATION:
			if (read_duration("--leader-elect-lease-duration", optarg, &flags->lease_duration_ms) < 0)
				return -1;
			break;
		case RENEW_DEADLINE:
			if (read_duration("--leader-elect-renew-deadline", optarg, &flags->renew_deadline_ms) < 0)
				return -1;
			break;
		case RETRY_PERIOD:
			if (read_duration("--leader-elect-retry-period", optarg, &flags->retry_period_ms) < 0)
				return -1;
			break;
		case LEASE_NAME: flags->lease_name = optarg; break;
		case LEASE_NAMESPACE: flags->lease_ns = optarg; break;
		case NAMESPACES:
			if (read_namespaces(optarg, flags) < 0)
				return -1;
			break;
		case WORKERS:
			if (parse_number(optarg, 0, WORKERS_MAX, &flags->workers) < 0) {
				fprintf(stderr, "fc-watcher: --workers %s: expected a number 0..%d\n", optarg,
					WORKERS_MAX);
				return -1;
			}
			break;
		default:
			common = process_flag("fc-watcher", option, optarg, &flags->process);
			if (common > 0)
				print_usage(stdout);
			if (common != 0)
				return common;
			break;
		}
	}
	if (optind < argc) {
		fprintf(stderr,
			"fc-watcher: unexpected argument %s: expected options, or status or keygen as "
			"the first argument\nTry fc-watcher --help.\n",
			argv[optind]);
		return -1;
	}
	if (flags->lease_ns == NULL)
		flags->lease_ns = flags->namespace_count > 0 ? flags->namespaces[0] : "kube-system";
	return check_election(flags) < 0 || check_workers(flags) < 0 ? -1 : 0;
}
