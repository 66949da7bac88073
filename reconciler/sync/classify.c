/* Classifying failures, CONTRACT.md §8; see classify.h. */
#include "reconciler/sync/classify.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"

/* Container exit codes with a meaning agreed on in advance, in the order they are tried. */
static const int32_t predefined_exit_codes[] = {
	CODE_CONTAINER_TRANSIENT_FAILED,
	CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED,
	CODE_CONTAINER_PERMANENT_FAILED,
};

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

char *pod_details(const struct pod *pod)
{
	struct buf out = {0};
	buf_putc(&out, '{');
	buf_json_text_if_any(&out, "reason", pod->reason);
	buf_json_text_if_any(&out, "message", pod->message);
	if (pod->container_count > 0) {
		buf_json_open(&out, "containers", '[');
		for (size_t i = 0; i < pod->container_count; i++) {
			const struct container_state *container = &pod->containers[i];
			buf_json_next(&out);
			buf_putc(&out, '{');
			buf_json_text(&out, "name", text_or_empty(container->name));
			if (container->terminated) {
				buf_json_text_if_any(&out, "reason", container->reason);
				buf_json_text_if_any(&out, "message", container->message);
				if (container->signal != 0)
					buf_json_int(&out, "signal", container->signal);
			}
			buf_json_int(&out, "code", container->terminated ? container->exit_code : 0);
			buf_putc(&out, '}');
		}
		buf_putc(&out, ']');
	}
	buf_putc(&out, '}');
	return buf_steal(&out);
}

/* ---- matching ---- */

/* Whether pattern (NULL: not given, matches) matches text. Appends the matched text to out as "key"; an empty match
 * only when show_empty. */
static bool match_text(const struct pattern *pattern, const char *key, const char *text, bool show_empty,
		       int64_t *steps, struct buf *out)
{
	size_t start, len;
	if (!pattern)
		return true;
	text = text_or_empty(text);
	if (!pattern_search(pattern, text, steps, &start, &len))
		return false;
	if (len > 0 || show_empty) {
		buf_json_key(out, key);
		buf_json_string_n(out, text + start, len);
	}
	return true;
}

static bool range_contains(const struct int32_range *range, int32_t value)
{
	return value >= range->min && value <= range->max;
}

/* Appends the members of the matched container, without braces, to the empty out. */
static bool match_container(const struct container_pattern *pattern, const struct container_state *container,
			    int64_t *steps, struct buf *out)
{
	/* The members' commas depend on the brace before them. */
	buf_putc(out, '{');
	if (!match_text(pattern->name, "name", container->name, true, steps, out))
		return false;
	bool asks_end = pattern->reason || pattern->message || pattern->signal.given || pattern->code.given;
	if (asks_end && !container->terminated)
		return false;
	if (!match_text(pattern->reason, "reason", container->reason, false, steps, out) ||
	    !match_text(pattern->message, "message", container->message, false, steps, out))
		return false;
	if (pattern->signal.given) {
		if (!range_contains(&pattern->signal, container->signal))
			return false;
		if (container->signal != 0)
			buf_json_int(out, "signal", container->signal);
	}
	if (pattern->code.given) {
		if (!range_contains(&pattern->code, container->exit_code))
			return false;
		buf_json_int(out, "code", container->exit_code);
	}
	buf_putc(out, '}');
	return true;
}

/* Each container pattern matches some container; the first one it matches is shown. */
static bool match_containers(const struct pod_pattern *pattern, const struct pod *pod, int64_t *steps, struct buf *out)
{
	cleanup_buf struct buf shown = {0};
	cleanup_buf struct buf one = {0};
	for (size_t i = 0; i < pattern->container_count; i++) {
		bool matched = false;
		for (size_t j = 0; j < pod->container_count && !matched; j++) {
			if (pod->containers[j].sidecar)
				continue;
			buf_clear(&one);
			matched = match_container(&pattern->containers[i], &pod->containers[j], steps, &one);
		}
		if (!matched)
			return false;
		if (one.len == strlen("{}"))
			continue;
		if (shown.len > 0)
			buf_putc(&shown, ',');
		buf_append(&shown, one.data, one.len);
	}
	if (shown.len > 0) {
		buf_json_open(out, "containers", '[');
		buf_append(out, shown.data, shown.len);
		buf_putc(out, ']');
	}
	return true;
}

/* The JSON of what matched, or NULL. */
static char *match_pod(const struct pod_pattern *pattern, const struct pod *pod, int64_t *steps)
{
	cleanup_buf struct buf out = {0};
	buf_putc(&out, '{');
	if (!match_text(pattern->name, "name", pod->meta.name, true, steps, &out) ||
	    !match_text(pattern->reason, "reason", pod->reason, false, steps, &out) ||
	    !match_text(pattern->message, "message", pod->message, false, steps, &out) ||
	    !match_containers(pattern, pod, steps, &out))
		return NULL;
	buf_putc(&out, '}');
	return buf_steal(&out);
}

/* ---- the three ways to a code ---- */

