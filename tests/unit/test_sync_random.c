/* The model test: random stories against a small model of the API server, replayed by their seed. What may happen in
 * them is in sync_steps.h, what must hold after every step in sync_checks.h; and once changes and faults stop,
 * everything completes: by itself, by Stop or by deletion; nothing is left over.
 *
 * SYNC_SEED=n replays story n; SYNC_STORIES=n makes n of them (make test-model: 100 000), in SYNC_JOBS=n processes. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/sync_steps.h"

enum { STORIES = 400, STEPS_MAX = 150, JOBS_MAX = 64 };

static unsigned long long seed;

/* ---- coming to rest ---------------------------------------------------------------------------------------------- */

/* A Pod that came late, after its ConfigMap went: the garbage collector's. */
static bool is_orphan(struct story *s, json_t *pod)
{
	return s->w.config_map == NULL || strcmp(json_str(json_at(pod, "metadata.ownerReferences.0"), "uid"),
						 meta_str(s->w.config_map, "uid")) != 0;
}

enum ending { ENDS_BY_ITSELF, ENDS_BY_STOP, ENDS_BY_DELETION };

/* What is to end it all is done. */
static enum ending begin_to_end(struct story *s)
{
	struct world *w = &s->w;
	enum ending ending = (enum ending)random_between(&s->random, ENDS_BY_ITSELF, ENDS_BY_DELETION);
	cleanup_free char *spec = NULL;

	if (w->object == NULL || is_deleting(w->object))
		return ENDS_BY_DELETION;
	if (ending == ENDS_BY_DELETION) {
		world_mark_deleting(w, w->object, 0);
		world_tell_framework(w);
		return ending;
	}
	if (ending == ENDS_BY_ITSELF && s->finite)
		return ending;
	spec = ending == ENDS_BY_STOP ? random_spec(s, "Stop", 0, -2) : random_spec(s, "Start", 1, 0);
	world_edit(w, spec);
	return ending;
}

/* Reconciles, writes and calls until there is nothing more to do for now. */
static void work_off(struct story *s)
{
	struct world *w = &s->w;

	for (int idle = 0, busy = 0; idle < 2 && busy < 50; busy++) {
		reconcile_of(s);
		idle = w->plan.write || w->queued > 0 ? 0 : idle + 1;
		write_of(s, false);
		while (w->queued > 0)
			carry_one(s, false);
	}
}

static bool is_over(const struct story *s, enum ending ending)
{
	const struct world *w = &s->w;

	if (w->config_map != NULL || json_object_size(w->pods) > 0)
		return false;
	if (ending == ENDS_BY_DELETION)
		return w->object == NULL;
	return w->framework->status.state == STATE_COMPLETED && w->framework->written == w->framework->version;
}

/* No more faults, and Pods end: everything completes. */
static void come_to_rest(struct story *s)
{
	static const int codes[] = {0, 0, 1, 210};
	struct world *w = &s->w;
	enum ending ending;

	while (s->late_count > 0)
		land_late(s);
	w->fault.count = 0;
	w->slow_kubelet = false;
	if (!w->time.live)
		w->time.live_since_ms = w->time.boot_ms;
	w->time.live = true;
	ending = begin_to_end(s);
	relist(s);
	for (int i = 0; i < 400; i++) {
		const char *name;
		void *next;
		json_t *pod;

		work_off(s);
		check_pods(s);
		if (is_over(s, ending))
			return;
		json_object_foreach_safe(w->pods, next, name, pod) {
			if (is_deleting(pod) || is_orphan(s, pod))
				world_pod_gone(w, name);
			else if (ending == ENDS_BY_ITSELF && chance(s, 2))
				world_pod_exit(w, name,
					       codes[random_between(&s->random, 0, (int64_t)ARRAY_LEN(codes) - 1)], "");
		}
		collect_garbage(s);
		if (w->plan.wake_ms != INT64_MAX && w->plan.wake_ms > w->time.boot_ms)
			world_advance_ms(w, w->plan.wake_ms - w->time.boot_ms);
	}
	{
		cleanup_free char *text = w->object == NULL ? mem_strdup("none") : json_text(w->object);
		cleanup_free char *pods = json_text(w->pods);

		fail_msg("does not end (%d): ConfigMap %s, Pods %s, Framework %s", (int)ending,
			 w->config_map == NULL ? "gone" : "there", pods, text);
	}
}

static void tell(unsigned long long one)
{
	static struct story s;
	cleanup_free char *spec = NULL;
	int64_t steps;

	memset(&s, 0, sizeof(s));
	random_init_seed(&s.random, one);
	world_init(&s.w);
	s.landed = json_object();
	s.wrote = true; /* nobody had this Framework before */
	random_init_seed(&s.w.random, one);
	spec = random_spec(&s, "Start", 0, -2);
	world_create_framework(&s.w, spec, NULL);
	s.w.slow_kubelet = true;
	s.w.slow_gc = true;
	/* Most are short: many of them see more than few long ones. */
	steps = random_between(&s.random, 1, chance(&s, 3) ? STEPS_MAX : STEPS_MAX / 3);
	for (int64_t i = 0; i < steps; i++)
		step(&s);
	come_to_rest(&s);
	json_decref(s.last_status);
	json_decref(s.landed);
	json_decref(s.old);
	world_end(&s.w);
}

/* ---- running them ------------------------------------------------------------------------------------------------ */

static void say_seed(int number)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "replay with SYNC_SEED=%llu\n", seed);

	if (write(STDERR_FILENO, text, (size_t)len) == len && number != 0)
		signal(number, SIG_DFL); /* and abort() goes on to abort */
}

static int on_failure(void **state)
{
	(void)state;
	if (seed != 0)
		say_seed(0);
	return 0;
}

/* Every step-th story from first on. */
static void tell_all(unsigned long long first, unsigned long long last, unsigned long long step)
{
	for (seed = first; seed <= last; seed += step)
		tell(seed);
	seed = 0;
}

static unsigned long long number_from(const char *variable, unsigned long long otherwise)
{
	const char *text = getenv(variable);

	return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* A story that fails in a process of its own ends that as a test that failed. */
static void tell_in_parallel(unsigned long long last, unsigned long long jobs)
{
	pid_t children[JOBS_MAX];
	int failed = 0;

	assert_in_range(jobs, 1, JOBS_MAX);
	for (unsigned long long i = 0; i < jobs; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] > 0)
			continue;
		tell_all(1 + i, last, jobs);
		_exit(0);
	}
	for (unsigned long long i = 0; i < jobs; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		failed += status != 0;
	}
	assert_int_equal(failed, 0);
}

static void test_stories(void **state)
{
	unsigned long long one = number_from("SYNC_SEED", 0);
	unsigned long long last = number_from("SYNC_STORIES", STORIES);
	unsigned long long jobs = number_from("SYNC_JOBS", 1);

	(void)state;
	signal(SIGABRT, say_seed);
	if (one != 0)
		tell_all(one, one, 1);
	else if (jobs > 1)
		tell_in_parallel(last, jobs);
	else
		tell_all(1, last, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_stories, on_failure)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
