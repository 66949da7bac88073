/* The common parts of the reflector's lists and watches; see reflector_state.h. */
#include "common/kube/reflector_state.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"

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

void reflector_raise_floor(struct reflector *reflector, const char *version)
{
	if (*version != '\0' && version_compare(version, reflector->floor) > 0)
		mem_replace(&reflector->floor, version);
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
	if (reflector->handler->live != NULL)
		reflector->handler->live(reflector->arg, live);
}

void reflector_list_begin(struct reflector *reflector)
{
	if (reflector->handler->list_begin != NULL)
		reflector->handler->list_begin(reflector->arg);
}

void reflector_list_end(struct reflector *reflector)
{
	if (reflector->handler->list_end != NULL)
		reflector->handler->list_end(reflector->arg, reflector->version);
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
	pieces_free(&reflector->pieces);
	buf_free(&reflector->verdict_message);
	free(reflector->path);
	free(reflector->selector);
	free(reflector->what);
	free(reflector->version);
	free(reflector->floor);
	free(reflector->list_version);
	free(reflector->list_continue);
	free(reflector);
}

void reflector_close(struct reflector *reflector)
{
	reflector->closed = true;
	ev_timer_stop(reflector->loop, &reflector->timer);
	if (reflector->call != NULL)
		kube_call_cancel(reflector->call);
	else if (reflector->depth == 0)
		destroy(reflector);
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
	bool refused = failure == KUBE_OK && (status == 401 || status == 403);

	if (refused && reflector->handler->refused != NULL &&
	    reflector->handler->refused(reflector->arg, reflector->phase == WATCH ? "watch" : "list", status, message))
		return;
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

int reflector_take_tree(void *arg, const struct reflector_object *object, bool gone, struct error *err)
{
	struct reflector *reflector = arg;
	const struct reflector_handler *handler = reflector->handler;
	cleanup_json json_t *tree = json_parse(object->data, object->len, err);

	if (tree == NULL)
		return -1;
	if (!json_is_object(tree))
		return error_set(err, "found other JSON, expected an object");
	if (gone)
		handler->deleted(reflector->arg, tree);
	else
		handler->present(reflector->arg, tree);
	return 0;
}

struct object_names {
	char ns[256];
	char name[256];
	char version[64];
};

/* The next value when it is a string that fits, else "". */
static void read_text(struct json_reader *reader, char *out, size_t size)
{
	struct json_span span = json_reader_string(reader);

	out[0] = '\0';
	if (span.at != NULL && span.len < size)
		json_span_decode(&span, out);
}

/* Reads the names in the metadata that comes next. The mistake may be in any other member. */
static void read_json_names(struct json_reader *reader, struct object_names *out)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "namespace"))
			read_text(reader, out->ns, sizeof(out->ns));
		else if (json_span_is(&name, "name"))
			read_text(reader, out->name, sizeof(out->name));
		else if (json_span_is(&name, "resourceVersion"))
			read_text(reader, out->version, sizeof(out->version));
		else
			json_reader_pass(reader);
}

static void read_names(const struct reflector_object *object, struct object_names *out)
{
	struct json_reader reader;
	struct json_span name;

	*out = (struct object_names){0};
	json_reader_init(&reader, object->data, object->len);
	if (!json_reader_object(&reader))
		return;
	while (json_reader_member(&reader, &name))
		if (json_span_is(&name, "metadata"))
			read_json_names(&reader, out);
		else
			json_reader_pass(&reader);
}

void reflector_report_malformed(struct reflector *reflector, const struct reflector_object *object, const char *message)
{
	struct object_names names;

	read_names(object, &names);
	if (reflector->handler->malformed != NULL)
		reflector->handler->malformed(reflector->arg, names.ns, names.name, message);
	else
		log_warning("%s: %s/%s: %s", reflector->what, names.ns, names.name, message);
	/* or the same event would come again for ever */
	if (reflector->phase == WATCH && !reflector->initial && !reflector->closed) {
		reflector_count_event(reflector, names.version);
		reflector_advance(reflector, names.version);
	}
}

void reflector_stop_call(struct reflector *reflector, enum reflector_verdict verdict, const char *message)
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