static bool classify_predefined(const struct pod *pod, struct pod_failure *out)
{
	for (size_t i = 0; i < ARRAY_LEN(predefined_exit_codes); i++) {
		int32_t code = predefined_exit_codes[i];
		for (size_t j = 0; j < pod->container_count; j++) {
			const struct container_state *container = &pod->containers[j];
			if (!container->terminated || container->sidecar || container->exit_code != code)
				continue;
			cleanup_buf struct buf text = {0};
			buf_puts(&text, "PodPattern matched: {\"containers\":[{");
			buf_json_text(&text, "name", text_or_empty(container->name));
			buf_json_text_if_any(&text, "message", container->message);
			buf_json_int(&text, "code", code);
			buf_puts(&text, "}]}");
			out->code = code;
			out->phrase = mem_strdup(completion_code_find(code)->phrase);
			out->attributes = json_incref(completion_code_attributes(code));
			out->diagnostics = buf_steal(&text);
			return true;
		}
	}
	return false;
}

static bool classify_configured(const struct failure_spec *spec, const struct pod *pod, int64_t *steps,
				struct pod_failure *out)
{
	for (size_t i = 0; i < spec->count; i++) {
		const struct failure_entry *entry = &spec->entries[i];
		for (size_t j = 0; j < entry->pattern_count; j++) {
			cleanup_free char *matched = match_pod(&entry->patterns[j], pod, steps);
			if (!matched)
				continue;
			out->code = entry->code;
			out->phrase = mem_strdup(entry->phrase);
			out->attributes = json_incref(entry->attributes);
			out->diagnostics = mem_printf("PodPattern matched: %s", matched);
			return true;
		}
	}
	return false;
}

static void classify_unmatched(const struct pod *pod, struct pod_failure *out)
{
	const struct container_state *last = NULL;
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct container_state *container = &pod->containers[i];
		if (container->terminated && !container->sidecar && container->exit_code != 0 &&
		    (!last || container->finished_at > last->finished_at))
			last = container;
	}
	out->code = last ? last->exit_code : CODE_POD_FAILED_WITHOUT_FAILED_CONTAINER;
	out->phrase = mem_strdup(last ? PHRASE_CONTAINER_UNRECOGNIZED_FAILED : completion_code_find(out->code)->phrase);
	/* Not by last's code: a container may exit with a number that means something as a completion code. */
	out->attributes = json_incref(completion_code_attributes(CODE_POD_FAILED_WITHOUT_FAILED_CONTAINER));
	cleanup_free char *details = pod_details(pod);
	out->diagnostics = mem_printf("PodPattern unmatched: %s", details);
}

void classify_pod(const struct failure_spec *own, const struct failure_spec *configured, const struct pod *pod,
		  int64_t *steps, struct pod_failure *out)
{
	int64_t left = CLASSIFY_STEPS;

	if (!classify_predefined(pod, out) && !classify_configured(own, pod, &left, out) &&
	    !classify_configured(configured, pod, &left, out))
		classify_unmatched(pod, out);
	*steps -= CLASSIFY_STEPS - left;
}

void pod_failure_free(struct pod_failure *failure)
{
	free(failure->phrase);
	json_decref(failure->attributes);
	free(failure->diagnostics);
	*failure = (struct pod_failure){0};
}

/* ---- failed creations ---- */

static bool contains_any(const char *text, const char *const *parts)
{
	for (; *parts; parts++)
		if (strstr(text, *parts))
			return true;
	return false;
}

bool create_exceeds_quota(const char *message)
{
	return strstr(message, "exceeded quota") != NULL;
}

enum create_failure classify_create_error(int http_code, bool is_status, const char *reason, const char *message)
{
	/* A server that does not know the kind yet; a namespace or a quota that is so new that it is not complete. */
	static const char *const passing[] = {"object provided is unrecognized", "serviceaccount \"default\" not found",
					      "status unknown for quota", NULL};
	/* A permanent verdict that a network fault on the server's side may have caused. */
	static const char *const network[] = {"connection reset by peer", "use of closed network connection",
					      "http2: server sent GOAWAY", NULL};
	message = text_or_empty(message);
	reason = text_or_empty(reason);
	if (contains_any(message, passing) || create_exceeds_quota(message))
		return CREATE_FAILURE_TRANSIENT;
	if (!is_status) {
		switch (http_code) {
		case 400: reason = "BadRequest"; break;
		case 403: reason = "Forbidden"; break;
		case 422: reason = "Invalid"; break;
		default: reason = ""; break;
		}
	}
	if (strcmp(reason, "BadRequest") == 0 || strcmp(reason, "Forbidden") == 0)
		return CREATE_FAILURE_UNKNOWN;
	if (http_code == 413 || strcmp(reason, "Invalid") == 0 || strcmp(reason, "RequestEntityTooLarge") == 0)
		return contains_any(message, network) ? CREATE_FAILURE_UNKNOWN : CREATE_FAILURE_PERMANENT;
	return CREATE_FAILURE_TRANSIENT;
}
