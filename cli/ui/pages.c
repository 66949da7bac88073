/* See pages.h. */
#include "cli/ui/pages.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "cli/ui/assets.h"
#include "cli/ui/page.h"
#include "common/base/mem.h"

/* A browser may give up on requests after a minute or more; proxies in between sooner. */
enum { POLL_MS = 25 * 1000, SETTLE_MS = 200 };

/* A request that waits for changes. Its strings live as long as it does. */
struct poll {
	struct poll *prev, *next;
	struct pages *pages;
	struct serve_request *request;
	struct rows_filter filter;
	uint64_t since;
	struct ev_timer timer;
};

static void reply_text(struct serve_request *request, int status, const char *type, const struct buf *text)
{
	guard_reply(request, status, type, text->data, text->len);
}

static struct rows_filter filter_of(struct serve_request *request)
{
	return (struct rows_filter){
		.text = serve_request_query(request, "q"),
		.state = serve_request_query(request, "state"),
		.ns = serve_request_query(request, "namespace"),
		.name = serve_request_query(request, "name"),
	};
}

static void reply_list(struct pages *pages, struct serve_request *request)
{
	const struct rows_filter filter = filter_of(request);
	cleanup_buf struct buf main = {0}, page = {0};

	page_put_list(&main, &pages->rows, &filter);
	page_put(&page, "Frameworks", pages->scope, main.data);
	reply_text(request, 200, "text/html; charset=utf-8", &page);
}

static void reply_framework(struct pages *pages, struct serve_request *request)
{
	const char *ns = serve_request_query(request, "namespace"), *name = serve_request_query(request, "name");
	const struct ui_row *row;
	cleanup_buf struct buf main = {0}, page = {0};

	ns = ns == NULL ? "" : ns;
	name = name == NULL ? "" : name;
	row = rows_find(&pages->rows, ns, name);
	if (row != NULL) {
		pages->framework(pages->arg, request, row);
		return;
	}
	page_put_failure(&main, ns, name, "There is no such Framework.");
	page_put(&page, name, pages->scope, main.data);
	reply_text(request, 404, "text/html; charset=utf-8", &page);
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static void free_poll(struct poll *poll)
{
	DL_DELETE(poll->pages->polls, poll);
	ev_timer_stop(poll->pages->loop, &poll->timer);
	free(poll);
}

static void on_gone(void *arg)
{
	free_poll(arg);
}

/* always: also if nothing has changed. */
static void answer_poll(struct poll *poll, bool always)
{
	struct pages *pages = poll->pages;
	cleanup_buf struct buf text = {0};

	if (!page_put_changes(&text, &pages->rows, &poll->filter, poll->since, pages->lost) && !always) {
		poll->since = pages->rows.version;
		return;
	}
	reply_text(poll->request, 200, "application/json", &text);
	free_poll(poll);
}

static void on_poll_over(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	answer_poll(timer->data, true);
}

static void answer_all(struct pages *pages, bool always)
{
	struct poll *poll, *next;

	DL_FOREACH_SAFE(pages->polls, poll, next)
		answer_poll(poll, always);
}

static void on_settled(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	answer_all(timer->data, false);
}

static void reply_changes(struct pages *pages, struct serve_request *request)
{
	const char *since = serve_request_query(request, "since");
	struct rows_filter filter = filter_of(request);
	cleanup_buf struct buf text = {0};
	uint64_t version = since == NULL ? 0 : strtoull(since, NULL, 10);
	struct poll *poll;

	if (page_put_changes(&text, &pages->rows, &filter, version, pages->lost) ||
	    serve_request_query(request, "now") != NULL) {
		reply_text(request, 200, "application/json", &text);
		return;
	}
	poll = mem_calloc(1, sizeof(*poll));
	*poll = (struct poll){.pages = pages, .request = request, .filter = filter, .since = version};
	ev_timer_init(&poll->timer, on_poll_over, POLL_MS / 1000., 0);
	poll->timer.data = poll;
	ev_timer_start(pages->loop, &poll->timer);
	DL_APPEND(pages->polls, poll);
	serve_request_park(request, on_gone, poll);
}

void pages_changed(struct pages *pages)
{
	if (!ev_is_active(&pages->settle)) {
		ev_timer_set(&pages->settle, SETTLE_MS / 1000., 0);
		ev_timer_start(pages->loop, &pages->settle);
	}
}

void pages_set_lost(struct pages *pages, const char *why)
{
	if (why == NULL ? pages->lost == NULL : pages->lost != NULL && strcmp(pages->lost, why) == 0)
		return;
	free(pages->lost);
	pages->lost = why == NULL ? NULL : mem_strdup(why);
	answer_all(pages, true);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

void pages_init(struct pages *pages)
{
	ev_timer_init(&pages->settle, on_settled, 0, 0);
	pages->settle.data = pages;
	pages->lost = mem_strdup(PAGES_NO_ANSWER);
}

void pages_handle(void *arg, struct serve_request *request)
{
	static const char nothing[] = "There is nothing at this path.\n";
	struct pages *pages = arg;
	const char *path = guard_admit(&pages->guard, request);

	if (path == NULL)
		return;
	if (strcmp(path, "frameworks") == 0)
		reply_list(pages, request);
	else if (strcmp(path, "framework") == 0)
		reply_framework(pages, request);
	else if (strcmp(path, "rows") == 0)
		reply_changes(pages, request);
	else if (strcmp(path, "ui.css") == 0)
		guard_reply(request, 200, "text/css; charset=utf-8", ui_css, strlen(ui_css));
	else if (strcmp(path, "ui.js") == 0)
		guard_reply(request, 200, "text/javascript; charset=utf-8", ui_js, strlen(ui_js));
	else
		guard_reply(request, 404, "text/plain; charset=utf-8", nothing, strlen(nothing));
}

void pages_free(struct pages *pages)
{
	ev_timer_stop(pages->loop, &pages->settle);
	rows_free(&pages->rows);
	free(pages->lost);
}
