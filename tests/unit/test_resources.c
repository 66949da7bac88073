/* What runs out on a machine: file descriptors, room on disk, processes. Memory is tests/fuzz/memory.c's. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "barrier/init/output.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/kube/client.h"
#include "common/serve/serve.h"
#include "tests/unit/http_asker.h"
#include "tests/unit/http_server.h"
#include "tests/unit/slow.h"
#include "tests/unit/temp.h"
#include "watcher/pool/pool.h"

/* ---- file descriptors -------------------------------------------------------------------------------------------- */

static struct rlimit descriptors;

/* From now on none can be opened any more, but for `spare` ones. */
static void use_up_descriptors(int spare)
{
	struct rlimit few;
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(next >= 0);
	close(next);
	/* those above the lowest free one may be in use: then they stay so */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
	few = descriptors;
	few.rlim_cur = (rlim_t)(next + spare);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void give_back_descriptors(void)
{
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

static void run_for(struct ev_loop *loop, double seconds)
{
	ev_timer timer;

	ev_timer_init(&timer, on_timer, seconds, 0.);
	ev_timer_start(loop, &timer);
	ev_run(loop, 0);
	ev_timer_stop(loop, &timer);
}

/* memcheck keeps descriptors for itself, and says in its own way how a child has ended. */
static void not_under_memcheck(void)
{
	if (getenv("TEST_MEMCHECK") != NULL)
		skip();
}

/* A server that cannot accept a connection neither dies nor spins, and takes it when it can. */
static void test_no_descriptors_for_a_client(void **state)
{
	const struct serve_options options = {.address = "127.0.0.1:0"};
	struct ev_loop *loop;
	struct serve *serve;
	struct asking asking;
	int64_t begin_ms;
	int64_t used_ms;

	(void)state;
	not_under_memcheck();
	loop = ev_loop_new(EVFLAG_AUTO);
	serve = serve_new(loop, &options, NULL);
	assert_non_null(serve);
	use_up_descriptors(1);
	asking = asker_open(serve_address(serve));
	assert_true(asker_send(&asking, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
	begin_ms = cpu_ms();
	run_for(loop, 1.0);
	used_ms = cpu_ms() - begin_ms;
	asker_read(&asking);
	assert_int_equal(asking.in.len, 0);
	give_back_descriptors();
	RUN_UNTIL(loop, asker_done(&asking));
	assert_int_equal(asker_status(&asking), 200);
	asker_close(&asking);
	serve_free(serve);
	ev_loop_destroy(loop);
	if (used_ms > 300)
		fail_msg("%lld ms of processor time in 1 s of waiting", (long long)used_ms);
}

/* 0: a server for so many connections starts and answers, and descriptors may be used up to at least `least`. */
static int serve_within(rlim_t soft, rlim_t hard, rlim_t least)
{
	const struct serve_options options = {.address = "127.0.0.1:0", .max_connections = 1000};
	const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct rlimit now;
	struct serve *serve;
	struct asking asking;

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	serve = serve_new(loop, &options, NULL);
	if (serve == NULL || getrlimit(RLIMIT_NOFILE, &now) < 0 || now.rlim_cur < least)
		return 2;
	asking = asker_open(serve_address(serve));
	asker_send(&asking, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
	for (int i = 0; i < 10000 && !asker_done(&asking); i++)
		asker_turn(loop);
	return asker_status(&asking) == 200 ? 0 : 3;
}

/* common/README.md §9.2: the limit of connections and that of descriptors go together. */
static void test_connections_fit_descriptors(void **state)
{
	static const rlim_t limits[][3] = {{64, 4096, 1000}, {64, 64, 64}};

	(void)state;
	not_under_memcheck();
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		int status;
		pid_t child = _Fork();

		if (child == 0)
			_exit(serve_within(limits[i][0], limits[i][1], limits[i][2]));
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

struct call {
	bool done;
	enum kube_failure failure;
	int status;
	char message[256];
};

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct call *call = arg;

	call->done = true;
	call->failure = answer->failure;
	call->status = answer->http_status;
	snprintf(call->message, sizeof(call->message), "%s", answer->message);
}

static void on_request(void *arg, struct http_conn *conn)
{
	(void)arg;
	http_reply(conn, 200, "", "{}");
}

/* A request that gets no socket fails as any other that reaches nobody, says why, and the next one is made. */
static void test_no_descriptors_for_a_request(void **state)
{
	const struct kube_client_options options = {.user_agent = "test"};
	const struct kube_request request = {.method = "GET", .path = "/api", .timeout_ms = 20000};
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct http_server server;
	struct kube_config config = {.source = "test"};
	struct kube_client *client;
	struct call call = {0};

	(void)state;
	http_server_start(&server, loop, on_request, NULL);
	config.server = server.address;
	client = kube_client_new(loop, &config, &options, NULL);
	assert_non_null(client);
	use_up_descriptors(0);
	kube_client_call(client, &request, on_done, &call);
	RUN_UNTIL(loop, call.done);
	give_back_descriptors();
	assert_int_equal(call.failure, KUBE_NETWORK);
	assert_non_null(strstr(call.message, "no file descriptors left"));
	call = (struct call){0};
	kube_client_call(client, &request, on_done, &call);
	RUN_UNTIL(loop, call.done);
	assert_int_equal(call.failure, KUBE_OK);
	assert_int_equal(call.status, 200);
	kube_client_free(client);
	http_server_free(&server);
	ev_loop_destroy(loop);
}

/* ---- room on disk ------------------------------------------------------------------------------------------------ */

static size_t files_in(const char *directory, const char *prefix)
{
	DIR *opened = opendir(directory);
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(opened);
	while ((entry = readdir(opened)) != NULL)
		if (entry->d_name[0] != '.' || strcmp(entry->d_name + strspn(entry->d_name, "."), "") != 0)
			count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	closedir(opened);
	return count;
}

/* framework.json that does not fit: an error that names it, no part of it, and what was there before is left. */
static void expect_no_room(const char *directory)
{
	static const char small[] = "{\"kind\":\"Framework\"}";
	cleanup_free char *long_text = mem_alloc(100001);
	cleanup_free char *path = mem_printf("%s/framework.json", directory);
	cleanup_free char *script = mem_printf("%s/injector.sh", directory);
	cleanup_free char *large = NULL;
	cleanup_json json_t *left = NULL;
	cleanup_buf struct buf injector = {0};
	struct error err = {.message = ""};

	memset(long_text, 'x', 100000);
	long_text[100000] = '\0';
	large = mem_printf("{\"kind\":\"%s\"}", long_text);
	buf_puts(&injector, "export A=1\n");
	assert_int_equal(output_write(directory, small, &injector, &err), 0);
	assert_int_equal(output_write(directory, large, &injector, &err), -1);
	assert_non_null(strstr(err.message, "framework.json"));
	left = json_load_file(path, 0, NULL);
	assert_non_null(left);
	assert_string_equal(json_str(left, "kind"), "Framework");
	assert_int_equal(files_in(directory, ""), 2); /* no temporary one */
	unlink(path);
	unlink(script);
}

/* A limit of files' size stands in for a full disk where there is no right to mount one: write(2) fails alike. */
static void test_no_room_for_framework_json(void **state)
{
	char directory[TEMP_PATH_SIZE];
	struct rlimit before;

	(void)state;
	temp_directory(directory);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){8192, before.rlim_max}), 0);
	expect_no_room(directory);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(rmdir(directory), 0);
}

/* A file system of 64 KiB, which nobody but this process sees; skips the test where there is no right to mount one. */
static void mount_small_disk(char directory[TEMP_PATH_SIZE])
{
	temp_directory(directory);
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("test", directory, "tmpfs", 0, "size=64k") < 0) {
		assert_int_equal(rmdir(directory), 0);
		skip();
	}
}

static void unmount_small_disk(const char *directory)
{
	assert_int_equal(umount(directory), 0);
	assert_int_equal(rmdir(directory), 0);
}

static void test_full_disk_for_framework_json(void **state)
{
	char directory[TEMP_PATH_SIZE];

	(void)state;
	mount_small_disk(directory);
	expect_no_room(directory);
	unmount_small_disk(directory);
}

/* A log on a full disk stops no process; what comes when there is room again stands on lines of its own. */
static void test_full_disk_for_the_log(void **state)
{
	char directory[TEMP_PATH_SIZE];
	cleanup_free char *log = NULL;
	cleanup_free char *other = NULL;
	cleanup_free char *text = NULL;
	static char half[32768];
	int saved;
	int fd;
	ssize_t len;
	char *last;

	(void)state;
	mount_small_disk(directory);
	saved = dup(STDERR_FILENO);
	text = mem_calloc(1, 65537);
	log = mem_printf("%s/log", directory);
	other = mem_printf("%s/other", directory);
	fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, half, sizeof(half)), sizeof(half));
	close(fd);
	fd = open(log, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	for (int i = 0; i < 1000; i++)
		log_info("line %d of those that are more than there is room for", i);
	unlink(other);
	log_info("there is room");
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	len = pread(fd, text, 65536, 0);
	assert_true(len > (ssize_t)sizeof(half) / 2);
	assert_int_equal(text[len - 1], '\n');
	text[len - 1] = '\0';
	last = strrchr(text, '\n') + 1;
	assert_int_equal(*last, 'I');
	assert_non_null(strstr(last, "] there is room"));
	assert_null(strchr(last + 1, 'I')); /* the head of another one */
	close(fd);
	unlink(log);
	unmount_small_disk(directory);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static int forks_to_fail;

/* Stands in front of libc's for the pool: a limit of processes does not bind root. */
pid_t fork(void)
{
	if (forks_to_fail > 0) {
		forks_to_fail--;
		errno = EAGAIN;
		return -1;
	}
	return _Fork();
}

static void on_died(void *arg, const char *name)
{
	(void)arg;
	(void)name;
}

static void on_drained(void *arg)
{
	*(bool *)arg = true;
}

/* A pool that cannot fork tries again later, each time after a longer while, and then has all its workers. */
static void test_no_process_for_a_worker(void **state)
{
	static const struct pool_handler handler = {.died = on_died, .drained = on_drained};
	char program[TEMP_PATH_SIZE];
	const struct pool_options options = {.program = program,
					     .workers = 2,
					     .endpoint = "ipc:///dev/null",
					     .drain_ms = 10000,
					     .backoff_first_ms = 10};
	struct ev_loop *loop = ev_default_loop(0);
	bool drained = false;
	struct error err;
	struct pool *pool;
	int fd = temp_file(program);

	(void)state;
	assert_int_equal(dprintf(fd, "#!/bin/sh\nexec sleep 1000\n") > 0, 1);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	forks_to_fail = 5;
	pool = pool_new(loop, &options, &handler, &drained, &err);
	assert_non_null(pool);
	assert_int_equal(pool_pid(pool, 0), 0);
	RUN_UNTIL(loop, pool_pid(pool, 0) != 0 && pool_pid(pool, 1) != 0);
	assert_int_equal(forks_to_fail, 0);
	pool_stop(pool);
	RUN_UNTIL(loop, drained);
	pool_free(pool);
	unlink(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_descriptors_for_a_client),  cmocka_unit_test(test_connections_fit_descriptors),
		cmocka_unit_test(test_no_descriptors_for_a_request), cmocka_unit_test(test_no_room_for_framework_json),
		cmocka_unit_test(test_full_disk_for_framework_json), cmocka_unit_test(test_full_disk_for_the_log),
		cmocka_unit_test(test_no_process_for_a_worker),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("resources", tests, NULL, NULL);
}
