/* fc-barrier without its bus and its main: real HTTP in front, a scripted API server behind, the watcher's news by
 * hand. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "barrier/access.h"
#include "barrier/front.h"
#include "barrier/readiness.h"
#include "barrier/waiters.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/status.h"
#include "common/kube/client.h"
#include "tests/unit/http_asker.h"
#include "tests/unit/http_server.h"

enum { SHARDS = 4, ROOM = 128 };

/* The Framework the API server has: one role "worker"; ips: one character for each Task, '.' without an IP, 'd' with
 * one but deletionPending, anything else with one. */
struct framework {
	bool exists;
	const char *uid;
	const char *ips;
	int task_number; /* of the spec; 0: as many as ips */
	bool compressed;
	bool broken;
	int version;
};

struct world {
	struct ev_loop *loop;
	struct http_server api;
	struct kube_client *client;
	struct readiness *readiness;
	struct waiters *waiters;
	struct access *access;
	struct serve *serve;
	struct front *front;
	struct framework framework;
	bool api_down;
	bool api_holds; /* GETs are not answered before let_go() */
	struct http_conn *held[ROOM];
	char *held_answers[ROOM];
	size_t held_count;
	size_t gets, token_reviews, access_reviews;
	char *last_access_review;
};

/* ---- the API server ---------------------------------------------------------------------------------------------- */

static char *named_framework_text(const struct framework *framework, const char *name)
{
	cleanup_buf struct buf roles = {0};
	struct buf out = {0};
	size_t count = strlen(framework->ips);

	buf_puts(&roles, "[{\"name\":\"worker\",\"taskStatuses\":[");
	for (size_t i = 0; i < count; i++)
		buf_printf(&roles, "%s{\"index\":%zu,\"deletionPending\":%s,\"attemptStatus\":{\"podIP\":%s}}",
			   i > 0 ? "," : "", i, framework->ips[i] == 'd' ? "true" : "false",
			   framework->ips[i] == '.' ? "null" : "\"10.0.0.1\"");
	buf_puts(&roles, "]}]");
	buf_printf(&out,
		   "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%d\"},"
		   "\"spec\":{\"taskRoles\":[{\"name\":\"worker\",\"taskNumber\":%d}]},\"status\":{\"attemptStatus\":{",
		   name, framework->uid, framework->version,
		   framework->task_number != 0 ? framework->task_number : (int)count);
	if (framework->broken) {
		buf_puts(&out, "\"taskRoleStatuses\":null,\"taskRoleStatusesCompressed\":\"rubbish\"}}}");
	} else if (framework->compressed) {
		cleanup_free char *packed = text_compress(roles.data, roles.len);

		buf_printf(&out, "\"taskRoleStatuses\":null,\"taskRoleStatusesCompressed\":\"%s\"}}}", packed);
	} else {
		buf_printf(&out, "\"taskRoleStatuses\":%s}}}", roles.data);
	}
	return buf_steal(&out);
}

static char *framework_text(const struct framework *framework)
{
	return named_framework_text(framework, "fw");
}

/* All whose names begin with fw are alike. */
static void on_get(struct world *world, struct http_conn *conn)
{
	static const char all[] = "/apis/frameworkcontroller.microsoft.com/v1/namespaces/ns/frameworks/";
	bool known = strncmp(conn->path, all, strlen(all)) == 0 && strncmp(conn->path + strlen(all), "fw", 2) == 0;
	cleanup_free char *text = named_framework_text(&world->framework, known ? conn->path + strlen(all) : "");

	world->gets++;
	if (!known || !world->framework.exists) {
		http_reply(conn, 404, "", "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"not found\"}");
	} else if (world->api_holds) {
		assert_true(world->held_count < ROOM);
		world->held_answers[world->held_count] = mem_strdup(text);
		world->held[world->held_count++] = conn;
	} else {
		http_reply(conn, 200, "", text);
	}
}

/* Tokens: "alice" and "bob" are users, "pod-…" one service account seen from many Pods. Alice and the service account
 * may get Frameworks in ns. */
