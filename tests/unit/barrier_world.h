/* fc-barrier without its bus and its main: real HTTP in front, a scripted API server behind, the watcher's news by
 * hand. For unit tests. */
#ifndef TESTS_BARRIER_WORLD_H
#define TESTS_BARRIER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "barrier/access.h"
#include "barrier/front.h"
#include "barrier/readiness.h"
#include "barrier/wait_group.h"
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
	const char *ns; /* for the watcher's news; the API server has it in ns */
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
	struct kube_config config;
	struct kube_client *client;
	struct readiness *readiness;
	struct wait_groups *groups;
	struct access *access;
	struct serve *serve;
	struct front *front;
	struct framework framework;
	bool api_down;
	const char *api_down_headers; /* of its answers then; NULL: none */
	/* answered in its place: by a proxy, or an API server that does not serve Frameworks */
	const char *api_away;
	bool api_holds; /* GETs are not answered before let_go() */
	struct http_conn *held[ROOM];
	char *held_answers[ROOM];
	size_t held_count;
	size_t gets, token_reviews, access_reviews;
	char *last_access_review;
};

/* ---- the API server ---------------------------------------------------------------------------------------------- */

static inline char *named_framework_text(const struct framework *framework, const char *name)
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
		   "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%d\"},"
		   "\"spec\":{\"taskRoles\":[{\"name\":\"worker\",\"taskNumber\":%d}]},\"status\":{\"attemptStatus\":{",
		   framework->ns, name, framework->uid, framework->version,
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

static inline char *framework_text(const struct framework *framework)
{
	return named_framework_text(framework, "fw");
}

/* All whose names begin with fw are alike. */
static inline void on_get(struct world *world, struct http_conn *conn)
{
	static const char all[] = "/apis/frameworkcontroller.microsoft.com/v1/namespaces/ns/frameworks/";
	bool known = strncmp(conn->path, all, strlen(all)) == 0 && strncmp(conn->path + strlen(all), "fw", 2) == 0;
	cleanup_free char *text = named_framework_text(&world->framework, known ? conn->path + strlen(all) : "");

	world->gets++;
	if (!known || !world->framework.exists) {
		cleanup_free char *none = mem_printf(
			"{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"not found\","
			"\"details\":{\"name\":\"%s\",\"kind\":\"frameworks\"}}",
			strrchr(conn->path, '/') + 1);

		http_reply(conn, 404, "", none);
	} else if (world->api_holds) {
		assert_true(world->held_count < ROOM);
		world->held_answers[world->held_count] = mem_strdup(text);
		world->held[world->held_count++] = conn;
	} else {
		http_reply(conn, 200, "", text);
	}
}

/* Tokens: "alice" and "bob" are users, "former-alice" is one that has expired, "almost-alice" one whose name goes on
 * behind a NUL, "pod-…" one service account seen from many Pods. Alice and the service account may get Frameworks in ns
 * and ns-2. */
static inline void on_token_review(struct world *world, struct http_conn *conn)
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
	else if (strcmp(token, "former-alice") == 0)
		answer = mem_strdup("{\"status\":{\"authenticated\":false,\"user\":{\"username\":\"alice\"}}}");
	else if (strcmp(token, "almost-alice") == 0)
		answer = mem_strdup("{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"alice\\u0000\"}}}");
	else if (strcmp(token, "alice") == 0 || strcmp(token, "bob") == 0)
		answer = mem_printf("{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"%s\"}}}", token);
	else
		answer = mem_strdup("{\"status\":{\"error\":\"unknown\"}}");
	http_reply(conn, 201, "", answer);
}

static inline void on_access_review(struct world *world, struct http_conn *conn)
{
	cleanup_json json_t *review = json_parse(conn->body, strlen(conn->body), NULL);
	const json_t *spec = json_object_get(review, "spec");
	const json_t *attributes = json_object_get(spec, "resourceAttributes");
	const char *user = json_str(spec, "user");
	const char *ns = json_str(attributes, "namespace");
	bool allowed = strcmp(user, "bob") != 0 && (strcmp(ns, "ns") == 0 || strcmp(ns, "ns-2") == 0) &&
		       strcmp(json_str(attributes, "verb"), "get") == 0 &&
		       strcmp(json_str(attributes, "resource"), "frameworks") == 0 &&
		       strcmp(json_str(attributes, "group"), "frameworkcontroller.microsoft.com") == 0;

	world->access_reviews++;
	mem_replace(&world->last_access_review, conn->body);
	http_reply(conn, 201, "", allowed ? "{\"status\":{\"allowed\":true}}" : "{\"status\":{\"allowed\":false}}");
}

static inline void on_api_request(void *arg, struct http_conn *conn)
{
	struct world *world = arg;

	if (world->api_down)
		http_reply(conn, 500, world->api_down_headers == NULL ? "" : world->api_down_headers, "{}");
	else if (world->api_away != NULL)
		http_reply(conn, 404, "", world->api_away);
	else if (strcmp(conn->path, "/apis/authentication.k8s.io/v1/tokenreviews") == 0)
		on_token_review(world, conn);
	else if (strcmp(conn->path, "/apis/authorization.k8s.io/v1/subjectaccessreviews") == 0)
		on_access_review(world, conn);
	else
		on_get(world, conn);
}

