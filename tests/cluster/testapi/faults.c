/* Faults on demand; see faults.h. */
#include "tests/cluster/testapi/faults.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/load.h"
#include "tests/cluster/testapi/watch.h"

enum { AGENT_SIZE = 64, TOO_MANY_REQUESTS = 429 };

struct fault {
	struct fault *next;
	int64_t id;
	json_t *source;
	const json_t *match;  /* of source */
	const json_t *action; /* of source */
	pcre2_code *path;
	int64_t skip;
	int64_t count; /* -1: no end */
	int64_t hits;
	uint64_t version; /* the store's when it was set */
};

struct counter {
	char *key; /* "agent namespace verb resource code" */
	char *agent;
	char *ns; /* "": none */
	char *verb;
	char *resource;
	int code;
	uint64_t count;
	UT_hash_handle hh;
};

struct api_faults {
	struct fault *faults;
	int64_t last_id;
	size_t freezing; /* faults with freezeWatches */
	struct counter *counters;
};

struct api_faults *api_faults_new(void)
{
	return mem_calloc(1, sizeof(struct api_faults));
}

static void free_fault(struct fault *fault)
{
	json_decref(fault->source);
	pcre2_code_free(fault->path);
	free(fault);
}

static void clear_counters(struct api_faults *faults)
{
	struct counter *counter;
	struct counter *next;

	HASH_ITER(hh, faults->counters, counter, next) {
		HASH_DEL(faults->counters, counter);
		free(counter->key);
		free(counter->agent);
		free(counter->ns);
		free(counter->verb);
		free(counter->resource);
		free(counter);
	}
}

static void clear_faults(struct api_faults *faults)
{
	struct fault *fault;
	struct fault *next;

	LL_FOREACH_SAFE(faults->faults, fault, next)
		free_fault(fault);
	faults->faults = NULL;
	faults->freezing = 0;
}

void api_faults_free(struct api_faults *faults)
{
	clear_faults(faults);
	clear_counters(faults);
	free(faults);
}

void api_agent(const char *user_agent, char *out, size_t size)
{
	size_t len = user_agent == NULL ? 0 : strcspn(user_agent, " /");

	if (len >= size)
		len = size - 1;
	memcpy(out, user_agent == NULL ? "" : user_agent, len);
	out[len] = '\0';
}

static bool equal_or_any(const json_t *match, const char *name, const char *value)
{
	const char *wanted = json_str(match, name);

	return wanted == NULL || strcmp(wanted, value == NULL ? "" : value) == 0;
}

static bool path_matches(const pcre2_code *pattern, const char *path)
{
	pcre2_match_data *match;
	int found;

	if (pattern == NULL)
		return true;
	match = pcre2_match_data_create_from_pattern(pattern, NULL);
	if (match == NULL)
		abort();
	found = pcre2_match(pattern, (PCRE2_SPTR)path, strlen(path), 0, 0, match, NULL);
	pcre2_match_data_free(match);
	return found >= 0;
}

/* Whether the connection leads to the replica of {"number": 0, "of": 2}: they take turns. */
static bool replica_matches(const json_t *match, unsigned connection)
{
	const json_t *replica = json_object_get(match, "replica");

	return replica == NULL || connection % json_int(replica, "of", 1) == json_int(replica, "number", 0);
}

static bool fault_matches(const struct fault *fault, const struct api_request *request)
{
	const char *parameter = json_str(fault->match, "parameter");
	char agent[AGENT_SIZE];

	if (parameter != NULL && api_query(request, parameter) == NULL)
		return false;
	api_agent(request->user_agent, agent, sizeof(agent));
	return equal_or_any(fault->match, "method", request->method) &&
	       equal_or_any(fault->match, "verb", request->verb) &&
	       equal_or_any(fault->match, "resource", request->resource_name) &&
	       equal_or_any(fault->match, "subresource", request->subresource) &&
	       equal_or_any(fault->match, "namespace", request->namespace_name) &&
	       equal_or_any(fault->match, "name", request->name) && equal_or_any(fault->match, "userAgent", agent) &&
	       replica_matches(fault->match, request->connection) && path_matches(fault->path, request->path);
}

static bool freezes(const struct fault *fault)
{
	return json_bool(fault->action, "freezeWatches", false);
}