static void on_token_review(struct world *world, struct http_conn *conn)
{
	cleanup_json json_t *review = json_parse(conn->body, strlen(conn->body), NULL);
	const char *token = json_str(json_object_get(review, "spec"), "token");
	cleanup_free char *answer = NULL;

	world->token_reviews++;
	assert_non_null(token);
	if (strcmp(token, "slow") == 0)
		return; /* never answered */
	if (strncmp(token, "pod-", 4) == 0)
		answer = mem_printf("{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"sa\",\"uid\":\"1\","
				    "\"groups\":[\"g\"],\"extra\":{\"authentication.kubernetes.io/pod-name\":[\"%s\"],"
				    "\"scope\":[\"s\"]}}}}",
				    token);
	else if (strcmp(token, "alice") == 0 || strcmp(token, "bob") == 0)
		answer = mem_printf("{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"%s\"}}}", token);
	else
		answer = mem_strdup("{\"status\":{\"error\":\"unknown\"}}");
	http_reply(conn, 201, "", answer);
}

static void on_access_review(struct world *world, struct http_conn *conn)
{
	cleanup_json json_t *review = json_parse(conn->body, strlen(conn->body), NULL);
	const json_t *spec = json_object_get(review, "spec");
	const json_t *attributes = json_object_get(spec, "resourceAttributes");
	const char *user = json_str(spec, "user");
	bool allowed = strcmp(user, "bob") != 0 && strcmp(json_str(attributes, "namespace"), "ns") == 0 &&
		       strcmp(json_str(attributes, "verb"), "get") == 0 &&
		       strcmp(json_str(attributes, "resource"), "frameworks") == 0 &&
		       strcmp(json_str(attributes, "group"), "frameworkcontroller.microsoft.com") == 0;

	world->access_reviews++;
	mem_replace(&world->last_access_review, conn->body);
	http_reply(conn, 201, "", allowed ? "{\"status\":{\"allowed\":true}}" : "{\"status\":{\"allowed\":false}}");
}

static void on_api_request(void *arg, struct http_conn *conn)
{
	struct world *world = arg;

	if (world->api_down)
		http_reply(conn, 500, "", "{}");
	else if (strcmp(conn->path, "/apis/authentication.k8s.io/v1/tokenreviews") == 0)
		on_token_review(world, conn);
	else if (strcmp(conn->path, "/apis/authorization.k8s.io/v1/subjectaccessreviews") == 0)
		on_access_review(world, conn);
	else
		on_get(world, conn);
}

static void let_go(struct world *world)
{
	world->api_holds = false;
	for (size_t i = 0; i < world->held_count; i++) {
		http_reply(world->held[i], 200, "", world->held_answers[i]);
		free(world->held_answers[i]);
	}
	world->held_count = 0;
}

/* ---- the watcher ------------------------------------------------------------------------------------------------- */

/* The watcher's news of it. */
static void show_framework(struct world *world, const char *name)
{
	cleanup_free char *text = named_framework_text(&world->framework, name);

	assert_true(readiness_object(world->readiness, text, strlen(text)));
}

/* The API server's Framework changes; shown: the watcher's news of it come too. */
static void set_framework(struct world *world, const char *ips, bool shown)
{
	world->framework.exists = true;
	world->framework.ips = ips;
	world->framework.version++;
	if (shown)
		show_framework(world, "fw");
}

static void delete_framework(struct world *world, bool shown)
{
	cleanup_free char *version = mem_printf("%d", ++world->framework.version);
	const struct bus_absent absent = {
		.ns = (char *)"ns",
		.name = (char *)"fw",
		.uid = (char *)world->framework.uid,
		.resource_version = version,
		.framework_name = (char *)"fw",
	};

	world->framework.exists = false;
	if (shown)
		readiness_absent(world->readiness, &absent);
}

static struct range_set all_ranges(void)
{
	struct range_set all = {0};

	for (uint32_t r = 0; r < SHARDS; r++)
		range_set_add(&all, r);
	return all;
}

