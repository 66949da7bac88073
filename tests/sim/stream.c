/* The watcher's lists and watches: the real streams and reflectors, on a loop and a client of the simulator's own. Only
 * what they use of libev and of common/kube/client.h is here; the server's answers come as bytes, in pieces, and break.
 * See sim.h. */
#include <ev.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "tests/sim/sim.h"

enum { EVENT_MS = 30, SLOW_EVENT_MS = 6000, PAGE_MAX = 3, PIECE_MS = 40, RV_SIZE = 24, BURSTS_EVERY = 3 };

static bool calm(const struct world *world)
{
	return world->faults.calm || world->healed;
}

/* ---- calls ---- */

/* A list's page or a watch, until its done callback has run. */
struct kube_call {
	struct kube_call *next;
	struct watcher *watcher;
	uint64_t number;
	enum object_kind kind;
	char ns[8]; /* the only one asked for, or "" */
	bool watch;
	bool cancelled;
	uint64_t version;  /* watches: what was sent; lists: NotOlderThan, or 0 */
	uint64_t searched; /* watches: up to this version there is nothing more to send */
	uint64_t page_at;  /* lists: the version and the place that a continue token names */
	size_t page_from;
	bool connected;
	bool delivering;
	struct buf rest; /* of an event that has come in part */
	kube_data *data;
	kube_done *done;
	void *arg;
};

static void end_call_with(struct kube_call *call, enum kube_failure failure, int status, int64_t retry_after_ms,
			  const char *body)
{
	struct watcher *watcher = call->watcher;
	struct kube_answer answer = {
		.failure = call->cancelled ? KUBE_CANCELLED : failure,
		.http_status = failure == KUBE_OK ? status : 0,
		.body = body,
		.body_len = strlen(body),
		.status = {.code = status, .is_status = status >= 400, .reason = "", .message = ""},
		.retry_after_ms = retry_after_ms,
		.sent = true,
		.message = failure == KUBE_OK && status < 300 ? "" : "simulated",
	};

	for (struct kube_call **place = &watcher->calls; *place != NULL; place = &(*place)->next) {
		if (*place == call) {
			*place = call->next;
			break;
		}
	}
	call->done(call->arg, &answer);
	buf_free(&call->rest);
	free(call);
}

static void end_call(struct kube_call *call, enum kube_failure failure, int status, int64_t retry_after_ms)
{
	end_call_with(call, failure, status, retry_after_ms, "");
}

/* What comes of a call later, unless it is over by then. */
struct turn {
	struct watcher *watcher;
	uint64_t number;
	char *text; /* of a list's page */
};

static void turn_free(void *arg)
{
	struct turn *turn = arg;

	free(turn->text);
	free(turn);
}

static struct kube_call *call_of(const struct turn *turn)
{
	struct kube_call *call = turn->watcher->process.alive ? turn->watcher->calls : NULL;

	while (call != NULL && call->number != turn->number)
		call = call->next;
	return call;
}

static struct turn *later(const struct kube_call *call, int64_t delay_ms, bool at_server,
			  void (*run)(struct world *world, void *arg))
{
	struct world *world = call->watcher->process.world;
	struct turn *turn = mem_calloc(1, sizeof(*turn));

	turn->watcher = call->watcher;
	turn->number = call->number;
	at(world, world->now_ms + delay_ms, at_server ? NULL : &call->watcher->process, run, turn_free, turn);
	return turn;
}

static void fail_call(struct kube_call *call, enum kube_failure failure, int status)
{
	struct watcher *watcher = call->watcher;

	trace(watcher->process.world, "%s: %s of %s ends with %d", watcher->process.label,
	      call->watch ? "the watch" : "the list", object_kind_name(call->kind), failure == KUBE_OK ? status : -1);
	end_call(call, failure, status, status == 429 ? pick(watcher->process.world, 1, 4) * 1000 : -1);
	watcher_settle(watcher);
}

static void on_network_error(struct world *world, void *arg)
{
	struct kube_call *call = call_of(arg);

	(void)world;
	if (call != NULL)
		fail_call(call, KUBE_NETWORK, 0);
	turn_free(arg);
}

