/* The init container's world: Frameworks, scripted servers in a thread of their own, since it blocks, a place for its
 * files, and one run of it with all of these. Shared by test_barrier_init*.c. */
#ifndef TESTS_INIT_WORLD_H
#define TESTS_INIT_WORLD_H

#include <pthread.h>
#include <resolv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "barrier/init/environment.h"
#include "barrier/init/wait.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/status.h"
#include "tests/unit/http_server.h"
#include "tests/unit/temp.h"

/* ---- Frameworks -------------------------------------------------------------------------------------------------- */

/* Roles as "ps:10.0.0.1,- worker:10.0.0.2"; "-" has no IP, "none" stands for no Tasks. */
static inline char *framework_text(const char *roles, bool compressed)
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

/* What is answered to the n-th request; the last entry repeats. status 0: the connection is reset. A 429 has a
 * Retry-After. */
struct line {
	int status;
	const char *roles; /* of a 200 */
	const char *body;  /* else */
};

/* Ends a list of lines. (Versions of clang-format differ on it.) */
/* clang-format off */
#define END {.status = -1}
/* clang-format on */

struct script {
	struct http_server server;
	struct ev_loop *loop;
	struct ev_async stop;
	pthread_t thread;
	const struct line *lines;
	int slow_ms;         /* of each answer but the first */
	const char *headers; /* of a 429 */
	bool compressed;
	bool gzip; /* answers, to those who accept it */
	bool was_gzip;
	atomic_uint asked;
	char last_path[2048]; /* read after stop only */
	char last_token[256];
};

static inline void reply_gzip(struct http_conn *conn, const char *text)
{
	cleanup_free char *base64 = text_compress(text, strlen(text));
	cleanup_free unsigned char *body = mem_alloc(strlen(base64));
	int len = b64_pton(base64, body, strlen(base64));
	cleanup_free char *head = mem_printf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n",
					     len);

	http_raw(conn, head, strlen(head));
	http_raw(conn, (const char *)body, (size_t)len);
}

static inline void on_request(void *arg, struct http_conn *conn)
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
	usleep(number == 0 ? 0 : (useconds_t)script->slow_ms * 1000);
	if (line->status == 0) {
		http_reset(conn);
		return;
	}
	text = line->roles != NULL ? framework_text(line->roles, script->compressed) : mem_strdup(line->body);
	script->was_gzip = script->gzip && http_header(conn, "Accept-Encoding") != NULL;
	if (script->was_gzip)
		reply_gzip(conn, text);
	else
		http_reply(conn, line->status, line->status == 429 ? script->headers : "", text);
}

static inline void on_stop(struct ev_loop *loop, struct ev_async *async, int events)
{
	(void)async;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

static inline void *serve_script(void *arg)
{
	struct script *script = arg;

	ev_run(script->loop, 0);
	return NULL;
}

static inline void script_start(struct script *script, const struct line *lines, bool compressed)
{
	*script = (struct script){.lines = lines, .compressed = compressed, .headers = "Retry-After: 1\r\n"};
	script->loop = ev_loop_new(0);
	http_server_start(&script->server, script->loop, on_request, script);
	ev_async_init(&script->stop, on_stop);
	ev_async_start(script->loop, &script->stop);
	assert_int_equal(pthread_create(&script->thread, NULL, serve_script, script), 0);
}

static inline void script_end(struct script *script)
{
	ev_async_send(script->loop, &script->stop);
	pthread_join(script->thread, NULL);
	http_server_free(&script->server);
	ev_loop_destroy(script->loop);
}

/* ---- a place for files ------------------------------------------------------------------------------------------- */

static inline char *make_directory(void)
{
	char directory[TEMP_PATH_SIZE];

	temp_directory(directory);
	return mem_strdup(directory);
}

/* Removes it; everything in it must be one of the two files: nothing temporary is left. */
static inline void remove_directory(char *directory)
{
	static const char *const names[] = {"framework.json", "injector.sh"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup_free char *path = mem_printf("%s/%s", directory, names[i]);

		unlink(path);
	}
	assert_int_equal(rmdir(directory), 0);
	free(directory);
}

static inline char *read_file(const char *directory, const char *name)
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

static inline unsigned mode_of(const char *directory, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", directory, name);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

static inline void clear_environment(void)
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

/* ---- one run ----------------------------------------------------------------------------------------------------- */

struct run {
	const struct line *api;
	const struct line *server; /* NULL: none is named */
	int api_slow_ms;
	int server_slow_ms;
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
static inline void run(struct run *run)
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
	api.slow_ms = run->api_slow_ms;
	setenv("KUBE_APISERVER_ADDRESS", api.server.address, 1);
	if (run->server != NULL) {
		script_start(&server, run->server, run->compressed);
		server.gzip = run->gzip;
		server.slow_ms = run->server_slow_ms;
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

static inline void run_free(struct run *run)
{
	free(run->framework);
	free(run->injector);
}

#endif