static void sync_view(struct world *world)
{
	struct range_set all = all_ranges();

	readiness_granted(world->readiness, &all);
	readiness_complete(world->readiness, &all, SHARDS);
	readiness_live(world->readiness, true);
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

static void on_changed(void *arg, const char *ns, const char *name)
{
	waiters_changed(((struct world *)arg)->waiters, ns, name);
}

static bool is_wanted(void *arg, const char *ns, const char *name)
{
	return waiters_wanted(((struct world *)arg)->waiters, ns, name);
}

static const struct readiness_handler handler = {.changed = on_changed, .wanted = is_wanted};

struct limits {
	size_t waiters;
	size_t per_framework;
	bool with_access;
};

static struct world *world_new(struct limits limits)
{
	struct world *world = mem_calloc(1, sizeof(*world));
	const struct serve_options serve_options = {.address = "127.0.0.1:0", .max_connections = 2600};
	const struct kube_client_options client_options = {.user_agent = "test"};
	const struct waiters_options waiters_options = {.max_per_framework = limits.per_framework};
	const struct front_options front_options = {.max_waiters = limits.waiters};
	struct kube_config config = {0};
	struct error err;

	world->loop = ev_loop_new(0);
	world->framework = (struct framework){.uid = "u1", .ips = "", .version = 10};
	http_server_start(&world->api, world->loop, on_api_request, world);
	assert_int_equal(kube_config_load(world->api.address, NULL, NULL, &config, &err), 0);
	world->client = kube_client_new(world->loop, &config, &client_options, &err);
	kube_config_free(&config);
	world->readiness = readiness_new(&handler, world);
	world->waiters = waiters_new(world->loop, world->client, world->readiness, &waiters_options);
	if (limits.with_access)
		world->access = access_new(world->client, 4);
	world->serve = serve_new(world->loop, &serve_options, &err);
	if (world->serve == NULL)
		fail_msg("%s", err.message);
	world->front = front_new(world->serve, world->access, world->readiness, world->waiters, &front_options);
	return world;
}

static struct world *open_world(void)
{
	struct world *world = world_new((struct limits){.waiters = 5000, .per_framework = 5000});

	sync_view(world);
	return world;
}

static void world_free(struct world *world)
{
	let_go(world);
	serve_free(world->serve);
	kube_client_free(world->client);
	front_free(world->front);
	access_free(world->access);
	waiters_free(world->waiters);
	readiness_free(world->readiness);
	http_server_free(&world->api);
	free(world->last_access_review);
	ev_loop_destroy(world->loop);
	free(world);
}

/* path: behind /v1/namespaces/; token: NULL for none. */
static struct asking ask(const struct world *world, const char *path, const char *token)
{
	struct asking asking = asker_open(serve_address(world->serve));
	cleanup_free char *request = mem_printf("GET /v1/namespaces/%s HTTP/1.1\r\nHost: x\r\n%s%s%s\r\n", path,
						token == NULL ? "" : "Authorization: Bearer ",
						token == NULL ? "" : token, token == NULL ? "" : "\r\n");

	asker_send(&asking, request);
	return asking;
}

static int status_of(const struct world *world, const char *path, const char *token)
{
	struct asking asking = ask(world, path, token);
	int status;

	RUN_UNTIL(world->loop, asker_done(&asking));
	status = asker_status(&asking);
	asker_close(&asking);
	return status;
}

static size_t waiting(const struct world *world)
{
	return waiters_counters(world->waiters)->waiting;
}

static void expect(const struct world *world, struct asking *asking, int status)
{
	RUN_UNTIL(world->loop, asker_done(asking));
	assert_int_equal(asker_status(asking), status);
}

#define PATH "ns/frameworks/fw/barrier"

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static void all_are_released_by_one_get(void **state)
{
	enum { MANY = 1000 };
	struct world *world = open_world();
	struct asking *askings = mem_calloc(MANY, sizeof(*askings));
	cleanup_free char *text = NULL;

	(void)state;
	set_framework(world, "ip.", true);
	for (size_t i = 0; i < MANY; i++)
		askings[i] = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == MANY);
	assert_int_equal(world->gets, 0); /* the view knows that it is not complete */
	set_framework(world, "ipi", true);
	text = framework_text(&world->framework);
	for (size_t i = 0; i < MANY; i++) {
		expect(world, &askings[i], 200);
		assert_string_equal(asker_body(&askings[i]), text);
		asker_close(&askings[i]);
	}
	assert_int_equal(world->gets, 1);
	assert_int_equal(waiters_counters(world->waiters)->passed, MANY);
	assert_int_equal(waiters_counters(world->waiters)->frameworks, 0);
	free(askings);
	world_free(world);
}

/* A complete view is no verdict: a new attempt whose status the watcher has not shown yet must not pass by the IPs of
 * the old one. */
