/* Texts of completionStatus cut to a length, JSON among them; see shorten.h. */
#define _GNU_SOURCE
#include "common/framework/shorten.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json_reader.h"
#include "common/base/mem.h"

enum {
	LONGEST_MESSAGE = 64 * 1024, /* of step 2; etcd takes some twenty of them */
	FIRST_HALVED = 2,
	/* Reasons, names, and diagnostics that are no JSON: clients match those that this project writes, of which the
	 * longest has 117 bytes. */
	OTHER_TEXT = 256,
	/* The bytes that a kubelet reads of a log (MaxContainerTerminationMessageLogLength). */
	ATTEMPT_MESSAGE = 2048,
	DUPLICATE_MIN = 64, /* less is not worth looking for twice */
};

struct limits {
	size_t message;         /* longest message, the mark not counted */
	size_t other;           /* longest other text */
	const char *duplicates; /* messages that are in here are left out; NULL: none */
};

static struct limits limits_of(int step)
{
	struct limits limits = {.message = SIZE_MAX, .other = SIZE_MAX};

	if (step >= SHORTEN_MESSAGES)
		limits.message = 0;
	else if (step >= FIRST_HALVED)
		limits.message = (size_t)LONGEST_MESSAGE >> (step - FIRST_HALVED);
	if (step >= FIRST_HALVED)
		limits.other = limits.message > OTHER_TEXT ? limits.message : OTHER_TEXT;
	return limits;
}

/* ---- one text ---- */

static bool too_long(size_t len, size_t max)
{
	return max < SIZE_MAX && len > max + strlen(SHORTENED_MARK);
}

static bool is_within_sequence(char c)
{
	return ((unsigned char)c & 0xC0) == 0x80;
}

/* Appends text without its middle. The end of a log says why the log ends there: it gets three quarters. The result
 * does not depend on earlier cuts of the text. */
static void cut_middle(const char *text, size_t len, size_t max, struct buf *out)
{
	size_t head = max / 4;
	size_t tail = len - (max - head);

	while (head > 0 && is_within_sequence(text[head]))
		head--;
	while (tail < len && is_within_sequence(text[tail]))
		tail++;
	buf_append(out, text, head);
	buf_puts(out, SHORTENED_MARK);
	buf_append(out, text + tail, len - tail);
}

/* ---- JSON ---- */

/* The end of the string that begins at text, behind its closing quote. The text is valid JSON. */
static const char *string_end(const char *text)
{
	for (text++; *text != '"'; text++)
		if (*text == '\\')
			text++;
	return text + 1;
}

/* Appends the string as it is to be, with its quotes; false: as it is. */
static bool shorten_string(const char *text, size_t len, bool is_message, const struct limits *limits, struct buf *out)
{
	const struct json_span span = {.at = text + 1, .len = len - 2, .escaped = true};
	size_t max = is_message ? limits->message : limits->other;
	cleanup_free char *decoded = NULL;
	cleanup_buf struct buf cut = {0};
	size_t decoded_len;

	if (is_message && limits->duplicates != NULL && span.len > DUPLICATE_MIN &&
	    memmem(limits->duplicates, strlen(limits->duplicates), text, len) != NULL) {
		buf_json_string(out, SHORTENED_MARK);
		return true;
	}
	if (!too_long(span.len, max))
		return false;
	decoded = mem_alloc(span.len + 1);
	decoded_len = json_span_decode(&span, decoded);
	if (!too_long(decoded_len, max))
		return false;
	cut_middle(decoded, decoded_len, max, &cut);
	buf_json_string_n(out, cut.data, cut.len);
	return true;
}

/* Appends the JSON text with its strings shortened; false, and nothing is appended: none is to be. */
static bool shorten_json(const char *text, const struct limits *limits, struct buf *out)
{
	const char *copied = text;
	bool is_message = false;
	const char *end;

	for (const char *at = strchr(text, '"'); at != NULL; at = strchr(end, '"')) {
		cleanup_buf struct buf string = {0};

		end = string_end(at);
		if (end[strspn(end, " \t\r\n")] == ':') {
			is_message = (size_t)(end - at) == strlen("\"message\"") &&
				     memcmp(at, "\"message\"", strlen("\"message\"")) == 0;
			continue;
		}
		if (!shorten_string(at, (size_t)(end - at), is_message, limits, &string))
			continue;
		buf_append(out, copied, (size_t)(at - copied));
		buf_append(out, string.data, string.len);
		copied = end;
	}
	if (copied == text)
		return false;
	buf_puts(out, copied);
	return true;
}

