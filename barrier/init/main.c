/* frameworkbarrier: the init container that ends when every Task of its Framework has an IP (FRAMEWORK.md §16), so that
 * app containers start all or none and know each other's addresses. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "barrier/init/ask.h"
#include "barrier/init/environment.h"
#include "barrier/init/output.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/framework/codes.h"

/* Exit codes of FRAMEWORK.md §16: 201 makes the controller back off and retry, so that the gang gives its resources
 * back; 210 makes it give up. */
enum {
	EXIT_PASSED = 0,
	EXIT_OTHER = 1,
	EXIT_TIMED_OUT = CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED,
	EXIT_NEVER = CODE_CONTAINER_PERMANENT_FAILED,
};

/* Where the original's image leaves the files for app containers: a volume they share with this one. */
#define SHARED_DIRECTORY "/mnt/frameworkbarrier"

static const char usage[] =
	"Usage: frameworkbarrier [options]\n"
	"Waits until every Task of the Framework has an IP, then writes framework.json and injector.sh.\n"
	"\n"
	"  --output-dir DIR  where to (default: the working directory)\n"
	"  --shared-dir DIR  and copies of them to here, if that directory exists (default: " SHARED_DIRECTORY ")\n"
	"  -v LEVEL          log level, default 0\n"
	"\n"
	"Environment:\n"
	"  FC_FRAMEWORK_NAMESPACE, FC_FRAMEWORK_NAME  the Framework; FC_FRAMEWORK_UID, if set, must be its uid\n"
	"  BARRIER_CHECK_INTERVAL_SEC                 between questions to the API server (10; 5 or more)\n"
	"  BARRIER_CHECK_TIMEOUT_SEC                  to give up after (600; 60 to 1200)\n"
	"  FRAMEWORK_BARRIER_ADDRESS                  http[s]://host:port of fc-barrier, to be asked first\n"
	"  FRAMEWORK_BARRIER_CA_FILE                  whom it is signed by (default: as the API server)\n"
	"  FRAMEWORK_BARRIER_TOKEN_FILE               the token to show it (default: as to the API server)\n"
	"  KUBE_APISERVER_ADDRESS, KUBECONFIG         the API server (default: ~/.kube/config, else in-cluster)\n"
	"\n"
	"Exit codes: 0 passed; 201 timed out; 210 bad environment, or there is no such Framework; 1 anything else.\n";

struct options {
	const char *output_directory;
	const char *shared_directory;
};

static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option known[] = {
		{"output-dir", required_argument, NULL, 'o'},
		{"shared-dir", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "v:h", known, NULL)) != -1) {
		switch (option) {
		case 'o': out->output_directory = optarg; break;
		case 's': out->shared_directory = optarg; break;
		case 'v': log_verbosity = atoi(optarg); break;
		case 'h': fputs(usage, stdout); exit(EXIT_PASSED);
		default: fputs("Try frameworkbarrier --help.\n", stderr); return -1;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "frameworkbarrier: unexpected argument \"%s\". Try frameworkbarrier --help.\n",
			argv[optind]);
		return -1;
	}
	return 0;
}

/* As process 1 of a container it would not even end on SIGTERM without a handler. */
static void on_end_signal(int signal)
{
	(void)signal;
	_exit(EXIT_OTHER);
}

static void sleep_ms(int64_t ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

static void tell(const struct answer *answer)
{
	switch (answer->verdict) {
	case VERDICT_PASSED:
		log_info("all %" PRId64 " Tasks have an IP, says %s", answer->total, answer->source);
		break;
	case VERDICT_WAITING:
		log_info("%" PRId64 " of %" PRId64 " Tasks have an IP, says %s%s%s%s", answer->ready, answer->total,
			 answer->source, *answer->missing == '\0' ? "" : "; waiting for ", answer->missing,
			 answer->total - answer->ready > 5 ? ", …" : "");
		break;
	case VERDICT_ABSENT: log_error("there is no such Framework: %s", answer->message); break;
	case VERDICT_FAILED: log_warning("cannot tell: %s", answer->message); break;
	}
}

static int write_output(const struct options *options, const struct answer *answer)
{
	cleanup_buf struct buf injector = {0};
	struct stat shared;
	struct error err;

	if (injector_write(&injector, &answer->gang, &err) < 0 ||
	    output_write(options->output_directory, answer->framework, &injector, &err) < 0 ||
	    (stat(options->shared_directory, &shared) == 0 && S_ISDIR(shared.st_mode) &&
	     output_write(options->shared_directory, answer->framework, &injector, &err) < 0)) {
		log_error("%s", err.message);
		return EXIT_OTHER;
	}
	return EXIT_PASSED;
}

/* The verdict of a timeout is the last question's. */
static int wait_for_gang(struct asker *asker, const struct environment *environment, const struct options *options)
{
	int64_t end_ms = clock_boot_ms() + environment->check_timeout_sec * 1000;

	for (;;) {
		struct answer answer;
		enum verdict verdict;
		int64_t left_ms;
		int64_t next_ms;

		asker_ask(asker, end_ms - clock_boot_ms(), &answer);
		tell(&answer);
		verdict = answer.verdict;
		next_ms = answer.next_ms;
		if (verdict == VERDICT_PASSED) {
			int code = write_output(options, &answer);

			answer_free(&answer);
			return code;
		}
		answer_free(&answer);
		if (verdict == VERDICT_ABSENT)
			return EXIT_NEVER;
		left_ms = end_ms - clock_boot_ms();
		if (left_ms <= 0) {
			log_error("giving up after %" PRId64 " s", environment->check_timeout_sec);
			return verdict == VERDICT_WAITING ? EXIT_TIMED_OUT : EXIT_OTHER;
		}
		sleep_ms(next_ms < left_ms ? next_ms : left_ms);
	}
}

int main(int argc, char **argv)
{
	struct options options = {.output_directory = ".", .shared_directory = SHARED_DIRECTORY};
	const struct sigaction end = {.sa_handler = on_end_signal};
	struct environment environment;
	struct asker *asker;
	struct error err;
	int code;

	if (parse_options(argc, argv, &options) < 0)
		return EXIT_NEVER; /* nothing that a retry could mend */
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	if (environment_read(&environment, &err) < 0) {
		log_error("%s", err.message);
		return EXIT_NEVER;
	}
	asker = asker_new(&environment, &err);
	if (asker == NULL) {
		log_error("%s", err.message);
		environment_free(&environment);
		return EXIT_OTHER;
	}
	log_info("waiting for the Tasks of Framework %s/%s", environment.ns, environment.name);
	code = wait_for_gang(asker, &environment, &options);
	asker_free(asker);
	environment_free(&environment);
	return code;
}