static void the_verdict_is_a_fresh_get(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, "ii", true);
	set_framework(world, "..", false);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, world->gets >= 1 && waiting(world) == 1);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	asker_read(&asking);
	assert_int_equal(asker_status(&asking), 0);
	assert_int_equal(world->gets, 1); /* learned from it: no need to look again */
	set_framework(world, "ii", true);
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

/* Who comes while a GET is under way is answered by a later one. */
static void latecomers_get_a_look_of_their_own(void **state)
{
	struct world *world = open_world();
	struct asking early;
	struct asking late;

	(void)state;
	set_framework(world, "i", true);
	world->api_holds = true;
	early = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, world->held_count == 1);
	late = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	world->api_holds = false;
	http_reply(world->held[0], 200, "", world->held_answers[0]);
	free(world->held_answers[0]);
	world->held_count = 0;
	world->api_holds = true;
	expect(world, &early, 200);
	RUN_UNTIL(world->loop, world->held_count == 1);
	asker_read(&late);
	assert_int_equal(asker_status(&late), 0);
	let_go(world);
	expect(world, &late, 200);
	assert_int_equal(world->gets, 2);
	asker_close(&early);
	asker_close(&late);
	world_free(world);
}

/* Many gangs that are complete at the same time are looked at some at a time: each look costs a connection or a buffer.
 * One that is not complete any more when its turn comes goes on waiting; one whose client left, or whose time ended,
 * holds up nobody. */
static void many_gangs_are_looked_at_in_turn(void **state)
{
	enum { MANY = 100, AT_ONCE = 64 };
	struct world *world = open_world();
	struct asking askings[MANY];
	struct asking late;

	(void)state;
	world->framework.ips = "i.";
	for (int i = 0; i < MANY; i++) {
		cleanup_free char *name = mem_printf("fw%d", i);
		cleanup_free char *path = mem_printf("ns/frameworks/%s/barrier", name);

		show_framework(world, name);
		askings[i] = ask(world, path, NULL);
	}
	RUN_UNTIL(world->loop, waiting(world) == MANY);
	world->api_holds = true;
	set_framework(world, "ii", false);
	for (int i = 0; i < MANY; i++) {
		cleanup_free char *name = mem_printf("fw%d", i);

		show_framework(world, name);
	}
	RUN_UNTIL(world->loop, world->held_count == AT_ONCE);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	assert_int_equal(world->held_count, AT_ONCE);
	/* in the line: one is complete no more, one leaves, the time of one ends; that one stays for its look */
	set_framework(world, "i.", false);
	show_framework(world, "fw99");
	asker_close(&askings[MANY - 2]);
	RUN_UNTIL(world->loop, waiting(world) == MANY - 1);
	late = ask(world, "ns/frameworks/fw97/barrier?timeoutSeconds=0", NULL);
	RUN_UNTIL(world->loop, waiting(world) == MANY);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	asker_read(&late);
	assert_int_equal(asker_status(&late), 0);
	set_framework(world, "ii", false);
	show_framework(world, "fw0");
	let_go(world);
	for (int i = 0; i < MANY - 2; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	expect(world, &late, 200);
	asker_close(&late);
	assert_int_equal(waiting(world), 1);
	assert_int_equal(world->gets, MANY - 2);
	show_framework(world, "fw99");
	expect(world, &askings[MANY - 1], 200);
	asker_close(&askings[MANY - 1]);
	world_free(world);
}

/* A Framework of thousands of Tasks takes more memory than one of five: fewer of them are looked at together, and small
 * ones that come later do not keep one from its turn. */
static void large_gangs_take_more_room(void **state)
{
	enum { LARGE = 8, TASKS = 2000, AT_ONCE = 5, SMALL = 10 };
	struct world *world = open_world();
	struct asking askings[LARGE + SMALL];
	char ips[TASKS + 1] = "";

	(void)state;
	memset(ips, 'i', TASKS);
	world->framework.exists = true;
	world->api_holds = true;
	for (int i = 0; i < LARGE + SMALL; i++) {
		cleanup_free char *name = mem_printf("fw%d", i);
		cleanup_free char *path = mem_printf("ns/frameworks/%s/barrier", name);

		world->framework.ips = i < LARGE ? ips : "ii";
		show_framework(world, name);
		askings[i] = ask(world, path, NULL);
		RUN_UNTIL(world->loop, waiting(world) == (size_t)i + 1);
	}
	RUN_UNTIL(world->loop, world->held_count == AT_ONCE);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	assert_int_equal(world->held_count, AT_ONCE);
	let_go(world);
	for (int i = 0; i < LARGE + SMALL; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	assert_int_equal(world->gets, LARGE + SMALL);
	world_free(world);
}

static void time_ends_with_what_is_ready(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, "i..d.i...", true);
	asking = ask(world, PATH "?timeoutSeconds=0", NULL);
	expect(world, &asking, 202);
	assert_string_equal(asker_body(&asking),
			    "{\"ready\":2,\"total\":9,\"missing\":[\"worker-1\",\"worker-2\",\"worker-3\",\"worker-4\","
			    "\"worker-6\"]}\n");
	asker_close(&asking);
	/* time is up at once, but a look is worth waiting for */
	set_framework(world, "iiiiiiiii", true);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 200);
	world_free(world);
}

