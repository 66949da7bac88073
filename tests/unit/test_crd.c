/* The CRD: its text against the rules that servers put on one and against CONTRACT.md §2 and §17, as the test API
 * server applies it; and its upkeep against a scripted server. */
#include "tests/unit/testapi_fixture.h"

#include <stdbool.h>
#include <zlib.h>

#include "common/kube/client.h"
#include "tests/unit/http_server.h"
#include "watcher/crd.h"

/* ---- the text --------------------------------------------------------------------------------------------------- */

/* What the program contains is manifests/crd.yaml as it is now. */
static void test_manifest_is_current(void **state)
{
	cleanup_buf struct buf file = {0};
	FILE *manifest = fopen("manifests/crd.yaml", "r");
	char chunk[4096];
	size_t len;

	(void)state;
	if (manifest == NULL)
		fail_msg("manifests/crd.yaml: run from the root of the tree");
	while ((len = fread(chunk, 1, sizeof(chunk), manifest)) > 0)
		buf_append(&file, chunk, len);
	fclose(manifest);
	assert_string_equal(crd_text(), file.data);
}

/* The hash is how a watcher sees that the server has another CRD than its own: it is the CRC of the object without
 * annotations, and changes with it. */
static void test_hash(void **state)
{
	cleanup_json json_t *crd = crd_object();
	cleanup_json json_t *annotations = json_incref(json_path(crd, "metadata", "annotations", NULL));
	cleanup_free char *text = NULL;
	cleanup_free char *hash = NULL;

	(void)state;
	json_object_del(json_object_get(crd, "metadata"), "annotations");
	text = json_text(crd);
	hash = mem_printf("%08lx", crc32(0, (const Bytef *)text, (uInt)strlen(text)));
	if (strcmp(json_str(annotations, "frameworkcontroller.microsoft.com/crd-hash"), hash) != 0)
		fail_msg("write crd-hash: %s into manifests/crd.yaml", hash);
}

/* Every member below has a description. */
static void assert_explained(json_t *schema)
{
	json_t *items = json_object_get(schema, "items");
	json_t *properties = json_object_get(items != NULL ? items : schema, "properties");
	const char *name;
	json_t *member;

	json_object_foreach(properties, name, member) {
		if (json_str(member, "description") == NULL)
			fail_msg("%s has no description", name);
		assert_explained(member);
	}
}

static void test_text(void **state)
{
	cleanup_json json_t *crd = crd_object();
	const json_t *names = json_path(crd, "spec", "names", NULL);
	const json_t *version = json_array_get(json_path(crd, "spec", "versions", NULL), 0);
	const json_t *columns = json_object_get(version, "additionalPrinterColumns");
	static const char *const headings[] = {"State", "Tasks", "Retries", "Code", "Phrase", "Age"};

	(void)state;
	assert_string_equal(json_str(crd, "apiVersion"), "apiextensions.k8s.io/v1");
	assert_string_equal(json_str(json_object_get(crd, "metadata"), "name"), CRD_NAME);
	assert_string_equal(json_str(names, "plural"), "frameworks");
	assert_string_equal(json_string_value(json_array_get(json_object_get(names, "shortNames"), 0)), "fw");
	assert_string_equal(json_string_value(json_array_get(json_object_get(names, "categories"), 0)), "all");
	assert_string_equal(json_str(version, "name"), "v1");
	assert_true(json_is_object(json_path(version, "subresources", "status", NULL)));
	assert_int_equal(json_array_size(columns), ARRAY_LEN(headings));
	for (size_t i = 0; i < ARRAY_LEN(headings); i++)
		assert_string_equal(json_str(json_array_get(columns, i), "name"), headings[i]);
	assert_string_equal(json_str(json_array_get(columns, 1), "jsonPath"),
			    ".status.conditions[?(@.type==\"Running\")].message");
	assert_int_equal(crd_need(crd), CRD_CURRENT);
	/* what kubectl explain shows; names and types say enough of the others */
	const json_t *schema = json_path(version, "schema", "openAPIV3Schema", NULL);
	assert_non_null(json_str(schema, "description"));
	assert_explained(json_path(schema, "properties", "spec", NULL));
	/* kubectl of a server that knows no such field refuses to apply it */
	assert_null(strstr(crd_text(), "x-kubernetes-validations"));
	assert_string_equal(
		json_str(json_array_get(json_path(schema, "properties", "spec", "x-kubernetes-validations", NULL), 0),
			 "message"),
		"managedBy cannot be changed");
}

