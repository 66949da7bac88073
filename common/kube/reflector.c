/* List and watch for ever; see reflector.h.
 *
 *            ┌────────────── 410, or no version yet ──────────────┐
 *            ▼                                                    │
 *   IDLE → LIST ── all pages read ──▶ WATCH ── ended ──▶ WATCH (at once, or after a PAUSE)
 *            │ ▲                        │ ▲
 *            ▼ │                        ▼ │
 *           PAUSE (backoff)            PAUSE (backoff)
 *
 * The end of every request comes to list_done (reflector_list.c) or watch_done (reflector_watch.c), which alone decide
 * what is next. */
#include "common/kube/reflector.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/kube/reflector_state.h"

enum { PAGE_SIZE = 500 };
enum { OBJECT_MAX_BYTES = 16 * 1024 * 1024 };
enum { BACKOFF_BASE_MS = 800, BACKOFF_CAP_MS = 30000, BACKOFF_RESET_MS = 120000 };
/* A Retry-After beyond this is not believed. */
enum { RETRY_AFTER_CAP_MS = 10 * 60 * 1000 };

/* ---- versions ---- */

void reflector_advance(struct reflector *reflector, const char *version)
{
	if (version == NULL || *version == '\0' || version_compare(version, reflector->version) <= 0)
		return;
	mem_replace(&reflector->version, version);
	mem_replace(&reflector->floor, version);
	if (reflector->handler->progress != NULL)
		reflector->handler->progress(reflector->arg, version);
}

void reflector_count_event(struct reflector *reflector, const char *version)
{
	if (version != NULL && *version != '\0' && version_compare(version, reflector->version) > 0)
		reflector->events++;
}

/* ---- small things ---- */

void reflector_set_live(struct reflector *reflector, bool live)
{
	if (reflector->live == live || reflector->closed)
		return;
	reflector->live = live;
	reflector->handler->live(reflector->arg, live);
}

void reflector_arm(struct reflector *reflector, int64_t delay_ms)
{
	ev_timer_stop(reflector->loop, &reflector->timer);
	ev_now_update(reflector->loop);
	ev_timer_set(&reflector->timer, (double)delay_ms / 1000.0, 0.0);
	ev_timer_start(reflector->loop, &reflector->timer);
}

static void destroy(struct reflector *reflector)
{
	list_cut_free(&reflector->list);
	line_cut_free(&reflector->lines);
	proto_list_cut_free(&reflector->proto_list);
	frame_cut_free(&reflector->frames);
	buf_free(&reflector->verdict_message);
	free(reflector->path);
	free(reflector->selector);
	free(reflector->list_accept);
	free(reflector->watch_accept);
	free(reflector->what);
	free(reflector->version);
	free(reflector->floor);
	free(reflector->list_version);
	free(reflector->list_continue);
	free(reflector);
}

void reflector_enter(struct reflector *reflector)
{
	reflector->depth++;
}

void reflector_leave(struct reflector *reflector)
{
	reflector->depth--;
	if (reflector->closed && reflector->depth == 0 && reflector->call == NULL)
		destroy(reflector);
}

void reflector_report_trouble(struct reflector *reflector, const char *doing, enum kube_failure failure, int status,
			      const char *message)
{
	if (!reflector->trouble) {
		reflector->trouble_since_ms = clock_boot_ms();
	} else if (reflector->trouble_failure == failure && reflector->trouble_status == status) {
		log_v(2, "%s: %s again: %s", reflector->what, doing, message);
		return;
	}
	reflector->trouble = true;
	reflector->trouble_failure = failure;
	reflector->trouble_status = status;
	log_warning("%s: %s: %s; trying again until it works", reflector->what, doing, message);
}

void reflector_report_recovery(struct reflector *reflector)
{
	if (!reflector->trouble)
		return;
	reflector->trouble = false;
	log_info("%s: watching again after %lld s", reflector->what,
		 (long long)(clock_boot_ms() - reflector->trouble_since_ms) / 1000);
}

void reflector_pause(struct reflector *reflector, int64_t least_ms)
{
	int64_t wait_ms = backoff_next(&reflector->backoff, &reflector->random, clock_boot_ms());

	if (least_ms > RETRY_AFTER_CAP_MS)
		least_ms = RETRY_AFTER_CAP_MS;
	if (wait_ms < least_ms)
		wait_ms = least_ms + random_between(&reflector->random, 0, reflector->backoff.base_ms);
	reflector->phase = PAUSE;
	reflector_set_live(reflector, false);
	if (!reflector->closed)
		reflector_arm(reflector, wait_ms);
}