static void spec_decides_how_many(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	/* scaled up: the status does not list the new Task yet */
	world->framework.task_number = 3;
	set_framework(world, "ii", true);
	asking = ask(world, PATH "?timeoutSeconds=0", NULL);
	expect(world, &asking, 202);
	assert_non_null(strstr(asker_body(&asking), "\"ready\":2,\"total\":3"));
	asker_close(&asking);
	/* scaled down while waiting: the surplus is deletionPending and not waited for */
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	world->framework.task_number = 1;
	set_framework(world, "id", true);
	expect(world, &asking, 200);
	asker_close(&asking);
	/* a deletionPending Task inside the spec's range is not ready, whatever IP it has */
	world->framework.task_number = 2;
	set_framework(world, "id", true);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 202);
	world_free(world);
}

static void no_tasks_pass_at_once(void **state)
{
	struct world *world = open_world();

	(void)state;
	set_framework(world, "", true);
	assert_int_equal(status_of(world, PATH, NULL), 200);
	world_free(world);
}

static void compressed_statuses_are_read(void **state)
{
	struct world *world = open_world();
	struct asking asking;
	cleanup_free char *text = NULL;

	(void)state;
	world->framework.compressed = true;
	set_framework(world, "i.", true);
	set_framework(world, ".i", true);
	/* nobody waited when it was shown: it is counted now */
	asking = ask(world, PATH "?timeoutSeconds=0", NULL);
	expect(world, &asking, 202);
	assert_string_equal(asker_body(&asking), "{\"ready\":1,\"total\":2,\"missing\":[\"worker-0\"]}\n");
	asker_close(&asking);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	set_framework(world, "i.", true);
	set_framework(world, "ii", true);
	expect(world, &asking, 200);
	text = framework_text(&world->framework);
	assert_string_equal(asker_body(&asking), text);
	assert_int_equal(world->gets, 1);
	asker_close(&asking);
	world_free(world);
}

/* What cannot be read now may be mended: waiters stay, and the API server is not asked again and again. */
static void broken_frameworks_release_nobody(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	world->framework.broken = true;
	set_framework(world, "i", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiters_counters(world->waiters)->looks_failed >= 1);
	for (int i = 0; i < 100; i++)
		asker_turn(world->loop);
	assert_in_range(world->gets, 1, 2);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 503);
	world->framework.broken = false;
	set_framework(world, "i", true);
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

/* ---- Frameworks that come and go --------------------------------------------------------------------------------- */

static void unknown_frameworks_are_looked_for(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	assert_int_equal(status_of(world, PATH, NULL), 404);
	assert_int_equal(world->gets, 1);
	/* the API server has it already, the watcher has not shown it yet */
	set_framework(world, ".", false);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, world->gets == 2 && waiting(world) == 1);
	set_framework(world, "i", true);
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

static void deletion_releases_with_404(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, ".", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	delete_framework(world, true);
	expect(world, &asking, 404);
	asker_close(&asking);
	world_free(world);
}