static void on_cancelled(struct world *world, void *arg)
{
	struct kube_call *call = call_of(arg);

	(void)world;
	if (call != NULL)
		end_call(call, KUBE_CANCELLED, 0, -1);
	turn_free(arg);
}

void kube_call_cancel(struct kube_call *call)
{
	if (call->cancelled)
		return;
	call->cancelled = true;
	later(call, 0, false, on_cancelled);
}

/* ---- lists ---- */

/* Whether the object is in the namespace that was asked for. */
static bool in_sight(const struct kube_call *call, const json_t *object)
{
	return call->ns[0] == '\0' || strcmp(call->ns, meta_text(object, "namespace")) == 0;
}

/* Whether it is a list that ROW_NAMESAKE is about, and that row is at this step. */
static bool is_of_namesake(const struct kube_call *call, int step)
{
	return call->kind == KIND_POD && (int)call->watcher->namesake == step &&
	       (call->ns[0] == '\0' || strcmp(call->ns, call->watcher->process.world->faults.shown_ns) == 0);
}

/* How many there are up to the one that the first list is to show. */
static size_t count_to_shown(const struct world *world, const json_t *list)
{
	const json_t *object;
	size_t i;

	json_array_foreach(list, i, object)
		if (strcmp(meta_text(object, "uid"), world->faults.shown) == 0)
			return i + 1;
	return json_array_size(list);
}

static void put_list(struct world *world, struct kube_call *call, uint64_t version, struct buf *out)
{
	cleanup_json json_t *list = api_list(world, call->kind, version);
	size_t until;

	for (size_t i = json_array_size(list); i-- > 0;)
		if (!in_sight(call, json_array_get(list, i)))
			json_array_remove(list, i);
	until = json_array_size(list);
	/* servers may give less than they are asked for */
	if (!calm(world) && chance(world, 300) && until > call->page_from + PAGE_MAX)
		until = call->page_from + (size_t)pick(world, 1, PAGE_MAX);
	if (is_of_namesake(call, LIST_BREAKS_OFF)) {
		until = count_to_shown(world, list);
		call->watcher->namesake = until < json_array_size(list) ? LIST_BROKEN_OFF : LISTS_AS_EVER;
	}
	buf_printf(out, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"",
		   version);
	if (until < json_array_size(list))
		buf_printf(out, ",\"continue\":\"%" PRIu64 ".%zu\"", version, until);
	buf_puts(out, "},\"items\":[");
	for (size_t i = call->page_from; i < until; i++) {
		cleanup_free char *text = json_text(json_array_get(list, i));

		buf_puts(out, i > call->page_from ? "," : "");
		buf_puts(out, text);
	}
	buf_puts(out, "]}");
	trace(world, "%s: list of %s at %" PRIu64 ": %zu to %zu of %zu", call->watcher->process.label,
	      object_kind_name(call->kind), version, call->page_from, until, json_array_size(list));
}

static void feed(struct kube_call *call, const char *data, size_t len)
{
	if (!call->cancelled)
		call->data(call->arg, data, len);
}

/* A page comes, or breaks off, which may look like its end. */
static void on_page(struct world *world, void *arg)
{
	struct turn *turn = arg;
	struct kube_call *call = call_of(turn);
	struct watcher *watcher = turn->watcher;
	size_t len = turn->text == NULL ? 0 : strlen(turn->text);
	size_t cut = (size_t)pick(world, 0, (int64_t)len);
	bool breaks = !calm(world) && chance(world, 50);

	if (call != NULL && !call->cancelled) {
		if (breaks)
			turn->text[cut] = '\0';
		trace(world, "%s: the page of %s %s", watcher->process.label, object_kind_name(call->kind),
		      breaks ? "breaks off" : "comes");
		end_call_with(call, breaks && cut % 2 == 0 ? KUBE_NETWORK : KUBE_OK, 200, -1, turn->text);
		watcher_settle(watcher);
	}
	turn_free(turn);
}

