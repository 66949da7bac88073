#define _GNU_SOURCE
/* kubectl framework ui without a browser: who may ask, what is escaped, what has changed since a page asked. Clients
 * are raw sockets, so that they can send what no browser would. */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/ui/html.h"
#include "cli/ui/page.h"
#include "cli/ui/pages.h"
#include "tests/unit/cli_world.h"
#include "tests/unit/http_asker.h"

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void test_html(void **state)
{
	cleanup_buf struct buf out = {0};

	(void)state;
	html_put(&out, "<b onclick='x'>&\"\n\x1b[31m\xE2\x80\xAE"
		       "ab\xFF");
	assert_string_equal(out.data, "&lt;b onclick=&#39;x&#39;&gt;&amp;&quot; \xEF\xBF\xBD[31m\xEF\xBF\xBD"
				      "ab\xEF\xBF\xBD");
	buf_clear(&out);
	html_put_lines(&out, "a\nb<");
	assert_string_equal(out.data, "a\nb&lt;");
	buf_clear(&out);
	html_put_short(&out, "ab\xC3\xA4", 3); /* not within a character */
	assert_string_equal(out.data, "ab…");
	buf_clear(&out);
	html_put_short(&out, "ab\xC3\xA4", 4);
	assert_string_equal(out.data, "ab\xC3\xA4");
	buf_clear(&out);
	html_put_link(&out, "n\"s", "a&b");
	assert_string_equal(out.data, "framework?namespace=n%22s&amp;name=a%26b");
	buf_clear(&out);
	html_put_time(&out, CLI_NOW);
	assert_string_equal(out.data, "<time datetime=\"2026-01-01T01:00:00Z\">2026-01-01 01:00:00Z</time>");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* A Framework that waits for its start, or whose spec is malformed; whether a controller has followed its spec. */
static void put_at(struct rows *rows, const char *name, int version, const char *more, bool follows, int64_t now_ms)
{
	cleanup_free char *text = mem_printf(
		"{'metadata':{'name':'%s','namespace':'ns','uid':'u','generation':1,'resourceVersion':'%d',"
		"'creationTimestamp':'" CLI_BEGIN "'},'spec':{'taskRoles':[]%s}}",
		name, version, more);
	json_t *object = cli_json(text);
	struct framework_view view;

	assert_int_equal(framework_view_read(object, &view, NULL), 0);
	rows_put(rows, &view, follows, now_ms);
	framework_view_free(&view);
	json_decref(object);
}

static void put(struct rows *rows, const char *name, int version, const char *more)
{
	put_at(rows, name, version, more, true, CLI_NOW * 1000L);
}

/* "a b -c": rows that are present, and keys that are gone. */
struct told {
	char text[256];
};

static void tell_present(void *arg, const struct ui_row *row)
{
	struct told *told = arg;

	snprintf(told->text + strlen(told->text), sizeof(told->text) - strlen(told->text), "%s ", row->summary.name);
}

static void tell_gone(void *arg, const char *key)
{
	struct told *told = arg;

	snprintf(told->text + strlen(told->text), sizeof(told->text) - strlen(told->text), "-%s ", key + strlen("ns/"));
}

#define assert_told(rows, filter, since, expected)                                     \
	do {                                                                           \
		struct told told_ = {""};                                              \
		rows_each((rows), (filter), (since), tell_present, tell_gone, &told_); \
		assert_string_equal(told_.text, (expected));                           \
	} while (0)

static void test_rows(void **state)
{
	const struct rows_filter all = {0};
	struct rows rows = {0};
	uint64_t since;

	(void)state;
	/* since when no controller follows */
	put_at(&rows, "l", 1, "", false, 1000);
	put_at(&rows, "l", 2, "", false, 2000);
	assert_int_equal(rows_find(&rows, "ns", "l")->lagging_ms, 1000);
	put_at(&rows, "l", 3, "", true, 3000);
	assert_int_equal(rows_find(&rows, "ns", "l")->lagging_ms, 0);
	rows_free(&rows);
	rows_list_begin(&rows);
	put(&rows, "b", 1, "");
	put(&rows, "c", 2, "");
	put(&rows, "a", 3, "");
	rows_list_end(&rows);
	assert_told(&rows, &all, 0, "a b c ");
	since = rows.version;
	put(&rows, "b", 1, ""); /* as it was */
	assert_told(&rows, &all, since, "");
	put(&rows, "b", 4, "");
	rows_delete(&rows, "ns", "c");
	rows_delete(&rows, "ns", "nobody");
	assert_told(&rows, &all, since, "b -c ");
	assert_told(&rows, &all, 0, "a b ");
	assert_int_equal(rows.count, 2);
	assert_null(rows_find(&rows, "ns", "c"));
	assert_non_null(rows_find(&rows, "ns", "b"));
	/* a list says what is there; one that was deleted may come again */
	since = rows.version;
	rows_list_begin(&rows);
	put(&rows, "c", 5, "");
	put(&rows, "a", 3, "");
	rows_list_end(&rows);
	assert_told(&rows, &all, since, "-b c ");
	assert_int_equal(rows.count, 2);
	assert_false(rows_too_old(&rows, since));
	assert_true(rows_too_old(&rows, rows.version + 1)); /* of another process */
	rows_free(&rows);
}

/* Deletions are forgotten at some time: pages that are older begin anew. */
static void test_forgotten(void **state)
{
	const struct rows_filter all = {0};
	struct rows rows = {0};
	uint64_t since;

	(void)state;
	put(&rows, "stays", 1, "");
	since = rows.version;
	for (int i = 0; i <= 10000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		put(&rows, name, i, "");
		rows_delete(&rows, "ns", name);
	}
	assert_true(rows_too_old(&rows, since));
	assert_false(rows_too_old(&rows, rows.version));
	assert_int_equal(rows.gone_count, 0);
	assert_told(&rows, &all, 0, "stays ");
	rows_free(&rows);
}

static void test_filter(void **state)
{
	static const struct {
		struct rows_filter filter;
		const char *expected;
	} cases[] = {
		{{.text = ""}, "alpha beta "},
		{{.text = "ALP"}, "alpha "},
		{{.text = "ns/b"}, "beta "},
		{{.text = "CONTROLLER"}, "beta "}, /* what it waits for */
		{{.ns = "n"}, ""},
		{{.ns = "ns", .name = "beta"}, "beta "},
		{{.state = "waiting"}, "beta "},
		{{.state = "active"}, "beta "},
		{{.state = "failed"}, "alpha "},
		{{.state = "running"}, ""},
		{{.state = "succeeded"}, ""},
		{{.state = "<no such>"}, "alpha beta "},
	};
	struct rows rows = {0};
	uint64_t since;

	(void)state;
	put(&rows, "alpha", 1, ",'retryPolicy':7");
	put(&rows, "beta", 2, ",'executionType':'Create'");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_told(&rows, &cases[i].filter, 0, cases[i].expected);
	/* one that no longer matches goes */
	since = rows.version;
	put(&rows, "alpha", 3, ",'executionType':'Create'");
	assert_told(&rows, &cases[8].filter, since, "-alpha ");
	rows_free(&rows);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

struct world {
	struct ev_loop *loop;
	struct serve *serve;
	struct pages pages;
};

static void reply_name(void *arg, struct serve_request *request, const struct ui_row *row)
{
	(void)arg;
	guard_reply(request, 200, "text/plain", row->summary.name, strlen(row->summary.name));
}

static struct world *world_new(void)
{
	const struct serve_options options = {.address = "127.0.0.1:0", .mounts_only = true};
	struct world *w = mem_calloc(1, sizeof(*w));
	struct error err;

	w->loop = ev_loop_new(0);
	w->serve = serve_new(w->loop, &options, &err);
	if (w->serve == NULL)
		fail_msg("%s", err.message);
	w->pages = (struct pages){.loop = w->loop, .scope = "namespace ns", .framework = reply_name};
	pages_init(&w->pages);
	guard_init(&w->pages.guard, serve_address(w->serve));
	serve_mount(w->serve, "/", pages_handle, &w->pages);
	put(&w->pages.rows, "f", 1, ",'executionType':'Create'");
	return w;
}

static void world_free(struct world *w)
{
	serve_free(w->serve);
	pages_free(&w->pages);
	ev_loop_destroy(w->loop);
	free(w);
}

/* head: further header lines, each with its \r\n. */
static struct asking ask(const struct world *w, const char *method, const char *path, const char *head)
{
	struct asking client = asker_open(serve_address(w->serve));
	cleanup_free char *text = mem_printf("%s %s HTTP/1.1\r\n%s\r\n", method, path, head);

	asker_send(&client, text);
	return client;
}

static int status_of(const struct world *w, const char *method, const char *path, const char *head)
{
	struct asking client = ask(w, method, path, head);
	int status;

	RUN_UNTIL(w->loop, asker_done(&client));
	status = asker_status(&client);
	asker_close(&client);
	return status;
}

/* GET of a path behind the token. */
static struct asking get(const struct world *w, const char *path)
{
	cleanup_free char *whole = mem_printf("/%s/%s", w->pages.guard.token, path);
	cleanup_free char *head = mem_printf("Host: %s\r\n", w->pages.guard.host);

	return ask(w, "GET", whole, head);
}

static void test_admitted(void **state)
{
	struct world *w = world_new();
	const struct guard *guard = &w->pages.guard;
	cleanup_free char *path = mem_printf("/%s/frameworks", guard->token);
	cleanup_free char *host = mem_printf("Host: %s\r\n", guard->host);
	cleanup_free char *local = mem_printf("Host: %s\r\n", guard->local);
	cleanup_free char *longer = mem_printf("Host: %s0\r\n", guard->host);
	cleanup_free char *own = mem_printf("%sOrigin: http://%s\r\n", host, guard->host);
	cleanup_free char *https = mem_printf("%sOrigin: https://%s\r\n", host, guard->host);
	cleanup_free char *null = mem_printf("%sOrigin: null\r\n", host);
	cleanup_free char *other = mem_printf("%sOrigin: http://evil.example.com\r\n", host);
	cleanup_free char *wrong = mem_strdup(path), *early = mem_strdup(path), *cut = NULL, *more = NULL;

	(void)state;
	wrong[64] = wrong[64] == '0' ? '1' : '0';
	early[1] = early[1] == '0' ? '1' : '0';
	cut = mem_printf("/%.63s/frameworks", guard->token);
	more = mem_printf("/%s0/frameworks", guard->token);
	assert_int_equal(status_of(w, "GET", path, host), 200);
	assert_int_equal(status_of(w, "HEAD", path, host), 200);
	assert_int_equal(status_of(w, "GET", path, local), 200);
	assert_int_equal(status_of(w, "GET", path, own), 200);
	assert_int_equal(status_of(w, "GET", path, "Host: evil.example.com\r\n"), 403);
	assert_int_equal(status_of(w, "GET", path, "Host: 127.0.0.1\r\n"), 403);
	assert_int_equal(status_of(w, "GET", path, longer), 403);
	assert_int_equal(status_of(w, "GET", path, https), 403);
	assert_int_equal(status_of(w, "GET", path, null), 403);
	assert_int_equal(status_of(w, "GET", path, other), 403);
	assert_int_equal(status_of(w, "GET", wrong, host), 403);
	assert_int_equal(status_of(w, "GET", early, host), 403);
	assert_int_equal(status_of(w, "GET", cut, host), 403);
	assert_int_equal(status_of(w, "GET", more, host), 403);
	assert_int_equal(status_of(w, "GET", "/", host), 403);
	assert_int_equal(status_of(w, "GET", "/metrics", host), 403);
	assert_int_equal(status_of(w, "POST", path, host), 405);
	assert_int_equal(status_of(w, "DELETE", path, host), 405);
	world_free(w);
}

/* Each address has another token. */
static void test_tokens_differ(void **state)
{
	struct guard one, other;

	(void)state;
	guard_init(&one, "127.0.0.1:1");
	guard_init(&other, "127.0.0.1:1");
	assert_int_equal(strlen(one.token), 64);
	assert_string_not_equal(one.token, other.token);
	assert_string_equal(one.local, "localhost:1");
}

static void test_pages(void **state)
{
	static const struct {
		const char *path;
		int status;
		const char *part;
	} cases[] = {
		{"frameworks", 200, "<a href=\"framework?namespace=ns&amp;name=f\">"},
		{"frameworks?q=nobody", 200, "<output id=\"count\">0</output>"},
		{"frameworks?q=%22%3E%3Cscript%3E", 200, "value=\"&quot;&gt;&lt;script&gt;\""},
		{"frameworks?state=waiting", 200, "<option value=\"waiting\" selected>"},
		{"framework?namespace=ns&name=f", 200, "f"},
		{"framework?namespace=ns&name=g", 404, "There is no such Framework."},
		{"framework?name=%3Cb%3E", 404, "&lt;b&gt;"},
		{"framework", 404, "There is no such Framework."},
		{"rows?since=0", 200, "\"reset\":true"},
		{"rows?since=x", 200, "\"reset\":true"},
		{"rows?since=1&now=1", 200,
		 "{\"version\":1,\"lost\":\"The API server does not answer\",\"reset\":false,\"rows\":\"\","},
		{"rows?since=99", 200, "\"reset\":true"},
		{"ui.js", 200, "Content-Type: text/javascript"},
		{"ui.css", 200, "prefers-color-scheme"},
		{"", 404, "nothing"},
	};
	struct world *w = world_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct asking client = get(w, cases[i].path);

		RUN_UNTIL(w->loop, asker_done(&client));
		assert_int_equal(asker_status(&client), cases[i].status);
		assert_contains(client.in.data, cases[i].part);
		assert_contains(client.in.data, "Content-Security-Policy: default-src 'none';");
		assert_contains(client.in.data, "Referrer-Policy: no-referrer");
		assert_contains(client.in.data, "Cache-Control: no-store");
		assert_null(strstr(client.in.data, "<script>"));
		asker_close(&client);
	}
	world_free(w);
}

/* Clients wait for changes that they see: one change is not for those with another filter. */
static void test_changes(void **state)
{
	struct world *w = world_new();
	struct asking all = get(w, "rows?since=1"), other = get(w, "rows?since=1&name=other"),
		      left = get(w, "rows?since=1");

	(void)state;
	RUN_UNTIL(w->loop, serve_counters(w->serve)->parked == 3);
	asker_close(&left);
	RUN_UNTIL(w->loop, serve_counters(w->serve)->parked == 2);
	put(&w->pages.rows, "g", 2, "");
	pages_changed(&w->pages);
	rows_delete(&w->pages.rows, "ns", "f");
	pages_changed(&w->pages);
	RUN_UNTIL(w->loop, asker_done(&all));
	assert_contains(asker_body(&all),
			"{\"version\":3,\"lost\":\"The API server does not answer\",\"reset\":false,");
	assert_contains(asker_body(&all), "data-key=\\\"ns/g\\\"");
	assert_contains(asker_body(&all), "\"gone\":[\"ns/f\"]");
	assert_false(asker_done(&other));
	/* but that the API server does not answer is for all */
	pages_set_lost(&w->pages, NULL);
	RUN_UNTIL(w->loop, asker_done(&other));
	assert_contains(asker_body(&other), "{\"version\":3,\"lost\":null,\"reset\":false,\"rows\":\"\",\"gone\":[]}");
	asker_close(&all);
	asker_close(&other);
	/* one that waits at the end */
	other = get(w, "rows?since=3");
	RUN_UNTIL(w->loop, serve_counters(w->serve)->parked == 1);
	world_free(w);
	asker_close(&other);
}

/* ---- the page of a Framework ------------------------------------------------------------------------------------- */

#define HOSTILE "<script>alert(1)</script>\\u202e\\u001b[31m"

static void test_framework(void **state)
{
	cleanup_free char *task = cli_task(0, "AttemptRunning", ",'podUID':'p-f-a-0','podNodeName':'" HOSTILE "'");
	cleanup_free char *role = cli_role("a", task);
	cleanup_free char *status = cli_status("AttemptRunning", "", "", role);
	cleanup_buf struct buf out = {0};
	struct cli_world w;

	(void)state;
	cli_world_begin(&w, "'taskRoles':[{'name':'a','taskNumber':1}]", status);
	cli_world_pod(&w, "f-a-0", "", "'nodeName':'" HOSTILE "'", "'phase':'Running'");
	cli_world_event(&w, HOSTILE, HOSTILE);
	page_put_framework(&out, &w.inquiry, "Pods are <left> out\n", 7);
	assert_contains(out.data, "data-version=\"7\" data-over=\"false\"");
	assert_contains(out.data, "data-kind=\"running\"");
	assert_contains(out.data, "&lt;script&gt;alert(1)&lt;/script&gt;\xEF\xBF\xBD\xEF\xBF\xBD[31m");
	assert_contains(out.data, "Pods are &lt;left&gt; out");
	assert_contains(out.data, "<rect class=\"pending\"");
	assert_null(strstr(out.data, "<script"));
	assert_null(strstr(out.data, "<style")); /* its own policy would refuse it */
	assert_null(strstr(out.data, "style=\""));
	assert_null(strchr(out.data, '\x1b'));
	assert_null(strstr(out.data, "\xE2\x80\xAE"));
	cli_world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_html),   cmocka_unit_test(test_rows),     cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_filter), cmocka_unit_test(test_admitted), cmocka_unit_test(test_tokens_differ),
		cmocka_unit_test(test_pages),  cmocka_unit_test(test_changes),  cmocka_unit_test(test_framework),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