static void a_namesake_is_another_framework(void **state)
{
	struct world *world = open_world();
	struct asking old;
	struct asking fresh;
	struct asking any;

	(void)state;
	set_framework(world, ".", true);
	old = ask(world, PATH "?uid=u1", NULL);
	any = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	/* deleted and made anew between two looks of the watcher */
	delete_framework(world, false);
	world->framework.uid = "u2";
	set_framework(world, ".", true);
	expect(world, &old, 404);
	fresh = ask(world, PATH "?uid=u2", NULL);
	assert_int_equal(status_of(world, PATH "?uid=u1", NULL), 404);
	set_framework(world, "i", true);
	expect(world, &fresh, 200);
	expect(world, &any, 200);
	asker_close(&old);
	asker_close(&fresh);
	asker_close(&any);
	world_free(world);
}

/* ---- trouble ----------------------------------------------------------------------------------------------------- */

static void waits_through_trouble_of_the_api_server(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, ".", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	world->api_down = true;
	set_framework(world, "i", true);
	RUN_UNTIL(world->loop, waiters_counters(world->waiters)->looks_failed >= 2);
	asker_read(&asking);
	assert_int_equal(asker_status(&asking), 0);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 503); /* no verdict: neither 200 nor 202 */
	world->api_down = false;
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

static void waits_through_a_restart_of_the_watcher(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10});
	struct range_set all = all_ranges();
	struct asking stays;
	struct asking comes;
	struct asking dies;

	(void)state;
	assert_int_equal(status_of(world, PATH, NULL), 503); /* not synced yet */
	readiness_granted(world->readiness, &all);
	readiness_live(world->readiness, true);
	assert_int_equal(status_of(world, PATH, NULL), 503);
	set_framework(world, "..", true);
	readiness_complete(world->readiness, &all, SHARDS);
	stays = ask(world, PATH, NULL);
	dies = ask(world, PATH "?timeoutSeconds=1", NULL);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	readiness_live(world->readiness, false);
	comes = ask(world, PATH, NULL); /* for a moment people may still come */
	RUN_UNTIL(world->loop, waiting(world) == 3);
	readiness_set_grace(world->readiness, 0);
	assert_int_equal(status_of(world, PATH, NULL), 503);
	expect(world, &dies, 503); /* what the view says may be old */
	/* the next watcher shows everything, an older version first seen from a restored store included */
	readiness_granted(world->readiness, &all);
	world->framework.version = 3;
	set_framework(world, "ii", true);
	readiness_complete(world->readiness, &all, SHARDS);
	readiness_live(world->readiness, true);
	expect(world, &stays, 200);
	expect(world, &comes, 200);
	asker_close(&stays);
	asker_close(&comes);
	asker_close(&dies);
	world_free(world);
}