static void test_need(void **state)
{
	cleanup_json json_t *crd = crd_object();
	cleanup_json json_t *foreign = json_deep_copy(crd);
	cleanup_json json_t *older = json_deep_copy(crd);
	cleanup_json json_t *stripped = json_deep_copy(crd);
	cleanup_json json_t *merged = NULL;
	json_t *annotations = json_path(older, "metadata", "annotations", NULL);
	const json_t *meta;

	(void)state;
	assert_int_equal(crd_need(NULL), CRD_CREATE);
	json_object_del(json_object_get(foreign, "metadata"), "annotations");
	assert_int_equal(crd_need(foreign), CRD_UPDATE);
	json_object_set_new(annotations, "frameworkcontroller.microsoft.com/crd-hash", json_string("00000000"));
	assert_int_equal(crd_need(older), CRD_UPDATE);
	json_object_del(json_array_get(json_path(stripped, "spec", "versions", NULL), 0), "subresources");
	assert_int_equal(crd_need(stripped), CRD_UPDATE);

	/* what others wrote into its metadata stays, and its identity does */
	json_object_set_new(annotations, "else", json_string("x"));
	json_object_set_new(annotations, "kubectl.kubernetes.io/last-applied-configuration", json_string("{}"));
	json_object_set_new(json_object_get(older, "metadata"), "resourceVersion", json_string("7"));
	json_object_set_new(json_object_get(older, "metadata"), "labels", json_pack("{s:s}", "a", "b"));
	json_object_set_new(json_object_get(older, "spec"), "preserveUnknownFields", json_true());
	merged = crd_merge(older);
	meta = json_object_get(merged, "metadata");
	assert_int_equal(crd_need(merged), CRD_CURRENT);
	assert_string_equal(json_str(meta, "resourceVersion"), "7");
	assert_string_equal(json_str(json_object_get(meta, "labels"), "a"), "b");
	assert_string_equal(json_str(json_object_get(meta, "annotations"), "else"), "x");
	assert_null(json_str(json_object_get(meta, "annotations"), "kubectl.kubernetes.io/last-applied-configuration"));
	assert_null(json_object_get(json_object_get(merged, "spec"), "preserveUnknownFields"));
}