/* The action of one fault added to the strike; the first status wins. */
static void add_action(const struct fault *fault, struct api_strike *strike)
{
	const json_t *action = fault->action;

	strike->latency_ms += json_int(action, "latencyMs", 0);
	strike->answer_latency_ms += json_int(action, "answerLatencyMs", 0);
	strike->cut = strike->cut || json_bool(action, "cut", false);
	strike->cut_answer = strike->cut_answer || json_bool(action, "cutAnswer", false);
	strike->reset = strike->reset || json_bool(action, "reset", false);
	strike->close = strike->close || json_bool(action, "close", false);
	if (json_str(action, "warning") != NULL)
		mem_replace(&strike->warning, json_str(action, "warning"));
	if (json_bool(action, "staleReads", false))
		strike->as_of = fault->version;
	if (strike->status != 0 || json_int(action, "status", 0) == 0)
		return;
	strike->status = (int)json_int(action, "status", 0);
	strike->retry_after = (int)json_int(action, "retryAfter", 0);
	mem_replace(&strike->reason, json_str(action, "reason"));
	mem_replace(&strike->message, json_str(action, "message"));
}

void api_faults_strike(struct api *api, const struct api_request *request, struct api_strike *strike)
{
	struct fault *fault;

	LL_FOREACH(api->faults->faults, fault) {
		if (freezes(fault) || fault->count == 0 || !fault_matches(fault, request))
			continue;
		if (fault->skip > 0) {
			fault->skip--;
			continue;
		}
		if (fault->count > 0)
			fault->count--;
		fault->hits++;
		add_action(fault, strike);
	}
}

void api_strike_free(struct api_strike *strike)
{
	free(strike->reason);
	free(strike->message);
	free(strike->warning);
	*strike = (struct api_strike){0};
}

/* What priority and fairness sends away gets no Status. */
static void answer_too_many(const struct api_strike *strike, struct api_answer *answer)
{
	answer->status = TOO_MANY_REQUESTS;
	answer->content_type = "text/plain; charset=utf-8";
	answer->retry_after = strike->retry_after;
	buf_puts(&answer->body, "Too many requests, please try again later.\n");
}

static void answer_status(const struct api_strike *strike, struct api_answer *answer)
{
	static const struct {
		int status;
		const char *reason;
		const char *message;
	} usual[] = {
		{401, "Unauthorized", "Unauthorized"},
		{403, "Forbidden", "forbidden"},
		{404, "NotFound", "the server could not find the requested resource"},
		{409, "Conflict",
		 "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest "
		 "version and try again"},
		{410, "Expired", "The resourceVersion for the provided request is too old."},
		{429, "TooManyRequests", "too many requests, please try again later"},
		{500, "InternalError", "Internal error occurred: a test requested this fault"},
		{503, "ServiceUnavailable", "the server is currently unable to handle the request"},
		{504, "Timeout", "Timeout: request did not complete within the allotted timeout"},
	};
	struct api_failure failure = {0};
	const char *reason = "";
	const char *message = "a test requested this fault";

	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (usual[i].status == strike->status) {
			reason = usual[i].reason;
			message = usual[i].message;
		}
	api_fail(&failure, strike->status, strike->reason != NULL ? strike->reason : reason, "%s",
		 strike->message != NULL ? strike->message : message);
	if (strike->retry_after > 0)
		failure.details = json_pack("{s:i}", "retryAfterSeconds", strike->retry_after);
	api_answer_failure(answer, &failure);
	api_failure_free(&failure);
}

void api_strike_answer(const struct api_strike *strike, struct api_answer *answer)
{
	if (strike->status == TOO_MANY_REQUESTS && strike->reason == NULL && strike->message == NULL)
		answer_too_many(strike, answer);
	else if (strike->status != 0)
		answer_status(strike, answer);
	if (strike->warning != NULL)
		buf_printf(&answer->warnings, "%s\n", strike->warning);
	answer->close = strike->close;
}

static bool watch_matches(const json_t *match, const struct api_watch *watch)
{
	char agent[AGENT_SIZE];

	api_agent(watch->user_agent, agent, sizeof(agent));
	return equal_or_any(match, "resource", watch->resource->plural) && equal_or_any(match, "userAgent", agent) &&
	       replica_matches(match, watch->connection) && equal_or_any(match, "namespace", watch->namespace_name);
}

bool api_faults_frozen(const struct api *api, const struct api_watch *watch)
{
	const struct fault *fault;

	if (api->faults->freezing == 0)
		return false;
	LL_FOREACH(api->faults->faults, fault)
		if (freezes(fault) && watch_matches(fault->match, watch))
			return true;
	return false;
}

