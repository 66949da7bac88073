/* The Lease on a server: what is written, and what follows from answers. The decisions themselves are in
 * test_election*, the names of processes in test_identity. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ev.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/leader/identity.h"
#include "common/leader/lease.h"
#include "tests/unit/http_server.h"
#include "tests/unit/named_process.h"

#define PATH "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
#define RECORD_PATH "/api/v1/namespaces/ns/configmaps"
#define GRANTS "frameworkcontroller.microsoft.com/leader-grants"
#define MEMBER "frameworkcontroller.microsoft.com/leader-member-lease-ms"
#define PROCESS "frameworkcontroller.microsoft.com/leader-process"

static const double limit_s = 60;

/* A Lease that is kept however rarely this process runs. */
enum { KEPT_MS = 100000, KEPT_RENEW_MS = 60000 };

struct fixture {
	struct ev_loop *loop;
	struct http_server server;
	struct kube_config config;
	struct kube_client *client;
	struct lease *lease;
	json_t *stored; /* NULL: none */
	json_t *record; /* the same */
	int version;
	size_t refuse;       /* so many requests are answered 403 */
	bool refuse_records; /* writes of the record are, too */
	size_t refused;
	bool silent; /* requests are not answered */
	size_t writes;
	size_t requests;
	int64_t lease_ms; /* 0: 2000 */
	/* what the owner was told */
	size_t led;
	size_t deposed;
	size_t released;
	size_t restored;
	uint64_t epoch;
	int64_t former_until_ms;
};

static void answer(struct http_conn *conn, int status, const char *reason)
{
	const char *name = strrchr(conn->path, '/') + 1;
	cleanup_free char *text = mem_printf("{\"kind\":\"Status\",\"reason\":\"%s\",\"code\":%d,\"message\":\"%s\","
					     "\"details\":{\"name\":\"%.*s\",\"kind\":\"%s\"}}",
					     reason, status, reason, (int)strcspn(name, "?"), name,
					     strstr(conn->path, "configmaps") != NULL ? "configmaps" : "leases");

	http_reply(conn, status, "", text);
}

static void store_at(struct fixture *f, json_t **stored, json_t *object)
{
	char version[16];

	snprintf(version, sizeof(version), "%d", ++f->version);
	json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", json_string(version));
	json_decref(*stored);
	*stored = object;
}

static void store(struct fixture *f, json_t *object)
{
	store_at(f, &f->stored, object);
}

static void on_request(void *arg, struct http_conn *conn)
{
	struct fixture *f = arg;
	bool creates = strcmp(conn->method, "POST") == 0;
	bool of_record = strncmp(conn->path, RECORD_PATH, strlen(RECORD_PATH)) == 0;
	json_t **stored = of_record ? &f->record : &f->stored;
	json_t *body;
	cleanup_free char *text = NULL;

	f->requests++;
	if (f->silent)
		return;
	if (f->refuse > 0) {
		f->refuse--;
		answer(conn, 403, "Forbidden");
		return;
	}
	if (of_record && f->refuse_records && strcmp(conn->method, "GET") != 0) {
		f->refused++;
		answer(conn, 403, "Forbidden");
		return;
	}
	if (!of_record)
		assert_memory_equal(conn->path, PATH, strlen(PATH));
	else if (!creates)
		assert_memory_equal(conn->path, RECORD_PATH "/x-epoch", strlen(RECORD_PATH "/x-epoch"));
	if (!creates && *stored == NULL) {
		answer(conn, 404, "NotFound");
		return;
	}
	if (strcmp(conn->method, "GET") != 0) {
		body = json_parse(conn->body, strlen(conn->body), NULL);
		assert_non_null(body);
		if (creates ? *stored != NULL
			    : strcmp(json_str(json_object_get(body, "metadata"), "resourceVersion"),
				     json_str(json_object_get(*stored, "metadata"), "resourceVersion")) != 0) {
			json_decref(body);
			answer(conn, 409, creates ? "AlreadyExists" : "Conflict");
			return;
		}
		f->writes += !of_record;
		store_at(f, stored, body);
	}
	text = json_text(*stored);
	http_reply(conn, creates ? 201 : 200, "", text);
}

static void on_led(void *arg, uint64_t epoch, int64_t former_until_ms)
{
	struct fixture *f = arg;

	f->led++;
	f->epoch = epoch;
	f->former_until_ms = former_until_ms;
	assert_true(lease_leads(f->lease));
}

static void on_deposed(void *arg)
{
	struct fixture *f = arg;

	f->deposed++;
	assert_false(lease_leads(f->lease));
}

static void on_restored(void *arg)
{
	((struct fixture *)arg)->restored++;
}

