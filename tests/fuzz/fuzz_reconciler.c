/* A whole reconciler but for its sockets: whatever the watcher tells of objects, and whatever the API server answers,
 * through store, queue, framework_sync and apply. Input is lines, so that objects in it stay readable:
 *   F {…}  C {…}  P {…}   the object is shown         f {…} c {…} p {…}   it is gone (struct bus_absent)
 *   G  R  E               granted, revoked, complete   L  l               the streams are live, are not
 *   +N                    N seconds pass               A N {…}             the oldest call is answered with status N
 *   O                     the oldest call succeeds: a create with what was sent
 * Time is advanced to what the queue waits for after each line. */
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/kube/client/answer.h"
#include "reconciler/events.h"
#include "reconciler/reconciler.h"
#include "tests/fuzz/fuzz.h"
#include "tests/objects.h"

enum { SHARDS = 4, LINES_MAX = 200, ROUNDS_MAX = 2000, CALLS_MAX = 4096 };

struct kube_call {
	struct kube_call *next;
	char *method;
	char *path;
	char *body;
	kube_done *done;
	void *arg;
};

struct world {
	struct reconciler reconciler;
	struct failure_spec failures;
	struct kube_call *calls; /* the oldest first */
	size_t call_count;
	int64_t now_ms;
	int64_t version;
};

/* ---- the world behind the ports ---- */

static struct kube_call *port_request(void *context, const struct kube_request *request, kube_done *done, void *arg)
{
	struct world *world = context;
	struct kube_call *call = mem_calloc(1, sizeof(*call));
	struct kube_call **end = &world->calls;

	FUZZ_EXPECT(world->call_count < CALLS_MAX);
	FUZZ_EXPECT(strpbrk(request->path, " \r\n") == NULL);
	if (request->body_len > 0) {
		cleanup_json json_t *body = json_loadb(request->body, request->body_len, JSON_ALLOW_NUL, NULL);

		FUZZ_EXPECT(body != NULL);
	}
	call->method = mem_strdup(request->method);
	call->path = mem_strdup(request->path);
	call->body = mem_strndup(request->body == NULL ? "" : request->body, request->body_len);
	call->done = done;
	call->arg = arg;
	while (*end != NULL)
		end = &(*end)->next;
	*end = call;
	world->call_count++;
	return call;
}

static int64_t port_lease_left_ms(void *context, uint32_t shard)
{
	(void)context;
	(void)shard;
	return 10000;
}

static int64_t port_boot_ms(void *context)
{
	return ((const struct world *)context)->now_ms;
}

static int64_t port_wall_ms(void *context)
{
	return ((const struct world *)context)->now_ms + 1700000000000;
}

static void answer_call(struct world *world, struct kube_answer *answer)
{
	struct kube_call *call = world->calls;
	json_t *keep = NULL;

	if (call == NULL)
		return;
	world->calls = call->next;
	world->call_count--;
	if (answer->http_status >= 400)
		answer_read_status(answer, call->path, &keep);
	call->done(call->arg, answer);
	json_decref(keep);
	free(call->method);
	free(call->path);
	free(call->body);
	free(call);
}

/* What a friendly server makes of it: the body as sent, with an identity. */
static void answer_well(struct world *world)
{
	struct kube_answer answer = {.http_status = 200, .retry_after_ms = -1, .sent = true, .message = "", .body = ""};
	cleanup_json json_t *object = NULL;
	cleanup_free char *text = NULL;
	cleanup_free char *number = mem_printf("%lld", (long long)++world->version);
	cleanup_free char *none = NULL;
	json_t *meta;

	if (world->calls == NULL)
		return;
	object = json_parse(world->calls->body, strlen(world->calls->body), NULL);
	meta = json_object_get(object, "metadata");
	if (strcmp(world->calls->method, "GET") == 0 || strcmp(world->calls->method, "DELETE") == 0) {
		const char *name = strrchr(world->calls->path, '/') + 1;

		answer.http_status = 404;
		none = mem_printf("{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"%.*s\"}}",
				  (int)strcspn(name, "?"), name);
		answer.body = none;
		answer.body_len = strlen(none);
	}
	if (meta != NULL) {
		if (json_object_get(meta, "uid") == NULL)
			json_object_set_new(meta, "uid", json_string(number));
		json_object_set_new(meta, "resourceVersion", json_string(number));
		text = json_text(object);
		answer.body = text;
		answer.body_len = strlen(text);
	}
	answer_call(world, &answer);
}

/* ---- lines ---- */

static int64_t take_number(const char **text, size_t *len)
{
	int64_t value = 0;

	while (*len > 0 && **text == ' ') {
		++*text;
		--*len;
	}
	while (*len > 0 && **text >= '0' && **text <= '9') {
		value = value > 100000000 ? value : value * 10 + (**text - '0');
		++*text;
		--*len;
	}
	return value;
}

static void show(struct world *world, enum object_kind kind, const char *text, size_t len)
{
	cleanup_json json_t *object = json_parse(text, len, NULL);
	const json_t *meta = json_object_get(object, "metadata");
	const char *ns = json_str(meta, "namespace");
	const char *name = kind == KIND_FRAMEWORK ? json_str(meta, "name") : object_framework_name(object);

	/* the watcher routes by these */
	if (object != NULL && ns != NULL && name != NULL)
		store_text(&world->reconciler, kind, shard_of_key(ns, name, SHARDS), text, len);
}

