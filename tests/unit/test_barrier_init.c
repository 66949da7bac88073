/* The init container: its environment, its verdicts and exit codes, and the files it leaves, sourced by real shells.
 * The servers it asks are scripted and run in a thread of their own, since it blocks. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <resolv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "barrier/init/ask.h"
#include "barrier/init/environment.h"
#include "barrier/init/output.h"
#include "barrier/init/wait.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/gang.h"
#include "common/framework/status.h"
#include "tests/unit/http_server.h"
#include "tests/unit/temp.h"

/* ---- Frameworks -------------------------------------------------------------------------------------------------- */

/* Roles as "ps:10.0.0.1,- worker:10.0.0.2"; "-" has no IP, "none" stands for no Tasks. */
static char *framework_text(const char *roles, bool compressed)
{
	cleanup_free char *text = mem_strdup(roles);
	cleanup_buf struct buf spec = {0};
	cleanup_buf struct buf status = {0};
	struct buf out = {0};
	char *state = NULL;

	buf_puts(&spec, "[");
	buf_puts(&status, "[");
	for (char *role = strtok_r(text, " ", &state); role != NULL; role = strtok_r(NULL, " ", &state)) {
		char *ips = strchr(role, ':');
		char *inner = NULL;
		int count = 0;

		*ips++ = '\0';
		buf_json_next(&status);
		buf_printf(&status, "{\"name\":\"%s\",\"taskStatuses\":[", role);
		for (char *ip = strtok_r(ips, ",", &inner); ip != NULL && strcmp(ip, "none") != 0;
		     ip = strtok_r(NULL, ",", &inner)) {
			buf_json_next(&status);
			buf_puts(&status, "{\"attemptStatus\":{\"podIP\":");
			buf_json_string(&status, *ip == '-' ? NULL : ip);
			buf_puts(&status, "}}");
			count++;
		}
		buf_puts(&status, "]}");
		buf_json_next(&spec);
		buf_printf(&spec, "{\"name\":\"%s\",\"taskNumber\":%d}", role, count);
	}
	buf_puts(&spec, "]");
	buf_puts(&status, "]");
	buf_printf(&out,
		   "{\"metadata\":{\"name\":\"fw\",\"uid\":\"u1\"},\"spec\":{\"taskRoles\":%s},\"status\":{"
		   "\"attemptStatus\":{",
		   spec.data);
	if (compressed) {
		cleanup_free char *packed = text_compress(status.data, status.len);

		buf_printf(&out, "\"taskRoleStatuses\":null,\"taskRoleStatusesCompressed\":\"%s\"}}}", packed);
	} else {
		buf_printf(&out, "\"taskRoleStatuses\":%s}}}", status.data);
	}
	return buf_steal(&out);
}

/* ---- servers in a thread ----------------------------------------------------------------------------------------- */

/* What is answered to the n-th request; the last entry repeats. status 0: the connection is reset. */
struct line {
	int status;
	const char *roles; /* of a 200 */
	const char *body;  /* else */
};

struct script {
	struct http_server server;
	struct ev_loop *loop;
	struct ev_async stop;
	pthread_t thread;
	const struct line *lines;
	bool compressed;
	bool gzip; /* answers, to those who accept it */
	bool was_gzip;
	atomic_uint asked;
	char last_path[2048]; /* read after stop only */
	char last_token[256];
};

static void reply_gzip(struct http_conn *conn, const char *text)
{
	cleanup_free char *base64 = text_compress(text, strlen(text));
	cleanup_free unsigned char *body = mem_alloc(strlen(base64));
	int len = b64_pton(base64, body, strlen(base64));
	cleanup_free char *head = mem_printf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n",
					     len);

	http_raw(conn, head, strlen(head));
	http_raw(conn, (const char *)body, (size_t)len);
}