static void what_a_resync_does_not_show_is_gone(void **state)
{
	struct world *world = open_world();
	struct range_set all = all_ranges();
	struct asking asking;

	(void)state;
	set_framework(world, ".", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	delete_framework(world, false);
	readiness_granted(world->readiness, &all);
	readiness_complete(world->readiness, &all, SHARDS);
	expect(world, &asking, 404);
	assert_int_equal(readiness_count(world->readiness), 0);
	asker_close(&asking);
	world_free(world);
}

static void old_news_change_nothing(void **state)
{
	struct world *world = open_world();
	struct readiness_entry entry;

	(void)state;
	set_framework(world, "i.", true);
	world->framework.version -= 2;
	set_framework(world, "ii", true);
	assert_true(readiness_find(world->readiness, "ns", "fw", &entry));
	assert_int_equal(entry.ready, 1);
	world->framework.version -= 5;
	delete_framework(world, true);
	assert_true(readiness_find(world->readiness, "ns", "fw", &entry));
	world_free(world);
}

static void the_end_sends_everybody_away(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, ".", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	front_close(world->front);
	expect(world, &asking, 503);
	assert_non_null(strstr(asking.in.data, "Retry-After: "));
	assert_int_equal(status_of(world, PATH, NULL), 503);
	asker_close(&asking);
	world_free(world);
}

static void clients_may_leave_at_any_time(void **state)
{
	struct world *world = open_world();
	struct asking a;
	struct asking b;

	(void)state;
	set_framework(world, ".", true);
	a = ask(world, PATH, NULL);
	b = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	asker_close(&a);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	world->api_holds = true;
	set_framework(world, "i", true);
	RUN_UNTIL(world->loop, world->held_count == 1);
	asker_close(&b); /* the last one, with a look under way */
	RUN_UNTIL(world->loop, waiting(world) == 0);
	let_go(world);
	RUN_UNTIL(world->loop, waiters_counters(world->waiters)->frameworks == 0);
	assert_int_equal(waiters_counters(world->waiters)->left, 2);
	world_free(world);
}

/* ---- who may, and how many --------------------------------------------------------------------------------------- */

static void tokens_are_reviewed(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	assert_int_equal(status_of(world, PATH, NULL), 401);
	assert_int_equal(world->token_reviews, 0);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	assert_int_equal(status_of(world, PATH, "bob"), 403);
	assert_int_equal(status_of(world, "other/frameworks/fw/barrier", "alice"), 403);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	assert_int_equal(world->token_reviews, 3);
	assert_int_equal(world->access_reviews, 3);
	/* known by now */
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	assert_int_equal(status_of(world, PATH, "bob"), 403);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	assert_int_equal(world->token_reviews, 3);
	assert_int_equal(world->access_reviews, 3);
	world_free(world);
}

static void pods_of_one_account_share_a_permission(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	assert_int_equal(status_of(world, PATH, "pod-1"), 200);
	assert_int_equal(status_of(world, PATH, "pod-2"), 200);
	assert_int_equal(status_of(world, PATH, "pod-3"), 200);
	assert_int_equal(world->token_reviews, 3);
	assert_int_equal(world->access_reviews, 1);
	assert_non_null(strstr(world->last_access_review, "\"groups\":[\"g\"]"));
	assert_non_null(strstr(world->last_access_review, "\"extra\":{\"scope\":[\"s\"]}"));
	/* four answers are kept: pod-1's is the oldest and makes room */
	assert_int_equal(status_of(world, PATH, "pod-4"), 200);
	assert_int_equal(status_of(world, PATH, "pod-5"), 200);
	assert_int_equal(status_of(world, PATH, "pod-2"), 200);
	assert_int_equal(world->token_reviews, 5);
	assert_int_equal(status_of(world, PATH, "pod-1"), 200);
	assert_int_equal(world->token_reviews, 6);
	world_free(world);
}

/* Rights that are taken away are gone when the answer is out of date. */
static void answers_are_kept_for_a_while(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	assert_int_equal(world->token_reviews, 1);
	access_keep_at_most(world->access, 0);
	assert_int_equal(status_of(world, PATH, "pod-1"), 200);
	assert_int_equal(status_of(world, PATH, "pod-1"), 200);
	assert_int_equal(world->token_reviews, 3);
	assert_int_equal(world->access_reviews, 3);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	assert_int_equal(world->token_reviews, 5);
	world_free(world);
}

static void questions_at_the_same_time_share_a_review(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});
	struct asking askings[5];

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	for (size_t i = 0; i < 5; i++)
		askings[i] = ask(world, PATH, "alice");
	for (size_t i = 0; i < 5; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	assert_int_equal(world->token_reviews, 1);
	assert_int_equal(world->access_reviews, 1);
	world_free(world);
}

/* Fail closed, and forget the failure: the next one asks again. */
static void without_reviews_nobody_is_let_in(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	world->api_down = true;
	assert_int_equal(status_of(world, PATH, "alice"), 503);
	world->api_down = false;
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	world_free(world);
}

static void clients_may_leave_while_they_are_checked(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 1, .per_framework = 10, .with_access = true});
	struct asking slow;

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	slow = ask(world, PATH, "slow");
	RUN_UNTIL(world->loop, world->token_reviews == 1);
	assert_int_equal(status_of(world, PATH, "alice"), 429); /* who is being checked has a place already */
	asker_close(&slow);
	RUN_UNTIL(world->loop, serve_counters(world->serve)->gone == 1);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	slow = ask(world, PATH, "slow"); /* under way when everything ends */
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	world_free(world);
	asker_close(&slow);
}