void reflector_go_on(struct reflector *reflector)
{
	if (reflector->closed)
		return;
	if (reflector->version == NULL)
		reflector_list_start(reflector);
	else
		reflector_watch_start(reflector);
}

void reflector_version_gone(struct reflector *reflector, const char *message)
{
	log_v(1, "%s: listing again: %s", reflector->what, message);
	mem_replace(&reflector->version, NULL);
	reflector_set_live(reflector, false);
	if (++reflector->gone_in_row == 1) {
		reflector_go_on(reflector);
		return;
	}
	reflector->plain_list = true;
	reflector_report_trouble(reflector, "listing again and again", KUBE_OK, 410, message);
	reflector_pause(reflector, 0);
}

int reflector_hand_on(struct reflector *reflector, const struct reflector_object *object, bool gone, struct error *err)
{
	const struct reflector_handler *handler = reflector->handler;
	cleanup_json json_t *tree = NULL;

	if (handler->raw != NULL)
		return handler->raw(reflector->arg, object, gone, err);
	tree = json_parse(object->data, object->len, err);
	if (tree == NULL)
		return -1;
	if (!json_is_object(tree))
		return error_set(err, "found JSON that is no object");
	if (gone)
		handler->deleted(reflector->arg, tree);
	else
		handler->present(reflector->arg, tree);
	return 0;
}

struct names {
	char ns[256];
	char name[256];
	char version[64];
};

static void read_names(const struct reflector_object *object, struct names *out)
{
	size_t len;
	const char *text;

	if (object->encoding == REFLECTED_PROTOBUF) {
		struct proto_span metadata = proto_field((struct proto_span){object->data, object->len, false},
							 PROTO_METADATA);

		proto_text(metadata, PROTO_META_NAMESPACE, out->ns, sizeof(out->ns));
		proto_text(metadata, PROTO_META_NAME, out->name, sizeof(out->name));
		proto_text(metadata, PROTO_META_VERSION, out->version, sizeof(out->version));
		return;
	}
	text = raw_member(object->data, object->len, "metadata", &len);
	raw_string(text, len, "namespace", out->ns, sizeof(out->ns));
	raw_string(text, len, "name", out->name, sizeof(out->name));
	raw_string(text, len, "resourceVersion", out->version, sizeof(out->version));
}

void reflector_report_malformed(struct reflector *reflector, const struct reflector_object *object, const char *message)
{
	struct names names;

	read_names(object, &names);
	if (reflector->handler->malformed != NULL)
		reflector->handler->malformed(reflector->arg, names.ns, names.name, message);
	else
		log_warning("%s: %s/%s: %s", reflector->what, names.ns, names.name, message);
	/* or the same event would come again for ever */
	if (reflector->phase == WATCH && !reflector->closed) {
		reflector_count_event(reflector, names.version);
		reflector_advance(reflector, names.version);
	}
}

void reflector_note_encoding(struct reflector *reflector)
{
	bool binary = strncmp(kube_call_content_type(reflector->call), PROTOBUF_TYPE, strlen(PROTOBUF_TYPE)) == 0;

	if (reflector->protobuf && (!reflector->encoding_told || binary != reflector->binary))
		log_info("%s: the server sends %s", reflector->what, binary ? "protobuf" : "JSON");
	reflector->encoding_told = true;
	reflector->binary = binary;
}

bool reflector_give_up_protobuf(struct reflector *reflector, const struct kube_answer *answer)
{
	if (!reflector->protobuf || answer->failure != KUBE_OK ||
	    (answer->http_status != 406 && answer->http_status != 415))
		return false;
	log_info("%s: the server has no protobuf (%s): JSON it is", reflector->what, answer->message);
	reflector->protobuf = false;
	mem_replace(&reflector->list_accept, NULL);
	mem_replace(&reflector->watch_accept, NULL);
	reflector_go_on(reflector);
	return true;
}

void reflector_stop_call(struct reflector *reflector, enum verdict verdict, const char *message)
{
	reflector->verdict = verdict;
	buf_clear(&reflector->verdict_message);
	buf_puts(&reflector->verdict_message, message);
	kube_call_cancel(reflector->call);
}