static void on_request(void *arg, struct http_conn *conn)
{
	struct script *script = arg;
	unsigned number = atomic_fetch_add(&script->asked, 1);
	const struct line *line = script->lines;
	const char *token = http_header(conn, "Authorization");
	cleanup_free char *text = NULL;

	for (unsigned i = 0; i < number && line[1].status >= 0; i++)
		line++;
	snprintf(script->last_path, sizeof(script->last_path), "%s", conn->path);
	snprintf(script->last_token, sizeof(script->last_token), "%s", token == NULL ? "" : token);
	if (line->status == 0) {
		http_reset(conn);
		return;
	}
	text = line->roles != NULL ? framework_text(line->roles, script->compressed) : mem_strdup(line->body);
	script->was_gzip = script->gzip && http_header(conn, "Accept-Encoding") != NULL;
	if (script->was_gzip)
		reply_gzip(conn, text);
	else
		http_reply(conn, line->status, "", text);
}

static void on_stop(struct ev_loop *loop, struct ev_async *async, int events)
{
	(void)async;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

static void *serve_script(void *arg)
{
	struct script *script = arg;

	ev_run(script->loop, 0);
	return NULL;
}

static void script_start(struct script *script, const struct line *lines, bool compressed)
{
	*script = (struct script){.lines = lines, .compressed = compressed};
	script->loop = ev_loop_new(0);
	http_server_start(&script->server, script->loop, on_request, script);
	ev_async_init(&script->stop, on_stop);
	ev_async_start(script->loop, &script->stop);
	assert_int_equal(pthread_create(&script->thread, NULL, serve_script, script), 0);
}

static void script_end(struct script *script)
{
	ev_async_send(script->loop, &script->stop);
	pthread_join(script->thread, NULL);
	http_server_free(&script->server);
	ev_loop_destroy(script->loop);
}

/* ---- a place for files ------------------------------------------------------------------------------------------- */

static char *make_directory(void)
{
	char directory[TEMP_PATH_SIZE];

	temp_directory(directory);
	return mem_strdup(directory);
}

/* Removes it; everything in it must be one of the two files: nothing temporary is left. */
static void remove_directory(char *directory)
{
	static const char *const names[] = {"framework.json", "injector.sh"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup_free char *path = mem_printf("%s/%s", directory, names[i]);

		unlink(path);
	}
	assert_int_equal(rmdir(directory), 0);
	free(directory);
}

static char *read_file(const char *directory, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", directory, name);
	struct buf out = {0};
	char chunk[4096];
	size_t count;
	FILE *file = fopen(path, "r");

	if (file == NULL)
		return NULL;
	while ((count = fread(chunk, 1, sizeof(chunk), file)) > 0)
		buf_append(&out, chunk, count);
	fclose(file);
	return buf_steal(&out);
}

static unsigned mode_of(const char *directory, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", directory, name);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

static void clear_environment(void)
{
	static const char *const names[] = {
		"FC_FRAMEWORK_NAMESPACE",    "FC_FRAMEWORK_NAME",
		"FC_FRAMEWORK_UID",          "BARRIER_CHECK_INTERVAL_SEC",
		"BARRIER_CHECK_TIMEOUT_SEC", "FRAMEWORK_BARRIER_ADDRESS",
		"FRAMEWORK_BARRIER_CA_FILE", "FRAMEWORK_BARRIER_TOKEN_FILE",
		"KUBE_APISERVER_ADDRESS",    "KUBECONFIG",
		"KUBERNETES_SERVICE_HOST",   "KUBERNETES_SERVICE_PORT",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unsetenv(names[i]);
	setenv("HOME", "/nonexistent", 1);
}

static void reads_the_environment(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		bool fine;
	} cases[] = {
		{"FC_FRAMEWORK_NAMESPACE", "", false},
		{"FC_FRAMEWORK_NAMESPACE", "a/b", false},
		{"FC_FRAMEWORK_NAMESPACE", "kube-system", true},
		{"FC_FRAMEWORK_NAME", "", false},
		{"FC_FRAMEWORK_NAME", "Fw", false},
		{"FC_FRAMEWORK_NAME", "a?b", false},
		{"FC_FRAMEWORK_UID", "c57427b7-d7bf", true},
		{"FC_FRAMEWORK_UID", "a&b", false},
		{"BARRIER_CHECK_INTERVAL_SEC", "4", false},
		{"BARRIER_CHECK_INTERVAL_SEC", "5", true},
		{"BARRIER_CHECK_INTERVAL_SEC", "5s", false},
		{"BARRIER_CHECK_INTERVAL_SEC", "-7", false},
		{"BARRIER_CHECK_INTERVAL_SEC", "99999999999999999999", false},
		{"BARRIER_CHECK_INTERVAL_SEC", " 7", false},
		{"BARRIER_CHECK_TIMEOUT_SEC", "59", false},
		{"BARRIER_CHECK_TIMEOUT_SEC", "60", true},
		{"BARRIER_CHECK_TIMEOUT_SEC", "1200", true},
		{"BARRIER_CHECK_TIMEOUT_SEC", "1201", false},
		{"BARRIER_CHECK_TIMEOUT_SEC", "x", false},
	};
	struct environment environment;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		clear_environment();
		setenv("FC_FRAMEWORK_NAMESPACE", "default", 1);
		setenv("FC_FRAMEWORK_NAME", "fw", 1);
		setenv(cases[i].name, cases[i].value, 1);
		if ((environment_read(&environment, &err) == 0) != cases[i].fine)
			fail_msg("%s=%s", cases[i].name, cases[i].value);
		if (cases[i].fine)
			environment_free(&environment);
		else
			assert_non_null(strstr(err.message, cases[i].name));
	}
	clear_environment();
	setenv("FC_FRAMEWORK_NAMESPACE", "default", 1);
	setenv("FC_FRAMEWORK_NAME", "fw", 1);
	setenv("BARRIER_CHECK_INTERVAL_SEC", "", 1);
	assert_int_equal(environment_read(&environment, &err), 0);
	assert_int_equal(environment.check_interval_sec, 10);
	assert_int_equal(environment.check_timeout_sec, 600);
	assert_string_equal(environment.uid, "");
	assert_string_equal(environment.barrier_address, "");
	environment_free(&environment);
}

/* ---- the injector ------------------------------------------------------------------------------------------------ */

static int write_injector(const char *roles, struct buf *out, struct error *err)
{
	cleanup_free char *text = framework_text(roles, false);
	struct object_parts parts;
	struct gang gang;
	int result;

	assert_int_equal(object_parts_read(text, strlen(text), &parts, err), 0);
	assert_int_equal(gang_read(&parts, &gang, err), 0);
	assert_true(gang_passed(&gang));
	result = injector_write(out, &gang, err);
	gang_free(&gang);
	object_meta_free(&parts.meta);
	return result;
}

static void writes_the_injector(void **state)
{
	cleanup_buf struct buf out = {0};
	struct error err;

	(void)state;
	assert_int_equal(write_injector("ps:10.0.0.1 w2:fd00::1,10.0.0.3 idle:none", &out, &err), 0);
	assert_string_equal(out.data, "#!/bin/bash\n"
				      "\n"
				      "export FB_PS_IPS=\"10.0.0.1\"\n"
				      "echo \"FB_PS_IPS=${FB_PS_IPS}\"\n"
				      "export FB_PS_ADDRESSES=\"10.0.0.1:${FB_PS_PORT}\"\n"
				      "echo \"FB_PS_ADDRESSES=${FB_PS_ADDRESSES}\"\n"
				      "\n"
				      "export FB_W2_IPS=\"fd00::1,10.0.0.3\"\n"
				      "echo \"FB_W2_IPS=${FB_W2_IPS}\"\n"
				      "export FB_W2_ADDRESSES=\"[fd00::1]:${FB_W2_PORT},10.0.0.3:${FB_W2_PORT}\"\n"
				      "echo \"FB_W2_ADDRESSES=${FB_W2_ADDRESSES}\"\n"
				      "\n"
				      "export FB_IDLE_IPS=\"\"\n"
				      "echo \"FB_IDLE_IPS=${FB_IDLE_IPS}\"\n"
				      "export FB_IDLE_ADDRESSES=\"\"\n"
				      "echo \"FB_IDLE_ADDRESSES=${FB_IDLE_ADDRESSES}\"\n");
}

static void refuses_what_could_break_a_shell(void **state)
{
	static const char *const bad[] = {"$(id)",        "`id`",      "10.0.0.1;id", "\"", "10.0.0.1\n",
					  "fe80::1%eth0", "localhost", "10.0.0",      "\\"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_free char *roles = mem_printf("ps:10.0.0.1,%s", bad[i]);
		cleanup_buf struct buf out = {0};
		struct error err;

		assert_int_equal(write_injector(roles, &out, &err), -1);
		assert_non_null(strstr(err.message, "Task ps-1"));
	}
}

/* Sources it in a shell with an odd port, and compares what it echoes and what it exports to programs. */
static void expect_sourced(const char *shell, const char *directory)
{
	cleanup_free char *command = mem_printf(
		"cd %s && FB_PS_PORT=70 && FB_W_PORT='8 *' && . ./injector.sh >echoed && "
		"env | grep '^FB_.*\\(IPS\\|ADDRESSES\\)=' | sort >exported && sort echoed | cmp - exported && "
		"cat exported; rm -f echoed exported",
		directory);
	cleanup_free char *line = mem_printf("%s -euc \"$COMMAND\"", shell);
	char out[512] = "";
	size_t len;
	FILE *pipe;

	setenv("COMMAND", command, 1);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	len = fread(out, 1, sizeof(out) - 1, pipe);
	out[len] = '\0';
	if (pclose(pipe) != 0)
		fail_msg("%s cannot source it", shell);
	assert_string_equal(out, "FB_PS_ADDRESSES=10.0.0.1:70,[fd00::1]:70\n"
				 "FB_PS_IPS=10.0.0.1,fd00::1\n"
				 "FB_W_ADDRESSES=10.0.0.2:8 *\n"
				 "FB_W_IPS=10.0.0.2\n");
}

static void shells_can_source_it(void **state)
{
	static const char *const shells[] = {"sh", "dash", "bash", "bash --posix", "busybox ash"};
	char *directory = make_directory();
	cleanup_buf struct buf injector = {0};
	struct error err;

	(void)state;
	assert_int_equal(write_injector("ps:10.0.0.1,fd00::1 w:10.0.0.2", &injector, &err), 0);
	assert_int_equal(output_write(directory, "{}", &injector, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		expect_sourced(shells[i], directory);
	remove_directory(directory);
}

static void writing_fails_whole(void **state)
{
	char *directory = make_directory();
	cleanup_free char *missing = mem_printf("%s/missing", directory);
	cleanup_free char *blocked = mem_printf("%s/framework.json", directory);
	cleanup_buf struct buf injector = {0};
	struct error err;

	(void)state;
	buf_puts(&injector, "#!/bin/bash\n");
	assert_int_equal(output_write(missing, "{}", &injector, &err), -1);
	assert_non_null(strstr(err.message, missing));
	/* a directory stands in its way: the rename fails and nothing temporary stays */
	assert_int_equal(mkdir(blocked, 0700), 0);
	assert_int_equal(output_write(directory, "{}", &injector, &err), -1);
	assert_int_equal(rmdir(blocked), 0);
	remove_directory(directory);
}

/* ---- from the environment to the exit code ----------------------------------------------------------------------- */

struct run {
	const struct line *api;
	const struct line *server; /* NULL: none is named */
	bool compressed;
	bool gzip;
	const char *uid;
	int64_t timeout_sec;
	/* what came of it */
	int code;
	unsigned api_asked;
	unsigned server_asked;
	bool server_was_gzip;
	char *framework;
	char *injector;
	char server_path[2048];
};

/* Seconds instead of what the environment allows, so that timeouts can be tested. */
static void run(struct run *run)
{
	struct script api;
	struct script server;
	char *directory = make_directory();
	char *shared = make_directory();
	struct environment environment = {
		.ns = (char *)"ns",
		.name = (char *)"fw",
		.uid = (char *)(run->uid == NULL ? "" : run->uid),
		.check_interval_sec = 1,
		.check_timeout_sec = run->timeout_sec == 0 ? 30 : run->timeout_sec,
		.barrier_address = (char *)"",
		.barrier_ca_file = (char *)"",
		.barrier_token_file = (char *)"",
	};
	const struct wait_directories directories = {.output = directory, .shared = shared};

	clear_environment();
	script_start(&api, run->api, run->compressed);
	setenv("KUBE_APISERVER_ADDRESS", api.server.address, 1);
	if (run->server != NULL) {
		script_start(&server, run->server, run->compressed);
		server.gzip = run->gzip;
		environment.barrier_address = server.server.address;
	}
	run->code = wait_for_gang(&environment, &directories);
	script_end(&api);
	run->api_asked = atomic_load(&api.asked);
	if (run->server != NULL) {
		script_end(&server);
		run->server_asked = atomic_load(&server.asked);
		run->server_was_gzip = server.was_gzip;
		memcpy(run->server_path, server.last_path, sizeof(run->server_path));
	}
	run->framework = read_file(directory, "framework.json");
	run->injector = read_file(directory, "injector.sh");
	if (run->injector != NULL) {
		cleanup_free char *copy = read_file(shared, "injector.sh");
		cleanup_free char *object = read_file(shared, "framework.json");

		assert_int_equal(mode_of(directory, "injector.sh"), 0755);
		assert_int_equal(mode_of(directory, "framework.json"), 0644);
		assert_string_equal(copy, run->injector);
		assert_string_equal(object, run->framework);
	}
	remove_directory(directory);
	remove_directory(shared);
}

static void run_free(struct run *run)
{
	free(run->framework);
	free(run->injector);
}

#define END                  \
	{                    \
		.status = -1 \
	}

static void passes_by_polling(void **state)
{
	static const struct line api[] = {
		{503, NULL, "{}"}, {200, "ps:10.0.0.1 w:-", NULL}, {200, "ps:10.0.0.1 w:10.0.0.2", NULL}, END};
	cleanup_free char *expected = framework_text("ps:10.0.0.1 w:10.0.0.2", false);
	struct run it = {.api = api};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 3);
	assert_string_equal(it.framework, expected);
	assert_non_null(strstr(it.injector, "export FB_W_IPS=\"10.0.0.2\"\n"));
	run_free(&it);
}

/* A line for each answer: how many of how many, and who is waited for, five by name. */
static void says_whom_it_waits_for(void **state)
{
	static const struct line api[] = {{200, "ps:10.0.0.1 w:-,-,-,-,-,-", NULL},
					  {200, "ps:10.0.0.1 w:1.1.1.1,-,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1", NULL},
					  {200, "ps:10.0.0.1 w:1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1", NULL},
					  END};
	static const char *const expected[] = {
		"] waiting for the Tasks of Framework ns/fw\n",
		"] 1 of 7 Tasks have an IP, says the API server; waiting for w-0, w-1, w-2, w-3, w-4, …\n",
		"] 6 of 7 Tasks have an IP, says the API server; waiting for w-1\n",
		"] all 7 Tasks have an IP, says the API server\n",
	};
	struct run it = {.api = api};
	char *directory = make_directory();
	cleanup_free char *path = mem_printf("%s/log", directory);
	cleanup_free char *log = NULL;
	int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	int kept = dup(STDERR_FILENO);
	const char *at;

	(void)state;
	dup2(file, STDERR_FILENO);
	run(&it);
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(file);
	assert_int_equal(it.code, 0);
	log = read_file(directory, "log");
	at = log;
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		const char *found = strstr(at, expected[i]);

		if (found == NULL || memchr(at, '\n', (size_t)(found - at)) != NULL)
			fail_msg("line %zu of \"%s\": expected \"%s\"", i, log, expected[i]);
		at = found + strlen(expected[i]);
	}
	assert_string_equal(at, "");
	unlink(path);
	remove_directory(directory);
	run_free(&it);
}

static void decompresses(void **state)
{
	static const struct line api[] = {{200, "ps:10.0.0.1", NULL}, END};
	cleanup_free char *expected = framework_text("ps:10.0.0.1", false);
	struct run it = {.api = api, .compressed = true};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_string_equal(it.framework, expected);
	run_free(&it);
}

static void a_missing_framework_is_for_good(void **state)
{
	static const struct line api[] = {{200, "ps:-", NULL}, {404, NULL, "{}"}, END};
	static const struct line namesake[] = {{200, "ps:10.0.0.1", NULL}, END};
	struct run it = {.api = api};
	struct run other = {.api = namesake, .uid = "u0"};
	struct run same = {.api = namesake, .uid = "u1"};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 210);
	assert_null(it.framework);
	run(&other);
	assert_int_equal(other.code, 210);
	run(&same);
	assert_int_equal(same.code, 0);
	run_free(&same);
}

