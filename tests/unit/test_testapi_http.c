/* The test API server over a real socket, in a child process: streaming, faults on the wire, clients that leave. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <curl/curl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/cluster/testapi/http.h"
#include "tests/unit/testapi_fixture.h"

#define CMS NS "/configmaps"

enum { PATIENCE_SEC = 20 };

struct server {
	pid_t pid;
	char url[64];
	CURL *curl;
	struct buf body;
	json_t *json;
	int64_t retry_after;
	curl_off_t length; /* of the body, -1: not given */
};

static void on_term(struct ev_loop *loop, ev_signal *signal, int revents)
{
	(void)signal;
	(void)revents;
	ev_break(loop, EVBREAK_ALL);
}

/* The child: serves until SIGTERM, having told its port. */
static void serve(int port_fd)
{
	struct ev_loop *loop = ev_default_loop(0);
	struct error err;
	struct api *api = api_new(loop, &(struct api_options){0}, &err);
	struct api_http *http = api == NULL ? NULL : api_http_new(api, "127.0.0.1", 0, &err);
	uint16_t port = http == NULL ? 0 : api_http_port(http);
	ev_signal term;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ev_signal_init(&term, on_term, SIGTERM);
	ev_signal_start(loop, &term);
	if (write(port_fd, &port, sizeof(port)) != (ssize_t)sizeof(port) || http == NULL)
		_exit(1);
	close(port_fd);
	ev_run(loop, 0);
	api_http_free(http);
	api_free(api);
	/* the ev_signal stays: without it a second SIGTERM, stop()'s after a test's own, would kill */
	_exit(0);
}

static int start(void **state)
{
	struct server *server = mem_calloc(1, sizeof(*server));
	int fds[2];
	uint16_t port = 0;

	assert_int_equal(pipe(fds), 0);
	server->pid = fork();
	assert_true(server->pid >= 0);
	if (server->pid == 0) {
		close(fds[0]);
		serve(fds[1]);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &port, sizeof(port)), sizeof(port));
	close(fds[0]);
	assert_int_not_equal(port, 0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", port);
	server->curl = curl_easy_init();
	*state = server;
	return 0;
}

static int stop(void **state)
{
	struct server *server = *state;
	int status;

	curl_easy_cleanup(server->curl);
	buf_free(&server->body);
	json_decref(server->json);
	kill(server->pid, SIGTERM);
	assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
	free(server);
	/* SIGTERM ends it at once, whatever hangs on it */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the server ended with status %d", status);
	return 0;
}

static size_t gather(char *data, size_t size, size_t count, void *arg)
{
	struct server *server = arg;

	buf_append(&server->body, data, size * count);
	return size * count;
}

