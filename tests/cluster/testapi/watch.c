/* Watches; see watch.h. What an event looks like through a selector follows the real server's watch cache: an
 * object that no longer matches is DELETED with its previous state. */
#include "tests/cluster/testapi/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/faults.h"
#include "tests/cluster/testapi/pages.h"
#include "tests/cluster/testapi/protobuf.h"

/* Bytes gathered per read of the log. */
enum { OUT_ENOUGH = 64 * 1024 };

static int parse_version(const char *text, uint64_t *version, struct api_failure *failure)
{
	char *end;

	*version = 0;
	if (text == NULL || text[0] == '\0')
		return 0;
	*version = strtoull(text, &end, 10);
	if (*end != '\0' || text[0] == '-')
		return api_fail(failure, 500, "",
				"resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing "
				"\"%s\": invalid syntax",
				text, text);
	return 0;
}

/* Ends the event that begins at start, and turns it into protobuf where that is wanted. */
static void end_event(struct api_watch *watch, size_t start)
{
	cleanup_json json_t *event = NULL;

	buf_puts(&watch->out, "}");
	if (!watch->protobuf) {
		buf_puts(&watch->out, "\n");
		return;
	}
	event = json_parse(watch->out.data + start, watch->out.len - start, NULL);
	watch->out.len = start;
	protobuf_encode_event(&watch->out, event);
}

static void put_event(struct api_watch *watch, const char *type, struct api_object *object)
{
	size_t start = watch->out.len;

	buf_printf(&watch->out, "{\"type\":\"%s\",\"object\":", type);
	api_render(&watch->out, object, watch->form, !watch->columns_sent);
	watch->columns_sent = true;
	end_event(watch, start);
}

static void put_bookmark(struct api_watch *watch, bool initial_end)
{
	const char *kind = watch->form == FORM_TABLE      ? "Table"
			   : watch->form == FORM_METADATA ? "PartialObjectMetadata"
							  : watch->resource->kind;
	size_t start = watch->out.len;
	const char *version = watch->form == FORM_OBJECT ? watch->resource->api_version : "meta.k8s.io/v1";

	buf_printf(&watch->out,
		   "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":"
		   "{\"resourceVersion\":\"%llu\"%s%s}%s}",
		   kind, version, (unsigned long long)watch->version,
		   watch->form == FORM_TABLE ? "" : ",\"creationTimestamp\":null",
		   initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "",
		   watch->form == FORM_TABLE ? ",\"columnDefinitions\":null,\"rows\":null" : "");
	end_event(watch, start);
}

static void put_error(struct api_watch *watch, const struct api_failure *failure)
{
	size_t start = watch->out.len;

	buf_puts(&watch->out, "{\"type\":\"ERROR\",\"object\":");
	api_failure_print(failure, &watch->out);
	end_event(watch, start);
	watch->ended = true;
}

static bool in_scope(const struct api_watch *watch, const struct api_object *object)
{
	return object != NULL &&
	       (watch->namespace_name[0] == '\0' || strcmp(watch->namespace_name, object->namespace_name) == 0) &&
	       api_selector_matches(&watch->selector, object);
}

/* What the watch sees of an event: its type, or 0. */
static char seen_as(const struct api_watch *watch, const struct api_event *event)
{
	bool before = in_scope(watch, event->previous);

	if (event->type == 'D')
		return before ? 'D' : 0;
	if (in_scope(watch, event->object))
		return before ? 'M' : 'A';
	return before ? 'D' : 0;
}

/* The previous state under the version of the change that took it out of the selector. */
static void put_lost(struct api_watch *watch, const struct api_event *event)
{
	json_t *json = api_object_copy(event->previous);
	struct api_object lost = *event->previous;
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)event->version);
	json_object_set_new(json_object_get(json, "metadata"), "resourceVersion", json_string(number));
	lost.json = json;
	lost.text = json_text(json);
	lost.text_len = strlen(lost.text);
	put_event(watch, "DELETED", &lost);
	free(lost.text);
	json_decref(json);
}

static void put_seen(struct api_watch *watch, const struct api_event *event, char type)
{
	if (type == 'A')
		put_event(watch, "ADDED", event->object);
	else if (type == 'M')
		put_event(watch, "MODIFIED", event->object);
	else if (event->type == 'D')
		put_event(watch, "DELETED", event->object);
	else
		put_lost(watch, event);
}

static struct api_event *event_at(const struct api_resource *resource, uint64_t number)
{
	return &resource->events[number % resource->event_cap];
}

static bool overtaken(const struct api_watch *watch)
{
	return watch->cursor < watch->resource->event_first;
}