/* The verdict of a timeout is the last answer's. */
static void timeouts_tell_why(void **state)
{
	static const struct line waiting[] = {{500, NULL, "{}"}, {200, "ps:10.0.0.1,-", NULL}, END};
	static const struct line failing[] = {{200, "ps:10.0.0.1,-", NULL}, {403, NULL, "{}"}, END};
	static const struct line unreachable[] = {{0, NULL, NULL}, END};
	static const struct line rubbish[] = {{200, NULL, "rubbish"}, END};
	struct run it = {.api = waiting, .timeout_sec = 2};
	int64_t begun_ms = clock_boot_ms();

	(void)state;
	run(&it);
	assert_int_equal(it.code, 201);
	assert_in_range(clock_boot_ms() - begun_ms, 2000, 12000);
	assert_null(it.injector);
	it = (struct run){.api = failing, .timeout_sec = 2};
	run(&it);
	assert_int_equal(it.code, 1);
	it = (struct run){.api = unreachable, .timeout_sec = 1};
	run(&it);
	assert_int_equal(it.code, 1);
	it = (struct run){.api = rubbish, .timeout_sec = 1};
	run(&it);
	assert_int_equal(it.code, 1);
}

static void an_unusable_kubeconfig_ends_it(void **state)
{
	struct environment environment = {
		.ns = (char *)"ns",
		.name = (char *)"fw",
		.uid = (char *)"",
		.check_interval_sec = 1,
		.check_timeout_sec = 30,
		.barrier_address = (char *)"",
		.barrier_ca_file = (char *)"",
		.barrier_token_file = (char *)"",
	};
	const struct wait_directories directories = {.output = "/nonexistent", .shared = "/nonexistent"};

	(void)state;
	clear_environment(); /* not in a cluster either */
	assert_int_equal(wait_for_gang(&environment, &directories), 1);
	setenv("KUBE_APISERVER_ADDRESS", "ftp://x", 1);
	assert_int_equal(wait_for_gang(&environment, &directories), 1);
}

