/* A process whose name others may look up in a Lease. */
#ifndef UNIT_NAMED_PROCESS_H
#define UNIT_NAMED_PROCESS_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/leader/election.h"
#include "common/leader/identity.h"

/* Starts one that waits, and reads what it calls itself. The caller kills it. */
static inline pid_t start_process(char *out, size_t size)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		char name[ELECTION_PROCESS_SIZE];

		identity_process(name, sizeof(name));
		if (write(ends[1], name, strlen(name) + 1) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_true(read(ends[0], out, size) > 0);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

#endif
