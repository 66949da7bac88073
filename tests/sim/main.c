/* fc-sim: runs seeds of the simulator, each calm and in trouble, and compares the two; see sim.h. Seeds run in worker
 * processes, so that one that crashes is found and told like any other. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/release.h"
#include "tests/sim/sim.h"

enum {
	JOBS_MAX = 64,
	FAILURES_SHOWN = 20,
	SEED_SECONDS_MAX = 10, /* of processor time */
	TWICE_EVERY = 50,
	SEEDS_PER_WORKER = 5000, /* processes that ran out of memory leave what they had */
	EXIT_TO_GO_ON = 3,
};

static const char usage[] =
	"Usage: fc-sim [options]\n"
	"Simulates whole clusters with faults, one for each seed.\n"
	"\n"
	"  --seeds N    how many (default 100)\n"
	"  --first N    from which on (default 1)\n"
	"  --jobs N     in so many processes (default 1)\n"
	"  --seconds N  begin no seed after so long (default: for ever)\n"
	"  --seed N     this one alone, with a trace of all that happens\n"
	"  --calm       with --seed: a trace of the run without faults, too\n"
	"  --hash       with --seed: only the hash of its trace\n"
	"  --failover   instead, how long after the loss of the leader's machine each shard is held\n"
	"               again: fails when it is too long\n"
	"  --stop       at the first that fails\n"
	"  --help, --version\n";

/* What workers tell, in shared memory. */
struct report {
	_Atomic uint64_t seed; /* under way */
	_Atomic uint64_t passed;
	struct tally tally; /* of those that passed */
};

static bool trace_calm;

/* Returns the hash of both runs. */
static uint64_t run_seed(uint64_t seed, struct tally *tally)
{
	static struct outcome calm[SIM_FRAMEWORKS];
	static struct outcome stormy[SIM_FRAMEWORKS];
	bool tame[SIM_FRAMEWORKS];
	bool tracing = sim_tracing;
	bool comparable = false;
	uint64_t hash;

	hash = world_run(seed, false, stormy, tally, tame);
	for (int i = 0; i < SIM_FRAMEWORKS; i++)
		comparable = comparable || tame[i];
	sim_tracing = tracing && trace_calm;
	if (comparable)
		hash = hash * 31 + world_run(seed, true, calm, tally, tame);
	sim_tracing = tracing;
	for (int i = 0; i < SIM_FRAMEWORKS; i++) {
		if (!tame[i] || (calm[i].there == stormy[i].there && strcmp(calm[i].text, stormy[i].text) == 0))
			continue;
		fflush(stdout);
		fprintf(stderr,
			"seed %" PRIu64 ": the outcome is not that of the calm run:\n  "
			"calm:  %s\n  found: %s\n",
			seed, calm[i].there ? calm[i].text : "gone", stormy[i].there ? stormy[i].text : "gone");
		_exit(1);
	}
	return hash;
}

/* The seeds first, first + stride, … below end. */
static pid_t start_worker(struct report *report, uint64_t first, uint64_t end, uint64_t stride, int64_t until_ms)
{
	const struct itimerval limit = {.it_value = {.tv_sec = SEED_SECONDS_MAX}};
	pid_t child = fork();

	if (child != 0)
		return child;
	for (uint64_t seed = first; seed < end; seed += stride) {
		struct tally tally = report->tally;
		uint64_t hash;

		if (seed >= first + SEEDS_PER_WORKER * stride)
			_exit(EXIT_TO_GO_ON);
		if (clock_boot_ms() >= until_ms)
			break;
		setitimer(ITIMER_VIRTUAL, &limit, NULL); /* ends the worker */
		report->seed = seed;
		hash = run_seed(seed, &tally);
		if (seed % TWICE_EVERY == 0 && run_seed(seed, &tally) != hash) {
			fprintf(stderr, "seed %" PRIu64 ": a second run is not like the first\n", seed);
			_exit(1);
		}
		report->tally = tally;
		report->passed++;
	}
	_exit(0);
}

