/* Readable answers; see answer.h. */
#include "common/kube/client/answer.h"

#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"

/* The bytes that a message quotes of a body that is no Status. */
enum { BODY_SHOWN = 200 };
/* A server that wants more is not believed. */
enum { RETRY_AFTER_MAX_S = 3600 };
enum { HTTP_NOT_FOUND = 404 };

/* One part of a path, from *at up to the next slash or the end; *at moves past it. */
static size_t next_part(const char **at, const char *end, const char **part)
{
	const char *start;

	while (*at < end && **at == '/')
		(*at)++;
	start = *at;
	while (*at < end && **at != '/')
		(*at)++;
	*part = start;
	return (size_t)(*at - start);
}

enum { PARTS = 8 };

/* The parts of a path of the API, of which the first-th is the resource; first 0: it names none. */
struct path_parts {
	const char *at[PARTS];
	size_t len[PARTS];
	size_t count;
	size_t first;
};

static bool part_is(const struct path_parts *parts, size_t i, const char *text)
{
	return text != NULL && strlen(text) == parts->len[i] && memcmp(parts->at[i], text, parts->len[i]) == 0;
}

static void split_path(const char *path, struct path_parts *out)
{
	const char *at = path;
	const char *end = path + strcspn(path, "?");

	*out = (struct path_parts){0};
	while (out->count < PARTS && (out->len[out->count] = next_part(&at, end, &out->at[out->count])) > 0)
		out->count++;
	if (out->count >= 3 && part_is(out, 0, "api"))
		out->first = 2;
	else if (out->count >= 4 && part_is(out, 0, "apis"))
		out->first = 3;
	else
		return; /* discovery, /healthz, /version, … */
	/* namespaces/{name}/{resource}… unless it is the namespace's own subresource */
	if (out->count >= out->first + 3 && part_is(out, out->first, "namespaces") &&
	    !part_is(out, out->first + 2, "status") && !part_is(out, out->first + 2, "finalize"))
		out->first += 2;
}

/* Servers answer NotFound for what they do not serve, too, and proxies for what they do not know: then the details name
 * something else, or nothing. */
static bool says_absent(const char *path, const json_t *status)
{
	const json_t *details = json_object_get(status, "details");
	const char *reason = json_str(status, "reason");
	const char *kind = json_str(details, "kind");
	struct path_parts parts;

	split_path(path, &parts);
	return reason != NULL && strcmp(reason, "NotFound") == 0 && parts.first > 0 && parts.count > parts.first + 1 &&
	       part_is(&parts, parts.first + 1, json_str(details, "name")) &&
	       (kind == NULL || part_is(&parts, parts.first, kind));
}

void answer_read_status(struct kube_answer *answer, const char *path, json_t **keep)
{
	const char *start = answer->body + strspn(answer->body, " \t\r\n");
	json_t *body = NULL;
	int64_t seconds;

	*keep = NULL;
	answer->absent = false;
	answer->status = (struct kube_status){.code = answer->http_status, .reason = "", .message = ""};
	if (*start == '{')
		body = json_parse(answer->body, answer->body_len, NULL);
	if (body == NULL)
		return;
	if (json_str(body, "kind") == NULL || strcmp(json_str(body, "kind"), "Status") != 0) {
		json_decref(body);
		return;
	}
	*keep = body;
	answer->status.is_status = true;
	answer->absent = answer->http_status == HTTP_NOT_FOUND && says_absent(path, body);
	if (json_str(body, "reason") != NULL)
		answer->status.reason = json_str(body, "reason");
	if (json_str(body, "message") != NULL)
		answer->status.message = json_str(body, "message");
	seconds = json_int(json_object_get(body, "details"), "retryAfterSeconds", 0);
	if (answer->retry_after_ms < 0 && seconds > 0)
		answer->retry_after_ms = (seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : seconds) * 1000;
}

/* The standard phrase, or "". */
static const char *http_status_phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} phrases[] = {
		{301, "Moved Permanently"},
		{302, "Found"},
		{307, "Temporary Redirect"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{406, "Not Acceptable"},
		{409, "Conflict"},
		{410, "Gone"},
		{413, "Request Entity Too Large"},
		{415, "Unsupported Media Type"},
		{422, "Unprocessable Entity"},
		{429, "Too Many Requests"},
		{500, "Internal Server Error"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
	};

	for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "";
}

/* Text from outside in a one-line message: control characters become spaces. */
static void put_plain(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_putc(out, (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i]);
}

void answer_describe(struct buf *out, const char *method, const char *path, const struct kube_answer *answer)
{
	const char *phrase = http_status_phrase(answer->http_status);
	const char *text = answer->status.message;
	size_t len;

	if (*text == '\0' && !answer->status.is_status)
		text = answer->body;
	len = strnlen(text, answer->status.is_status ? 1024 : BODY_SHOWN);
	while (len > 0 && (unsigned char)text[len - 1] <= ' ')
		len--;
	buf_printf(out, "%s ", method);
	buf_append(out, path, strcspn(path, "?"));
	buf_printf(out, ": %d%s%s", answer->http_status, *phrase == '\0' ? "" : " ", phrase);
	if (len > 0 && (strncmp(text, phrase, len) != 0 || phrase[len] != '\0')) {
		buf_puts(out, ": ");
		put_plain(out, text, len);
	}
}

void resource_label(const char *path, char out[RESOURCE_LABEL_SIZE], bool *collection)
{
	struct path_parts parts;
	size_t first;

	split_path(path, &parts);
	first = parts.first;
	*collection = first > 0 && parts.count == first + 1;
	if (first == 0)
		snprintf(out, RESOURCE_LABEL_SIZE, "%.*s", parts.count == 0 ? 1 : (int)parts.len[0],
			 parts.count == 0 ? "/" : parts.at[0]);
	else if (parts.count >= first + 3)
		snprintf(out, RESOURCE_LABEL_SIZE, "%.*s/%.*s", (int)parts.len[first], parts.at[first],
			 (int)parts.len[first + 2], parts.at[first + 2]);
	else
		snprintf(out, RESOURCE_LABEL_SIZE, "%.*s", (int)parts.len[first], parts.at[first]);
}
