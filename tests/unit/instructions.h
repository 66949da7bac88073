/* Counts the instructions of pieces of code by single steps, so that the figures are the same on any machine. Builds
 * with sanitizers or DEBUG=1 execute others: tests do not count there. */
#ifndef UNIT_INSTRUCTIONS_H
#define UNIT_INSTRUCTIONS_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Begins a piece, or ends it. */
static inline void instructions_mark(void)
{
	raise(SIGSTOP);
}

static inline bool instructions_stopped_by(int status, int signal_number)
{
	return WIFSTOPPED(status) && WSTOPSIG(status) == signal_number;
}

/* Runs run(arg) in a child, which begins and ends so many pieces. false: processes may not be traced here. */
static inline bool instructions_count(void (*run)(void *arg), void *arg, size_t pieces, uint64_t *out)
{
	pid_t child;
	int status;

	if (getenv("TEST_MEMCHECK") != NULL)
		return false; /* they would be memcheck's */
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(errno == EPERM ? 77 : 1);
		run(arg);
		_exit(0);
	}
	for (size_t piece = 0; piece < pieces; piece++) {
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			return false;
		assert_true(instructions_stopped_by(status, SIGSTOP));
		out[piece] = 0;
		for (;;) {
			assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
			assert_int_equal(waitpid(child, &status, 0), child);
			if (instructions_stopped_by(status, SIGSTOP))
				break;
			assert_true(instructions_stopped_by(status, SIGTRAP));
			out[piece]++;
		}
		assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return true;
}

#endif