static void what_cannot_be_written_is_no_pass(void **state)
{
	static const struct line api[] = {{200, "ps:$(id)", NULL}, END};
	struct run it = {.api = api};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 1);
	assert_null(it.injector);
}

/* ---- with the barrier server ------------------------------------------------------------------------------------- */

static void the_server_spares_the_api_server(void **state)
{
	static const struct line api[] = {{500, NULL, "{}"}, END};
	static const struct line server[] = {{202, NULL, "{\"ready\":1,\"total\":2,\"missing\":[\"ps-1\"]}"},
					     {200, "ps:10.0.0.1,10.0.0.2", NULL},
					     END};
	struct run it = {.api = api, .server = server, .uid = "u1"};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 0);
	assert_int_equal(it.server_asked, 2);
	assert_non_null(strstr(it.server_path, "/v1/namespaces/ns/frameworks/fw/barrier?timeoutSeconds="));
	assert_non_null(strstr(it.server_path, "&uid=u1"));
	run_free(&it);
}

/* 1 000 Pods of a Framework with 1 000 Tasks: 640 MB of answers plain, 28 MB as gzip. */
static void takes_the_server_s_answer_as_gzip(void **state)
{
	static const struct line lines[] = {{200, "ps:10.0.0.1,10.0.0.2", NULL}, END};
	cleanup_free char *expected = framework_text("ps:10.0.0.1,10.0.0.2", false);
	struct run it = {.api = lines, .server = lines, .gzip = true};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 0);
	assert_true(it.server_was_gzip);
	assert_string_equal(it.framework, expected);
	run_free(&it);
}