static void test_established(void **state)
{
	static const struct {
		const char *text;
		bool established;
	} cases[] = {
		{"{}", false},
		{"{\"status\":{\"conditions\":null}}", false},
		{"{\"status\":{\"conditions\":[{\"type\":\"NamesAccepted\",\"status\":\"True\"}]}}", false},
		{"{\"status\":{\"conditions\":[{\"type\":\"Established\",\"status\":\"False\"}]}}", false},
		{"{\"status\":{\"conditions\":[{\"type\":\"NamesAccepted\",\"status\":\"False\"},"
		 "{\"type\":\"Established\",\"status\":\"True\"}]}}",
		 true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_json json_t *crd = json_parse(cases[i].text, strlen(cases[i].text), NULL);

		assert_int_equal(crd_established(crd), cases[i].established);
	}
}

/* ---- what a server makes of it ---------------------------------------------------------------------------------- */

static int api_set_up(void **state)
{
	struct fixture *f = fixture_new(&(struct api_options){0});
	cleanup_json json_t *crd = crd_object();
	cleanup_free char *text = json_text(crd);

	*state = f;
	if (call(f, "POST", CRDS, text) >= 300)
		fail_msg("the CRD was refused: %s", api_answer_text(&f->answer));
	return 0;
}

static void create(struct fixture *f, int wanted, const char *spec)
{
	cleanup_free char *text = mem_printf("{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"kind\":"
					     "\"Framework\",\"metadata\":{\"name\":\"fw\"}%s%s}",
					     spec[0] == '\0' ? "" : ",\"spec\":", spec);
	int status = call(f, "POST", FW "/namespaces/default/frameworks", text);

	if (status != wanted)
		fail_msg("%s: %d instead of %d: %s", spec, status, wanted, api_answer_text(&f->answer));
}

static void delete_fw(struct fixture *f)
{
	call(f, "DELETE", FW "/namespaces/default/frameworks/fw", NULL);
}

static void expect_json(const json_t *value, const char *expected)
{
	cleanup_free char *text = json_text(value);
	cleanup_json json_t *wanted = json_parse(expected, strlen(expected), NULL);

	if (!json_equal(value, wanted))
		fail_msg("%s instead of %s", text, expected);
}

/* CONTRACT.md §2: each default is for a member or object that is absent; a policy that is present is left as it is. */
static void test_defaults(void **state)
{
	struct fixture *f = *state;

	create(f, 201, "{\"taskRoles\":[{\"name\":\"a\",\"task\":{\"pod\":{\"x\":{\"y\":[1]}}}}]}");
	expect_json(json_object_get(f->body, "spec"),
		    "{\"executionType\":\"Start\",\"retryPolicy\":{\"fancyRetryPolicy\":false,\"maxRetryCount\":0},"
		    "\"taskRoles\":[{\"name\":\"a\","
		    "\"frameworkAttemptCompletionPolicy\":{\"minFailedTaskCount\":1,\"minSucceededTaskCount\":-1},"
		    "\"task\":{\"retryPolicy\":{\"fancyRetryPolicy\":false,\"maxRetryCount\":0},"
		    "\"pod\":{\"x\":{\"y\":[1]}}}}]}");
	delete_fw(f);
	create(f, 201,
	       "{\"executionType\":\"Create\",\"retryPolicy\":{\"maxRetryCount\":-2},\"taskRoles\":[{\"name\":\"a\","
	       "\"taskNumber\":2,\"frameworkAttemptCompletionPolicy\":{},\"task\":{\"retryPolicy\":"
	       "{\"fancyRetryPolicy\":true},\"podGracefulDeletionTimeoutSec\":null}},{\"name\":\"b\","
	       "\"frameworkAttemptCompletionPolicy\":{\"minFailedTaskCount\":0}}]}");
	expect_json(json_object_get(f->body, "spec"),
		    "{\"executionType\":\"Create\",\"retryPolicy\":{\"fancyRetryPolicy\":false,\"maxRetryCount\":-2},"
		    "\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":2,\"frameworkAttemptCompletionPolicy\":{},"
		    "\"task\":{\"retryPolicy\":{\"fancyRetryPolicy\":true,\"maxRetryCount\":0},"
		    "\"podGracefulDeletionTimeoutSec\":null}},"
		    "{\"name\":\"b\",\"frameworkAttemptCompletionPolicy\":{\"minFailedTaskCount\":0}}]}");
}

/* What known clients send: accepted as it is (CONTRACT.md §19). */
static void test_accepted(void **state)
{
	static const char *const specs[] = {
		"",
		"{}",
		"{\"description\":null,\"taskRoles\":null}",
		"{\"description\":\"\",\"taskRoles\":[]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"task\":{\"unknown\":1,\"pod\":{\"metadata\":{\"labels\":7},"
		"\"spec\":{\"hostNetwork\":\"true\",\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":5}]}]}}},"
		"\"extra\":{}}],\"more\":[]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":10000,\"frameworkAttemptCompletionPolicy\":"
		"{\"minFailedTaskCount\":-1,\"minSucceededTaskCount\":2147483647},\"task\":{\"retryPolicy\":"
		"{\"maxRetryCount\":2147483647},\"podGracefulDeletionTimeoutSec\":9007199254740993}}]}",
		"{\"executionType\":\"Stop\"}",
	};

	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		create(f, 201, specs[i]);
		delete_fw(f);
	}
}

