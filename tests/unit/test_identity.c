/* The names of processes in a Lease: whether the process that one names has ended. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>

#include "tests/unit/named_process.h"

static void test_process(void **state)
{
	char name[ELECTION_PROCESS_SIZE];
	char other[ELECTION_PROCESS_SIZE + 8];
	pid_t pid = start_process(name, sizeof(name));

	(void)state;
	assert_true(strlen(name) > 0);
	assert_false(identity_process_ended(name));
	kill(pid, SIGSTOP);
	assert_false(identity_process_ended(name)); /* it may go on */
	kill(pid, SIGKILL);
	while (!identity_process_ended(name)) /* a zombie has ended */
		usleep(1000);
	waitpid(pid, NULL, 0);
	assert_true(identity_process_ended(name));
	/* of other machines, or of before the last start of this one, nothing is known */
	snprintf(other, sizeof(other), "x%s", name);
	assert_false(identity_process_ended(other));
	assert_false(identity_process_ended(""));
	assert_false(identity_process_ended("nonsense/1/2/3"));
	assert_false(identity_process_ended("nonsense"));
	/* another process has its number by now */
	identity_process(name, sizeof(name));
	assert_false(identity_process_ended(name));
	*strrchr(name, '/') = '\0';
	snprintf(other, sizeof(other), "%s/1", name);
	assert_true(identity_process_ended(other));
}

/* /proc may be mounted so that it hides others' processes: what is not seen there may run. */
static void test_process_hidden(void **state)
{
	char name[ELECTION_PROCESS_SIZE];
	pid_t running = start_process(name, sizeof(name));
	pid_t looks = fork();
	int status;

	(void)state;
	if (looks == 0) {
		if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("proc", "/proc", "proc", 0, "hidepid=2") < 0 || setuid(65534) < 0)
			_exit(2);
		_exit(identity_process_ended(name) ? 1 : 0);
	}
	assert_int_equal(waitpid(looks, &status, 0), looks);
	kill(running, SIGKILL);
	waitpid(running, NULL, 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip(); /* only root may mount: as a user, and in a container without that right */
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The next Pod of a StatefulSet's name, on another machine: the one before it has ended, or it would not be there. */
static void test_process_of_stateful_set(void **state)
{
	static const struct {
		const char *name;
		const char *ns;
		const char *uid;
		bool ended;
	} rows[] = {
		{"fc-watcher-0", "ns", "uid-2", true},
		{"fc-watcher-0", "ns", "uid-1", false}, /* the same Pod */
		{"fc-watcher-0", "ns", "", false},
		{"fc-watcher-1", "ns", "uid-2", false},
		{"watcher-0", "ns", "uid-2", false},
		{"fc-watcher-0", "other", "uid-2", false},
		{"", "ns", "uid-2", false},
	};
	char name[ELECTION_PROCESS_SIZE];

	(void)state;
	setenv("POD_UID", "uid-1", 1);
	setenv("POD_NAMESPACE", "ns", 1);
	setenv("STATEFULSET_POD_NAME", "fc-watcher-0", 1);
	identity_process(name, sizeof(name));
	assert_non_null(strstr(name, "/ns/fc-watcher-0"));
	assert_false(identity_process_ended(name));
	name[0] = name[0] == 'x' ? 'y' : 'x'; /* of another machine's boot */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setenv("POD_UID", rows[i].uid, 1);
		setenv("POD_NAMESPACE", rows[i].ns, 1);
		setenv("STATEFULSET_POD_NAME", rows[i].name, 1);
		if (identity_process_ended(name) != rows[i].ended)
			fail_msg("row %zu", i);
	}
	unsetenv("POD_UID");
	unsetenv("POD_NAMESPACE");
	unsetenv("STATEFULSET_POD_NAME");
}

/* The container of a Pod that was started again: its former processes are in a namespace that is no more. */
static void test_process_of_pod(void **state)
{
	static const char *const pods[] = {"", "uid-1"};
	char name[ELECTION_PROCESS_SIZE];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *space;

		setenv("POD_UID", pods[i], 1);
		identity_process(name, sizeof(name));
		assert_false(identity_process_ended(name));
		space = strstr(name, "pid:[");
		assert_non_null(space);
		space[strlen("pid:[")] = 'x'; /* another one */
		assert_int_equal(identity_process_ended(name), i == 1);
		setenv("POD_UID", "uid-2", 1);
		assert_false(identity_process_ended(name));
	}
	unsetenv("POD_UID");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_process_hidden),
		cmocka_unit_test(test_process_of_pod),
		cmocka_unit_test(test_process_of_stateful_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