/* All but one, which has ended. */
static void stop_workers(const pid_t *children, int jobs, int ended)
{
	for (int i = 0; i < jobs; i++) {
		if (i == ended || children[i] == 0)
			continue;
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

static void add(struct tally *sum, const struct tally *one)
{
	sum->steps += one->steps;
	sum->late_writes += one->late_writes;
	sum->late_objects += one->late_objects;
	sum->strays += one->strays;
	if (sum->stray_ms < one->stray_ms)
		sum->stray_ms = one->stray_ms;
}

static int run_seeds(const char *program, uint64_t first, uint64_t count, int jobs, int64_t seconds_max, bool stop)
{
	struct report *reports = mmap(NULL, sizeof(*reports) * JOBS_MAX, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t children[JOBS_MAX];
	uint64_t failed = 0;
	uint64_t passed = 0;
	struct tally sum = {0};
	int64_t begin_ms = clock_boot_ms();
	int64_t until_ms = seconds_max == 0 ? INT64_MAX : begin_ms + seconds_max * 1000;
	double seconds;
	int running = 0;

	if (reports == MAP_FAILED)
		return EXIT_FAILURE;
	for (int i = 0; i < jobs; i++) {
		children[i] = start_worker(&reports[i], first + (uint64_t)i, first + count, (uint64_t)jobs, until_ms);
		running++;
	}
	while (running > 0) {
		int status;
		pid_t child = wait(&status);
		int job = 0;

		while (job < jobs && children[job] != child)
			job++;
		if (job == jobs)
			continue;
		running--;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
			children[job] = 0;
			continue;
		}
		if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_TO_GO_ON) {
			children[job] = start_worker(&reports[job], reports[job].seed + (uint64_t)jobs, first + count,
						     (uint64_t)jobs, until_ms);
			running++;
			continue;
		}
		failed++;
		if (WIFSIGNALED(status))
			fprintf(stderr, "seed %" PRIu64 ": %s\n", reports[job].seed, strsignal(WTERMSIG(status)));
		if (failed <= FAILURES_SHOWN)
			fprintf(stderr, "  replay it: %s --seed %" PRIu64 "\n", program, reports[job].seed);
		if (stop) {
			stop_workers(children, jobs, job);
			break;
		}
		children[job] = start_worker(&reports[job], reports[job].seed + (uint64_t)jobs, first + count,
					     (uint64_t)jobs, until_ms);
		running++;
	}
	for (int i = 0; i < jobs; i++) {
		passed += reports[i].passed;
		add(&sum, &reports[i].tally);
	}
	seconds = (double)(clock_boot_ms() - begin_ms) / 1000 + 0.001;
	if (!stop && passed + failed < count)
		printf("the time was enough for %" PRIu64 " of %" PRIu64 " seeds\n", passed + failed, count);
	printf("%" PRIu64 " steps in %.1f s: %.0f seeds/s\n", sum.steps, seconds, (double)(passed + failed) / seconds);
	printf("%" PRIu64 " late writes made %" PRIu64 " objects; %" PRIu64 " strays that could be deleted were gone "
	       "after %.1f s at most\n",
	       sum.late_writes, sum.late_objects, sum.strays, (double)sum.stray_ms / 1000);
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The Lease runs out first, then what the lost leader granted: nobody holds a live lease to claim. */
static int run_failovers(uint64_t first, uint64_t count)
{
	static const struct {
		const char *name;
		bool pool;
		int64_t most_ms;
	} rows[] = {{"reconcilers apart", false, 33 * 1000}, {"children of the leader", true, 33 * 1000}};
	bool passed = true;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t least_ms = INT64_MAX;
		int64_t most_ms = 0;
		int64_t sum_ms = 0;

		for (uint64_t seed = first; seed < first + count; seed++) {
			int64_t ms = world_failover(seed, rows[i].pool);

			least_ms = ms < least_ms ? ms : least_ms;
			most_ms = ms > most_ms ? ms : most_ms;
			sum_ms += ms;
		}
		printf("%s: %.1f to %.1f s, %.1f s on average, %.0f s allowed\n", rows[i].name, (double)least_ms / 1000,
		       (double)most_ms / 1000, (double)sum_ms / 1000 / (double)count, (double)rows[i].most_ms / 1000);
		passed = passed && most_ms <= rows[i].most_ms;
	}
	return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seeds", required_argument, NULL, 'n'},   {"first", required_argument, NULL, 'f'},
		{"jobs", required_argument, NULL, 'j'},    {"seed", required_argument, NULL, 's'},
		{"hash", no_argument, NULL, 'h'},          {"calm", no_argument, NULL, 'c'},
		{"seconds", required_argument, NULL, 't'}, {"stop", no_argument, NULL, 'x'},
		{"failover", no_argument, NULL, 'F'},      {"help", no_argument, NULL, 'H'},
		{"version", no_argument, NULL, 'V'},       {NULL, 0, NULL, 0},
	};
	uint64_t count = 100;
	uint64_t first = 1;
	struct tally tally = {0};
	uint64_t hash;
	bool one = false;
	bool hash_only = false;
	bool stop = false;
	bool failover = false;
	int64_t seconds = 0;
	int jobs = 1;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'n': count = strtoull(optarg, NULL, 10); break;
		case 'f': first = strtoull(optarg, NULL, 10); break;
		case 'j': jobs = atoi(optarg); break;
		case 't': seconds = strtoll(optarg, NULL, 10); break;
		case 's':
			first = strtoull(optarg, NULL, 10);
			one = true;
			break;
		case 'c': trace_calm = true; break;
		case 'h': hash_only = true; break;
		case 'x': stop = true; break;
		case 'F': failover = true; break;
		case 'V': release_print("fc-sim");
		case 'H': fputs(usage, stdout); return 0;
		default: fputs("Try fc-sim --help.\n", stderr); return 2;
		}
	}
	if (jobs < 1 || jobs > JOBS_MAX) {
		fprintf(stderr, "fc-sim: --jobs %d: expected 1..%d\n", jobs, JOBS_MAX);
		return 2;
	}
	memo_start();
	json_object_seed(1);
	mallopt(M_MXFAST, 0); /* the C library would go over its small blocks at each large one */
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	if (failover)
		return run_failovers(first, count);
	if (!one)
		return run_seeds(argv[0], first, count, jobs, seconds, stop);
	sim_tracing = !hash_only;
	hash = run_seed(first, &tally);
	printf("seed %" PRIu64 ": %" PRIu64 " steps, hash %016" PRIx64 "\n", first, tally.steps, hash);
	return EXIT_SUCCESS;
}