static void test_refused(void **state)
{
	static const char *const specs[] = {
		"{\"executionType\":\"start\"}",
		"{\"retryPolicy\":{\"maxRetryCount\":-3}}",
		"{\"retryPolicy\":{\"maxRetryCount\":2147483648}}",
		"{\"podFailureSpec\":[{\"code\":2147483648,\"podPatterns\":[{}]}]}",
		"{\"taskRoles\":[{\"taskNumber\":1}]}",
		"{\"taskRoles\":[{\"name\":\"A\"}]}",
		"{\"taskRoles\":[{\"name\":\"a-b\"}]}",
		"{\"taskRoles\":[{\"name\":\"\"}]}",
		"{\"taskRoles\":[{\"name\":\"0123456789012345678901234567890123456789012345678901234567890123\"}]}",
		"{\"taskRoles\":[{\"name\":\"a\"},{\"name\":\"a\"}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":-1}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":10001}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"frameworkAttemptCompletionPolicy\":{\"minFailedTaskCount\":-2}}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"frameworkAttemptCompletionPolicy\":{\"minSucceededTaskCount\":-2}}]"
		"}",
		"{\"taskRoles\":[{\"name\":\"a\",\"task\":{\"retryPolicy\":{\"maxRetryCount\":-3}}}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"task\":{\"podGracefulDeletionTimeoutSec\":\"1\"}}]}",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		create(f, 422, specs[i]);
	if (call(f, "POST", FW "/namespaces/default/frameworks",
		 "{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"kind\":\"Framework\",\"metadata\":"
		 "{\"name\":\"a-b\"}}") != 422)
		fail_msg("metadata.name a-b: %s", api_answer_text(&f->answer));
}

/* ---- its upkeep ------------------------------------------------------------------------------------------------- */

static const double limit_s = 60;

struct keeping {
	struct ev_loop *loop;
	struct http_server server;
	struct kube_config config;
	struct kube_client *client;
	struct crd_keeper *keeper;
	json_t *stored;      /* what the server has */
	int establish_after; /* so many reads show it not established yet; -1: all */
	int refuse;          /* so many requests are answered 403 */
	int conflict;        /* so many writes are answered 409; -1: all */
	int strip;           /* of so many writes the annotations are taken away; -1: of all */
	size_t writes;
	size_t established;
	size_t failed;
	size_t ended; /* either */
	size_t reads;
	bool standby; /* another watcher leads */
};

static void answer_json(struct http_conn *conn, int status, const json_t *body)
{
	cleanup_free char *text = json_text(body);

	http_reply(conn, status, "", text);
}

/* Of a number that is left; -1: of all. */
static bool takes_one(int *left)
{
	if (*left == 0)
		return false;
	if (*left > 0)
		--*left;
	return true;
}

static void on_request(void *arg, struct http_conn *conn)
{
	struct keeping *k = arg;
	cleanup_json json_t *shown = NULL;

	if (k->refuse > 0) {
		k->refuse--;
		http_reply(conn, 403, "",
			   "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,\"message\":\"no\"}");
		return;
	}
	if (strcmp(conn->method, "GET") != 0) {
		k->writes++;
		if (takes_one(&k->conflict)) {
			http_reply(conn, 409, "",
				   "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"code\":409,\"message\":\"no\"}");
			return;
		}
		json_decref(k->stored);
		k->stored = json_parse(conn->body, strlen(conn->body), NULL);
		if (takes_one(&k->strip))
			json_object_del(json_object_get(k->stored, "metadata"), "annotations");
		answer_json(conn, 200, k->stored);
		return;
	}
	k->reads++;
	if (k->stored == NULL) {
		http_reply(conn, 404, "",
			   "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404,\"message\":\"none\",\"details\":"
			   "{\"name\":"
			   "\"frameworks.frameworkcontroller.microsoft.com\"}}");
	} else {
		shown = json_deep_copy(k->stored);
		if (k->establish_after == 0)
			json_object_set_new(
				shown, "status",
				json_pack("{s:[{s:s,s:s}]}", "conditions", "type", "Established", "status", "True"));
		if (k->establish_after > 0 && crd_need(k->stored) == CRD_CURRENT)
			k->establish_after--;
		answer_json(conn, 200, shown);
	}
}

static void on_established(void *arg)
{
	struct keeping *k = arg;

	k->established++;
	k->ended++;
}

static void on_failed(void *arg, const char *message_text)
{
	struct keeping *k = arg;

	assert_non_null(strstr(message_text, CRD_NAME));
	k->failed++;
	k->ended++;
}

static const struct crd_handler keeper_handler = {.established = on_established, .failed = on_failed};