/* ---- completionStatus ---- */

/* Where the JSON of diagnostics begins, which ends with it; NULL: there is none. */
static const char *json_of(const char *diagnostics)
{
	const char *json = strchr(diagnostics, '{');
	struct json_reader reader;

	if (json == NULL)
		return NULL;
	json_reader_init(&reader, json, strlen(json));
	json_reader_skip(&reader);
	return json_reader_finish(&reader, NULL) == 0 ? json : NULL;
}

/* Stands for JSON of which nothing is left. */
static const char nothing[] = "{\"message\":\"" SHORTENED_MARK "\"}";

static bool shorten_diagnostics(char **diagnostics, int step)
{
	struct limits limits = limits_of(step);
	size_t len = strlen(*diagnostics);
	cleanup_buf struct buf out = {0};
	const char *json;

	if (step < FIRST_HALVED || (limits.message > 0 && !too_long(len, limits.message)))
		return false;
	json = json_of(*diagnostics);
	if (json == NULL) {
		if (!too_long(len, limits.other))
			return false;
		cut_middle(*diagnostics, len, limits.other, &out);
	} else {
		buf_append(&out, *diagnostics, (size_t)(json - *diagnostics));
		if (step < SHORTEN_JSON) {
			if (!shorten_json(json, &limits, &out))
				return false;
		} else {
			if (strlen(json) <= strlen(nothing))
				return false;
			buf_puts(&out, nothing);
		}
	}
	free(*diagnostics);
	*diagnostics = buf_steal(&out);
	return true;
}

static bool shorten_pod(char **pod, const char *diagnostics, int step)
{
	struct limits limits = limits_of(step);
	cleanup_buf struct buf out = {0};

	if (*pod == NULL || step < SHORTEN_DUPLICATES)
		return false;
	limits.duplicates = diagnostics;
	if (step >= SHORTEN_POD && strlen(*pod) > strlen(nothing))
		buf_puts(&out, nothing);
	else if (!shorten_json(*pod, &limits, &out))
		return false;
	free(*pod);
	*pod = buf_steal(&out);
	return true;
}

bool completion_shorten(struct completion *completion, int step)
{
	/* (the pod first: its duplicates are those of the whole diagnostics) */
	bool changed = shorten_pod(&completion->pod, completion->diagnostics, step);

	return shorten_diagnostics(&completion->diagnostics, step) || changed;
}

static int step_of_attempt(int step)
{
	static const int kept = FIRST_HALVED + 5; /* 64 KiB halved five times: ATTEMPT_MESSAGE */

	_Static_assert(LONGEST_MESSAGE >> 5 == ATTEMPT_MESSAGE, "as many times as it takes");
	return step > kept && step <= SHORTEN_MESSAGES ? kept : step;
}

bool attempt_shorten(struct framework_attempt_status *attempt, int step)
{
	bool changed = false;

	for (size_t r = 0; r < attempt->role_count; r++) {
		for (size_t i = 0; i < attempt->roles[r].task_count; i++) {
			struct completion *completion = attempt->roles[r].tasks[i].attempt.completion;

			if (completion != NULL && completion_shorten(completion, step))
				changed = true;
		}
	}
	if (attempt->completion != NULL && completion_shorten(attempt->completion, step_of_attempt(step)))
		changed = true;
	return changed;
}

size_t completion_text_bytes(const struct completion *completion)
{
	if (completion == NULL)
		return 0;
	return strlen(completion->diagnostics) + (completion->pod == NULL ? 0 : strlen(completion->pod));
}

size_t attempt_text_bytes(const struct framework_attempt_status *attempt)
{
	size_t bytes = completion_text_bytes(attempt->completion);

	for (size_t r = 0; r < attempt->role_count; r++)
		for (size_t i = 0; i < attempt->roles[r].task_count; i++)
			bytes += completion_text_bytes(attempt->roles[r].tasks[i].attempt.completion);
	return bytes;
}