/* The HTTP status, or minus the CURLcode. */
static long request(struct server *server, const char *method, const char *path, const char *body)
{
	cleanup_free char *url = mem_printf("%s%s", server->url, path);
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
	curl_off_t retry_after = 0;
	long status = 0;
	CURLcode code;

	buf_clear(&server->body);
	curl_easy_reset(server->curl);
	curl_easy_setopt(server->curl, CURLOPT_URL, url);
	/* on a reused connection that dies, curl sends the request again by itself */
	curl_easy_setopt(server->curl, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(server->curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(server->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(server->curl, CURLOPT_USERAGENT, "tester/1 (linux)");
	curl_easy_setopt(server->curl, CURLOPT_TIMEOUT, (long)PATIENCE_SEC);
	curl_easy_setopt(server->curl, CURLOPT_WRITEFUNCTION, gather);
	curl_easy_setopt(server->curl, CURLOPT_WRITEDATA, server);
	if (body != NULL) {
		curl_easy_setopt(server->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
		curl_easy_setopt(server->curl, CURLOPT_POSTFIELDS, body);
	}
	code = curl_easy_perform(server->curl);
	curl_easy_getinfo(server->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(server->curl, CURLINFO_RETRY_AFTER, &retry_after);
	curl_easy_getinfo(server->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &server->length);
	server->retry_after = (int64_t)retry_after;
	curl_slist_free_all(headers);
	json_decref(server->json);
	server->json = server->body.len == 0 ? NULL : json_parse(server->body.data, server->body.len, NULL);
	return code == CURLE_OK ? status : -(long)code;
}

static void make(struct server *server, const char *name)
{
	cleanup_free char *body = mem_printf("{\"metadata\":{\"name\":\"%s\"}}", name);

	assert_int_equal(request(server, "POST", CMS, body), 201);
}

/* ---- a watch beside other requests ---- */

struct stream {
	CURLM *multi;
	CURL *curl;
	struct buf seen;
	bool over;
	CURLcode result;
};

static size_t gather_stream(char *data, size_t size, size_t count, void *arg)
{
	struct stream *stream = arg;

	buf_append(&stream->seen, data, size * count);
	return size * count;
}

static void open_stream(struct server *server, struct stream *stream, const char *path)
{
	cleanup_free char *url = mem_printf("%s%s", server->url, path);

	*stream = (struct stream){.multi = curl_multi_init(), .curl = curl_easy_init()};
	curl_easy_setopt(stream->curl, CURLOPT_URL, url);
	curl_easy_setopt(stream->curl, CURLOPT_WRITEFUNCTION, gather_stream);
	curl_easy_setopt(stream->curl, CURLOPT_WRITEDATA, stream);
	curl_multi_add_handle(stream->multi, stream->curl);
}

static void close_stream(struct stream *stream)
{
	curl_multi_remove_handle(stream->multi, stream->curl);
	curl_easy_cleanup(stream->curl);
	curl_multi_cleanup(stream->multi);
	buf_free(&stream->seen);
}

/* Goes on until text was seen (NULL: until the stream is over). */
static void await(struct stream *stream, const char *text)
{
	int64_t deadline = clock_boot_ms() + PATIENCE_SEC * 1000;

	while (!stream->over &&
	       (text == NULL || stream->seen.data == NULL || strstr(stream->seen.data, text) == NULL)) {
		int running;
		int left;
		const CURLMsg *message;

		assert_true(clock_boot_ms() < deadline);
		curl_multi_perform(stream->multi, &running);
		while ((message = curl_multi_info_read(stream->multi, &left)) != NULL)
			if (message->msg == CURLMSG_DONE) {
				stream->over = true;
				stream->result = message->data.result;
			}
		if (!stream->over)
			curl_multi_poll(stream->multi, NULL, 0, 10, NULL);
	}
	if (text != NULL && (stream->seen.data == NULL || strstr(stream->seen.data, text) == NULL))
		fail_msg("the stream ended (%d) without %s", (int)stream->result, text);
}

static void watches_stream(void **state)
{
	struct server *server = *state;
	struct stream stream;

	make(server, "first");
	open_stream(server, &stream, CMS "?watch=1&timeoutSeconds=600");
	await(&stream, "\"first\"");
	make(server, "second");
	await(&stream, "\"second\"");
	assert_int_equal(request(server, "DELETE", CMS "/first", NULL), 200);
	await(&stream, "DELETED");
	close_stream(&stream);
}

/* ---- a watch beside many requests ---- */

static void send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void send_creation(int fd, int number, const char *data)
{
	cleanup_free char *object = mem_printf("{\"metadata\":{\"name\":\"c%d\"},\"data\":{\"d\":\"%s\"}}", number,
					       data);
	cleanup_free char *text = mem_printf("POST " CMS " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
					     "Content-Length: %zu\r\n\r\n%s",
					     strlen(object), object);

	send_text(fd, text);
}

/* How often the text is in what is there to be read (at a seam between two reads it is overlooked). */
static size_t count_in(int fd, const char *text)
{
	char data[64 * 1024];
	ssize_t len = recv(fd, data, sizeof(data), 0);
	size_t count = 0;

	assert_true(len > 0);
	for (const char *at = data; (at = memmem(at, (size_t)(data + len - at), text, strlen(text))) != NULL; at++)
		count++;
	return count;
}

/* Eight requests each over many connections, sent before any is answered, and a watch of what they make: when the last
 * answer is read the watch has shown what all but the last ones made, however little of a connection's answer
 * libmicrohttpd sends in a turn in which it answers a request of each. */
static void news_keep_up_with_answers(void **state)
{
	enum { CONNECTIONS = 64, EACH = 8, NEWS = CONNECTIONS * EACH, BODY = 1000 };
	struct server *server = *state;
	struct pollfd all[CONNECTIONS + 1];
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)atoi(strrchr(server->url, ':') + 1))};
	int64_t deadline = clock_boot_ms() + PATIENCE_SEC * 1000;
	cleanup_buf struct buf body = {0};
	size_t answers = 0;
	size_t news = 0;

	for (int i = 0; i < BODY; i++)
		buf_putc(&body, 'x');
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i <= CONNECTIONS; i++) {
		all[i] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
		assert_int_equal(connect(all[i].fd, (struct sockaddr *)&address, sizeof(address)), 0);
	}
	send_text(all[0].fd, "GET " CMS "?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n");
	count_in(all[0].fd, "\r\n\r\n"); /* it runs */
	kill(server->pid, SIGSTOP);
	for (int i = 1; i <= CONNECTIONS; i++)
		for (int j = 0; j < EACH; j++)
			send_creation(all[i].fd, i * EACH + j, body.data);
	kill(server->pid, SIGCONT);
	while (answers < NEWS) {
		assert_true(clock_boot_ms() < deadline);
		assert_true(poll(all, CONNECTIONS + 1, 1000) > 0);
		while (poll(all, 1, 0) > 0) /* all that has come, however long this process had to wait */
			news += count_in(all[0].fd, "\"ADDED\"");
		for (int i = 1; i <= CONNECTIONS; i++)
			if (all[i].revents != 0)
				answers += count_in(all[i].fd, "201 Created");
	}
	for (int i = 0; i <= CONNECTIONS; i++)
		close(all[i].fd);
	if (news < NEWS * 3 / 4)
		fail_msg("%zu of %d shown when the last was answered", news, NEWS);
}

/* A client of HTTP/1.0 knows no chunks: lines of JSON follow the head of the answer. */
static void streams_without_chunks(void **state)
{
	struct server *server = *state;
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)atoi(strrchr(server->url, ':') + 1))};
	cleanup_buf struct buf answer = {0};
	char data[4096];
	ssize_t len;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	make(server, "first");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	send_text(fd, "GET " CMS "?watch=1&timeoutSeconds=1 HTTP/1.0\r\nHost: x\r\n\r\n");
	while ((len = recv(fd, data, sizeof(data), 0)) > 0)
		buf_append(&answer, data, (size_t)len);
	close(fd);
	assert_int_equal(len, 0);
	assert_non_null(strstr(answer.data, "\r\n\r\n{\"type\":\"ADDED\""));
	assert_int_equal(answer.data[answer.len - 2], '}');
	assert_int_equal(answer.data[answer.len - 1], '\n');
}