bool reflector_call_is_over(struct reflector *reflector, const struct kube_answer *answer)
{
	reflector->call = NULL;
	if (reflector->closed || (answer->failure == KUBE_CANCELLED && reflector->verdict == NO_VERDICT)) {
		ev_timer_stop(reflector->loop, &reflector->timer);
		reflector->phase = IDLE;
		return false;
	}
	return true;
}

void reflector_put_encoded(struct buf *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (isalnum((unsigned char)*text) || strchr("-._~", *text) != NULL)
			buf_putc(out, *text);
		else
			buf_printf(out, "%%%02X", (unsigned char)*text);
}

void reflector_put_query(struct reflector *reflector, struct buf *url)
{
	buf_puts(url, reflector->path);
	buf_putc(url, strchr(reflector->path, '?') == NULL ? '?' : '&');
	if (reflector->selector != NULL)
		buf_printf(url, "labelSelector=%s&", reflector->selector);
}

static void timer_due(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct reflector *reflector = timer->data;

	(void)loop;
	(void)events;
	reflector_enter(reflector);
	if (reflector->phase == PAUSE)
		reflector_go_on(reflector);
	else if (reflector->phase == WATCH && reflector->call != NULL)
		reflector_watch_late(reflector);
	reflector_leave(reflector);
}

/* ---- public ---- */

/* "…;as=PartialObjectMetadata;…" and its List form, whichever is given. */
static void derive_accept(struct reflector *reflector, const char *accept)
{
	static const char single[] = "as=PartialObjectMetadata";
	const char *at = accept == NULL ? NULL : strstr(accept, single);
	const char *rest;
	int head;

	if (at == NULL) {
		reflector->list_accept = mem_strdup(accept);
		reflector->watch_accept = mem_strdup(accept);
		return;
	}
	head = (int)(at - accept);
	rest = at + strlen(single);
	if (strncmp(rest, "List", 4) == 0)
		rest += 4;
	reflector->list_accept = mem_printf("%.*s%sList%s", head, accept, single, rest);
	reflector->watch_accept = mem_printf("%.*s%s%s", head, accept, single, rest);
}

struct reflector *reflector_new(struct ev_loop *loop, struct kube_client *client,
				const struct reflector_options *options, const struct reflector_handler *handler,
				void *arg)
{
	struct reflector *reflector = mem_calloc(1, sizeof(*reflector));

	reflector->loop = loop;
	reflector->client = client;
	reflector->handler = handler;
	reflector->arg = arg;
	reflector->path = mem_strdup(options->path);
	reflector->what = mem_strdup(options->what == NULL ? options->path : options->what);
	if (options->label_selector != NULL && *options->label_selector != '\0') {
		struct buf encoded = {0};

		reflector_put_encoded(&encoded, options->label_selector);
		reflector->selector = buf_steal(&encoded);
	}
	reflector->protobuf = options->protobuf && handler->raw != NULL;
	if (reflector->protobuf) {
		reflector->list_accept = mem_strdup(PROTOBUF_TYPE ",application/json");
		reflector->watch_accept = mem_strdup(PROTOBUF_TYPE ";stream=watch,application/json");
	} else {
		derive_accept(reflector, options->accept);
	}
	reflector->page_size = options->page_size > 0 ? options->page_size : PAGE_SIZE;
	reflector->lines.line_max = options->object_max > 0 ? options->object_max : OBJECT_MAX_BYTES;
	reflector->frames.frame_max = reflector->lines.line_max;
	reflector->backoff = (struct backoff){
		.base_ms = options->backoff_base_ms > 0 ? options->backoff_base_ms : BACKOFF_BASE_MS,
		.cap_ms = BACKOFF_CAP_MS,
		.reset_ms = BACKOFF_RESET_MS,
	};
	random_init(&reflector->random);
	ev_timer_init(&reflector->timer, timer_due, 0.0, 0.0);
	reflector->timer.data = reflector;
	return reflector;
}

void reflector_start(struct reflector *reflector)
{
	if (reflector->phase == IDLE)
		reflector_go_on(reflector);
}

void reflector_free(struct reflector *reflector)
{
	if (reflector == NULL)
		return;
	reflector->closed = true;
	ev_timer_stop(reflector->loop, &reflector->timer);
	if (reflector->call != NULL)
		kube_call_cancel(reflector->call);
	else if (reflector->depth == 0)
		destroy(reflector);
}