static void on_released(void *arg)
{
	((struct fixture *)arg)->released++;
}

static const struct lease_handler handler = {
	.led = on_led, .deposed = on_deposed, .restored = on_restored, .released = on_released};

static void start(struct fixture *f, enum election_grants grants)
{
	const struct kube_client_options client_options = {.user_agent = "test"};
	const struct lease_options options = {
		.ns = "ns",
		.name = "x",
		.election = {.lease_ms = f->lease_ms == 0 ? 2000 : f->lease_ms,
			     .renew_ms = f->lease_ms == KEPT_MS ? KEPT_RENEW_MS : 800,
			     .retry_ms = 30,
			     .member_ms = 700,
			     .margin_ms = 300,
			     .grants = grants},
	};
	struct error err;

	f->loop = ev_loop_new(0);
	http_server_start(&f->server, f->loop, on_request, f);
	f->config.server = f->server.address;
	f->client = kube_client_new(f->loop, &f->config, &client_options, &err);
	assert_non_null(f->client);
	f->lease = lease_new(f->loop, f->client, &options, &handler, f);
}

static void stop(struct fixture *f)
{
	lease_free(f->lease);
	kube_client_free(f->client);
	http_server_free(&f->server);
	ev_loop_destroy(f->loop);
	json_decref(f->stored);
	json_decref(f->record);
}

static const json_t *spec(const struct fixture *f)
{
	return json_object_get(f->stored, "spec");
}

static const char *recorded(const struct fixture *f, const char *name)
{
	return json_str(json_object_get(f->record, "data"), name);
}

static const char *note(const struct fixture *f, const char *name)
{
	return json_str(json_path(f->stored, "metadata", "annotations", NULL), name);
}

/* "2006-01-02T15:04:05.000000Z": MicroTime, of which servers take no other form. */
static void expect_micro_time(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddZ";

	assert_non_null(text);
	assert_int_equal(strlen(text), strlen(form));
	for (size_t i = 0; i < strlen(form); i++)
		assert_true(form[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i]);
}

/* ---- leading ---------------------------------------------------------------------------------------------------- */

static void test_leads_and_releases(void **state)
{
	struct fixture f = {.lease_ms = KEPT_MS};
	cleanup_free char *acquired = NULL;
	cleanup_free char *renewed = NULL;

	(void)state;
	start(&f, ELECTION_GRANTS_CHILDREN);
	assert_true(run_until_count(f.loop, &f.led, 1, limit_s));
	assert_int_equal(f.epoch, 1);
	assert_int_equal(f.former_until_ms, 0);
	assert_string_equal(recorded(&f, "epoch"), "1");
	assert_string_equal(recorded(&f, "holder"), lease_identity(f.lease));
	assert_string_equal(recorded(&f, "leaseMs"), "100000");
	assert_string_equal(recorded(&f, "memberLeaseMs"), "700");
	assert_string_equal(json_str(spec(&f), "holderIdentity"), lease_identity(f.lease));
	assert_int_equal(json_int(spec(&f), "leaseDurationSeconds", 0), 100);
	assert_int_equal(json_int(spec(&f), "leaseTransitions", 0), 1);
	assert_string_equal(note(&f, GRANTS), "children");
	assert_false(identity_process_ended(note(&f, PROCESS)));
	expect_micro_time(json_str(spec(&f), "renewTime"));
	acquired = mem_strdup(json_str(spec(&f), "acquireTime"));
	renewed = mem_strdup(json_str(spec(&f), "renewTime"));
	expect_micro_time(acquired);
	assert_true(run_until_count(f.loop, &f.writes, 3, limit_s));
	assert_string_equal(note(&f, MEMBER), "700");
	assert_string_equal(json_str(spec(&f), "acquireTime"), acquired);
	assert_string_not_equal(json_str(spec(&f), "renewTime"), renewed);
	assert_string_equal(lease_holder(f.lease), lease_identity(f.lease));

	lease_release(f.lease, true);
	assert_true(run_until_count(f.loop, &f.released, 1, limit_s));
	assert_null(json_object_get(spec(&f), "holderIdentity"));
	assert_string_equal(note(&f, GRANTS), "none");
	assert_int_equal(f.deposed, 0);
	assert_false(lease_leads(f.lease));
	stop(&f);
}

/* What others have written into it stays; a Lease that nobody noted anything in may have members alive. Members' leases
 * that no configuration allows are not waited for. */