/* A client that leaves while nothing happens is noticed, and its watch freed. */
static void leaving_is_noticed(void **state)
{
	struct server *server = *state;
	struct stream stream;
	int64_t deadline = clock_boot_ms() + PATIENCE_SEC * 1000;

	make(server, "first");
	open_stream(server, &stream, CMS "?watch=1&timeoutSeconds=600");
	await(&stream, "\"first\"");
	close_stream(&stream);
	for (;;) {
		assert_int_equal(request(server, "POST", "/fc-testapi/watches",
					 "{\"do\":\"end\",\"match\":{\"resource\":\"none\"}}"),
				 200);
		assert_int_equal(request(server, "GET", "/fc-testapi/watches", NULL), 200);
		if (json_int(server->json, "watches", -1) == 0)
			break;
		assert_true(clock_boot_ms() < deadline);
	}
}

static void broken_streams(void **state)
{
	struct server *server = *state;
	struct stream stream;

	make(server, "first");
	open_stream(server, &stream, CMS "?watch=1");
	await(&stream, "\"first\"");
	assert_int_equal(request(server, "POST", "/fc-testapi/watches", "{\"do\":\"break\"}"), 200);
	make(server, "second");
	await(&stream, NULL);
	assert_int_not_equal(stream.result, CURLE_OK);
	assert_null(strstr(stream.seen.data, "\"second\"}}"));
	close_stream(&stream);
	open_stream(server, &stream, CMS "?watch=1");
	await(&stream, "\"second\"");
	assert_int_equal(request(server, "POST", "/fc-testapi/watches", "{\"do\":\"reset\"}"), 200);
	make(server, "third");
	await(&stream, NULL);
	assert_int_equal(stream.result, CURLE_RECV_ERROR);
	close_stream(&stream);
	open_stream(server, &stream, CMS "?watch=1");
	await(&stream, "\"first\"");
	assert_int_equal(request(server, "POST", "/fc-testapi/watches", "{\"do\":\"end\"}"), 200);
	await(&stream, NULL);
	assert_int_equal(stream.result, CURLE_OK);
	close_stream(&stream);
}