static void without_a_good_server_it_polls(void **state)
{
	static const struct line api[] = {{200, "ps:10.0.0.1", NULL}, END};
	static const struct line servers[][2] = {
		{{401, NULL, "{}"}, END},   {{403, NULL, "{}"}, END},      {{503, NULL, "{}"}, END},
		{{0, NULL, NULL}, END},     {{200, NULL, "rubbish"}, END}, {{204, NULL, ""}, END},
		{{200, "ps:-", NULL}, END}, {{404, NULL, "{}"}, END},      {{302, NULL, ""}, END},
	};

	(void)state;
	/* a 404 of the server's is not the last word either, nor is its own counting */
	for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
		struct run it = {.api = api, .server = servers[i]};

		run(&it);
		assert_int_equal(it.code, 0);
		assert_int_equal(it.api_asked, 1);
		run_free(&it);
	}
}

/* A server that goes for a moment (an update): its waiters come back to it before they turn to the API server. */
static void comes_back_to_a_server_that_was_away(void **state)
{
	static const struct line api[] = {{200, "ps:10.0.0.1", NULL}, END};
	static const struct line server[] = {{202, NULL, "{\"ready\":0,\"total\":1,\"missing\":[]}"},
					     {503, NULL, "{}"},
					     {200, "ps:10.0.0.1", NULL},
					     END};
	static const struct line gone[] = {
		{202, NULL, "{\"ready\":0,\"total\":1,\"missing\":[]}"}, {503, NULL, "{}"}, END};
	struct run it = {.api = api, .server = server};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 0);
	run_free(&it);
	it = (struct run){.api = api, .server = gone};
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 1);
	run_free(&it);
}

