/* The command line of fc-watcher; see flags.h. */
#include "watcher/flags.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"

enum { WORKERS_DEFAULT = 4, WORKERS_MAX = 256 };

static void print_usage(FILE *out)
{
	fputs("Usage: fc-watcher [options]\n"
	      "Watches Frameworks, their ConfigMaps and Pods, and shares the work on them out over reconcilers.\n"
	      "\n"
	      "  --config FILE        configuration (default ./frameworkcontroller.yaml)\n"
	      "  --strict-config      refuse unknown keys in it\n"
	      "  --kubeconfig FILE    instead of kubeConfigFilePath\n"
	      "  --context NAME       of the kubeconfig, instead of its current-context\n"
	      "  --address URL        of the API server, instead of kubeApiServerAddress\n"
	      "  --workers N          run N reconcilers as children (default 4); 0: they are started elsewhere\n"
	      "  --reconciler FILE    their program (default: fc-reconciler beside this one)\n"
	      "  --bus ENDPOINT       where reconcilers and barriers connect: tcp://HOST:PORT or ipc://PATH\n"
	      "                       (default with --workers 0: busAddress)\n"
	      "  --bus-keys DIR       its key and whom it lets in; see fc-watcher keygen\n"
	      "  --bus-insecure       without keys where other machines can connect\n"
	      "  --http HOST:PORT     serve /healthz, /readyz and /metrics there, to this machine alone\n"
	      "  --http-insecure      to others too, in the clear\n"
	      "  --print-crd          print the CustomResourceDefinition as YAML and exit\n"
	      "  -v N                 log more: 0 (default) to 5\n"
	      "  --help               this text\n",
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

int flags_parse(int argc, char **argv, struct flags *flags)
{
	enum {
		CONFIG = 256,
		STRICT,
		KUBECONFIG,
		CONTEXT,
		ADDRESS,
		WORKERS,
		RECONCILER,
		BUS,
		BUS_KEYS,
		BUS_INSECURE,
		HTTP,
		HTTP_INSECURE,
		PRINT_CRD,
		HELP
	};
	static const struct option options[] = {
		{"config", required_argument, NULL, CONFIG},
		{"strict-config", no_argument, NULL, STRICT},
		{"kubeconfig", required_argument, NULL, KUBECONFIG},
		{"context", required_argument, NULL, CONTEXT},
		{"address", required_argument, NULL, ADDRESS},
		{"workers", required_argument, NULL, WORKERS},
		{"reconciler", required_argument, NULL, RECONCILER},
		{"bus", required_argument, NULL, BUS},
		{"bus-keys", required_argument, NULL, BUS_KEYS},
		{"bus-insecure", no_argument, NULL, BUS_INSECURE},
		{"http", required_argument, NULL, HTTP},
		{"http-insecure", no_argument, NULL, HTTP_INSECURE},
		{"print-crd", no_argument, NULL, PRINT_CRD},
		{"help", no_argument, NULL, HELP},
		{NULL, 0, NULL, 0},
	};
	int option;

	*flags = (struct flags){.workers = WORKERS_DEFAULT};
	while ((option = getopt_long(argc, argv, "v:h", options, NULL)) != -1) {
		switch (option) {
		case CONFIG: flags->config = optarg; break;
		case STRICT: flags->unknown_keys = CONFIG_UNKNOWN_REFUSE; break;
		case KUBECONFIG: flags->kubeconfig = optarg; break;
		case CONTEXT: flags->context = optarg; break;
		case ADDRESS: flags->address = optarg; break;
		case RECONCILER: flags->reconciler = optarg; break;
		case BUS: flags->bus = optarg; break;
		case BUS_KEYS: flags->security.keys = optarg; break;
		case BUS_INSECURE: flags->security.insecure = true; break;
		case HTTP: flags->http = optarg; break;
		case HTTP_INSECURE: flags->http_insecure = true; break;
		case PRINT_CRD: flags->print_crd = true; break;
		case WORKERS:
			if (parse_number(optarg, 0, WORKERS_MAX, &flags->workers) < 0) {
				fprintf(stderr, "fc-watcher: --workers %s: expected a number 0..%d\n", optarg,
					WORKERS_MAX);
				return -1;
			}
			break;
		case 'v':
			if (parse_number(optarg, 0, 10, &log_verbosity) < 0) {
				fprintf(stderr, "fc-watcher: -v %s: expected a number 0..10\n", optarg);
				return -1;
			}
			flags->verbosity = optarg;
			break;
		case 'h':
		case HELP: print_usage(stdout); return 1;
		default: fputs("Try fc-watcher --help.\n", stderr); return -1;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "fc-watcher: unexpected argument %s\nTry fc-watcher --help.\n", argv[optind]);
		return -1;
	}
	return 0;
}