static void add_fault(struct server *server, const char *fault)
{
	assert_int_equal(request(server, "POST", "/fc-testapi/faults", fault), 201);
}

static void faults_on_the_wire(void **state)
{
	struct server *server = *state;
	int64_t began;

	add_fault(server,
		  "{\"match\":{\"verb\":\"create\",\"resource\":\"configmaps\"},\"count\":1,\"action\":{\"status\":429,"
		  "\"retryAfter\":3}}");
	assert_int_equal(request(server, "POST", CMS, "{\"metadata\":{\"name\":\"a\"}}"), 429);
	/* as priority and fairness: no Status */
	assert_memory_equal(server->body.data, "Too many", 8);
	assert_int_equal(server->retry_after, 3);
	make(server, "a");
	/* never carried out */
	add_fault(server, "{\"match\":{\"method\":\"DELETE\"},\"count\":1,\"action\":{\"cut\":true,"
			  "\"reset\":true}}");
	assert_int_equal(request(server, "DELETE", CMS "/a", NULL), -CURLE_RECV_ERROR);
	assert_int_equal(request(server, "GET", CMS "/a", NULL), 200);
	/* carried out, but the answer is lost */
	add_fault(server,
		  "{\"match\":{\"path\":\"configmaps/a$\",\"userAgent\":\"tester\",\"verb\":\"delete\"},\"count\":1,"
		  "\"action\":{\"cutAnswer\":true}}");
	assert_true(request(server, "DELETE", CMS "/a", NULL) < 0);
	assert_int_equal(request(server, "GET", CMS "/a", NULL), 404);
	/* skip lets so many pass */
	add_fault(server, "{\"match\":{\"verb\":\"list\"},\"skip\":1,\"count\":1,\"action\":{\"status\":500}}");
	assert_int_equal(request(server, "GET", CMS, NULL), 200);
	assert_int_equal(request(server, "GET", CMS, NULL), 500);
	assert_int_equal(request(server, "GET", CMS, NULL), 200);
	add_fault(server,
		  "{\"match\":{\"verb\":\"get\"},\"count\":1,\"action\":{\"latencyMs\":60,\"answerLatencyMs\":60}}");
	began = clock_boot_ms();
	assert_int_equal(request(server, "GET", CMS "/a", NULL), 404);
	assert_true(clock_boot_ms() - began >= 115);
	assert_int_equal(request(server, "POST", "/fc-testapi/faults", "{\"action\":{}}"), 400);
	assert_int_equal(
		request(server, "POST", "/fc-testapi/faults", "{\"match\":{\"path\":\"(\"},\"action\":{\"cut\":true}}"),
		400);
}

