/* frameworkbarrier: the init container that ends when every Task of its Framework has an IP (CONTRACT.md §16). The app
 * containers of a Framework therefore start all or none, and know each other's addresses. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "barrier/init/environment.h"
#include "barrier/init/wait.h"
#include "common/base/log.h"
#include "common/base/release.h"
#include "common/process/arguments.h"
#include "common/process/guard.h"

/* Where the original's image leaves the files for app containers: a volume they share with this one. */
#define SHARED_DIRECTORY "/mnt/frameworkbarrier"

static const char usage[] =
	"Usage: frameworkbarrier [options]\n"
	"Waits until every Task of the Framework has an IP, then writes framework.json and injector.sh.\n"
	"\n"
	"  --output-dir DIR  directory of the two files (default: the working directory)\n"
	"  --shared-dir DIR  directory for copies of them, if it exists (default: " SHARED_DIRECTORY ")\n"
	"  -v LEVEL          log level, default 0\n"
	"  --help, --version\n"
	"\n"
	"Environment:\n"
	"  FC_FRAMEWORK_NAMESPACE, FC_FRAMEWORK_NAME  namespace and name of the Framework\n"
	"  FC_FRAMEWORK_UID                   uid of the Framework (default: any)\n"
	"  BARRIER_CHECK_INTERVAL_SEC         seconds between requests to the API server (default 10, at least 5)\n"
	"  BARRIER_CHECK_TIMEOUT_SEC          seconds until it gives up (default 600, 60 to 1200)\n"
	"  FRAMEWORK_BARRIER_ADDRESS          http[s]://host:port of fc-barrier, which it asks first (default: none)\n"
	"  FRAMEWORK_BARRIER_CA_FILE          CA of fc-barrier's certificate (default: the CA of the API server)\n"
	"  FRAMEWORK_BARRIER_TOKEN_FILE       token for fc-barrier (default: the token for the API server)\n"
	"  KUBE_APISERVER_ADDRESS, KUBECONFIG the API server (default: ~/.kube/config, else in-cluster)\n"
	"  KUBE_CONTEXT                       context of the kubeconfig (default: its current-context)\n"
	"\n"
	"Exit codes: 0 every Task has an IP; 201 timed out; 210 invalid environment or command line, or no such\n"
	"Framework; 1 any other error.\n";

static int parse_options(int argc, char **argv, struct wait_directories *out)
{
	static const struct option known[] = {
		{"output-dir", required_argument, NULL, 'o'}, {"shared-dir", required_argument, NULL, 's'},
		{"v", required_argument, NULL, 'v'},          {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},          {NULL, 0, NULL, 0},
	};
	int64_t level;
	int option;

	while ((option = getopt_long(argc, argv, "v:h", known, NULL)) != -1) {
		switch (option) {
		case 'o': out->output = optarg; break;
		case 's': out->shared = optarg; break;
		case 'v':
			if (process_verbosity("frameworkbarrier", optarg, &level) < 0)
				return -1;
			log_verbosity = (int)level;
			break;
		case 'V': release_print("frameworkbarrier");
		case 'h': fputs(usage, stdout); exit(EXIT_PASSED);
		default: fputs("Try frameworkbarrier --help.\n", stderr); return -1;
		}
	}
	return process_no_arguments("frameworkbarrier", argc, argv);
}

/* As process 1 of a container it would not even end on SIGTERM without a handler. */
static void on_end_signal(int signal)
{
	(void)signal;
	_exit(EXIT_OTHER);
}

int main(int argc, char **argv)
{
	struct wait_directories directories = {.output = ".", .shared = SHARED_DIRECTORY};
	const struct sigaction end = {.sa_handler = on_end_signal};
	struct environment environment;
	struct error err;
	int code;

	process_guard();
	if (parse_options(argc, argv, &directories) < 0)
		return EXIT_NEVER; /* nothing that a retry could mend */
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	if (environment_read(&environment, &err) < 0) {
		log_error("%s", err.message);
		return EXIT_NEVER;
	}
	code = wait_for_gang(&environment, &directories);
	environment_free(&environment);
	return code;
}
