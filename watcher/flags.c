/* The command line of fc-watcher; see flags.h. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "watcher/flags.h"

#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/process/arguments.h"

enum { WORKERS_OWN_MAX = 4, WORKERS_MAX = 256 };

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
	      "  --expect-server URL  end with an error if the API server has another address than this\n"
	      "  --namespaces A,B     watch only these namespaces, at most 64; needs Roles instead of ClusterRoles\n"
	      "  --workers N          run N reconcilers as children (default: one for every two CPUs, at most 4);\n"
	      "                       0: reconcilers are started separately\n"
	      "  --reconciler FILE    program of the children (default: fc-reconciler beside this one)\n"
	      "  --bus ENDPOINT       listen there for reconcilers and barriers: tcp://HOST:PORT or ipc://PATH\n"
	      "                       (default with --workers 0: busAddress)\n"
	      "  --bus-keys DIR       the watcher's key, and the public keys of peers; see fc-watcher keygen\n"
	      "  --bus-insecure       allow a bus without keys on an address that other machines can reach\n"
	      "  --http HOST:PORT     serve /healthz, /readyz, /metrics and /debug/shards on a loopback address\n"
	      "  --workers-http HOST:PORT  the first child serves on PORT, the next one on PORT + 1, ...\n"
	      "  --http-insecure      allow --http and --workers-http on addresses that other machines can reach,\n"
	      "                       without TLS\n"
	      "  --leader-elect-lease-duration D   a standby waits this long before it takes over (default 15s)\n"
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

/* The API server needs the other half, and one reconciler keeps up with a thousand requests a second. Several share the
 * damage of a crash, but each takes memory and connections of its own, and a status of a stream comes later the more
 * there are (tests/bench/README.md). */
static int default_workers(void)
{
	cpu_set_t cpus;
	int workers = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) / 2 : 1;

	if (workers < 1)
		return 1;
	return workers < WORKERS_OWN_MAX ? workers : WORKERS_OWN_MAX;
}

int flags_parse(int argc, char **argv, struct flags *flags)
{
	enum { NAMESPACES = 256, WORKERS, RECONCILER, WORKERS_HTTP, PRINT_CRD };
	static const struct option options[] = {
		{"namespaces", required_argument, NULL, NAMESPACES},
		{"workers", required_argument, NULL, WORKERS},
		{"reconciler", required_argument, NULL, RECONCILER},
		{"workers-http", required_argument, NULL, WORKERS_HTTP},
		{"print-crd", no_argument, NULL, PRINT_CRD},
		LEADER_OPTIONS,
		PROCESS_BUS_OPTIONS,
		PROCESS_OPTIONS,
		{NULL, 0, NULL, 0},
	};
	int64_t number;
	int common;
	int option;

	*flags = (struct flags){
		.workers = default_workers(),
		.leader = leader_flags_default("frameworkcontroller"),
	};
	while ((option = getopt_long(argc, argv, "v:h", options, NULL)) != -1) {
		switch (option) {
		case RECONCILER: flags->reconciler = optarg; break;
		case WORKERS_HTTP: flags->workers_http = optarg; break;
		case PRINT_CRD: flags->print_crd = true; break;
		case NAMESPACES:
			if (read_namespaces(optarg, flags) < 0)
				return -1;
			break;
		case WORKERS:
			if (process_number("fc-watcher", "workers", optarg, 0, WORKERS_MAX, &number) < 0)
				return -1;
			flags->workers = (int)number;
			break;
		default:
			common = leader_flag("fc-watcher", option, optarg, &flags->leader);
			if (common < 0)
				return -1;
			if (common == 0)
				break;
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
	if (flags->leader.lease_ns == NULL)
		flags->leader.lease_ns = flags->namespace_count > 0 ? flags->namespaces[0] : "kube-system";
	return leader_flags_check("fc-watcher", &flags->leader) < 0 || check_workers(flags) < 0 ? -1 : 0;
}