static void on_status(struct world *world, void *arg)
{
	static const int codes[] = {429, 500, 503, 504};
	struct kube_call *call = call_of(arg);

	if (call != NULL)
		fail_call(call, KUBE_OK, codes[pick(world, 0, 3)]);
	turn_free(arg);
}

static void on_gone(struct world *world, void *arg)
{
	struct kube_call *call = call_of(arg);

	(void)world;
	if (call != NULL)
		fail_call(call, KUBE_OK, 410);
	turn_free(arg);
}

/* Whether it is answered by the replica that has not seen the end of a Pod. */
static bool is_behind(const struct kube_call *call)
{
	if (!is_of_namesake(call, LIST_BROKEN_OFF))
		return false;
	call->watcher->namesake = LISTS_AS_EVER;
	return true;
}

/* The server reads the list. */
static void list_read(struct world *world, void *arg)
{
	struct kube_call *call = call_of(arg);
	uint64_t version = world->version;
	struct buf text = {0};

	if (call != NULL) {
		/* A replica that lags may answer one that asks for anything not older than it knows. */
		if (call->page_at != 0)
			version = call->page_at;
		else if (is_behind(call))
			version = world->faults.behind;
		else if (world->faults.stale_lists && !world->healed && call->version > 0 && call->version < version)
			version = (uint64_t)pick(world, (int64_t)call->version, (int64_t)version);
		if (call->page_at != 0 &&
		    (call->page_at < world->faults.compacted || is_of_namesake(call, LIST_BROKEN_OFF))) {
			later(call, network_travel_ms(world), false, on_gone);
		} else {
			put_list(world, call, version, &text);
			later(call, pick(world, 1, calm(world) ? 5 : 500), false, on_page)->text = buf_steal(&text);
		}
	}
	turn_free(arg);
}

/* ---- watches ---- */

static const struct change *next_change(struct kube_call *call)
{
	const struct world *world = call->watcher->process.world;
	uint64_t from = call->version > call->searched ? call->version : call->searched;

	for (uint64_t v = from + 1; v <= world->version; v++) {
		const struct change *change = &world->changes[v - VERSION_BASE - 1];

		if (change->kind == call->kind && in_sight(call, change->json) &&
		    (change->kind == KIND_FRAMEWORK || change->labelled || change->was_labelled))
			return change;
		call->searched = v;
	}
	return NULL;
}

static void put_event(struct buf *out, const char *type, const char *object)
{
	buf_printf(out, "{\"type\":\"%s\",\"object\":", type);
	buf_puts(out, object);
	buf_puts(out, "}\n");
}

static void put_change(struct kube_call *call, const struct change *change, struct buf *out)
{
	bool out_of_sight = call->kind != KIND_FRAMEWORK && !change->labelled;
	bool into_sight = change->before == NULL || (call->kind != KIND_FRAMEWORK && !change->was_labelled);
	cleanup_json json_t *last = NULL;
	cleanup_free char *text = NULL;

	if (out_of_sight) {
		/* told of as it was, with the new version */
		last = json_copy(change->before);
		json_object_set_new(last, "metadata", json_copy(json_object_get(last, "metadata")));
		json_object_set(json_object_get(last, "metadata"), "resourceVersion",
				json_path(change->json, "metadata", "resourceVersion", NULL));
	}
	text = json_text(last != NULL ? last : change->json);
	put_event(out, out_of_sight || change->gone ? "DELETED" : into_sight ? "ADDED" : "MODIFIED", text);
	trace(call->watcher->process.world, "%s: %s %s at %" PRIu64, call->watcher->process.label,
	      meta_text(change->json, "uid"),
	      change->gone   ? "DELETED"
	      : out_of_sight ? "out of sight"
			     : "present",
	      change->version);
}

static void deliver_soon(struct kube_call *call);

static void on_rest(struct world *world, void *arg)
{
	struct kube_call *call = call_of(arg);

	(void)world;
	if (call != NULL && !call->cancelled) {
		call->delivering = false;
		feed(call, call->rest.data, call->rest.len);
		buf_clear(&call->rest);
		watcher_settle(call->watcher);
		call = call_of(arg);
		if (call != NULL)
			deliver_soon(call);
	}
	turn_free(arg);
}

