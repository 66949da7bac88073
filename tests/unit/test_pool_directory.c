/* The directory of the pool's bus: how a watcher makes it, and which directories of former watchers it removes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "tests/unit/temp.h"
#include "watcher/pool/pool.h"

struct fixture {
	char directory[TEMP_PATH_SIZE];
};

static int set_up(void **state)
{
	struct fixture *f = mem_calloc(1, sizeof(*f));

	*state = f;
	temp_directory(f->directory);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(rmdir(f->directory), 0);
	free(f);
	return 0;
}

/* As pool_directory_make(), with the fixture's directory as $TMPDIR. */
static void make_below(const struct fixture *f, char **directory, int *lock, char **endpoint)
{
	const char *variable = getenv("TMPDIR");
	cleanup_free char *before = variable == NULL ? NULL : mem_strdup(variable);
	struct error err;

	setenv("TMPDIR", f->directory, 1);
	assert_int_equal(pool_directory_make(directory, lock, endpoint, &err), 0);
	if (before == NULL)
		unsetenv("TMPDIR");
	else
		setenv("TMPDIR", before, 1);
}

static void test_directory(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *directory = NULL;
	cleanup_free char *endpoint = NULL;
	cleanup_free char *runtime = mem_printf("%s/runtime", f->directory);
	cleanup_free char *below = mem_printf("%s/frameworkcontroller-", f->directory);
	struct stat info;
	int lock;

	/* it would vanish with the last session of the user */
	assert_int_equal(mkdir(runtime, 0700), 0);
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	make_below(f, &directory, &lock, &endpoint);
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(rmdir(runtime), 0);
	assert_memory_equal(directory, below, strlen(below));
	assert_int_equal(stat(directory, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
	assert_memory_equal(endpoint, "ipc:///", 7);
	fclose(fopen(endpoint + 6, "w")); /* the socket */
	pool_directory_remove(directory, lock);
	assert_int_equal(stat(directory, &info), -1);
}

/* A listening socket in a directory, so old. */
static int listen_in(const char *path, time_t age_s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", path) <
		    (int)sizeof(address.sun_path));
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	times[1] = (struct timespec){.tv_sec = time(NULL) - age_s};
	assert_int_equal(utimensat(AT_FDCWD, address.sun_path, times, AT_SYMLINK_NOFOLLOW), 0);
	return fd;
}

/* A directory as a watcher without a lock makes it, its socket so old. Returns the socket, which listens. */
static int make_directory(const struct fixture *f, const char *name, time_t age_s, char path[TEMP_PATH_SIZE + 64])
{
	snprintf(path, TEMP_PATH_SIZE + 64, "%s/frameworkcontroller-%s", f->directory, name);
	assert_int_equal(mkdir(path, 0700), 0);
	return listen_in(path, age_s);
}

/* What a watcher that was killed has left goes with the next start; what one that lives, or is about to, has made
 * stays.
 */
static void test_left_behind(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *directory = NULL;
	cleanup_free char *endpoint = NULL;
	char paths[4][TEMP_PATH_SIZE + 64];
	int living = make_directory(f, "living", 3600, paths[0]);
	struct stat info;
	int lock;

	close(make_directory(f, "young", 10, paths[1]));
	close(make_directory(f, "killed", 3600, paths[2]));
	snprintf(paths[3], sizeof(paths[3]), "%s/frameworkcontroller-empty", f->directory);
	assert_int_equal(mkdir(paths[3], 0700), 0);
	make_below(f, &directory, &lock, &endpoint);
	assert_int_equal(stat(paths[2], &info), -1);
	assert_int_equal(stat(paths[0], &info), 0);
	assert_int_equal(stat(paths[1], &info), 0);
	close(living);
	pool_directory_remove(paths[0], -1);
	pool_directory_remove(paths[1], -1);
	assert_int_equal(rmdir(paths[3]), 0);
	assert_int_equal(rmdir(directory), 0);
	close(lock);
}

/* A standby on the same machine does not knock at the leader's bus: that would be a broken handshake there. When the
 * leader is killed, its lock goes with it. */
static void test_no_knock(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *leader = NULL;
	cleanup_free char *standby = NULL;
	cleanup_free char *endpoint = NULL;
	cleanup_free char *other = NULL;
	int locks[2];
	struct stat info;
	int living;

	make_below(f, &leader, &locks[0], &endpoint);
	living = listen_in(leader, 3600);
	make_below(f, &standby, &locks[1], &other);
	assert_int_equal(accept(living, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(stat(leader, &info), 0);
	pool_directory_remove(standby, locks[1]);
	free(standby);
	free(other);
	close(living);
	close(locks[0]);
	make_below(f, &standby, &locks[1], &other);
	assert_int_equal(stat(leader, &info), -1);
	pool_directory_remove(standby, locks[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_directory),
		TEST(test_left_behind),
		TEST(test_no_knock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
