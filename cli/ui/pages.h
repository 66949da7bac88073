/* The answers of kubectl framework ui: pages, files, and changes, which a request waits for. */
#ifndef CLI_UI_PAGES_H
#define CLI_UI_PAGES_H

#include <ev.h>
#include <stdbool.h>

#include "cli/ui/guard.h"
#include "cli/ui/rows.h"
#include "common/serve/serve.h"

struct poll;

struct pages {
	struct guard guard;
	struct rows rows;
	struct ev_loop *loop;
	const char *scope; /* which Frameworks these are, in words */
	/* Answers with the page of a Framework that is among the rows, or parks the request. */
	void (*framework)(void *arg, struct serve_request *request, const struct ui_row *row);
	void *arg;
	char *lost; /* why no changes come: pages_set_lost() */
	struct poll *polls;
	struct ev_timer settle;
};

/* Fill in loop, scope, framework and arg; guard_init() when the server listens. */
void pages_init(struct pages *pages);
/* For serve_mount(…, "/", pages_handle, pages). */
void pages_handle(void *pages, struct serve_request *request);
/* Rows have changed: requests that wait for it are answered soon, so that many changes are one answer. */
void pages_changed(struct pages *pages);
/* Why the API server does not report changes, in words; NULL: it does. Before the first call: PAGES_NO_ANSWER. */
#define PAGES_NO_ANSWER "The API server does not answer"
void pages_set_lost(struct pages *pages, const char *why);
/* After serve_free(). */
void pages_free(struct pages *pages);

#endif
