#define _GNU_SOURCE
/* The HTTP server side: health, metrics, parked requests, limits, TLS. Clients are raw sockets on the same loop, so
 * that they can be slow, rude and gone. */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/serve/metrics.h"
#include "common/serve/serve.h"
#include "tests/unit/http_asker.h"

enum { PARKED_MAX = 64 };

struct world {
	struct ev_loop *loop;
	struct serve *serve;
	bool ready;
	unsigned handled;
	unsigned gone;
	struct serve_request *parked[PARKED_MAX];
	size_t parked_count;
	char seen_query[64];
	char seen_header[64];
};

/* ---- the server -------------------------------------------------------------------------------------------------- */

static bool is_ready(void *arg, struct buf *why)
{
	const struct world *world = arg;

	if (!world->ready)
		buf_puts(why, "not synced");
	return world->ready;
}

static void put_metrics(void *arg, struct buf *out)
{
	const struct world *world = arg;

	metrics_counter(out, "handled_total", "Handled.", world->handled);
}

static void on_gone(void *arg)
{
	((struct world *)arg)->gone++;
}

static void on_park(void *arg, struct serve_request *request)
{
	struct world *world = arg;

	world->handled++;
	assert_true(world->parked_count < PARKED_MAX);
	world->parked[world->parked_count++] = request;
	serve_request_park(request, on_gone, world);
}

static void on_echo(void *arg, struct serve_request *request)
{
	struct world *world = arg;
	const char *query = serve_request_query(request, "q");
	const char *header = serve_request_header(request, "authorization");

	world->handled++;
	snprintf(world->seen_query, sizeof(world->seen_query), "%s", query == NULL ? "(none)" : query);
	snprintf(world->seen_header, sizeof(world->seen_header), "%s", header == NULL ? "(none)" : header);
	serve_request_reply(request, 200, "text/plain", serve_request_path(request));
}

static struct world *world_new(const struct serve_options *wanted)
{
	struct world *world = mem_calloc(1, sizeof(*world));
	struct serve_options options = wanted == NULL ? (struct serve_options){0} : *wanted;
	struct error err;

	world->loop = ev_loop_new(0);
	options.address = "127.0.0.1:0";
	options.ready = is_ready;
	options.metrics = put_metrics;
	options.arg = world;
	world->serve = serve_new(world->loop, &options, &err);
	if (world->serve == NULL)
		fail_msg("%s", err.message);
	serve_mount(world->serve, "/park", on_park, world);
	serve_mount(world->serve, "/echo", on_echo, world);
	return world;
}

static void world_free(struct world *world)
{
	serve_free(world->serve);
	ev_loop_destroy(world->loop);
	free(world);
}

static struct serve_request *take_parked(struct world *world)
{
	assert_true(world->parked_count > 0);
	return world->parked[--world->parked_count];
}