/* ---- counts ---- */

void api_faults_count(struct api *api, const struct api_request *request, int code)
{
	struct counter *counter;
	char agent[AGENT_SIZE];
	cleanup_free char *resource = NULL;
	cleanup_free char *key = NULL;

	api_agent(request->user_agent, agent, sizeof(agent));
	resource = mem_printf("%s%s%s", request->resource_name == NULL ? request->path : request->resource_name,
			      request->subresource[0] != '\0' ? "/" : "", request->subresource);
	key = mem_printf("%s %s %s %s %d", agent, request->namespace_name, request->verb, resource, code);
	HASH_FIND_STR(api->faults->counters, key, counter);
	if (counter == NULL) {
		counter = mem_calloc(1, sizeof(*counter));
		counter->key = mem_strdup(key);
		counter->agent = mem_strdup(agent);
		counter->ns = mem_strdup(request->namespace_name);
		counter->verb = mem_strdup(request->verb);
		counter->resource = mem_strdup(resource);
		counter->code = code;
		HASH_ADD_KEYPTR(hh, api->faults->counters, counter->key, strlen(counter->key), counter);
	}
	counter->count++;
}

static int by_key(const struct counter *a, const struct counter *b)
{
	return strcmp(a->key, b->key);
}

static void answer_json(struct api_answer *answer, int status, json_t *json)
{
	char *text = json_text(json);

	answer->status = status;
	buf_puts(&answer->body, text);
	buf_putc(&answer->body, '\n');
	free(text);
	json_decref(json);
}

static void answer_counters(struct api *api, struct api_answer *answer)
{
	json_t *list = json_array();

	HASH_SORT(api->faults->counters, by_key);
	for (const struct counter *counter = api->faults->counters; counter != NULL; counter = counter->hh.next)
		json_array_append_new(list,
				      json_pack("{s:s,s:s,s:s,s:s,s:i,s:I}", "userAgent", counter->agent, "namespace",
						counter->ns, "verb", counter->verb, "resource", counter->resource,
						"code", counter->code, "count", (json_int_t)counter->count));
	answer_json(answer, 200, list);
}

/* ---- requests under /fc-testapi/ ---- */

static void answer_bad(struct api_answer *answer, const char *message)
{
	struct api_failure failure = {0};

	api_fail_bad_request(&failure, "%s", message);
	api_answer_failure(answer, &failure);
	api_failure_free(&failure);
}

static void add_fault(struct api *api, json_t *source, struct api_answer *answer)
{
	struct fault *fault = mem_calloc(1, sizeof(*fault));
	const char *path;
	int code;
	PCRE2_SIZE at;

	fault->source = json_incref(source);
	fault->match = json_object_get(source, "match");
	fault->action = json_object_get(source, "action");
	fault->skip = json_int(source, "skip", 0);
	fault->count = json_int(source, "count", -1);
	path = json_str(fault->match, "path");
	if (path != NULL)
		fault->path = pcre2_compile((PCRE2_SPTR)path, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &code, &at, NULL);
	if (json_object_size(fault->action) == 0 || (path != NULL && fault->path == NULL) ||
	    json_int(json_object_get(fault->match, "replica"), "of", 1) < 1) {
		answer_bad(answer, "a fault needs an action, match.path must be a regular expression, match.replica.of "
				   "at least 1");
		free_fault(fault);
		return;
	}
	fault->version = api->version;
	fault->id = ++api->faults->last_id;
	LL_APPEND(api->faults->faults, fault);
	api->faults->freezing += freezes(fault);
	answer_json(answer, 201, json_pack("{s:I}", "id", (json_int_t)fault->id));
}

static void wake_all(struct api *api)
{
	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		resource->log_grew = true;
}

static void delete_faults(struct api *api, const char *id, struct api_answer *answer)
{
	struct fault *fault;
	struct fault *next;
	int64_t deleted = 0;

	LL_FOREACH_SAFE(api->faults->faults, fault, next) {
		if (id != NULL && atoll(id) != fault->id)
			continue;
		api->faults->freezing -= freezes(fault);
		LL_DELETE(api->faults->faults, fault);
		free_fault(fault);
		deleted++;
	}
	wake_all(api);
	answer_json(answer, 200, json_pack("{s:I}", "deleted", (json_int_t)deleted));
}

