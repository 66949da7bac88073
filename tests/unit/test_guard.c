/* What every program does first (guard.h): nothing of its memory gets out, no stray signal ends it, and jansson's want
 * of memory ends it as ours does, instead of leaving members out of an object. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/process/guard.h"

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* The exit status of a child that runs it. */
static int in_child(int (*run)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(run());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int guarded(void)
{
	struct rlimit core = {.rlim_cur = 1, .rlim_max = 1};

	process_guard();
	getrlimit(RLIMIT_CORE, &core);
	return prctl(PR_GET_DUMPABLE) == 0 && core.rlim_cur == 0 && core.rlim_max == 0 ? 0 : 1;
}

static void test_memory_stays_inside(void **state)
{
	(void)state;
	if (SANITIZED)
		skip(); /* the leak check looks into the process by ptrace(2) */
	assert_int_equal(in_child(guarded), 0);
}

/* 0: the soft limit of descriptors is the hard one. */
static int described(void)
{
	const struct rlimit few = {.rlim_cur = 64, .rlim_max = 512};
	struct rlimit now = {0};

	if (setrlimit(RLIMIT_NOFILE, &few) < 0)
		return 2;
	process_guard();
	getrlimit(RLIMIT_NOFILE, &now);
	return now.rlim_cur == 512 && now.rlim_max == 512 ? 0 : 1;
}

static void test_descriptors_up_to_hard_limit(void **state)
{
	(void)state;
	if (getenv("TEST_MEMCHECK") != NULL)
		skip(); /* memcheck lets nobody change the hard limit */
	assert_int_equal(in_child(described), 0);
}

static int signalled(void)
{
	process_guard();
	raise(SIGPIPE);
	raise(SIGHUP);
	return 0;
}

/* A peer that has gone, and a SIGHUP before anybody listens to it, end nothing. */
static void test_signals_that_end_nothing(void **state)
{
	(void)state;
	assert_int_equal(in_child(signalled), 0);
}

static int overfull(void)
{
	const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
	json_t *array;

	close(STDERR_FILENO);
	process_guard();
	array = json_array();
	setrlimit(RLIMIT_AS, &none);
	while (json_array_append_new(array, json_integer(1)) == 0)
		;
	return 0; /* it went on with an array that lacks something */
}

static void test_jansson_ends_too(void **state)
{
	(void)state;
	if (SANITIZED || getenv("TEST_MEMCHECK") != NULL)
		skip(); /* their allocators have reserved their room already, or end by themselves */
	assert_int_equal(in_child(overfull), 128 + SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_stays_inside),
		cmocka_unit_test(test_descriptors_up_to_hard_limit),
		cmocka_unit_test(test_signals_that_end_nothing),
		cmocka_unit_test(test_jansson_ends_too),
	};

	return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