static void start_keeping(struct keeping *k, const struct crd_options *options)
{
	const struct kube_client_options client_options = {.user_agent = "test"};
	struct error err;

	k->loop = ev_loop_new(0);
	http_server_start(&k->server, k->loop, on_request, k);
	k->config.server = k->server.address;
	k->client = kube_client_new(k->loop, &k->config, &client_options, &err);
	assert_non_null(k->client);
	k->keeper = crd_keeper_new(k->loop, k->client, options, &keeper_handler, k);
	crd_keeper_set_writes(k->keeper, !k->standby);
}

static void keep(struct keeping *k, const struct crd_options *options)
{
	start_keeping(k, options);
	assert_true(run_until_count(k->loop, &k->ended, 1, limit_s));
}

static void stop_keeping(struct keeping *k)
{
	crd_keeper_free(k->keeper);
	kube_client_free(k->client);
	http_server_free(&k->server);
	ev_loop_destroy(k->loop);
	json_decref(k->stored);
}

static const struct crd_options quick = {.check_ms = 5, .timeout_ms = 5000, .retry_ms = 5};

static void test_keeper_creates(void **state)
{
	struct keeping k = {.establish_after = 2};

	(void)state;
	keep(&k, &quick);
	assert_int_equal(k.established, 1);
	assert_int_equal(k.writes, 1);
	assert_int_equal(crd_need(k.stored), CRD_CURRENT);
	assert_int_equal(k.reads, 4); /* none, not yet, not yet, established */
	assert_non_null(strstr(k.server.log.data, "POST " CRDS));
	stop_keeping(&k);
}

static void test_keeper_takes_over(void **state)
{
	struct keeping k = {.stored = json_pack("{s:{s:s,s:s},s:{s:b}}", "metadata", "name", CRD_NAME,
						"resourceVersion", "12", "spec", "preserveUnknownFields", 1)};

	(void)state;
	keep(&k, &quick);
	assert_int_equal(k.established, 1);
	assert_int_equal(k.writes, 1);
	assert_non_null(strstr(k.server.log.data, "PUT " CRDS "/" CRD_NAME));
	assert_string_equal(json_str(json_object_get(k.stored, "metadata"), "resourceVersion"), "12");
	stop_keeping(&k);
}

static void test_keeper_leaves_alone(void **state)
{
	struct keeping k = {.stored = crd_object()};

	(void)state;
	keep(&k, &quick);
	assert_int_equal(k.established, 1);
	assert_int_equal(k.writes, 0);
	stop_keeping(&k);
}

/* A standby writes nothing: neither an absent one, nor one that is not ours; it takes either as soon as it leads. */
static void test_keeper_standby(void **state)
{
	struct keeping k = {.standby = true,
			    .stored = json_pack("{s:{s:s},s:{s:b}}", "metadata", "name", CRD_NAME, "spec",
						"preserveUnknownFields", 1)};
	struct keeping absent = {.standby = true};

	(void)state;
	keep(&k, &quick);
	assert_int_equal(k.established, 1); /* it is served, whoever wrote it */
	assert_int_equal(k.writes, 0);
	crd_keeper_set_writes(k.keeper, true);
	assert_true(run_until_count(k.loop, &k.writes, 1, limit_s));
	stop_keeping(&k);

	start_keeping(&absent, &quick);
	assert_true(run_until_count(absent.loop, &absent.reads, 5, limit_s));
	assert_int_equal(absent.writes + absent.ended, 0);
	crd_keeper_set_writes(absent.keeper, true);
	assert_true(run_until_count(absent.loop, &absent.established, 1, limit_s));
	assert_int_equal(absent.writes, 1);
	stop_keeping(&absent);
}

static void test_keeper_tries_again(void **state)
{
	struct keeping k = {.refuse = 2};

	(void)state;
	keep(&k, &quick);
	assert_int_equal(k.established, 1);
	assert_int_equal(k.writes, 1);
	stop_keeping(&k);
}

static void test_keeper_gives_up_waiting(void **state)
{
	const struct crd_options impatient = {.check_ms = 5, .timeout_ms = 30};
	struct keeping k = {.establish_after = -1};

	(void)state;
	keep(&k, &impatient);
	assert_int_equal(k.failed, 1);
	assert_int_equal(k.established, 0);
	stop_keeping(&k);
}