/* ---- who is shown what, and when ----------------------------------------------------------------------------------
 */

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* One question to the server at this host, with a kubeconfig that has a token; what the server was shown. */
static void ask_with_token(const char *host, const char *token_file, char out[256])
{
	static const struct line lines[] = {{200, "ps:10.0.0.1", NULL}, END};
	char *directory = make_directory();
	cleanup_free char *kubeconfig = mem_printf("%s/kubeconfig", directory);
	cleanup_free char *text = NULL;
	cleanup_free char *address = NULL;
	struct environment environment = {
		.ns = (char *)"ns",
		.name = (char *)"fw",
		.uid = (char *)"",
		.check_interval_sec = 5,
		.barrier_ca_file = (char *)"",
		.barrier_token_file = (char *)token_file,
	};
	struct script server;
	struct asker *asker;
	struct answer answer;
	struct error err;

	script_start(&server, lines, false);
	address = mem_printf("http://%s%s", host, strrchr(server.server.address, ':'));
	environment.barrier_address = address;
	text = mem_printf(
		"{apiVersion: v1, kind: Config, current-context: x, clusters: [{name: c, cluster: {server: "
		"\"%s\"}}], users: [{name: u, user: {token: of-the-kubeconfig}}], contexts: [{name: x, context: "
		"{cluster: c, user: u}}]}",
		server.server.address);
	write_file(kubeconfig, text);
	clear_environment();
	setenv("KUBECONFIG", kubeconfig, 1);
	asker = asker_new(&environment, &err);
	if (asker == NULL)
		fail_msg("%s", err.message);
	asker_ask(asker, 10000, &answer);
	assert_int_equal(answer.verdict, VERDICT_PASSED);
	assert_string_equal(answer.source, "the barrier server");
	answer_free(&answer);
	asker_free(asker);
	script_end(&server);
	memcpy(out, server.last_token, sizeof(server.last_token));
	unlink(kubeconfig);
	remove_directory(directory);
}