static void test_takes_over_foreign(void **state)
{
	struct fixture f = {.lease_ms = KEPT_MS};

	(void)state;
	store_at(&f, &f.record,
		 json_pack("{s:{s:s,s:{s:s}},s:{s:s,s:s}}", "metadata", "name", "x-epoch", "labels", "a", "b", "data",
			   "epoch", "41", "strange", "member"));
	store(&f,
	      json_pack("{s:{s:s,s:s,s:{s:s},s:{s:s,s:s}},s:{s:s,s:i,s:o,s:s}}", "metadata", "name", "x", "namespace",
			"ns", "labels", "a", "b", "annotations", "c", "d", MEMBER, "99999999999", "spec",
			"holderIdentity", "", "leaseTransitions", 41, "renewTime", json_null(), "strange", "member"));
	start(&f, ELECTION_GRANTS_MEMBERS);
	assert_true(run_until_count(f.loop, &f.led, 1, limit_s));
	assert_int_equal(f.epoch, 42);
	assert_true(f.former_until_ms > clock_boot_ms() + 3500 * 1000);
	assert_true(f.former_until_ms <= clock_boot_ms() + 3600 * 1000 + 300);
	assert_string_equal(recorded(&f, "epoch"), "42");
	assert_string_equal(recorded(&f, "memberLeaseMs"), "3600000");
	assert_string_equal(recorded(&f, "strange"), "member");
	assert_string_equal(json_str(json_path(f.record, "metadata", "labels", NULL), "a"), "b");
	assert_string_equal(json_str(json_path(f.stored, "metadata", "labels", NULL), "a"), "b");
	assert_string_equal(note(&f, "c"), "d");
	assert_string_equal(json_str(spec(&f), "strange"), "member");
	stop(&f);
}

static void test_tries_again(void **state)
{
	struct fixture f = {.lease_ms = KEPT_MS, .refuse = 3};

	(void)state;
	start(&f, ELECTION_GRANTS_MEMBERS);
	assert_true(run_until_count(f.loop, &f.led, 1, limit_s));
	assert_int_equal(f.refuse, 0);
	stop(&f);
}

/* Somebody deleted the Lease: whom the record names may lead, until its Lease would have run out. Its numbers are
 * anybody's. */
static void test_lease_deleted(void **state)
{
	struct fixture f = {.lease_ms = KEPT_MS};
	int64_t started_ms = clock_boot_ms();

	(void)state;
	store_at(&f, &f.record,
		 json_pack("{s:{s:s},s:{s:s,s:s,s:s,s:s}}", "metadata", "name", "x-epoch", "data", "epoch",
			   "99999999999", "holder", "other", "leaseMs", "200", "memberLeaseMs", "99999999999"));
	start(&f, ELECTION_GRANTS_CHILDREN);
	assert_true(run_until_count(f.loop, &f.led, 1, limit_s));
	assert_true(clock_boot_ms() - started_ms >= 200);
	assert_int_equal(f.epoch, 1); /* behind the largest one */
	assert_true(f.former_until_ms > clock_boot_ms() + 3500 * 1000);
	assert_string_equal(recorded(&f, "holder"), lease_identity(f.lease));
	stop(&f);
}

/* Without the right to write the record it does not lead. */
static void test_record_refused(void **state)
{
	struct fixture f = {.lease_ms = KEPT_MS, .refuse_records = true};

	(void)state;
	start(&f, ELECTION_GRANTS_MEMBERS);
	assert_true(run_until_count(f.loop, &f.refused, 3, limit_s));
	assert_int_equal(f.led, 0);
	f.refuse_records = false;
	assert_true(run_until_count(f.loop, &f.led, 1, limit_s));
	stop(&f);
}

static void test_deposed_by_another(void **state)
{
	struct fixture f = {.lease_ms = KEPT_MS};
	json_t *other;
	json_t *record;

	(void)state;
	start(&f, ELECTION_GRANTS_MEMBERS);
	assert_true(run_until_count(f.loop, &f.led, 1, limit_s));
	other = json_deep_copy(f.stored);
	json_object_set_new(json_object_get(other, "spec"), "holderIdentity", json_string("other"));
	json_object_set_new(json_object_get(other, "spec"), "leaseTransitions", json_integer(2));
	json_object_set_new(json_object_get(other, "spec"), "leaseDurationSeconds", json_integer(2));
	json_object_set_new(json_path(other, "metadata", "annotations", NULL), PROCESS, json_string(""));
	store(&f, other);
	record = json_deep_copy(f.record);
	json_object_set_new(json_object_get(record, "data"), "leaseMs", json_string("2000"));
	store_at(&f, &f.record, record);
	assert_true(run_until_count(f.loop, &f.deposed, 1, limit_s));
	/* who renews it no more is followed by us, newer still */
	assert_true(run_until_count(f.loop, &f.led, 2, limit_s));
	assert_int_equal(f.epoch, 3);
	assert_true(f.former_until_ms > 0);
	stop(&f);
}