/* What there is to tell, or a bookmark. */
static void deliver(struct world *world, void *arg)
{
	struct kube_call *call = call_of(arg);
	const struct change *change;
	cleanup_buf struct buf text = {0};
	size_t cut;

	if (call == NULL || call->cancelled) {
		turn_free(arg);
		return;
	}
	call->delivering = false;
	change = call->watcher->frozen_until_ms[call->kind] > world->now_ms ? NULL : next_change(call);
	if (change != NULL) {
		/* in some worlds all that there is comes in one piece: what followed on each other within it is told
		 * of together */
		do {
			put_change(call, change, &text);
			call->version = change->version;
			change = world->seed % BURSTS_EVERY == 0 ? next_change(call) : NULL;
		} while (change != NULL);
	} else if (call->watcher->frozen_until_ms[call->kind] <= world->now_ms && chance(world, 300)) {
		char object[80];

		snprintf(object, sizeof(object), "{\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"}}",
			 world->version);
		put_event(&text, "BOOKMARK", object);
		call->version = world->version;
	}
	cut = text.len;
	if (!calm(world) && text.len > 0 && chance(world, 30))
		cut = (size_t)pick(world, 1, (int64_t)text.len - 1);
	if (cut > 0)
		feed(call, text.data, cut);
	watcher_settle(call->watcher);
	call = call_of(arg);
	if (call != NULL && cut < text.len) {
		buf_append(&call->rest, text.data + cut, text.len - cut);
		call->delivering = true;
		later(call, pick(world, 1, PIECE_MS), false, on_rest);
	} else if (call != NULL) {
		deliver_soon(call);
	}
	turn_free(arg);
}

static void deliver_soon(struct kube_call *call)
{
	struct watcher *watcher = call->watcher;
	struct world *world = watcher->process.world;
	int64_t delay_ms = pick(world, 1, EVENT_MS);
	int64_t frozen_ms = watcher->frozen_until_ms[call->kind] - world->now_ms;

	if (!call->connected || call->delivering || call->cancelled || next_change(call) == NULL)
		return;
	if (world->faults.slow_streams && !world->healed && chance(world, 100))
		delay_ms += pick(world, 0, SLOW_EVENT_MS);
	if (!calm(world) && (world->faults.lagging_watchers & 1U << watcher->index) != 0)
		delay_ms += world->faults.lag_ms[call->kind];
	call->delivering = true;
	later(call, frozen_ms > delay_ms ? frozen_ms : delay_ms, false, deliver);
}

static void on_connected(struct world *world, void *arg)
{
	struct kube_call *call = call_of(arg);

	if (call != NULL && !call->cancelled) {
		if (call->version >= world->faults.compacted) {
			call->connected = true;
			feed(call, NULL, 0);
			deliver_soon(call);
		} else if (chance(world, 500)) {
			fail_call(call, KUBE_OK, 410);
		} else {
			cleanup_buf struct buf text = {0};

			put_event(&text, "ERROR",
				  "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}");
			feed(call, NULL, 0);
			feed(call, text.data, text.len);
		}
		watcher_settle(((struct turn *)arg)->watcher);
	}
	turn_free(arg);
}

/* ---- the client ---- */

static uint64_t number_in(const char *path, const char *name)
{
	const char *value = strstr(path, name);

	return value == NULL ? 0 : strtoull(value + strlen(name), NULL, 10);
}

static void start(struct kube_call *call)
{
	struct world *world = call->watcher->process.world;

	if (!calm(world) &&
	    (world->now_ms < world->faults.outage_until_ms || chance(world, world->faults.lose_request)))
		later(call, pick(world, 1, 400), false, on_network_error);
	else if (!calm(world) && chance(world, world->faults.refuse))
		later(call, network_travel_ms(world), false, on_status);
	else if (call->watch)
		later(call, pick(world, 1, 20), false, on_connected);
	else
		later(call, pick(world, 1, calm(world) ? 5 : 300), true, list_read);
}