static inline void let_last_go(struct world *world)
{
	size_t last = --world->held_count;

	http_reply(world->held[last], 200, "", world->held_answers[last]);
	free(world->held_answers[last]);
}

static inline void let_go(struct world *world)
{
	world->api_holds = false;
	while (world->held_count > 0)
		let_last_go(world);
}

/* ---- the watcher ------------------------------------------------------------------------------------------------- */

/* The watcher's news of it. */
static inline void show_framework(struct world *world, const char *name)
{
	cleanup_free char *text = named_framework_text(&world->framework, name);

	assert_true(readiness_object(world->readiness, text, strlen(text)));
}

/* The API server's Framework changes; shown: the watcher's news of it come too. */
static inline void set_framework(struct world *world, const char *ips, bool shown)
{
	world->framework.exists = true;
	world->framework.ips = ips;
	world->framework.version++;
	if (shown)
		show_framework(world, "fw");
}

static inline void delete_framework(struct world *world, bool shown)
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

static inline struct shard_set all_shards(void)
{
	struct shard_set all = {0};

	for (uint32_t r = 0; r < SHARDS; r++)
		shard_set_add(&all, r);
	return all;
}

static inline void sync_view(struct world *world)
{
	struct shard_set all = all_shards();

	readiness_granted(world->readiness, &all);
	readiness_complete(world->readiness, &all, SHARDS);
	readiness_live(world->readiness, true);
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

static inline void on_changed(void *arg, const char *key)
{
	wait_groups_changed(((struct world *)arg)->groups, key);
}

static inline bool is_wanted(void *arg, const char *key)
{
	return wait_groups_wanted(((struct world *)arg)->groups, key);
}

static const struct readiness_handler handler = {.changed = on_changed, .wanted = is_wanted};

struct limits {
	size_t waiters;
	size_t per_framework;
	bool with_access;
	size_t entries;       /* kept answers; 0: 4 */
	unsigned connections; /* 0: enough */
	unsigned spare;
};

static inline struct world *world_new(struct limits limits)
{
	struct world *world = mem_calloc(1, sizeof(*world));
	const struct serve_options serve_options = {
		.address = "127.0.0.1:0",
		.max_connections = limits.connections != 0 ? limits.connections : 2600,
		.spare = limits.spare,
	};
	const struct kube_client_options client_options = {.user_agent = "test"};
	struct error err;

	world->loop = ev_loop_new(0);
	world->framework = (struct framework){.ns = "ns", .uid = "u1", .ips = "", .version = 10};
	http_server_start(&world->api, world->loop, on_api_request, world);
	assert_int_equal(kube_config_load(world->api.address, NULL, NULL, &world->config, &err), 0);
	world->client = kube_client_new(world->loop, &world->config, &client_options, &err);
	world->readiness = readiness_new(&handler, world);
	world->groups = wait_groups_new(world->loop, world->client, world->readiness, limits.waiters,
					limits.per_framework);
	if (limits.with_access)
		world->access = access_new(world->loop, world->client, limits.entries != 0 ? limits.entries : 4);
	world->serve = serve_new(world->loop, &serve_options, &err);
	if (world->serve == NULL)
		fail_msg("%s", err.message);
	world->front = front_new(world->serve, world->access, world->readiness, world->groups);
	return world;
}

static inline struct world *open_world(void)
{
	struct world *world = world_new((struct limits){.waiters = 5000, .per_framework = 5000});

	sync_view(world);
	return world;
}

static inline void world_free(struct world *world)
{
	let_go(world);
	serve_free(world->serve);
	kube_client_free(world->client);
	kube_config_free(&world->config);
	front_free(world->front);
	access_free(world->access);
	wait_groups_free(world->groups);
	readiness_free(world->readiness);
	http_server_free(&world->api);
	free(world->last_access_review);
	ev_loop_destroy(world->loop);
	free(world);
}

/* host: of 127.0.0.0/24; path: behind /v1/namespaces/; token: NULL for none. */
static inline struct asking ask_from(const struct world *world, unsigned host, const char *path, const char *token)
{
	struct asking asking = asker_open_from(serve_address(world->serve), host);
	cleanup_free char *request = mem_printf("GET /v1/namespaces/%s HTTP/1.1\r\nHost: x\r\n%s%s%s\r\n", path,
						token == NULL ? "" : "Authorization: Bearer ",
						token == NULL ? "" : token, token == NULL ? "" : "\r\n");

	asker_send(&asking, request);
	return asking;
}

static inline struct asking ask(const struct world *world, const char *path, const char *token)
{
	return ask_from(world, 1, path, token);
}

static inline int status_from(const struct world *world, unsigned host, const char *path, const char *token)
{
	struct asking asking = ask_from(world, host, path, token);
	int status;

	RUN_UNTIL(world->loop, asker_done(&asking));
	status = asker_status(&asking);
	asker_close(&asking);
	return status;
}

static inline int status_of(const struct world *world, const char *path, const char *token)
{
	return status_from(world, 1, path, token);
}

static inline size_t waiting(const struct world *world)
{
	return wait_groups_counters(world->groups)->waiting;
}

static inline void expect(const struct world *world, struct asking *asking, int status)
{
	RUN_UNTIL(world->loop, asker_done(asking));
	assert_int_equal(asker_status(asking), status);
}

#define PATH "ns/frameworks/fw/barrier"

#endif
