/* What a hostile or broken API server can make the client hold (common/README.md §7.8): answers are counted as they are
 * after decompression, and cut off at a limit, with an error on that request alone. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <zlib.h>

#include "common/base/clock.h"
#include "common/kube/client.h"
#include "common/kube/client/call.h"
#include "tests/unit/http_server.h"

enum { PATIENCE_MS = 60 * 1000 };

struct fixture {
	struct ev_loop *loop;
	struct http_server server;
	struct kube_client *client;
	struct buf bomb; /* a gzip text that is a little longer than an answer may be */
	bool bombs;
	bool done;
	enum kube_failure failure;
	int status;
	char message[256];
};

static void make_bomb(struct buf *out)
{
	static unsigned char zeros[1024 * 1024];
	unsigned char part[16384];
	z_stream stream = {0};
	int result = Z_OK;

	assert_int_equal(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	for (size_t at = 0; result != Z_STREAM_END;) {
		bool last = at > ANSWER_MAX_BYTES;

		if (stream.avail_in == 0 && !last) {
			stream.next_in = zeros;
			stream.avail_in = sizeof(zeros);
			at += sizeof(zeros);
		}
		stream.next_out = part;
		stream.avail_out = sizeof(part);
		result = deflate(&stream, last && stream.avail_in == 0 ? Z_FINISH : Z_NO_FLUSH);
		buf_append(out, part, sizeof(part) - stream.avail_out);
	}
	deflateEnd(&stream);
}

static void on_request(void *arg, struct http_conn *conn)
{
	struct fixture *fixture = arg;
	cleanup_free char *head = NULL;

	if (!fixture->bombs) {
		http_reply(conn, 200, "", "{}");
		return;
	}
	head = mem_printf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
			  fixture->bomb.len);
	http_raw(conn, head, strlen(head));
	http_raw(conn, fixture->bomb.data, fixture->bomb.len);
}

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct fixture *fixture = arg;

	fixture->done = true;
	fixture->failure = answer->failure;
	fixture->status = answer->http_status;
	snprintf(fixture->message, sizeof(fixture->message), "%s", answer->message);
}

static void ask(struct fixture *fixture)
{
	const struct kube_request request = {.method = "GET", .path = "/api", .timeout_ms = PATIENCE_MS, .gzip = true};
	int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

	fixture->done = false;
	kube_client_call(fixture->client, &request, on_done, fixture);
	while (!fixture->done && clock_boot_ms() < until_ms)
		ev_run(fixture->loop, EVRUN_ONCE);
	assert_true(fixture->done);
}

static void test_decompressed_bytes_count(void **state)
{
	const struct kube_client_options options = {.user_agent = "test"};
	struct kube_config config = {.source = "test"};
	struct fixture fixture = {.loop = ev_loop_new(EVFLAG_AUTO)};

	(void)state;
	make_bomb(&fixture.bomb);
	assert_true(fixture.bomb.len < ANSWER_MAX_BYTES / 100); /* on the wire it looks harmless */
	http_server_start(&fixture.server, fixture.loop, on_request, &fixture);
	config.server = fixture.server.address;
	fixture.client = kube_client_new(fixture.loop, &config, &options, NULL);
	assert_non_null(fixture.client);
	fixture.bombs = true;
	ask(&fixture);
	assert_int_not_equal(fixture.failure, KUBE_OK);
	assert_non_null(strstr(fixture.message, "larger than"));
	fixture.bombs = false;
	ask(&fixture);
	assert_int_equal(fixture.failure, KUBE_OK);
	assert_int_equal(fixture.status, 200);
	kube_client_free(fixture.client);
	http_server_free(&fixture.server);
	ev_loop_destroy(fixture.loop);
	buf_free(&fixture.bomb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_decompressed_bytes_count)};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("kube_limits", tests, NULL, NULL);
}