struct kube_call *kube_client_call(struct kube_client *client, const struct kube_request *request, kube_done *done,
				   void *arg)
{
	return kube_client_stream(client, request, NULL, done, arg);
}

struct kube_call *kube_client_stream(struct kube_client *client, const struct kube_request *request, kube_data *data,
				     kube_done *done, void *arg)
{
	struct watcher *watcher = (struct watcher *)(void *)client;
	struct kube_call *call = mem_calloc(1, sizeof(*call));
	const char *from = strstr(request->path, "&continue=");
	const char *ns = strstr(request->path, "/namespaces/");

	call->watcher = watcher;
	if (ns != NULL)
		sscanf(ns, "/namespaces/%7[^/]", call->ns);
	call->number = ++watcher->call_numbers;
	call->kind = strstr(request->path, "/frameworks?") != NULL   ? KIND_FRAMEWORK
		     : strstr(request->path, "/workloads?") != NULL  ? KIND_WORKLOAD
		     : strstr(request->path, "/configmaps?") != NULL ? KIND_CONFIG_MAP
								     : KIND_POD;
	call->watch = strstr(request->path, "watch=1") != NULL;
	call->version = number_in(request->path, "resourceVersion=");
	if (from != NULL) {
		call->page_at = number_in(from, "&continue=");
		from = strchr(from, '.');
		call->page_from = from == NULL ? 0 : strtoull(from + 1, NULL, 10);
	}
	call->data = data;
	call->done = done;
	call->arg = arg;
	call->next = watcher->calls;
	watcher->calls = call;
	start(call);
	watcher_requested(watcher);
	return call;
}

/* ---- what the rest of the simulator does with them ---- */

void watcher_news(struct world *world)
{
	for (int i = 0; i < world->watcher_count; i++)
		for (struct kube_call *call = world->watchers[i].process.alive ? world->watchers[i].calls : NULL;
		     call != NULL; call = call->next)
			if (call->watch)
				deliver_soon(call);
}

void stream_cut(struct watcher *watcher, enum object_kind kind)
{
	struct world *world = watcher->process.world;

	for (struct kube_call *call = watcher->calls; call != NULL; call = call->next)
		if (call->kind == kind && call->watch && call->connected)
			later(call, pick(world, 0, 100), false, on_network_error);
}

bool streams_quiet(const struct watcher *watcher)
{
	int watches = 0;

	for (const struct kube_call *call = watcher->calls; call != NULL; call = call->next) {
		if (!call->watch || !call->connected || call->delivering)
			return false;
		watches++;
	}
	return watches == (KIND_WORKLOAD + watcher->process.world->queued) *
				  (watcher->process.world->by_namespace ? SIM_NAMESPACES : 1);
}

bool streams_shown(const struct watcher *watcher, const struct object *object)
{
	for (const struct kube_call *call = watcher->calls; call != NULL; call = call->next)
		if (call->watch && call->connected && call->kind == object->kind &&
		    (call->ns[0] == '\0' || strcmp(call->ns, object->ns) == 0))
			return call->version >= object->version;
	return false;
}

bool streams_before(const struct watcher *watcher, enum object_kind kind, uint64_t version)
{
	for (const struct kube_call *call = watcher->calls; call != NULL; call = call->next)
		if (call->kind == kind && (!call->watch || call->version >= version))
			return false;
	return true;
}

bool streams_silent(const struct watcher *watcher)
{
	for (struct kube_call *call = watcher->calls; call != NULL; call = call->next)
		if (call->watch && watcher->frozen_until_ms[call->kind] > watcher->process.world->now_ms &&
		    next_change(call) != NULL)
			return true;
	return false;
}

void streams_end(struct watcher *watcher)
{
	streams_free(watcher->streams);
	streams_free(watcher->workloads);
	while (watcher->calls != NULL) {
		watcher->calls->cancelled = true;
		end_call(watcher->calls, KUBE_CANCELLED, 0, -1);
	}
}
