/* Asks until there is a verdict; see wait.h. */
#include "barrier/init/wait.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "barrier/init/ask.h"
#include "barrier/init/output.h"
#include "common/base/clock.h"
#include "common/base/log.h"

/* How often the last question is asked again when the API server puts it off: "some Tasks have no IP" lets the gang be
 * retried, and anything else fails it. */
enum { LATE_MAX = 5 };

static void sleep_ms(int64_t ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

static void log_answer(const struct answer *answer)
{
	switch (answer->verdict) {
	case VERDICT_PASSED:
		log_info("all %" PRId64 " Tasks have an IP according to %s", answer->total, answer->source);
		break;
	case VERDICT_WAITING:
		log_info("%" PRId64 " of %" PRId64 " Tasks have an IP according to %s%s%s%s", answer->ready,
			 answer->total, answer->source, *answer->missing == '\0' ? "" : "; waiting for ",
			 answer->missing, answer->total - answer->ready > 5 ? ", …" : "");
		break;
	case VERDICT_ABSENT: log_error("the Framework does not exist: %s", answer->message); break;
	case VERDICT_FAILED: log_warning("cannot tell whether all Tasks have an IP: %s", answer->message); break;
	}
}

static int write_output(const struct wait_directories *directories, const struct answer *answer)
{
	cleanup_buf struct buf injector = {0};
	struct stat shared;
	struct error err;

	if (injector_write(&injector, &answer->gang, &err) < 0 ||
	    output_write(directories->output, answer->framework, &injector, &err) < 0 ||
	    (stat(directories->shared, &shared) == 0 && S_ISDIR(shared.st_mode) &&
	     output_write(directories->shared, answer->framework, &injector, &err) < 0)) {
		log_error("%s", err.message);
		return EXIT_OTHER;
	}
	return EXIT_PASSED;
}

/* The verdict of a timeout is the last question's. */
static int ask_until_end(struct asker *asker, const struct environment *environment,
			 const struct wait_directories *directories)
{
	int64_t end_ms = clock_boot_ms() + environment->check_timeout_sec * 1000;
	int late = 0;

	for (;;) {
		struct answer answer;
		enum verdict verdict;
		int64_t left_ms;
		int64_t next_ms;
		int64_t again_ms;

		asker_ask(asker, end_ms - clock_boot_ms(), &answer);
		log_answer(&answer);
		verdict = answer.verdict;
		next_ms = answer.next_ms;
		again_ms = answer.again_ms;
		if (verdict == VERDICT_PASSED) {
			int code = write_output(directories, &answer);

			answer_free(&answer);
			return code;
		}
		answer_free(&answer);
		if (verdict == VERDICT_ABSENT)
			return EXIT_NEVER;
		left_ms = end_ms - clock_boot_ms();
		if (left_ms <= 0 && again_ms > 0 && late < LATE_MAX) {
			late++;
			sleep_ms(again_ms);
			continue;
		}
		if (left_ms <= 0) {
			log_error("timed out after %" PRId64 " s", environment->check_timeout_sec);
			return verdict == VERDICT_WAITING ? EXIT_TIMED_OUT : EXIT_OTHER;
		}
		sleep_ms(next_ms < left_ms ? next_ms : left_ms);
	}
}

int wait_for_gang(const struct environment *environment, const struct wait_directories *directories)
{
	struct error err;
	struct asker *asker = asker_new(environment, &err);
	int code;

	if (asker == NULL) {
		log_error("%s", err.message);
		return EXIT_OTHER;
	}
	log_info("waiting until all Tasks of Framework %s/%s have an IP", environment->ns, environment->name);
	code = ask_until_end(asker, environment, directories);
	asker_free(asker);
	return code;
}