static int get(const struct world *world, const char *request, struct buf *out)
{
	struct asking client = asker_open(serve_address(world->serve));
	int status;

	asker_send(&client, request);
	RUN_UNTIL(world->loop, asker_done(&client));
	status = asker_status(&client);
	if (out != NULL && client.in.data != NULL)
		buf_append(out, client.in.data, client.in.len);
	asker_close(&client);
	return status;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void health_readiness_and_metrics(void **state)
{
	struct world *world = world_new(NULL);
	cleanup_buf struct buf out = {0};

	(void)state;
	assert_int_equal(get(world, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", NULL), 200);
	assert_int_equal(get(world, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", &out), 503);
	assert_non_null(strstr(out.data, "not synced"));
	world->ready = true;
	assert_int_equal(get(world, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", NULL), 200);
	buf_clear(&out);
	assert_int_equal(get(world, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", &out), 200);
	assert_non_null(strstr(out.data, "Cache-Control: no-store\r\n"));
	assert_non_null(strstr(out.data, "X-Content-Type-Options: nosniff\r\n"));
	assert_non_null(strstr(out.data, "# TYPE handled_total counter\nhandled_total 0\n"));
	assert_non_null(strstr(out.data, "http_requests_total{code=\"5xx\"} 1\n"));
	assert_non_null(strstr(out.data, "\nprocess_cpu_seconds_total "));
	assert_int_equal(get(world, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", NULL), 405);
	assert_int_equal(get(world, "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", NULL), 404);
	world_free(world);
}

static void requests_are_read_whole(void **state)
{
	struct world *world = world_new(NULL);
	struct asking client = asker_open(serve_address(world->serve));

	(void)state;
	/* byte by byte, so that nothing depends on how it is cut */
	for (const char *c = "POST /echo/a%20b?q=1%262 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n"
			     "Content-Length: 5\r\n\r\nhello";
	     *c != '\0'; c++) {
		assert_int_equal(send(client.fd, c, 1, 0), 1);
		ev_run(world->loop, EVRUN_NOWAIT);
	}
	RUN_UNTIL(world->loop, asker_done(&client));
	assert_int_equal(asker_status(&client), 200);
	assert_string_equal(asker_body(&client), "/echo/a b");
	assert_string_equal(world->seen_query, "1&2");
	assert_string_equal(world->seen_header, "Bearer t");
	/* a second one on the same connection */
	buf_clear(&client.in);
	asker_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(world->loop, asker_done(&client));
	assert_int_equal(asker_status(&client), 200);
	assert_string_equal(world->seen_query, "(none)");
	assert_int_equal(serve_counters(world->serve)->connections, 1);
	asker_close(&client);
	world_free(world);
}

static void parked_requests_share_one_answer(void **state)
{
	struct world *world = world_new(NULL);
	struct asking clients[PARKED_MAX];
	struct serve_answer *answer;

	(void)state;
	for (size_t i = 0; i < PARKED_MAX; i++) {
		clients[i] = asker_open(serve_address(world->serve));
		asker_send(&clients[i], "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	RUN_UNTIL(world->loop, world->parked_count == PARKED_MAX);
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == PARKED_MAX);
	answer = serve_answer_new(200, "text/plain", "passed", 6);
	while (world->parked_count > 0)
		serve_request_answer(take_parked(world), answer);
	serve_answer_free(answer);
	for (size_t i = 0; i < PARKED_MAX; i++) {
		RUN_UNTIL(world->loop, asker_done(&clients[i]));
		assert_int_equal(asker_status(&clients[i]), 200);
		assert_string_equal(asker_body(&clients[i]), "passed");
		asker_close(&clients[i]);
	}
	assert_int_equal(world->gone, 0);
	assert_int_equal(serve_counters(world->serve)->parked, 0);
	world_free(world);
}

/* A connection goes on after a parked request: parking twice on it works as once. */
static void parks_again_on_a_kept_connection(void **state)
{
	struct world *world = world_new(NULL);
	struct asking client = asker_open(serve_address(world->serve));

	(void)state;
	for (int round = 0; round < 3; round++) {
		buf_clear(&client.in);
		asker_send(&client, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
		RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
		serve_request_reply(take_parked(world), 202, "text/plain", "wait");
		RUN_UNTIL(world->loop, asker_done(&client));
		assert_int_equal(asker_status(&client), 202);
	}
	assert_int_equal(serve_counters(world->serve)->connections, 1);
	asker_close(&client);
	world_free(world);
}

static void notices_that_a_parked_client_left(void **state)
{
	struct world *world = world_new(NULL);
	struct asking stays = asker_open(serve_address(world->serve));
	struct asking leaves = asker_open(serve_address(world->serve));
	struct serve_request *kept;

	(void)state;
	asker_send(&stays, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	kept = take_parked(world);
	asker_send(&leaves, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 2);
	asker_close(&leaves);
	RUN_UNTIL(world->loop, world->gone == 1);
	RUN_UNTIL(world->loop, serve_counters(world->serve)->open == 1);
	assert_int_equal(serve_counters(world->serve)->gone, 1);
	/* bytes of a parked client are no leaving */
	asker_send(&stays, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
	for (int i = 0; i < 20; i++)
		asker_turn(world->loop);
	assert_int_equal(world->gone, 1);
	serve_request_reply(kept, 200, "text/plain", "1");
	RUN_UNTIL(world->loop, asker_done(&stays));
	RUN_UNTIL(world->loop, world->handled == 3); /* the pipelined one came after it */
	asker_close(&stays);
	world_free(world);
}

static void freeing_tells_parked_requests(void **state)
{
	struct world *world = world_new(NULL);
	struct asking client = asker_open(serve_address(world->serve));
	struct ev_loop *loop = world->loop;

	(void)state;
	asker_send(&client, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	serve_free(world->serve);
	assert_int_equal(world->gone, 1);
	asker_read(&client);
	assert_true(client.closed);
	asker_close(&client);
	ev_loop_destroy(loop);
	free(world);
}

/* However much room a head leaves in the connection's memory, there is an answer: the request's own or 431. */
static void heads_of_any_size_are_answered(void **state)
{
	const struct serve_options options = {.head_max = 2048};
	struct world *world = world_new(&options);

	(void)state;
	for (int many = 0; many < 2; many++) {
		int last = 200;

		for (size_t size = 512; size < 2600; size += 8) {
			cleanup_buf struct buf request = {0};
			int status;

			buf_puts(&request, "GET /echo HTTP/1.1\r\nHost: x\r\n");
			for (size_t i = 0; many && i < size / 8; i++)
				buf_puts(&request, "A: bcd\r\n");
			if (!many)
				buf_printf(&request, "X-Long: %0*d\r\n", (int)size, 0);
			buf_puts(&request, "\r\n");
			status = get(world, request.data, NULL);
			if (status != last) {
				assert_int_equal(last, 200);
				assert_int_equal(status, 431);
			}
			last = status;
		}
		assert_int_equal(last, 431);
	}
	world_free(world);
}

static void refuses_what_is_too_large_or_malformed(void **state)
{
	const struct serve_options options = {.head_max = 8 * 1024};
	struct world *world = world_new(&options);
	cleanup_free char *long_text = mem_alloc(20001);
	cleanup_free char *request = NULL;
	int status;

	(void)state;
	memset(long_text, 'a', 20000);
	long_text[20000] = '\0';
	request = mem_printf("GET /echo HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", long_text);
	assert_int_equal(get(world, request, NULL), 431);
	free(request);
	request = mem_printf("GET /echo/%s HTTP/1.1\r\nHost: x\r\n\r\n", long_text);
	assert_int_equal(get(world, request, NULL), 414);
	free(request);
	request = mem_printf("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n%s", long_text);
	assert_int_equal(get(world, request, NULL), 413);
	free(request);
	long_text[1025] = '\0';
	request = mem_printf(
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n401\r\n%s\r\n0\r\n\r\n",
		long_text);
	assert_int_equal(get(world, request, NULL), 413);
	long_text[1024] = '\0';
	free(request);
	request = mem_printf("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1024\r\n\r\n%s", long_text);
	assert_int_equal(get(world, request, NULL), 200);
	assert_int_equal(world->handled, 1);
	status = get(world, "\x16\x03\x01 rubbish\r\n\r\n", NULL);
	assert_true(status == 0 || status == 400);
	assert_int_equal(get(world, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", NULL), 200);
	world_free(world);
}

/* Who sends a body without end is not listened to for ever. */
static void endless_bodies_are_cut(void **state)
{
	enum { PIECE = 64 * 1024, MOST = 64 * 1024 * 1024 };
	struct world *world = world_new(NULL);
	struct asking client = asker_open(serve_address(world->serve));
	cleanup_free char *piece = mem_calloc(1, PIECE);
	size_t sent = 0;

	(void)state;
	asker_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
	while (!client.closed && sent < MOST) {
		ssize_t count = send(client.fd, piece, PIECE, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (count > 0)
			sent += (size_t)count;
		asker_turn(world->loop);
		asker_read(&client);
	}
	assert_true(client.closed);
	assert_int_equal(world->handled, 0);
	asker_close(&client);
	world_free(world);
}

/* A client that asks and does not read its answer gives its place back. */
static void answers_that_nobody_reads_end(void **state)
{
	enum { LARGE = 32 * 1024 * 1024 };
	const struct serve_options options = {.answer_timeout_ms = 300};
	struct world *world = world_new(&options);
	struct asking client = asker_open(serve_address(world->serve));
	cleanup_free char *body = mem_calloc(1, LARGE + 1);

	(void)state;
	memset(body, 'x', LARGE);
	asker_send(&client, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	serve_request_reply(take_parked(world), 200, "text/plain", body);
	RUN_UNTIL(world->loop, serve_counters(world->serve)->open == 0);
	assert_int_equal(serve_counters(world->serve)->expired, 1);
	asker_close(&client);
	world_free(world);
}

static void slow_and_idle_clients_lose_their_place(void **state)
{
	const struct serve_options options = {.request_timeout_ms = 600};
	struct world *world = world_new(&options);
	struct asking slow = asker_open(serve_address(world->serve));
	struct asking idle = asker_open(serve_address(world->serve));
	struct asking parked = asker_open(serve_address(world->serve));
	int64_t until_ms = clock_boot_ms() + ASKER_PATIENCE_MS;

	(void)state;
	asker_send(&parked, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	asker_send(&slow, "GET /echo HTTP/1.1\r\nX: ");
	while (!slow.closed || !idle.closed) {
		assert_true(clock_boot_ms() < until_ms);
		if (send(slow.fd, "a", 1, MSG_NOSIGNAL) < 0) /* keeps being active all the time */
			slow.closed = true;
		asker_read(&slow);
		asker_read(&idle);
		asker_turn(world->loop);
	}
	asker_read(&parked);
	assert_false(parked.closed);
	assert_int_equal(serve_counters(world->serve)->expired, 2);
	serve_request_reply(take_parked(world), 200, "text/plain", "1");
	RUN_UNTIL(world->loop, asker_done(&parked));
	assert_int_equal(asker_status(&parked), 200);
	asker_close(&slow);
	asker_close(&idle);
	asker_close(&parked);
	world_free(world);
}

/* Idle connections take every place; a newcomer gets one all the same, well before the ordinary timeout. */
static void a_flood_makes_room(void **state)
{
	enum { PLACES = 20, FLOOD = 40 };
	const struct serve_options options = {.max_connections = PLACES, .request_timeout_ms = 10 * 1000};
	struct world *world = world_new(&options);
	struct asking flood[FLOOD];
	int64_t begun_ms = clock_boot_ms();

	(void)state;
	for (size_t i = 0; i < FLOOD; i++)
		flood[i] = asker_open(serve_address(world->serve));
	RUN_UNTIL(world->loop, serve_counters(world->serve)->open == PLACES);
	assert_int_equal(get(world, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", NULL), 200);
	assert_true(clock_boot_ms() - begun_ms < 8 * 1000);
	for (size_t i = 0; i < FLOOD; i++)
		asker_close(&flood[i]);
	world_free(world);
}

/* Those who come and go at once, as many as there are, keep nothing else from its turn. */
static void a_flood_leaves_the_loop_alone(void **state)
{
	enum { PLACES = 64, FLOOD = 400 };
	const struct serve_options options = {.max_connections = PLACES};
	struct world *world = world_new(&options);

	(void)state;
	for (size_t i = 0; i < FLOOD; i++) {
		struct asking stranger = asker_open(serve_address(world->serve));

		asker_send(&stranger, "?\r\n\r\n");
		asker_close(&stranger);
	}
	for (int i = 0; i < 10; i++)
		ev_run(world->loop, EVRUN_NOWAIT);
	assert_true(serve_counters(world->serve)->connections < FLOOD);
	RUN_UNTIL(world->loop, serve_counters(world->serve)->connections == FLOOD);
	world_free(world);
}

static void large_answers_go_out_as_gzip_if_wanted(void **state)
{
	struct world *world = world_new(NULL);
	struct asking plain = asker_open(serve_address(world->serve));
	struct asking gzip = asker_open(serve_address(world->serve));
	cleanup_free char *text = mem_alloc(50001);
	cleanup_free char *read = mem_alloc(60000);
	struct serve_answer *answer;
	z_stream stream = {0};

	(void)state;
	for (size_t i = 0; i < 50000; i++)
		text[i] = (char)('a' + i % 23);
	text[50000] = '\0';
	asker_send(&plain, "GET /park HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip; q=0\r\n\r\n");
	asker_send(&gzip, "GET /park HTTP/1.1\r\nHost: x\r\nAccept-Encoding: deflate, gzip\r\n\r\n");
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 2);
	answer = serve_answer_new(200, "application/json", text, 50000);
	serve_request_answer(take_parked(world), answer);
	serve_request_answer(take_parked(world), answer);
	serve_answer_free(answer);
	RUN_UNTIL(world->loop, asker_done(&plain));
	assert_string_equal(asker_body(&plain), text);
	RUN_UNTIL(world->loop, asker_done(&gzip));
	assert_non_null(strstr(gzip.in.data, "Content-Encoding: gzip"));
	assert_non_null(strstr(gzip.in.data, "Content-Type: application/json"));
	assert_true(gzip.in.len < 5000);
	stream.next_in = (Bytef *)asker_body(&gzip);
	stream.avail_in = (uInt)(gzip.in.data + gzip.in.len - asker_body(&gzip));
	stream.next_out = (Bytef *)read;
	stream.avail_out = 60000;
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, 50000);
	assert_memory_equal(read, text, 50000);
	inflateEnd(&stream);
	asker_close(&plain);
	asker_close(&gzip);
	world_free(world);
}

static void failures_are_status_objects(void **state)
{
	struct world *world = world_new(NULL);
	struct asking client = asker_open(serve_address(world->serve));

	(void)state;
	asker_send(&client, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	serve_request_fail(take_parked(world), 503, 7, "say \"%s\"", "please");
	RUN_UNTIL(world->loop, asker_done(&client));
	assert_int_equal(asker_status(&client), 503);
	assert_non_null(strstr(client.in.data, "Retry-After: 7\r\n"));
	assert_string_equal(asker_body(&client),
			    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
			    "\"message\":\"say \\\"please\\\"\",\"reason\":\"ServiceUnavailable\",\"code\":503}\n");
	asker_close(&client);
	client = asker_open(serve_address(world->serve));
	asker_send(&client, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	serve_request_fail(take_parked(world), 401, -1, "who are you");
	RUN_UNTIL(world->loop, asker_done(&client));
	assert_non_null(strstr(client.in.data, "WWW-Authenticate: Bearer\r\n"));
	asker_close(&client);
	world_free(world);
}

static void bad_addresses_are_named(void **state)
{
	static const char *const bad[] = {"",
					  "nothing",
					  "127.0.0.1:",
					  "127.0.0.1:port",
					  "999.0.0.1:80",
					  "127.0.0.1:65536",
					  "127.0.0.1:-1",
					  "127.0.0.1:1x"};
	struct ev_loop *loop = ev_loop_new(0);
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct serve_options options = {.address = bad[i]};

		err.message[0] = '\0';
		assert_null(serve_new(loop, &options, &err));
		assert_non_null(strstr(err.message, bad[i]));
	}
	ev_loop_destroy(loop);
}

static void writes_the_text_format(void **state)
{
	cleanup_buf struct buf out = {0};
	struct metrics_histogram histogram;

	(void)state;
	metrics_family(&out, "a", "gauge", "An a.");
	metrics_value(&out, "a", 1.5, "x", "q\"\\\n", "y", "", NULL);
	metrics_value(&out, "a", 12345678901.0, NULL);
	assert_string_equal(out.data,
			    "# HELP a An a.\n# TYPE a gauge\na{x=\"q\\\"\\\\\\n\",y=\"\"} 1.5\na 12345678901\n");
	buf_clear(&out);
	metrics_histogram_init(&histogram, 0.5, 2, 2);
	metrics_histogram_observe(&histogram, 0.5);
	metrics_histogram_observe(&histogram, 0.75);
	metrics_histogram_observe(&histogram, 9);
	metrics_histogram_write(&out, "h", "An h.", NULL, NULL, &histogram);
	assert_string_equal(out.data,
			    "# HELP h An h.\n# TYPE h histogram\nh_bucket{le=\"0.5\"} 1\nh_bucket{le=\"1\"} 2\n"
			    "h_bucket{le=\"+Inf\"} 3\nh_sum 10.25\nh_count 3\n");
	buf_clear(&out);
	metrics_histogram_write(&out, "h", "An h.", "of", "x", &histogram);
	assert_non_null(strstr(out.data, "h_bucket{le=\"1\",of=\"x\"} 2\n"));
	assert_non_null(strstr(out.data, "h_count{of=\"x\"} 3\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(health_readiness_and_metrics),
		cmocka_unit_test(requests_are_read_whole),
		cmocka_unit_test(parked_requests_share_one_answer),
		cmocka_unit_test(parks_again_on_a_kept_connection),
		cmocka_unit_test(notices_that_a_parked_client_left),
		cmocka_unit_test(freeing_tells_parked_requests),
		cmocka_unit_test(heads_of_any_size_are_answered),
		cmocka_unit_test(refuses_what_is_too_large_or_malformed),
		cmocka_unit_test(endless_bodies_are_cut),
		cmocka_unit_test(answers_that_nobody_reads_end),
		cmocka_unit_test(slow_and_idle_clients_lose_their_place),
		cmocka_unit_test(a_flood_makes_room),
		cmocka_unit_test(a_flood_leaves_the_loop_alone),
		cmocka_unit_test(large_answers_go_out_as_gzip_if_wanted),
		cmocka_unit_test(failures_are_status_objects),
		cmocka_unit_test(bad_addresses_are_named),
		cmocka_unit_test(writes_the_text_format),
	};

	return cmocka_run_group_tests_name("serve", tests, NULL, NULL);
}
