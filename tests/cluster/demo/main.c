/* fc-demo: shows the controller at work on the embedded cluster (`make demo`), or stops what KEEP=1 left up. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/release.h"
#include "tests/cluster/demo/children.h"
#include "tests/cluster/demo/demo.h"

enum { EXIT_USAGE = 2, WORKERS = 4, WORKERS_MAX = 64, TIMEOUT_SEC = 60, TIMEOUT_MAX_SEC = 3600 };

static const char usage[] =
	"Usage: fc-demo [options] EXAMPLE.yaml…\n"
	"       fc-demo --stop DIRECTORY\n"
	"Starts an API server, a kubelet and the controller on this machine, submits the examples, and shows them\n"
	"until they end. Exit status 0: each example ended as its line \"# expect: …\" says.\n"
	"  --config FILE    configuration of the controller (default manifests/config/frameworkcontroller.yaml)\n"
	"  --workers N      number of reconcilers (default 4)\n"
	"  --timeout S      seconds until the demo gives up (default 60)\n"
	"  --keep           keep the cluster running afterwards, like KEEP=1 in the environment\n"
	"  --stop DIRECTORY stop the cluster of a demo with --keep, and remove its directory\n"
	"  --help, --version\n";

__attribute__((noreturn)) static void fail_usage(void)
{
	fputs("Try fc-demo --help.\n", stderr);
	exit(EXIT_USAGE);
}

static int parse_number(const char *text, int max)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end != '\0' || value < 1 || value > max) {
		fprintf(stderr, "fc-demo: found \"%s\", expected a number 1..%d\n", text, max);
		fail_usage();
	}
	return (int)value;
}

/* The directory this program lies in: the others lie beside it. The caller frees. */
static char *own_directory(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (len < 0)
		return mem_strdup(".");
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (slash != NULL)
		*slash = '\0';
	return mem_strdup(path);
}

static bool keep_in_environment(void)
{
	const char *keep = getenv("KEEP");

	return keep != NULL && keep[0] != '\0' && strcmp(keep, "0") != 0;
}

static int stop(const char *directory)
{
	struct error err;

	if (children_stop_kept(directory, &err) != 0) {
		fprintf(stderr, "fc-demo: %s\n", err.message);
		return 1;
	}
	printf("The cluster was stopped, and %s was removed.\n", directory);
	return 0;
}

int main(int argc, char **argv)
{
	enum { CONFIG = 256, WORKER_COUNT, TIMEOUT, KEEP, STOP, HELP, VERSION };
	static const struct option options[] = {
		{"config", required_argument, NULL, CONFIG},   {"workers", required_argument, NULL, WORKER_COUNT},
		{"timeout", required_argument, NULL, TIMEOUT}, {"keep", no_argument, NULL, KEEP},
		{"stop", required_argument, NULL, STOP},       {"help", no_argument, NULL, HELP},
		{"version", no_argument, NULL, VERSION},       {NULL, 0, NULL, 0},
	};
	cleanup_free char *bin = own_directory();
	struct demo_options demo = {
		.bin = bin,
		.config = "manifests/config/frameworkcontroller.yaml",
		.workers = WORKERS,
		.timeout_ms = TIMEOUT_SEC * 1000,
		.keep = keep_in_environment(),
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case CONFIG: demo.config = optarg; break;
		case WORKER_COUNT: demo.workers = parse_number(optarg, WORKERS_MAX); break;
		case TIMEOUT: demo.timeout_ms = parse_number(optarg, TIMEOUT_MAX_SEC) * 1000; break;
		case KEEP: demo.keep = true; break;
		case STOP: return stop(optarg);
		case 'h':
		case VERSION: release_print("fc-demo");
		case HELP: fputs(usage, stdout); return 0;
		default: fail_usage();
		}
	}
	if (optind == argc)
		fail_usage();
	demo.files = (const char *const *)argv + optind;
	demo.file_count = (size_t)(argc - optind);
	return demo_run(&demo);
}