/* No answer comes any more: it stops by itself, while a request is on its way. */
static void test_deposed_by_silence(void **state)
{
	struct fixture f = {0};

	(void)state;
	start(&f, ELECTION_GRANTS_MEMBERS);
	assert_true(run_until_count(f.loop, &f.led, 1, limit_s));
	f.silent = true;
	assert_true(run_until_count(f.loop, &f.deposed, 1, limit_s));
	assert_false(lease_leads(f.lease));
	lease_release(f.lease, true); /* nothing is ours to give back: it is over once the request on its way is */
	assert_true(run_until_count(f.loop, &f.released, 1, limit_s));
	stop(&f);
}

static void test_stopped_while_it_takes_the_lease(void **state)
{
	struct fixture f = {0};

	(void)state;
	start(&f, ELECTION_GRANTS_MEMBERS);
	assert_true(run_until_count(f.loop, &f.writes, 1, limit_s));
	assert_non_null(json_object_get(spec(&f), "holderIdentity"));
	lease_release(f.lease, true);
	assert_true(run_until_count(f.loop, &f.released, 1, limit_s));
	assert_null(json_object_get(spec(&f), "holderIdentity"));
	assert_int_equal(f.led, 0);
	stop(&f);
}

static void test_freed_in_between(void **state)
{
	struct fixture f = {.silent = true};

	(void)state;
	start(&f, ELECTION_GRANTS_MEMBERS);
	assert_true(run_until_count(f.loop, &f.requests, 1, limit_s));
	stop(&f); /* with a request on its way */
	assert_int_equal(f.led, 0);
}

/* The store is what it was before: its leader, and one that waits, notice it by versions that went back. */
static void test_store_restored(void **state)
{
	static const bool others[] = {false, true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct fixture f = {.lease_ms = KEPT_MS, .version = 98};
		json_t *backup;
		size_t requests;

		start(&f, ELECTION_GRANTS_MEMBERS);
		assert_true(run_until_count(f.loop, &f.led, 1, limit_s));
		if (others[i])
			json_object_set_new(json_object_get(f.stored, "spec"), "holderIdentity", json_string("b"));
		backup = json_deep_copy(f.stored);
		store(&f, json_deep_copy(f.stored));
		requests = f.requests;
		assert_true(run_until_count(f.loop, &f.requests, requests + 3, limit_s));
		assert_int_equal(f.restored, 0);
		json_decref(f.stored);
		f.stored = backup;
		assert_true(run_until_count(f.loop, &f.restored, 1, limit_s));
		requests = f.requests;
		assert_true(run_until_count(f.loop, &f.requests, requests + 3, limit_s));
		assert_int_equal(f.restored, 1);
		stop(&f);
	}
}

/* Its holder was killed, on this machine: nobody waits for the Lease to run out, nor for its children. */
static void test_holder_dead(void **state)
{
	struct fixture f = {0};
	char name[ELECTION_PROCESS_SIZE];
	pid_t pid = start_process(name, sizeof(name));
	size_t reads;

	(void)state;
	store_at(&f, &f.record,
		 json_pack("{s:{s:s},s:{s:s,s:s}}", "metadata", "name", "x-epoch", "data", "epoch", "4", "holder",
			   "other"));
	store(&f, json_pack("{s:{s:s,s:{s:s,s:s,s:s}},s:{s:s,s:i,s:i,s:s}}", "metadata", "name", "x", "annotations",
			    GRANTS, "children", MEMBER, "5000", PROCESS, name, "spec", "holderIdentity", "other",
			    "leaseTransitions", 4, "leaseDurationSeconds", 3600, "renewTime",
			    "2026-01-01T00:00:00.000000Z"));
	start(&f, ELECTION_GRANTS_CHILDREN);
	reads = f.requests;
	assert_true(run_until_count(f.loop, &f.requests, reads + 4, limit_s));
	assert_int_equal(f.led, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(run_until_count(f.loop, &f.led, 1, limit_s));
	assert_int_equal(f.epoch, 5);
	assert_int_equal(f.former_until_ms, 0);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leads_and_releases),
		cmocka_unit_test(test_takes_over_foreign),
		cmocka_unit_test(test_tries_again),
		cmocka_unit_test(test_lease_deleted),
		cmocka_unit_test(test_store_restored),
		cmocka_unit_test(test_record_refused),
		cmocka_unit_test(test_deposed_by_another),
		cmocka_unit_test(test_deposed_by_silence),
		cmocka_unit_test(test_stopped_while_it_takes_the_lease),
		cmocka_unit_test(test_freed_in_between),
		cmocka_unit_test(test_holder_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
