/* The reflector's lists, page by page; see reflector_state.h. */
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/kube/page.h"
#include "common/kube/reflector_state.h"

enum { PAGE_SIZE_MAX = 10000 };
/* A page of a server that ignores the limit may be everything there is. */
enum { LIST_TIMEOUT_MS = 5 * 60 * 1000, LIST_IDLE_MS = 60 * 1000 };
/* A page other than the first is asked for again so often. (client-go does so after a Retry-After.) */
enum { PAGE_TRIES_MAX = 10 };

static void list_page(struct reflector *reflector);

/* Keeps the version of the list and the continue token. 0, or -1 and *err if the list must not be used. */
static int take_metadata(struct reflector *reflector, const struct page *page, struct error *err)
{
	if (page->version == NULL)
		return error_set(err, "found no metadata.resourceVersion in the list");
	if (version_compare(page->version, reflector->floor) < 0)
		return error_set(
			err,
			"found list version %s, expected at least %s, which was received before; the API server that "
			"answered is stale, or its store was restored from a backup (then restart this process)",
			page->version, reflector->floor);
	if (reflector->list_version == NULL)
		mem_replace(&reflector->list_version, page->version);
	mem_replace(&reflector->list_continue, page->more);
	reflector->page_tries = 0;
	return 0;
}

static void take_item(struct reflector *reflector, const struct reflector_object *object)
{
	struct error err;

	if (object->len > reflector->object_max)
		error_set(&err, "larger than %zu bytes", reflector->object_max);
	else if (reflector->take(reflector->take_arg, object, false, &err) == 0)
		return;
	reflector_report_malformed(reflector, object, err.message);
}

/* Passes the objects of a page to the handler. 0, or -1 and *err: none was passed. */
static int take_page(struct reflector *reflector, const struct kube_answer *answer, struct error *err)
{
	struct page page;
	int result = page_read(&page, answer->body, answer->body_len, err);

	if (result == 0)
		result = take_metadata(reflector, &page, err);
	for (size_t i = 0; result == 0 && i < page.count && !reflector->closed; i++)
		take_item(reflector, &page.items[i]);
	page_free(&page);
	return result;
}

/* The server is busy or away, and may answer the same question later: what the list has so far is kept. */
static bool may_go_on(struct reflector *reflector, enum kube_failure failure, int status)
{
	return reflector->list_continue != NULL && reflector->page_tries++ < PAGE_TRIES_MAX &&
	       (failure != KUBE_OK || status == 429 || status >= 500);
}

static struct reflector_outcome list_failed(struct reflector *reflector, enum kube_failure failure, int status,
					    const char *message, int64_t retry_after_ms)
{
	bool had_continue = reflector->list_continue != NULL;

	if (may_go_on(reflector, failure, status)) {
		reflector_report_trouble(reflector, "cannot list", failure, status, message);
		return (struct reflector_outcome){.end = REFLECTOR_FAILED, .retry_after_ms = retry_after_ms};
	}
	mem_replace(&reflector->list_continue, NULL);
	if (failure == KUBE_OK && status == 410) {
		if (!had_continue)
			return (struct reflector_outcome){.end = REFLECTOR_GONE, .message = message};
		/* reading the pages took longer than the server keeps its history: take larger ones */
		log_v(1, "%s: a page of the list has expired, starting over: %s", reflector->what, message);
		if (reflector->page_size < PAGE_SIZE_MAX)
			reflector->page_size *= 2;
		if (++reflector->expired_in_row == 1)
			return (struct reflector_outcome){.end = REFLECTOR_ENDED};
	}
	if (failure == KUBE_OK && status >= 400 && status != 401 && status != 403 && status != 429)
		reflector->plain_list = true; /* it may be our version that the server does not like */
	reflector_report_trouble(reflector, "cannot list", failure, status, message);
	return (struct reflector_outcome){.end = REFLECTOR_FAILED, .retry_after_ms = retry_after_ms};
}