void api_watch_expire(struct api_watch *watch)
{
	struct api_failure failure = {0};

	api_fail(&failure, 410, "Expired", "too old resource version: %llu (%llu)", (unsigned long long)watch->version,
		 (unsigned long long)watch->resource->compacted);
	put_error(watch, &failure);
	api_failure_free(&failure);
}

/* Returns whether some are left. */
static bool put_initial(struct api_watch *watch)
{
	for (; watch->out.len < OUT_ENOUGH && watch->initial_at < watch->initial_count; watch->initial_at++) {
		put_event(watch, "ADDED", watch->initial[watch->initial_at]);
		api_object_unref(watch->initial[watch->initial_at]);
	}
	if (watch->initial_at < watch->initial_count)
		return true;
	free((void *)watch->initial);
	watch->initial = NULL;
	if (watch->initial_bookmark)
		put_bookmark(watch, true);
	return false;
}

static void fill(struct api_watch *watch)
{
	if (overtaken(watch)) {
		api_watch_expire(watch);
		return;
	}
	if (watch->initial != NULL && put_initial(watch))
		return;
	while (watch->out.len < OUT_ENOUGH && watch->cursor < watch->resource->event_end) {
		const struct api_event *event = event_at(watch->resource, watch->cursor++);
		char type = seen_as(watch, event);

		/* a watch that began in the future waits for it */
		if (event->version <= watch->begins)
			continue;
		watch->version = event->version;
		if (type != 0)
			put_seen(watch, event, type);
	}
	if (watch->resource->gone && watch->cursor == watch->resource->event_end)
		watch->ended = true;
}

/* Notes what there is, to be handed out by and by: a large cluster is more than fits into memory twice. */
static void take_initial(struct api_watch *watch)
{
	size_t begin;
	size_t end;

	api_store_range(watch->resource, watch->namespace_name, &begin, &end);
	watch->initial = mem_calloc(end - begin + 1, sizeof(struct api_object *));
	for (; begin < end; begin++)
		if (api_selector_matches(&watch->selector, watch->resource->objects[begin]))
			watch->initial[watch->initial_count++] = api_object_ref(watch->resource->objects[begin]);
}

static void drop_initial(struct api_watch *watch)
{
	while (watch->initial_at < watch->initial_count)
		api_object_unref(watch->initial[watch->initial_at++]);
	free((void *)watch->initial);
	watch->initial = NULL;
}

/* Places the cursor behind version. */
static void seek(struct api_watch *watch, uint64_t version)
{
	const struct api_resource *resource = watch->resource;
	uint64_t low = resource->event_first;
	uint64_t high = resource->event_end;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (event_at(resource, middle)->version <= version)
			low = middle + 1;
		else
			high = middle;
	}
	watch->cursor = low;
	watch->version = version;
}

static int start(struct api_watch *watch, const struct api_watch_request *request, struct api_failure *failure)
{
	struct api *api = watch->api;
	uint64_t version;

	if (parse_version(request->resource_version, &version, failure) < 0)
		return -1;
	if (request->initial == INITIAL_REQUIRED &&
	    api_check_not_newer(request->resource_version, api->version, failure) < 0)
		return -1;
	if (version == 0 || request->initial == INITIAL_REQUIRED) {
		seek(watch, api->version);
		if (request->initial != INITIAL_NONE)
			take_initial(watch);
		watch->initial_bookmark = request->initial == INITIAL_REQUIRED && watch->bookmarks;
		return 0;
	}
	if (version < watch->resource->compacted) {
		/* the real server says so inside the stream's first event when etcd finds out, else as HTTP status */
		return api_fail(failure, 410, "Expired", "too old resource version: %llu (%llu)",
				(unsigned long long)version, (unsigned long long)watch->resource->compacted);
	}
	seek(watch, version);
	watch->begins = version;
	return 0;
}

struct api_watch *api_watch_new(struct api *api, struct api_resource *resource, const struct api_watch_request *request,
				struct api_failure *failure)
{
	struct api_watch *watch = mem_calloc(1, sizeof(*watch));
	double timeout = request->timeout_sec > 0 ? (double)request->timeout_sec
						  : (double)random_between(&api->random, 1800, 3600);

