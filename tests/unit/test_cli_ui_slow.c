/* kubectl framework ui when the API server does not answer: the page of one Framework does not hold up others. */
#define _GNU_SOURCE
#include "tests/unit/cli_commands.h"
#include "tests/unit/http_asker.h"

#define FRAMEWORK(name)                                                                                            \
	"{'metadata':{'name':'" name "','namespace':'ns','uid':'u-" name "','resourceVersion':'4','generation':1," \
	"'creationTimestamp':'2026-01-01T00:00:00Z'},'spec':{'executionType':'Create','taskRoles':[]}}"
#define LIST(items) "{'metadata':{'resourceVersion':'5'},'items':[" items "]}"

/* A Framework that is never sent, and one that is. */
static void serve(struct world *w, struct http_conn *conn)
{
	if (strstr(conn->path, "watch=") != NULL)
		http_stream_begin(conn);
	else if (strcmp(conn->path, FRAMEWORKS "/slow") == 0)
		w->asked++;
	else if (strcmp(conn->path, FRAMEWORKS "/quick") == 0)
		reply(conn, 200, FRAMEWORK("quick"));
	else
		reply(conn, 200,
		      strncmp(conn->path, FRAMEWORKS, strlen(FRAMEWORKS)) == 0
			      ? LIST(FRAMEWORK("slow") "," FRAMEWORK("quick"))
			      : LIST(""));
}

/* Two pages in a browser: the slow one is asked for first. */
struct browser {
	struct world *w;
	struct asking slow, quick;
	char address[64], path[256];
	int step;
};

static void ask(struct asking *asking, const struct browser *browser, const char *name)
{
	cleanup_free char *text = mem_printf("GET /%s/framework?namespace=ns&name=%s HTTP/1.1\r\nHost: %s\r\n\r\n",
					     browser->path, name, browser->address);

	*asking = asker_open(browser->address);
	assert_true(asker_send(asking, text));
}

/* Goes on when what it waits for has happened. */
static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct browser *browser = timer->data;
	char said[512] = "";

	(void)events;
	switch (browser->step) {
	case 0:
		(void)!pread(browser->w->cli.out.fd, said, sizeof(said) - 1, 0);
		if (strchr(said, '\n') == NULL)
			return;
		assert_int_equal(sscanf(said, "http://%63[^/]/%255[^/]/frameworks", browser->address, browser->path),
				 2);
		ask(&browser->slow, browser, "slow");
		break;
	case 1:
		if (browser->w->asked == 0)
			return;
		ask(&browser->quick, browser, "quick");
		break;
	default:
		if (!asker_done(&browser->quick))
			return;
		asker_read(&browser->slow);
		ev_timer_stop(loop, timer);
		kill(getpid(), SIGINT);
		break;
	}
	browser->step++;
}

static void test_slow(void **state)
{
	struct world w;
	struct browser browser = {.w = &w};
	ev_timer timer;

	(void)state;
	begin(&w, serve);
	ev_timer_init(&timer, on_look, 0.01, 0.01);
	timer.data = &browser;
	ev_timer_start(ev_default_loop(EVFLAG_AUTO), &timer);
	assert_int_equal(run(&w, "ui", NULL), CLI_DONE);
	assert_int_equal(asker_status(&browser.quick), 200);
	assert_contains(asker_body(&browser.quick), "Framework quick");
	assert_int_equal(asker_status(&browser.slow), 502);
	assert_contains(asker_body(&browser.slow), "and other pages wait. Reload this page.");
	asker_close(&browser.slow);
	asker_close(&browser.quick);
	end(&w);
}

static void serve_refused(struct world *w, struct http_conn *conn)
{
	w->asked++;
	if (strstr(conn->path, "labelSelector=a%3Db%3Dc") != NULL)
		reply(conn, 400,
		      "{'kind':'Status','apiVersion':'v1','status':'Failure','reason':'BadRequest','code':400,"
		      "'message':'unable to parse requirement'}");
	else
		reply(conn, 200, "{'metadata':{'resourceVersion':'5'},'items':[]}");
}

/* A selector that the API server refuses: it asked again and again, and never said its address. */
static void test_refused_selector(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_refused);
	assert_int_equal(run(&w, "ui", "-l", "a=b=c", NULL), CLI_FAILED);
	assert_contains(w.err, "unable to parse requirement");
	assert_int_equal(w.asked, 1);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_refused_selector),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("cli_ui_slow", tests, NULL, NULL);
}