/* The server is shown what the API server is shown; but a token goes in the clear to another machine only when it was
 * named for that. (0.0.0.0 is this machine, under a name that does not tell.) */
static void tokens_go_where_they_may(void **state)
{
	char *directory = make_directory();
	cleanup_free char *file = mem_printf("%s/token", directory);
	char token[256];

	(void)state;
	write_file(file, "named\n");
	ask_with_token("127.0.0.1", "", token);
	assert_string_equal(token, "Bearer of-the-kubeconfig");
	ask_with_token("127.0.0.1", file, token);
	assert_string_equal(token, "Bearer named");
	ask_with_token("0.0.0.0", "", token);
	assert_string_equal(token, "");
	ask_with_token("0.0.0.0", file, token);
	assert_string_equal(token, "Bearer named");
	unlink(file);
	remove_directory(directory);
}

/* The Pods of a gang start together; their questions to the API server must not stay together. */
static void polls_give_or_take_a_fifth(void **state)
{
	enum { TIMES = 40 };
	static const struct line lines[] = {{200, "ps:-", NULL}, END};
	struct environment environment = {
		.ns = (char *)"ns",
		.name = (char *)"fw",
		.uid = (char *)"",
		.check_interval_sec = 10,
		.barrier_address = (char *)"",
	};
	int64_t least_ms = INT64_MAX;
	int64_t most_ms = 0;
	struct script api;
	struct asker *asker;
	struct error err;

	(void)state;
	script_start(&api, lines, false);
	clear_environment();
	setenv("KUBE_APISERVER_ADDRESS", api.server.address, 1);
	asker = asker_new(&environment, &err);
	assert_non_null(asker);
	for (int i = 0; i < TIMES; i++) {
		struct answer answer;

		asker_ask(asker, 10000, &answer);
		assert_int_equal(answer.verdict, VERDICT_WAITING);
		least_ms = answer.next_ms < least_ms ? answer.next_ms : least_ms;
		most_ms = answer.next_ms > most_ms ? answer.next_ms : most_ms;
		answer_free(&answer);
	}
	asker_free(asker);
	script_end(&api);
	assert_in_range(least_ms, 8000, 9500);
	assert_in_range(most_ms, 10500, 12000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_environment),
		cmocka_unit_test(writes_the_injector),
		cmocka_unit_test(refuses_what_could_break_a_shell),
		cmocka_unit_test(shells_can_source_it),
		cmocka_unit_test(writing_fails_whole),
		cmocka_unit_test(passes_by_polling),
		cmocka_unit_test(says_whom_it_waits_for),
		cmocka_unit_test(decompresses),
		cmocka_unit_test(a_missing_framework_is_for_good),
		cmocka_unit_test(timeouts_tell_why),
		cmocka_unit_test(an_unusable_kubeconfig_ends_it),
		cmocka_unit_test(what_cannot_be_written_is_no_pass),
		cmocka_unit_test(the_server_spares_the_api_server),
		cmocka_unit_test(takes_the_server_s_answer_as_gzip),
		cmocka_unit_test(without_a_good_server_it_polls),
		cmocka_unit_test(comes_back_to_a_server_that_was_away),
		cmocka_unit_test(tokens_go_where_they_may),
		cmocka_unit_test(polls_give_or_take_a_fifth),
	};

	return cmocka_run_group_tests_name("barrier_init", tests, NULL, NULL);
}