static void list_faults(struct api *api, struct api_answer *answer)
{
	json_t *list = json_array();
	const struct fault *fault;

	LL_FOREACH(api->faults->faults, fault) {
		json_t *entry = json_pack("{s:I,s:I,s:I}", "id", (json_int_t)fault->id, "hits", (json_int_t)fault->hits,
					  "left", (json_int_t)fault->count);

		json_object_update_missing(entry, fault->source);
		json_array_append_new(list, entry);
	}
	answer_json(answer, 200, list);
}

enum disturbance { DO_END, DO_BREAK, DO_RESET, DO_EXPIRE, DO_COUNT };

static void disturb_one(struct api_watch *watch, enum disturbance what)
{
	watch->resource->log_grew = true; /* so that it is woken */
	watch->ended = watch->ended || what == DO_END;
	watch->broken = watch->broken || what == DO_BREAK || what == DO_RESET;
	watch->reset = watch->reset || what == DO_RESET;
	if (what == DO_EXPIRE)
		api_watch_expire(watch);
}

static void disturb(struct api *api, const json_t *body, struct api_answer *answer)
{
	static const char *const names[DO_COUNT] = {"end", "break", "reset", "expire"};
	const char *name = json_str(body, "do");
	enum disturbance what = DO_END;
	int64_t count = 0;

	while (what < DO_COUNT && (name == NULL || strcmp(name, names[what]) != 0))
		what++;
	if (what == DO_COUNT) {
		answer_bad(answer, "\"do\" must be end, break, reset or expire");
		return;
	}
	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		for (struct api_watch *watch = resource->watches; watch != NULL; watch = watch->next)
			if (watch_matches(json_object_get(body, "match"), watch)) {
				count++;
				disturb_one(watch, what);
			}
	answer_json(answer, 200, json_pack("{s:I}", "watches", (json_int_t)count));
}

static void count_watches(struct api *api, struct api_answer *answer)
{
	int64_t count = 0;

	for (const struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		for (const struct api_watch *watch = resource->watches; watch != NULL; watch = watch->next)
			count++;
	answer_json(answer, 200, json_pack("{s:I}", "watches", (json_int_t)count));
}

static void load(struct api *api, const json_t *body, struct api_answer *answer)
{
	const char *file = json_str(body, "file");
	struct error err;
	int64_t count;

	if (file == NULL) {
		answer_bad(answer, "\"file\" must be a path");
		return;
	}
	count = api_load(api, file, &err);
	if (count < 0)
		answer_bad(answer, err.message);
	else
		answer_json(answer, 200, json_pack("{s:I}", "objects", (json_int_t)count));
}

static void post(struct api *api, const struct api_request *request, const char *what, struct api_answer *answer)
{
	struct error err;
	cleanup_json json_t *body = NULL;

	if (strcmp(what, "compact") == 0) {
		api_store_compact(api);
		answer_json(
			answer, 200,
			json_pack("{s:o}", "resourceVersion", json_sprintf("%llu", (unsigned long long)api->version)));
		return;
	}
	body = json_parse(request->body, request->body_len, &err);
	if (!json_is_object(body))
		answer_bad(answer, body == NULL ? err.message : "the body must be a JSON object");
	else if (strcmp(what, "faults") == 0)
		add_fault(api, body, answer);
	else if (strcmp(what, "watches") == 0)
		disturb(api, body, answer);
	else if (strcmp(what, "objects") == 0)
		load(api, body, answer);
	else
		answer_bad(answer, "no such thing under /fc-testapi/");
}

bool api_faults_admin(struct api *api, const struct api_request *request, struct api_answer *answer)
{
	const char *what;

	if (request->part_count < 2 || strcmp(request->parts[0], "fc-testapi") != 0)
		return false;
	what = request->parts[1];
	answer->content_type = "application/json";
	if (strcmp(request->method, "POST") == 0) {
		post(api, request, what, answer);
	} else if (strcmp(what, "faults") == 0) {
		if (strcmp(request->method, "DELETE") == 0)
			delete_faults(api, request->part_count > 2 ? request->parts[2] : NULL, answer);
		else
			list_faults(api, answer);
	} else if (strcmp(what, "watches") == 0) {
		count_watches(api, answer);
	} else if (strcmp(what, "requests") == 0) {
		if (strcmp(request->method, "DELETE") == 0)
			clear_counters(api->faults);
		answer_counters(api, answer);
	} else {
		answer_bad(answer, "no such thing under /fc-testapi/");
	}
	return true;
}