/* A webhook takes away what is written, or another writer is always quicker: no loop without a pause, and an end. */
static void test_keeper_writes_in_vain(void **state)
{
	const struct crd_options slower = {.check_ms = 5, .timeout_ms = 300, .retry_ms = 50};
	struct keeping cases[] = {
		{.strip = -1},
		{.strip = -1, .stored = json_pack("{s:{s:s}}", "metadata", "name", CRD_NAME)},
		{.conflict = -1, .stored = json_pack("{s:{s:s}}", "metadata", "name", CRD_NAME)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		keep(&cases[i], &slower);
		assert_int_equal(cases[i].failed, 1);
		/* written at 0, 50, 150 and, at the latest, 350 ms; read before and after each */
		assert_in_range(cases[i].writes, 2, 5);
		assert_in_range(cases[i].reads, 3, 10);
		stop_keeping(&cases[i]);
	}
}

static void test_keeper_writes_until_it_stays(void **state)
{
	struct keeping k = {.strip = 3, .conflict = 1};

	(void)state;
	keep(&k, &quick);
	assert_int_equal(k.established, 1);
	assert_int_equal(k.writes, 5);
	assert_int_equal(crd_need(k.stored), CRD_CURRENT);
	stop_keeping(&k);
}

static void lose_subresource(struct keeping *k)
{
	json_object_del(json_array_get(json_path(k->stored, "spec", "versions", NULL), 0), "subresources");
}

static void test_keeper_puts_back(void **state)
{
	const struct crd_options watchful = {.check_ms = 5, .timeout_ms = 5000, .recheck_ms = 5};
	struct keeping k = {.stored = crd_object()};

	(void)state;
	keep(&k, &watchful);
	assert_int_equal(k.writes, 0);
	lose_subresource(&k);
	assert_true(run_until_count(k.loop, &k.reads, k.reads + 4, limit_s));
	assert_int_equal(k.writes, 1);
	assert_int_equal(crd_need(k.stored), CRD_CURRENT);
	assert_int_equal(k.established, 1); /* said once only */
	stop_keeping(&k);
}

/* It has rights in some namespaces only: what is served tells it enough, and nothing else is read or written. */
static void test_keeper_discovers(void **state)
{
	const struct crd_options blind = {
		.check_ms = 5, .timeout_ms = 5000, .retry_ms = 5, .recheck_ms = 5, .discover = true};
	struct keeping k = {.refuse = 1};

	(void)state;
	start_keeping(&k, &blind);
	assert_true(run_until_count(k.loop, &k.reads, 2, limit_s)); /* refused, and not there */
	k.stored = json_pack("{s:[{s:s}]}", "resources", "name", "frameworks");
	assert_true(run_until_count(k.loop, &k.reads, k.reads + 2, limit_s)); /* no status subresource */
	assert_int_equal(k.established, 0);
	json_array_append_new(json_object_get(k.stored, "resources"), json_pack("{s:s}", "name", "frameworks/status"));
	assert_true(run_until_count(k.loop, &k.ended, 1, limit_s));
	assert_int_equal(k.established, 1);
	json_array_remove(json_object_get(k.stored, "resources"), 1);
	assert_true(run_until_count(k.loop, &k.reads, k.reads + 4, limit_s));
	assert_int_equal(k.established, 1); /* said once only */
	assert_int_equal(k.writes, 0);
	stop_keeping(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manifest_is_current),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_need),
		cmocka_unit_test(test_established),
		cmocka_unit_test_setup_teardown(test_defaults, api_set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_accepted, api_set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, api_set_up, tear_down),
		cmocka_unit_test(test_keeper_creates),
		cmocka_unit_test(test_keeper_takes_over),
		cmocka_unit_test(test_keeper_leaves_alone),
		cmocka_unit_test(test_keeper_standby),
		cmocka_unit_test(test_keeper_tries_again),
		cmocka_unit_test(test_keeper_gives_up_waiting),
		cmocka_unit_test(test_keeper_writes_in_vain),
		cmocka_unit_test(test_keeper_writes_until_it_stays),
		cmocka_unit_test(test_keeper_puts_back),
		cmocka_unit_test(test_keeper_discovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