static void gone(struct world *world, enum object_kind kind, const char *text, size_t len)
{
	struct bus_absent absent = {0};
	struct error err;

	if (bus_absent_read(text, len, &absent, &err) < 0)
		return;
	store_absent(&world->reconciler, kind, shard_of_key(absent.ns, absent.framework_name, SHARDS), &absent);
	bus_absent_free(&absent);
}

static void complete(struct world *world)
{
	char version[24];
	struct bus_scope scope = {.ns = (char *)"", .resource_version = {version, version, version}};
	const struct bus_snapshot_end end = {
		.shards = {.bits = {(1 << SHARDS) - 1}}, .scopes = &scope, .scope_count = 1};

	snprintf(version, sizeof(version), "%lld", (long long)world->version);
	store_complete(&world->reconciler, &end);
}

static void run_line(struct world *world, const char *text, size_t len)
{
	static const char kinds[] = "FCP";
	const struct shard_set all = {.bits = {(1 << SHARDS) - 1}};
	char what = len == 0 ? ' ' : text[0];
	const char *at;

	if (len > 0) {
		text++;
		len--;
	}
	at = strchr(kinds, what);
	if (what != '\0' && at != NULL) {
		show(world, (enum object_kind)(at - kinds), text, len);
		return;
	}
	at = strchr("fcp", what);
	if (what != '\0' && at != NULL) {
		gone(world, (enum object_kind)(at - "fcp"), text, len);
		return;
	}
	switch (what) {
	case 'G': store_granted(&world->reconciler, &all); break;
	case 'R': store_revoked(&world->reconciler, &all); break;
	case 'E': complete(world); break;
	case 'L': store_set_live(&world->reconciler, true); break;
	case 'l': store_set_live(&world->reconciler, false); break;
	case '+': world->now_ms += take_number(&text, &len) * 1000; break;
	case 'O': answer_well(world); break;
	case 'A': {
		int64_t status = take_number(&text, &len);
		cleanup_free char *body = mem_strndup(text, len);
		struct kube_answer answer = {
			.http_status = (int)(status % 1000),
			.failure = status % 1000 == 0 ? KUBE_TIMEOUT : KUBE_OK,
			.sent = true,
			.body = body,
			.body_len = strlen(body),
			.retry_after_ms = -1,
			.message = "it was so",
			.status = {.reason = "", .message = ""},
		};

		answer_call(world, &answer);
		break;
	}
	default: break;
	}
}

static void settle(struct world *world)
{
	for (int i = 0; i < ROUNDS_MAX; i++) {
		int64_t next_ms;

		while (reconciler_run(&world->reconciler))
			FUZZ_EXPECT(++i < ROUNDS_MAX);
		(void)events_run(world->reconciler.events);
		next_ms = queue_next_ms(&world->reconciler);
		if (next_ms > world->now_ms + 1000)
			return;
		if (next_ms > world->now_ms)
			world->now_ms = next_ms;
		if (i > ROUNDS_MAX / 2 && world->call_count > 0)
			return; /* polling what is never answered */
	}
}

static void world_init(struct world *world)
{
	struct reconciler *reconciler = &world->reconciler;

	world->now_ms = 1000000;
	world->version = 1000;
	reconciler->ports = (struct reconciler_ports){
		.context = world,
		.request = port_request,
		.lease_left_ms = port_lease_left_ms,
		.boot_ms = port_boot_ms,
		.wall_ms = port_wall_ms,
	};
	reconciler->config = (struct sync_config){
		.failures = &world->failures,
		.creation_timeout_sec = 60,
		.completed_retain_sec = 3600,
		.conflict_delay_min_sec = 1,
		.conflict_delay_max_sec = 5,
		.snapshot_framework_retry = true,
		.snapshot_framework_deletion = true,
		.snapshot_task_retry = true,
		.snapshot_task_deletion = true,
	};
	discovery_init(reconciler);
	reconciler->compress = COMPRESS_LARGE;
	reconciler->name = "fuzz";
	reconciler->calls_max = 20;
	reconciler->shard_count = SHARDS;
	random_init_seed(&reconciler->random, 1);
	reconciler->events = events_new(reconciler);
}

static void world_free(struct world *world)
{
	struct kube_answer cancelled = {.failure = KUBE_CANCELLED,
					.body = "",
					.message = "",
					.retry_after_ms = -1,
					.status = {0, "", "", false}};

	waiting_abandon_all(&world->reconciler);
	while (world->calls != NULL)
		answer_call(world, &cancelled);
	store_free(&world->reconciler);
	events_free(world->reconciler.events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *world = mem_calloc(1, sizeof(*world));
	struct fuzz_input input = {.data = data, .left = size};

	world_init(world);
	for (int i = 0; i < LINES_MAX && input.left > 0; i++) {
		size_t len;
		const char *line = fuzz_line(&input, &len);

		run_line(world, line, len);
		settle(world);
	}
	world_free(world);
	free(world);
	return 0;
}
