/* The reflector's lists, page by page, cut into objects as they arrive; see reflector_state.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/kube/reflector_state.h"

enum { PAGE_SIZE_MAX = 10000 };
/* A page of a server that ignores the limit may be everything there is. */
enum { LIST_TIMEOUT_MS = 5 * 60 * 1000, LIST_IDLE_MS = 60 * 1000 };

static void list_page(struct reflector *reflector);

static bool list_item(void *arg, const char *text, size_t len, bool too_large)
{
	struct reflector *reflector = arg;
	const struct reflector_object object = {
		.encoding = reflector->binary ? REFLECTED_PROTOBUF : REFLECTED_JSON,
		.data = text,
		.len = len,
	};
	struct error err;

	if (too_large)
		error_set(&err, "larger than %zu bytes", reflector->list.item_max);
	else if (reflector_hand_on(reflector, &object, false, &err) == 0)
		return !reflector->closed;
	reflector_report_malformed(reflector, &object, err.message);
	return !reflector->closed;
}

static void list_data(void *arg, const char *data, size_t len)
{
	struct reflector *reflector = arg;
	struct error err;
	int result;

	if (reflector->verdict != NO_VERDICT)
		return;
	reflector_enter(reflector);
	if (len == 0) {
		reflector_note_encoding(reflector);
	} else {
		result = reflector->binary ? proto_list_cut_feed(&reflector->proto_list, data, len, &err)
					   : list_cut_feed(&reflector->list, data, len, &err);
		if (result < 0)
			reflector_stop_call(reflector, VERDICT_ERROR, err.message);
	}
	reflector_leave(reflector);
}

/* A page's version and where the next one begins; the caller frees both. 0, or -1 and *err. */
static int read_json_metadata(struct reflector *reflector, char **version, char **more, struct error *err)
{
	cleanup_json json_t *metadata = NULL;

	if (!list_cut_complete(&reflector->list))
		return error_set(err, "the list ends in the middle");
	if (!reflector->list.has_items || reflector->list.metadata.data == NULL)
		return error_set(err, "found an object without metadata or items, expected a list");
	metadata = json_parse(reflector->list.metadata.data, reflector->list.metadata.len, err);
	if (metadata == NULL)
		return error_wrap(err, "metadata of the list");
	*version = mem_strdup(json_str(metadata, "resourceVersion"));
	*more = mem_strdup(json_str(metadata, "continue"));
	return 0;
}

static int read_proto_metadata(struct reflector *reflector, char **version, char **more, struct error *err)
{
	const struct buf *metadata = &reflector->proto_list.metadata;
	const struct proto_span span = {metadata->data, metadata->len, false};
	struct proto_span text;

	if (!proto_list_cut_complete(&reflector->proto_list))
		return error_set(err, "the list ends in the middle");
	text = proto_field(span, PROTO_LIST_VERSION);
	*version = text.at == NULL ? NULL : mem_strndup(text.at, text.len);
	text = proto_field(span, PROTO_LIST_CONTINUE);
	*more = text.at == NULL ? NULL : mem_strndup(text.at, text.len);
	return 0;
}

/* Reads the metadata of a page. 0, or -1 and *err. */
static int read_list_metadata(struct reflector *reflector, struct error *err)
{
	cleanup_free char *version = NULL;
	cleanup_free char *more = NULL;

	if ((reflector->binary ? read_proto_metadata(reflector, &version, &more, err)
			       : read_json_metadata(reflector, &version, &more, err)) < 0)
		return -1;
	if (version == NULL || *version == '\0')
		return error_set(err, "found no metadata.resourceVersion in the list");
	if (version_compare(version, reflector->floor) < 0)
		return error_set(
			err,
			"found list version %s, expected at least %s, which was received before; the API server that "
			"answered is stale, or its store was restored from a backup (then restart this process)",
			version, reflector->floor);
	if (reflector->list_version == NULL)
		mem_replace(&reflector->list_version, version);
	mem_replace(&reflector->list_continue, more != NULL && *more != '\0' ? more : NULL);
	return 0;
}

static struct reflector_outcome list_failed(struct reflector *reflector, enum kube_failure failure, int status,
					    const char *message, int64_t retry_after_ms)
{
	bool had_continue = reflector->list_continue != NULL;

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
	mem_replace(&reflector->version, reflector->list_version);
	mem_replace(&reflector->floor, reflector->list_version);
	mem_replace(&reflector->list_version, NULL);
	reflector->handler->list_end(reflector->arg, reflector->version);
	return (struct reflector_outcome){.end = REFLECTOR_ENDED};
}

/* Of a page that is the last one, or failed. */
static struct reflector_outcome list_outcome(struct reflector *reflector, const struct kube_answer *answer,
					     struct error *err)
{
	if (reflector->verdict != NO_VERDICT) {
		snprintf(err->message, sizeof(err->message), "GET %s: %s", reflector->path,
			 reflector->verdict_message.data);
		return list_failed(reflector, KUBE_OK, 0, err->message, -1);
	}
	if (reflector_give_up_protobuf(reflector, answer)) {
		mem_replace(&reflector->list_continue, NULL);
		return (struct reflector_outcome){.end = REFLECTOR_ENDED};
	}
	if (answer->failure != KUBE_OK || answer->http_status != 200)
		return list_failed(reflector, answer->failure, answer->http_status, answer->message,
				   answer->retry_after_ms);
	if (read_list_metadata(reflector, err) < 0) {
		error_wrap(err, "GET %s", reflector->path);
		reflector->plain_list = true;
		return list_failed(reflector, KUBE_OK, 0, err->message, -1);
	}
	if (reflector->list_continue == NULL)
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
		outcome = list_outcome(reflector, answer, &err);
		if (outcome.end == REFLECTOR_ENDED && reflector->list_continue != NULL)
			list_page(reflector);
		else
			reflector->ended(reflector, &outcome);
	}
	reflector_leave(reflector);
}

/* Asks for the next page, or the first one. */
static void list_page(struct reflector *reflector)
{
	cleanup_buf struct buf url = {0};
	struct kube_request request = {
		.method = "GET",
		.accept = reflector->list_accept,
		.timeout_ms = LIST_TIMEOUT_MS,
		.idle_timeout_ms = LIST_IDLE_MS,
		.exempt = true,
		.brief = true,
	};
	size_t object_max = reflector->lines.line_max;

	reflector_put_query(reflector, &url);
	buf_printf(&url, "limit=%d", reflector->page_size);
	if (reflector->list_continue != NULL) {
		buf_puts(&url, "&continue=");
		reflector_put_encoded(&url, reflector->list_continue);
	} else if (reflector->floor != NULL && !reflector->plain_list) {
		buf_puts(&url, "&resourceVersionMatch=NotOlderThan&resourceVersion=");
		reflector_put_encoded(&url, reflector->floor);
	}
	request.path = url.data;
	list_cut_free(&reflector->list);
	list_cut_init(&reflector->list, object_max, list_item, reflector);
	proto_list_cut_free(&reflector->proto_list);
	proto_list_cut_init(&reflector->proto_list, object_max, list_item, reflector);
	reflector->verdict = NO_VERDICT;
	reflector->call = kube_client_stream(reflector->client, &request, list_data, list_done, reflector);
}

void reflector_list_start(struct reflector *reflector)
{
	reflector->phase = LIST;
	mem_replace(&reflector->list_continue, NULL);
	mem_replace(&reflector->list_version, NULL);
	reflector_enter(reflector);
	reflector->handler->list_begin(reflector->arg);
	if (!reflector->closed)
		list_page(reflector);
	reflector_leave(reflector);
}
