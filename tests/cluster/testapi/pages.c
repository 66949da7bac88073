/* Lists; see pages.h. A continue token is "version:key", where key is the last one already given; version 0 goes on
 * without consistency. */
#include "tests/cluster/testapi/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/protobuf.h"
#include "tests/cluster/testapi/selector.h"

#define MATCH "resourceVersionMatch"
#define INITIAL "sendInitialEvents"

struct page {
	struct api_selector selector;
	uint64_t version;
	char *after;  /* NULL: from the start */
	size_t limit; /* 0: no limit */
};

static char *make_token(uint64_t version, const char *key)
{
	return mem_printf("%llu:%s", (unsigned long long)version, key);
}

static int read_token(struct page *page, const char *token, struct api_failure *failure)
{
	const char *colon = strchr(token, ':');

	if (colon == NULL)
		return api_fail_bad_request(failure, "continue key is not valid");
	page->version = strtoull(token, NULL, 10);
	page->after = mem_strdup(colon + 1);
	return 0;
}

static void forbid(json_t *causes, const char *field, const char *why)
{
	api_cause(causes, "FieldValueForbidden", field, "Forbidden: %s", why);
}

static void check_list_options(const struct api_request *request, const char *match, json_t *causes)
{
	const char *version = api_query(request, "resourceVersion");

	if (match != NULL && (version == NULL || version[0] == '\0'))
		forbid(causes, MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided");
	if (match != NULL && api_query(request, "continue") != NULL)
		forbid(causes, MATCH, "resourceVersionMatch is forbidden when continue is provided");
	if (match != NULL && strcmp(match, "Exact") != 0 && strcmp(match, "NotOlderThan") != 0)
		api_cause(causes, "FieldValueNotSupported", MATCH,
			  "Unsupported value: \"%s\": supported values: \"Exact\", \"NotOlderThan\", \"\"", match);
	if (match != NULL && strcmp(match, "Exact") == 0 && version != NULL && strcmp(version, "0") == 0)
		forbid(causes, MATCH, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
	if (api_query(request, INITIAL) != NULL)
		forbid(causes, INITIAL, "sendInitialEvents is forbidden for list");
}

static void check_watch_options(const struct api_request *request, const char *match, json_t *causes)
{
	bool initial = api_query(request, INITIAL) != NULL;
	bool right = match != NULL && strcmp(match, "NotOlderThan") == 0;

	if (initial && !right)
		forbid(causes, MATCH, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	if (match != NULL && !initial)
		forbid(causes, MATCH,
		       "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
	if (match != NULL && !right)
		api_cause(causes, "FieldValueNotSupported", MATCH,
			  "Unsupported value: \"%s\": supported values: \"NotOlderThan\"", match);
	if (match != NULL && api_query(request, "continue") != NULL)
		forbid(causes, MATCH, "resourceVersionMatch is forbidden when continue is provided");
}

int api_check_options(const struct api_request *request, struct api_failure *failure)
{
	static const struct api_resource options = {.group = "meta.k8s.io", .kind = "ListOptions", .plural = ""};
	const char *match = api_query(request, MATCH);
	json_t *causes = json_array();

	if (match != NULL && match[0] == '\0')
		match = NULL;
	if (strcmp(request->verb, "watch") == 0)
		check_watch_options(request, match, causes);
	else
		check_list_options(request, match, causes);
	return api_fail_invalid(failure, &options, NULL, causes);
}

int api_check_not_newer(const char *text, uint64_t current, struct api_failure *failure)
{
	uint64_t version = text == NULL ? 0 : strtoull(text, NULL, 10);

	if (version <= current)
		return 0;
	api_fail(failure, 504, "Timeout", "Too large resource version: %llu, current: %llu",
		 (unsigned long long)version, (unsigned long long)current);
	failure->details = json_pack("{s:[{s:s,s:s}],s:i}", "causes", "reason", "ResourceVersionTooLarge", "message",
				     "Too large resource version", "retryAfterSeconds", 1);
	return -1;
}

static int check_version(const struct api *api, const struct api_request *request, struct api_failure *failure)
{
	const char *text = api_query(request, "resourceVersion");
	const char *match = api_query(request, "resourceVersionMatch");
	uint64_t version = text == NULL ? 0 : strtoull(text, NULL, 10);

	if (api_check_not_newer(text, request->as_of != 0 ? request->as_of : api->version, failure) < 0)
		return -1;
	if (match != NULL && strcmp(match, "Exact") == 0 && version < request->resource->compacted)
		return api_fail(failure, 410, "Expired", "The resourceVersion for the provided list is too old.");
	return 0;
}

/* A query parameter that is not a number, in Go's words. */
static int check_number(const char *text, bool version, struct api_failure *failure)
{
	if (text == NULL || text[strspn(text, "0123456789-")] == '\0')
		return 0;
	if (version)
		return api_fail(
			failure, 500, "",
			"resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": invalid syntax",
			text, text);
	return api_fail_bad_request(failure, "strconv.ParseInt: parsing \"%s\": invalid syntax", text);
}

static int read_page(const struct api *api, const struct api_request *request, struct page *page,
		     struct api_failure *failure)
{
	const char *limit = api_query(request, "limit");
	const char *token = api_query(request, "continue");
	const char *version = api_query(request, "resourceVersion");
	const char *match = api_query(request, "resourceVersionMatch");

	if (check_number(limit, false, failure) < 0 || check_number(version, true, failure) < 0)
		return -1;
	page->version = request->as_of != 0 ? request->as_of : api->version;
	/* resourceVersion=0 is answered from the watch cache, which does not page */
	if (limit != NULL && !(version != NULL && strcmp(version, "0") == 0))
		page->limit = strtoul(limit, NULL, 10);
	if (match != NULL && strcmp(match, "Exact") == 0 && version != NULL)
		page->version = strtoull(version, NULL, 10);
	if (token != NULL && token[0] != '\0') {
		if (read_token(page, token, failure) < 0)
			return -1;
	} else if (check_version(api, request, failure) < 0) {
		return -1;
	}
	return api_selector_parse(&page->selector, request->resource, api_query(request, "labelSelector"),
				  api_query(request, "fieldSelector"), failure);
}

/* The objects from which the page is chosen; the caller frees the array and, when owned, its references. */
static int candidates(struct api *api, const struct api_request *request, struct page *page,
		      struct api_object ***objects, size_t *count, bool *owned, struct api_failure *failure)
{
	struct api_resource *resource = request->resource;
	size_t begin;
	size_t end;

	*owned = page->version != 0 && api_store_changed_since(resource, page->version);
	if (*owned) {
		if (api_store_at(resource, request->namespace_name, page->version, objects, count) == 0)
			return 0;
		api_fail(failure, 410, "Expired",
			 "The provided continue parameter is too old to display a consistent list result. You can "
			 "start a "
			 "new list without the continue parameter, or use the continue token in this response to "
			 "retrieve "
			 "the remainder of the results. Continuing with the provided token results in an inconsistent "
			 "list "
			 "- objects that were created, modified, or deleted between the time the first chunk was "
			 "returned "
			 "and now may show up in the list.");
		failure->list_resume = make_token(0, page->after == NULL ? "" : page->after);
		return -1;
	}
	if (page->version == 0)
		page->version = api->version;
	api_store_range(resource, request->namespace_name, &begin, &end);
	*objects = resource->objects == NULL ? NULL : &resource->objects[begin];
	*count = end - begin;
	return 0;
}

/* First index behind page->after. */
static size_t page_start(const struct page *page, struct api_object *const *objects, size_t count)
{
	size_t low = 0;
	size_t high = count;

	while (page->after != NULL && low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(objects[middle]->key, page->after) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void answer_page(const struct api_request *request, const struct page *page, struct api_object *const *objects,
			size_t count, struct api_answer *answer)
{
	struct api_object **chosen = mem_calloc(count + 1, sizeof(*chosen));
	size_t chosen_count = 0;
	size_t at = page_start(page, objects, count);
	cleanup_free char *resume = NULL;
	int64_t remaining = -1;
	enum api_form form = FORM_OBJECT;

	for (; at < count && (page->limit == 0 || chosen_count < page->limit); at++)
		if (api_selector_matches(&page->selector, objects[at]))
			chosen[chosen_count++] = objects[at];
	while (at < count && !api_selector_matches(&page->selector, objects[at]))
		at++;
	if (at < count) {
		resume = make_token(page->version, chosen[chosen_count - 1]->key);
		if (api_selector_empty(&page->selector))
			remaining = (int64_t)(count - at);
	}
	api_accept(request, &form);
	api_render_list(&answer->body, request->resource, chosen, chosen_count, page->version, resume, remaining, form);
	if (api_accept_protobuf(request)) {
		cleanup_json json_t *list = json_parse(answer->body.data, answer->body.len, NULL);

		buf_clear(&answer->body);
		protobuf_encode(&answer->body, list);
		answer->content_type = PROTOBUF_TYPE;
	}
	answer->status = 200;
	free((void *)chosen);
}

int api_list(struct api *api, const struct api_request *request, struct api_answer *answer, struct api_failure *failure)
{
	struct page page = {0};
	struct api_object **objects = NULL;
	size_t count = 0;
	bool owned = false;
	int result = -1;

	if (api_check_options(request, failure) == 0 && read_page(api, request, &page, failure) == 0 &&
	    candidates(api, request, &page, &objects, &count, &owned, failure) == 0) {
		answer_page(request, &page, objects, count, answer);
		result = 0;
		for (size_t i = 0; owned && i < count; i++)
			api_object_unref(objects[i]);
		if (owned)
			free((void *)objects);
	}
	api_selector_free(&page.selector);
	free(page.after);
	return result;
}