static struct reflector_outcome list_read(struct reflector *reflector)
{
	reflector->expired_in_row = 0;
	reflector->list_first = false;
	mem_replace(&reflector->version, reflector->list_version);
	mem_replace(&reflector->floor, reflector->list_version);
	mem_replace(&reflector->list_version, NULL);
	reflector_list_end(reflector);
	return (struct reflector_outcome){.end = REFLECTOR_ENDED};
}

/* The outcome of a list whose last page has come, or of which a page failed. */
static struct reflector_outcome list_outcome(struct reflector *reflector, const struct kube_answer *answer,
					     struct error *err)
{
	if (reflector->verdict != NO_VERDICT) {
		snprintf(err->message, sizeof(err->message), "GET %s: %s", reflector->path,
			 reflector->verdict_message.data);
		return list_failed(reflector, KUBE_OK, 0, err->message, -1);
	}
	if (answer->failure != KUBE_OK || answer->http_status != 200)
		return list_failed(reflector, answer->failure, answer->http_status, answer->message,
				   answer->retry_after_ms);
	if (take_page(reflector, answer, err) < 0) {
		error_wrap(err, "GET %s", reflector->path);
		reflector->plain_list = true;
		return list_failed(reflector, KUBE_OK, 0, err->message, -1);
	}
	if (reflector->list_continue == NULL && !reflector->closed)
		return list_read(reflector);
	return (struct reflector_outcome){.end = REFLECTOR_ENDED};
}

static void list_done(void *arg, const struct kube_answer *answer)
{
	struct reflector *reflector = arg;
	struct reflector_outcome outcome;
	struct error err;

	reflector_enter(reflector);
	if (reflector_call_is_over(reflector, answer)) {
		if (answer->too_large && reflector->page_limit > 1) {
			log_v(1, "%s: a page of %d is too large, asking for half as many: %s", reflector->what,
			      reflector->page_limit, answer->message);
			reflector->page_limit /= 2;
			list_page(reflector);
		} else {
			outcome = list_outcome(reflector, answer, &err);
			if (outcome.end != REFLECTOR_ENDED || reflector->list_continue == NULL)
				reflector->ended(reflector, &outcome);
			else if (!reflector->closed)
				list_page(reflector);
		}
	}
	reflector_leave(reflector);
}

/* Asks for the next page, or the first one. */
static void list_page(struct reflector *reflector)
{
	cleanup_buf struct buf url = {0};
	struct kube_request request = {
		.method = "GET",
		.accept = reflector->metadata_only ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
						   : NULL,
		.timeout_ms = LIST_TIMEOUT_MS,
		.idle_timeout_ms = LIST_IDLE_MS,
		.exempt = true,
		.page = true,
	};

	reflector_put_query(reflector, &url);
	buf_printf(&url, "limit=%d", reflector->page_limit);
	if (reflector->list_continue != NULL) {
		buf_puts(&url, "&continue=");
		reflector_put_encoded(&url, reflector->list_continue);
	} else if (reflector->floor != NULL && !reflector->plain_list) {
		buf_puts(&url, "&resourceVersionMatch=NotOlderThan&resourceVersion=");
		reflector_put_encoded(&url, reflector->floor);
	}
	request.path = url.data;
	reflector->verdict = NO_VERDICT;
	reflector->call = kube_client_call(reflector->client, &request, list_done, reflector);
}

void reflector_list_start(struct reflector *reflector)
{
	reflector->phase = LIST;
	reflector->page_limit = reflector->page_size;
	mem_replace(&reflector->list_continue, NULL);
	mem_replace(&reflector->list_version, NULL);
	reflector->page_tries = 0;
	reflector_enter(reflector);
	reflector_list_begin(reflector);
	if (!reflector->closed)
		list_page(reflector);
	reflector_leave(reflector);
}

void reflector_list_go_on(struct reflector *reflector)
{
	reflector->phase = LIST;
	list_page(reflector);
}