	watch->api = api;
	watch->resource = resource;
	watch->namespace_name = mem_strdup(request->namespace_name);
	watch->user_agent = mem_strdup(request->user_agent);
	watch->connection = request->connection;
	watch->form = request->form == FORM_METADATA_LIST ? FORM_METADATA : request->form;
	watch->protobuf = request->protobuf;
	watch->bookmarks = request->bookmarks;
	watch->expires = ev_now(api->loop) + timeout;
	watch->next_bookmark = ev_now(api->loop) + api->options.bookmark_sec;
	if (api_selector_parse(&watch->selector, resource, request->labels, request->fields, failure) < 0 ||
	    start(watch, request, failure) < 0) {
		api_selector_free(&watch->selector);
		buf_free(&watch->out);
		free(watch->user_agent);
		free(watch->namespace_name);
		free(watch);
		return NULL;
	}
	LL_PREPEND(resource->watches, watch);
	return watch;
}

void api_watch_free(struct api_watch *watch)
{
	LL_DELETE(watch->resource->watches, watch);
	drop_initial(watch);
	api_selector_free(&watch->selector);
	buf_free(&watch->out);
	free(watch->user_agent);
	free(watch->namespace_name);
	free(watch);
}

/* A bookmark or the end, when its time has come. */
static void check_time(struct api_watch *watch)
{
	ev_tstamp now = ev_now(watch->api->loop);

	if (watch->bookmarks && watch->cursor == watch->resource->event_end &&
	    (now >= watch->next_bookmark || (now >= watch->expires && !watch->last_sent))) {
		/* with nothing pending, the stream is at the store's version */
		if (watch->api->version > watch->begins)
			watch->version = watch->api->version;
		watch->next_bookmark = now + watch->api->options.bookmark_sec;
		put_bookmark(watch, false);
		watch->last_sent = now >= watch->expires;
	}
	if (now >= watch->expires)
		watch->ended = true;
}

/* Gathers what is to be sent next, once all before it was sent. */
static void refill(struct api_watch *watch)
{
	buf_clear(&watch->out);
	watch->out_sent = 0;
	if (watch->ended || watch->half)
		return;
	fill(watch);
	if (!watch->ended && watch->out.len == 0)
		check_time(watch);
	if (watch->broken && watch->out.len > 2) {
		/* never at the end of an event */
		watch->out.len /= 2;
		watch->out.len -= watch->out.data[watch->out.len - 1] == '\n';
		watch->half = true;
	}
	if (watch->out.cap > 4 * OUT_ENOUGH && watch->out.len == 0)
		buf_free(&watch->out);
}

ssize_t api_watch_read(struct api_watch *watch, char *data, size_t max)
{
	size_t len;

	watch->waiting = false;
	if (api_faults_frozen(watch->api, watch)) {
		watch->waiting = true;
		return WATCH_NOTHING;
	}
	if (watch->out_sent == watch->out.len)
		refill(watch);
	len = watch->out.len - watch->out_sent;
	if (len == 0) {
		if (watch->half)
			return WATCH_CUT;
		watch->waiting = !watch->ended;
		return watch->ended ? WATCH_END : WATCH_NOTHING;
	}
	if (len > max)
		len = max;
	memcpy(data, watch->out.data + watch->out_sent, len);
	watch->out_sent += len;
	return (ssize_t)len;
}

void api_watch_notify(struct api *api, struct api_resource *resource)
{
	(void)api;
	resource->log_grew = true;
}

/* Skips what the watch does not see; true when there is something for it. */
static bool has_news(struct api_watch *watch)
{
	if (watch->ended || watch->half || watch->out_sent < watch->out.len || watch->initial != NULL ||
	    overtaken(watch) || watch->resource->gone)
		return true;
	for (; watch->cursor < watch->resource->event_end; watch->cursor++) {
		const struct api_event *event = event_at(watch->resource, watch->cursor);

		if (event->version <= watch->begins)
			continue;
		if (seen_as(watch, event) != 0)
			return true;
		watch->version = event->version;
	}
	return false;
}

static void flush_resource(struct api *api, struct api_resource *resource)
{
	for (struct api_watch *watch = resource->watches; watch != NULL; watch = watch->next)
		if (watch->waiting && !api_faults_frozen(api, watch) && has_news(watch)) {
			watch->waiting = false;
			api->wake(api->wake_arg, watch);
		}
	resource->log_grew = false;
}

void api_watch_flush(struct api *api)
{
	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		if (resource->log_grew)
			flush_resource(api, resource);
}

void api_watch_tick(struct api *api)
{
	ev_tstamp now = ev_now(api->loop);

	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		for (struct api_watch *watch = resource->watches; watch != NULL; watch = watch->next)
			if (watch->waiting && !api_faults_frozen(api, watch) &&
			    (now >= watch->expires || (watch->bookmarks && now >= watch->next_bookmark))) {
				watch->waiting = false;
				api->wake(api->wake_arg, watch);
			}
}