/* A header of the last answer, or "". */
static const char *answered(struct server *server, const char *name)
{
	struct curl_header *header = NULL;

	return curl_easy_header(server->curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value : "";
}

static void headers(void **state)
{
	struct server *server = *state;

	make(server, "a");
	assert_string_not_equal(answered(server, "X-Kubernetes-PF-FlowSchema-UID"), "");
	assert_string_not_equal(answered(server, "X-Kubernetes-PF-PriorityLevel-UID"), "");
	assert_string_equal(answered(server, "Warning"), "");
	add_fault(server, "{\"match\":{\"verb\":\"get\"},\"count\":1,\"action\":{\"warning\":\"a \\\"b\\\"\"}}");
	assert_int_equal(request(server, "GET", CMS "/a", NULL), 200);
	assert_string_equal(answered(server, "Warning"), "299 - \"a \\\"b\\\"\"");
	assert_string_equal(answered(server, "Connection"), "");
	add_fault(server, "{\"match\":{\"verb\":\"get\"},\"count\":1,\"action\":{\"close\":true}}");
	assert_int_equal(request(server, "GET", CMS "/a", NULL), 200);
	assert_string_equal(json_str(json_object_get(server->json, "metadata"), "name"), "a");
	assert_string_equal(answered(server, "Connection"), "close");
}

/* Two servers behind one address, of which the second lags: every request has a connection of its own here. */
static void replicas(void **state)
{
	struct server *server = *state;
	size_t found[3] = {0};
	cleanup_free char *list = NULL;

	add_fault(server, "{\"match\":{\"resource\":\"configmaps\",\"replica\":{\"number\":1,\"of\":2}},"
			  "\"action\":{\"staleReads\":true}}");
	make(server, "a");
	list = mem_printf(CMS "?resourceVersionMatch=NotOlderThan&resourceVersion=%s",
			  json_str(json_object_get(server->json, "metadata"), "resourceVersion"));
	for (int i = 0; i < 4; i++)
		found[request(server, "GET", CMS "/a", NULL) == 200 ? 0 : 1]++;
	/* the one that lags has no such version yet */
	for (int i = 0; i < 4; i++)
		found[2] += request(server, "GET", list, NULL) == 504;
	assert_int_equal(found[0], 2);
	assert_int_equal(found[1], 2);
	assert_int_equal(found[2], 2);
	assert_int_equal(request(server, "POST", "/fc-testapi/faults",
				 "{\"match\":{\"replica\":{\"of\":0}},\"action\":{\"cut\":true}}"),
			 400);
}

static int64_t count_of(struct server *server, const char *verb, const char *resource, int64_t code)
{
	size_t index;
	const json_t *entry;

	assert_int_equal(request(server, "GET", "/fc-testapi/requests", NULL), 200);
	json_array_foreach(server->json, index, entry)
		if (strcmp(json_str(entry, "verb"), verb) == 0 && strcmp(json_str(entry, "resource"), resource) == 0 &&
		    json_int(entry, "code", -1) == code && strcmp(json_str(entry, "userAgent"), "tester") == 0)
			return json_int(entry, "count", 0);
	return 0;
}

static void counts(void **state)
{
	struct server *server = *state;

	make(server, "a");
	make(server, "b");
	assert_int_equal(request(server, "GET", NS "/pods/x/status", NULL), 404);
	assert_int_equal(count_of(server, "create", "configmaps", 201), 2);
	assert_int_equal(count_of(server, "get", "pods/status", 404), 1);
	assert_int_equal(request(server, "DELETE", "/fc-testapi/requests", NULL), 200);
	assert_int_equal(count_of(server, "create", "configmaps", 201), 0);
}

/* Bodies larger than the connection's memory come in pieces; too large ones are refused without breaking it. */
static void large_bodies(void **state)
{
	struct server *server = *state;
	size_t size = (size_t)4 * 1024 * 1024;
	char *text = mem_alloc(size + 1);
	char *body;

	memset(text, 'x', size);
	text[size] = '\0';
	body = mem_printf("{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"%s\"}}", text);
	assert_int_equal(request(server, "POST", CMS, body), 413);
	free(body);
	text[1024 * 1024] = '\0';
	body = mem_printf("{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"%s\"}}", text);
	assert_int_equal(request(server, "POST", CMS, body), 201);
	assert_int_equal(request(server, "GET", CMS "/a", NULL), 200);
	assert_string_equal(json_str(json_object_get(server->json, "data"), "k"), text);
	free(body);
	free(text);
}

/* Large lists come in chunks, as nobody knows their length before they are written; small ones do not. */
static void chunked_lists(void **state)
{
	struct server *server = *state;
	const json_t *last;
	char *text = mem_alloc(100001);
	char *body;

	memset(text, 'x', 100000);
	text[100000] = '\0';
	assert_int_equal(request(server, "GET", CMS, NULL), 200);
	assert_int_equal(server->length, server->body.len);
	for (int i = 0; i < 3; i++) {
		body = mem_printf("{\"metadata\":{\"name\":\"c%d\"},\"data\":{\"k\":\"%s\"}}", i, text);
		assert_int_equal(request(server, "POST", CMS, body), 201);
		free(body);
	}
	assert_int_equal(request(server, "GET", CMS, NULL), 200);
	assert_int_equal(server->length, -1);
	assert_int_equal(json_array_size(json_object_get(server->json, "items")), 3);
	last = json_array_get(json_object_get(server->json, "items"), 2);
	assert_string_equal(json_str(json_object_get(last, "data"), "k"), text);
	free(text);
}

/* SIGTERM (in stop) with a watch and a delayed request hanging. */
static void ends_with_clients(void **state)
{
	struct server *server = *state;
	struct stream watch;
	struct stream delayed;

	make(server, "first");
	add_fault(server, "{\"match\":{\"verb\":\"get\"},\"action\":{\"latencyMs\":600000}}");
	open_stream(server, &watch, CMS "?watch=1&timeoutSeconds=600");
	await(&watch, "\"first\"");
	open_stream(server, &delayed, CMS "/first");
	for (int64_t hits = 0; hits == 0;) {
		int running;

		curl_multi_perform(delayed.multi, &running);
		assert_int_equal(request(server, "GET", "/fc-testapi/faults", NULL), 200);
		hits = json_int(json_array_get(server->json, 0), "hits", 0);
	}
	kill(server->pid, SIGTERM);
	await(&watch, NULL);
	await(&delayed, NULL);
	close_stream(&watch);
	close_stream(&delayed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(watches_stream, start, stop),
		cmocka_unit_test_setup_teardown(news_keep_up_with_answers, start, stop),
		cmocka_unit_test_setup_teardown(streams_without_chunks, start, stop),
		cmocka_unit_test_setup_teardown(leaving_is_noticed, start, stop),
		cmocka_unit_test_setup_teardown(broken_streams, start, stop),
		cmocka_unit_test_setup_teardown(faults_on_the_wire, start, stop),
		cmocka_unit_test_setup_teardown(headers, start, stop),
		cmocka_unit_test_setup_teardown(replicas, start, stop),
		cmocka_unit_test_setup_teardown(counts, start, stop),
		cmocka_unit_test_setup_teardown(large_bodies, start, stop),
		cmocka_unit_test_setup_teardown(chunked_lists, start, stop),
		cmocka_unit_test_setup_teardown(ends_with_clients, start, stop),
	};
	int failed;

	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	curl_global_cleanup();
	return failed;
}