static void malformed_questions_are_refused(void **state)
{
	static const struct {
		const char *path;
		int status;
	} cases[] = {
		{"ns/frameworks/FW/barrier", 400},
		{"ns/frameworks/f-w/barrier", 400},
		{"ns/frameworks//barrier", 400},
		{"-ns/frameworks/fw/barrier", 400},
		{"ns/frameworks/fw/barrier?timeoutSeconds=", 400},
		{"ns/frameworks/fw/barrier?timeoutSeconds=-1", 400},
		{"ns/frameworks/fw/barrier?timeoutSeconds=1e3", 400},
		{"ns/frameworks/fw/barrier/more", 404},
		{"ns/frameworks/fw", 404},
		{"ns/pods/fw/barrier", 404},
		{"ns/frameworks/fw%2fx/barrier", 404},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/frameworks/fw/barrier",
		 404},
		{"ns/frameworks/fw/barrier?timeoutSeconds=99999999999999999999", 200},
		{"ns/frameworks/fw/barrier", 200},
	};
	struct world *world = open_world();

	(void)state;
	set_framework(world, "i", true);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int status = status_of(world, cases[i].path, NULL);

		if (status != cases[i].status)
			fail_msg("%s: %d, expected %d", cases[i].path, status, cases[i].status);
	}
	world_free(world);
}

static void waiters_are_limited(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 4, .per_framework = 3});
	struct asking askings[3];

	(void)state;
	sync_view(world);
	set_framework(world, ".", true);
	for (size_t i = 0; i < 3; i++)
		askings[i] = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 3);
	assert_int_equal(status_of(world, PATH, NULL), 429);
	assert_int_equal(status_of(world, "ns/frameworks/other/barrier?timeoutSeconds=0", NULL), 404);
	asker_close(&askings[0]);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	askings[0] = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 3);
	set_framework(world, "i", true);
	for (size_t i = 0; i < 3; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	world_free(world);
}

/* Connections that ask nothing fill the server; the waiters are released all the same. */
static void a_flood_stops_no_release(void **state)
{
	enum { FLOOD = 2000, MANY = 50 };
	struct world *world = open_world();
	struct asking *flood = mem_calloc(FLOOD, sizeof(*flood));
	struct asking askings[MANY];

	(void)state;
	set_framework(world, ".", true);
	for (size_t i = 0; i < MANY; i++)
		askings[i] = ask(world, PATH, NULL);
	for (size_t i = 0; i < FLOOD; i++) {
		flood[i] = asker_open(serve_address(world->serve));
		asker_send(&flood[i], i % 2 == 0 ? "GET /v1/names" : "rubbish\r\n\r\n");
		if (i % 100 == 0)
			asker_turn(world->loop);
	}
	RUN_UNTIL(world->loop, waiting(world) == MANY);
	set_framework(world, "i", true);
	for (size_t i = 0; i < MANY; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	for (size_t i = 0; i < FLOOD; i++)
		asker_close(&flood[i]);
	free(flood);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_released_by_one_get),
		cmocka_unit_test(the_verdict_is_a_fresh_get),
		cmocka_unit_test(latecomers_get_a_look_of_their_own),
		cmocka_unit_test(many_gangs_are_looked_at_in_turn),
		cmocka_unit_test(large_gangs_take_more_room),
		cmocka_unit_test(time_ends_with_what_is_ready),
		cmocka_unit_test(spec_decides_how_many),
		cmocka_unit_test(no_tasks_pass_at_once),
		cmocka_unit_test(compressed_statuses_are_read),
		cmocka_unit_test(broken_frameworks_release_nobody),
		cmocka_unit_test(unknown_frameworks_are_looked_for),
		cmocka_unit_test(deletion_releases_with_404),
		cmocka_unit_test(a_namesake_is_another_framework),
		cmocka_unit_test(waits_through_trouble_of_the_api_server),
		cmocka_unit_test(waits_through_a_restart_of_the_watcher),
		cmocka_unit_test(what_a_resync_does_not_show_is_gone),
		cmocka_unit_test(old_news_change_nothing),
		cmocka_unit_test(the_end_sends_everybody_away),
		cmocka_unit_test(clients_may_leave_at_any_time),
		cmocka_unit_test(tokens_are_reviewed),
		cmocka_unit_test(pods_of_one_account_share_a_permission),
		cmocka_unit_test(answers_are_kept_for_a_while),
		cmocka_unit_test(questions_at_the_same_time_share_a_review),
		cmocka_unit_test(without_reviews_nobody_is_let_in),
		cmocka_unit_test(clients_may_leave_while_they_are_checked),
		cmocka_unit_test(malformed_questions_are_refused),
		cmocka_unit_test(waiters_are_limited),
		cmocka_unit_test(a_flood_stops_no_release),
	};

	return cmocka_run_group_tests_name("barrier", tests, NULL, NULL);
}
