/* The test kubelet against the test API server, both in this process: the whole life of Pods, and what happens when
 * calls fail, answers are lost, or Pods change under its hands. Every wait is for a condition, and bounded. */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/kube/client.h"
#include "tests/cluster/testapi/api.h"
#include "tests/cluster/testapi/http.h"
#include "tests/cluster/testkubelet/kubelet.h"
#include "tests/cluster/testkubelet/launch.h"
#include "tests/cluster/testkubelet/runtime.h"
#include "tests/unit/temp.h"

enum { PATIENCE_MS = 30000, CALL_TIMEOUT_MS = 10000 };

#define PODS "/api/v1/namespaces/default/pods"

struct cluster {
	struct ev_loop *loop;
	struct api *api;
	struct api_http *http;
	struct kube_config config;
	struct kube_client *own; /* the test's */
	struct kube_client *client;
	struct kubelet *kubelet;
	struct kubelet_options options;
	char root[TEMP_PATH_SIZE]; /* "" unless Pods are real */
};

static void start_kubelet(struct cluster *cluster)
{
	static const struct kube_client_options options = {.user_agent = "kubelet/1"};
	struct error err;

	cluster->client = kube_client_new(cluster->loop, &cluster->config, &options, &err);
	assert_non_null(cluster->client);
	cluster->kubelet = kubelet_new(cluster->loop, cluster->client, &cluster->options);
	kubelet_start(cluster->kubelet);
}

static void stop_kubelet(struct cluster *cluster)
{
	kubelet_stop(cluster->kubelet);
	while (kubelet_processes_left(cluster->kubelet) > 0)
		ev_run(cluster->loop, EVRUN_ONCE);
	kube_client_free(cluster->client);
	kubelet_free(cluster->kubelet);
}

static int open_cluster(void **state)
{
	static const struct kube_client_options options = {.user_agent = "test/1"};
	static const struct api_options api_options = {0};
	struct cluster *cluster = mem_calloc(1, sizeof(*cluster));
	cleanup_free char *address = NULL;
	struct error err;

	*state = cluster;
	cluster->loop = ev_default_loop(0);
	cluster->api = api_new(cluster->loop, &api_options, &err);
	cluster->http = api_http_new(cluster->api, "127.0.0.1", 0, &err);
	assert_non_null(cluster->http);
	address = mem_printf("http://127.0.0.1:%d", api_http_port(cluster->http));
	assert_int_equal(kube_config_load(address, NULL, NULL, &cluster->config, &err), 0);
	cluster->own = kube_client_new(cluster->loop, &cluster->config, &options, &err);
	assert_non_null(cluster->own);
	cluster->options = (struct kubelet_options){.nodes = {.base = "node", .count = 2}, .max_calls = 8};
	return 0;
}

static int close_cluster(void **state)
{
	struct cluster *cluster = *state;

	stop_kubelet(cluster);
	kube_client_free(cluster->own);
	api_http_free(cluster->http);
	api_free(cluster->api);
	kube_config_free(&cluster->config);
	if (cluster->root[0] != '\0')
		runtime_remove_tree(cluster->root);
	free(cluster);
	return 0;
}

/* ---- talking to the server --------------------------------------------------------------------------------------- */

/* The answer's code; *out (if not NULL) its body, which the caller decrefs. */
static int call(struct cluster *cluster, const char *method, const char *path, const char *body, json_t **out)
{
	const struct kube_request request = {
		.method = method,
		.path = path,
		.body = body,
		.body_len = body == NULL ? 0 : strlen(body),
		.timeout_ms = CALL_TIMEOUT_MS,
	};
	struct kube_answer answer;
	struct error err;
	int status;

	kube_client_call_wait(cluster->own, &request, &answer);
	status = answer.http_status;
	if (answer.failure != KUBE_OK)
		fail_msg("%s", answer.message);
	if (out != NULL)
		*out = json_parse(answer.body, answer.body_len, &err);
	kube_answer_free(&answer);
	return status;
}

static void create_pod(struct cluster *cluster, const char *name, const char *annotations)
{
	cleanup_free char *body = mem_printf(
		"{\"metadata\":{\"name\":\"%s\",\"annotations\":{%s}},\"spec\":{\"restartPolicy\":\"Never\","
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
		name, annotations);

	assert_int_equal(call(cluster, "POST", PODS, body, NULL), 201);
}

static json_t *get_pod(struct cluster *cluster, const char *name)
{
	cleanup_free char *path = mem_printf(PODS "/%s", name);
	json_t *pod;

	if (call(cluster, "GET", path, NULL, &pod) == 200)
		return pod;
	json_decref(pod);
	return NULL;
}

static void delete_pod(struct cluster *cluster, const char *name, const char *options)
{
	cleanup_free char *path = mem_printf(PODS "/%s", name);

	assert_int_equal(call(cluster, "DELETE", path, options, NULL), 200);
}

static void set_fault(struct cluster *cluster, const char *fault)
{
	assert_int_equal(call(cluster, "POST", "/fc-testapi/faults", fault, NULL), 201);
}

/* "" when the Pod is not there. */
static bool phase_is(struct cluster *cluster, const char *name, const char *phase)
{
	cleanup_json json_t *pod = get_pod(cluster, name);
	const char *found = json_str(json_object_get(pod, "status"), "phase");

	return strcmp(found == NULL ? "" : found, phase) == 0;
}

static void await_phase(struct cluster *cluster, const char *name, const char *phase)
{
	int64_t deadline = clock_boot_ms() + PATIENCE_MS;

	while (!phase_is(cluster, name, phase))
		if (clock_boot_ms() > deadline)
			fail_msg("Pod %s does not become \"%s\"", name, phase);
}

static void await_count(struct cluster *cluster, const uint64_t *count, uint64_t wanted, const char *what)
{
	int64_t deadline = clock_boot_ms() + PATIENCE_MS;

	for (;;) {
		struct kubelet_counts counts = kubelet_counts(cluster->kubelet);
		uint64_t found = *(const uint64_t *)((const char *)&counts + (size_t)count);

		if (found == wanted)
			return;
		if (clock_boot_ms() > deadline)
			fail_msg("%s: found %llu, expected %llu", what, (unsigned long long)found,
				 (unsigned long long)wanted);
		/* Anything that takes the loop once around. */
		call(cluster, "GET", "/version", NULL, NULL);
	}
}
#define AWAIT_COUNT(cluster, member, wanted) \
	await_count(cluster, (const uint64_t *)offsetof(struct kubelet_counts, member), wanted, #member)

static char *pod_ip(struct cluster *cluster, const char *name)
{
	cleanup_json json_t *pod = get_pod(cluster, name);

	return mem_strdup(json_str(json_object_get(pod, "status"), "podIP"));
}

/* ---- scripted Pods ----------------------------------------------------------------------------------------------- */

static void a_pod_runs_to_its_end(void **state)
{
	struct cluster *cluster = *state;
	cleanup_json json_t *pod = NULL;
	const json_t *status, *terminated;

	start_kubelet(cluster);
	create_pod(cluster, "p", "\"testkubelet/run-seconds\":\"0.01\",\"testkubelet/exit-code\":\"210\"");
	await_phase(cluster, "p", "Failed");
	pod = get_pod(cluster, "p");
	status = json_object_get(pod, "status");
	terminated = json_path(json_array_get(json_object_get(status, "containerStatuses"), 0), "state", "terminated",
			       NULL);
	assert_int_equal(json_int(terminated, "exitCode", -1), 210);
	assert_string_equal(json_str(status, "podIP"), "10.0.0.1");
	assert_string_equal(json_str(json_object_get(pod, "spec"), "nodeName"), "node-0");
	delete_pod(cluster, "p", NULL);
	await_phase(cluster, "p", "");
	assert_int_equal(kubelet_counts(cluster->kubelet).statuses, 2);
	assert_int_equal(kubelet_counts(cluster->kubelet).errors, 0);
}

static void phases_can_be_held(void **state)
{
	struct cluster *cluster = *state;
	cleanup_json json_t *held = NULL, *pending = NULL, *stubborn = NULL;

	start_kubelet(cluster);
	create_pod(cluster, "held", "\"testkubelet/phase\":\"hold\"");
	create_pod(cluster, "pending", "\"testkubelet/phase\":\"pending\"");
	create_pod(cluster, "stubborn", "\"testkubelet/ignore-termination\":\"true\"");
	await_phase(cluster, "stubborn", "Running");
	AWAIT_COUNT(cluster, statuses, 2);
	held = get_pod(cluster, "held");
	pending = get_pod(cluster, "pending");
	assert_null(json_str(json_object_get(held, "spec"), "nodeName"));
	assert_string_equal(json_str(json_object_get(pending, "status"), "phase"), "Pending");
	assert_non_null(json_str(json_object_get(pending, "status"), "startTime"));
	delete_pod(cluster, "held", NULL);
	delete_pod(cluster, "stubborn", NULL);
	delete_pod(cluster, "pending", NULL);
	await_phase(cluster, "pending", "");
	await_phase(cluster, "held", "");
	stubborn = get_pod(cluster, "stubborn");
	assert_non_null(json_str(json_object_get(stubborn, "metadata"), "deletionTimestamp"));
	delete_pod(cluster, "stubborn", "{\"gracePeriodSeconds\":0}");
	await_phase(cluster, "stubborn", "");
	AWAIT_COUNT(cluster, pods, 0);
}

static void capacity_makes_others_wait(void **state)
{
	struct cluster *cluster = *state;
	int running = 0;
	size_t i;
	json_t *list, *item;

	cluster->options.capacity = 2;
	start_kubelet(cluster);
	create_pod(cluster, "a", "\"testkubelet/run-seconds\":\"forever\"");
	create_pod(cluster, "b", "\"testkubelet/run-seconds\":\"forever\"");
	await_phase(cluster, "a", "Running");
	await_phase(cluster, "b", "Running");
	for (char name[] = "c"; name[0] <= 'g'; name[0]++)
		create_pod(cluster, name, "\"testkubelet/run-seconds\":\"forever\"");
	AWAIT_COUNT(cluster, pods, 7);
	/* One that ends makes room for one, one that is deleted too; those that wait go in order. */
	delete_pod(cluster, "a", NULL);
	await_phase(cluster, "c", "Running");
	delete_pod(cluster, "d", NULL);
	delete_pod(cluster, "b", NULL);
	await_phase(cluster, "e", "Running");
	call(cluster, "GET", PODS, NULL, &list);
	json_array_foreach(json_object_get(list, "items"), i, item) {
		running += strcmp(json_str(json_object_get(item, "status"), "phase"), "Running") == 0;
	}
	json_decref(list);
	assert_int_equal(running, 2);
}

/* A status written twice is harmless; a Pod that nobody goes on with, or that is bound and never run, is not. */
static void failed_calls_are_made_again(void **state)
{
	static const char *const calls[] = {
		"\"method\":\"POST\",\"subresource\":\"binding\"",
		"\"method\":\"PATCH\",\"subresource\":\"status\"",
		"\"method\":\"DELETE\",\"resource\":\"pods\"",
		"\"method\":\"GET\",\"resource\":\"pods\",\"name\":\"p\"",
	};
	static const char *const actions[] = {
		"{\"status\":409,\"reason\":\"Conflict\"}",
		"{\"status\":500,\"reason\":\"InternalError\"}",
		"{\"status\":429,\"reason\":\"TooManyRequests\"}",
		"{\"cut\":true}",
		"{\"cutAnswer\":true}",
	};
	struct cluster *cluster = *state;
	uint64_t errors = 0;

	start_kubelet(cluster);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		for (size_t j = 0; j < ARRAY_LEN(actions); j++) {
			cleanup_free char *fault = mem_printf("{\"match\":{\"userAgent\":\"kubelet\",%s},\"count\":2,"
							      "\"action\":%s}",
							      calls[i], actions[j]);

			/* Two of these calls in a row fail; a DELETE that conflicts is one for another Pod. */
			if (i == 2 && j == 0)
				continue;
			if (i == 3)
				set_fault(cluster, "{\"match\":{\"userAgent\":\"kubelet\",\"subresource\":\"status\"},"
						   "\"count\":1,\"action\":{\"status\":409,\"reason\":\"Conflict\"}}");
			set_fault(cluster, fault);
			/* A Pod that is over would be deleted without the kubelet. */
			create_pod(cluster, "p", i == 2 ? "" : "\"testkubelet/run-seconds\":\"0\"");
			await_phase(cluster, "p", i == 2 ? "Running" : "Succeeded");
			delete_pod(cluster, "p", NULL);
			await_phase(cluster, "p", "");
			AWAIT_COUNT(cluster, pods, 0);
			assert_int_equal(call(cluster, "DELETE", "/fc-testapi/faults", NULL, NULL), 200);
			/* The fault did strike; the event of a deletion may come before the cut of its answer. */
			if (!(i == 2 && j == 4) && kubelet_counts(cluster->kubelet).errors <= errors)
				fail_msg("%s %s: no call has failed", calls[i], actions[j]);
			errors = kubelet_counts(cluster->kubelet).errors;
		}
	}
}

/* What a test counts on most: that a Pod's status is its own. The kubelet is kept from writing the first Pod's, and
 * from seeing that it goes and that another of its name comes. */
static void a_late_status_does_not_hit_a_namesake(void **state)
{
	struct cluster *cluster = *state;
	cleanup_json json_t *before = NULL, *after = NULL;

	start_kubelet(cluster);
	set_fault(cluster, "{\"match\":{\"subresource\":\"status\"},\"action\":{\"status\":503}}");
	create_pod(cluster, "p", "");
	AWAIT_COUNT(cluster, bound, 1);
	set_fault(cluster, "{\"match\":{\"verb\":\"watch\"},\"action\":{\"freezeWatches\":true}}");
	delete_pod(cluster, "p", "{\"gracePeriodSeconds\":0}");
	create_pod(cluster, "p", "\"testkubelet/phase\":\"hold\"");
	before = get_pod(cluster, "p");
	assert_int_equal(call(cluster, "DELETE", "/fc-testapi/faults/1", NULL, NULL), 200);
	AWAIT_COUNT(cluster, deleted, 1);
	after = get_pod(cluster, "p");
	assert_string_equal(json_str(json_object_get(before, "metadata"), "resourceVersion"),
			    json_str(json_object_get(after, "metadata"), "resourceVersion"));
}

static void pods_of_other_nodes_are_left_alone(void **state)
{
	struct cluster *cluster = *state;

	start_kubelet(cluster);
	assert_int_equal(call(cluster, "POST", PODS,
			      "{\"metadata\":{\"name\":\"other\"},\"spec\":{\"nodeName\":\"elsewhere\",\"containers\":"
			      "[{\"name\":\"c\",\"image\":\"i\",\"command\":[\"true\"]}]}}",
			      NULL),
			 201);
	assert_int_equal(call(cluster, "POST", PODS,
			      "{\"metadata\":{\"name\":\"mine\"},\"spec\":{\"nodeName\":\"node-1\",\"containers\":"
			      "[{\"name\":\"c\",\"image\":\"i\",\"command\":[\"sleep\",\"0\"]}]}}",
			      NULL),
			 201);
	await_phase(cluster, "mine", "Succeeded");
	assert_true(phase_is(cluster, "other", "Pending"));
	delete_pod(cluster, "other", NULL);
	delete_pod(cluster, "mine", NULL);
	await_phase(cluster, "mine", "");
	assert_true(phase_is(cluster, "other", "Pending"));
	delete_pod(cluster, "other", "{\"gracePeriodSeconds\":0}");
}

static void namespaces_can_be_left_to_others(void **state)
{
	static const char pod[] =
		"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";
	struct cluster *cluster = *state;
	cleanup_json json_t *other = NULL;

	assert_int_equal(call(cluster, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"other\"}}", NULL), 201);
	cluster->options.only_namespace = "default";
	for (int i = 0; i < 2; i++) {
		start_kubelet(cluster);
		assert_int_equal(call(cluster, "POST", "/api/v1/namespaces/other/pods", pod, NULL), i == 0 ? 201 : 409);
		create_pod(cluster, "p", "");
		await_phase(cluster, "p", "Running");
		delete_pod(cluster, "p", NULL);
		await_phase(cluster, "p", "");
		call(cluster, "GET", "/api/v1/namespaces/other/pods/p", NULL, &other);
		assert_null(json_str(json_object_get(other, "spec"), "nodeName"));
		json_decref(other);
		other = NULL;
		if (i == 0)
			stop_kubelet(cluster);
		cluster->options.only_namespace = NULL;
		cluster->options.not_namespace = "other";
	}
}

static void a_new_kubelet_goes_on_with_running_pods(void **state)
{
	struct cluster *cluster = *state;
	cleanup_free char *before = NULL, *after = NULL, *other = NULL;

	start_kubelet(cluster);
	create_pod(cluster, "long", "\"testkubelet/run-seconds\":\"3600\"");
	create_pod(cluster, "short", "\"testkubelet/run-seconds\":\"1.5\"");
	await_phase(cluster, "long", "Running");
	await_phase(cluster, "short", "Running");
	before = pod_ip(cluster, "long");
	stop_kubelet(cluster);
	create_pod(cluster, "new", "");
	start_kubelet(cluster);
	await_phase(cluster, "new", "Running");
	await_phase(cluster, "short", "Succeeded");
	after = pod_ip(cluster, "long");
	other = pod_ip(cluster, "new");
	assert_string_equal(before, after);
	assert_string_not_equal(before, other);
	/* Only what changed was written: "new" runs, "short" has ended. */
	assert_int_equal(kubelet_counts(cluster->kubelet).statuses, 2);
	delete_pod(cluster, "long", NULL);
	await_phase(cluster, "long", "");
}

static void a_gap_in_the_stream_hides_no_deletion(void **state)
{
	struct cluster *cluster = *state;

	start_kubelet(cluster);
	create_pod(cluster, "a", "");
	create_pod(cluster, "b", "");
	await_phase(cluster, "a", "Running");
	await_phase(cluster, "b", "Running");
	set_fault(cluster,
		  "{\"match\":{\"verb\":\"watch\",\"resource\":\"pods\"},\"action\":{\"freezeWatches\":true}}");
	delete_pod(cluster, "a", "{\"gracePeriodSeconds\":0}");
	create_pod(cluster, "c", "\"testkubelet/run-seconds\":\"0\"");
	assert_int_equal(call(cluster, "POST", "/fc-testapi/compact", "{}", NULL), 200);
	call(cluster, "POST", "/fc-testapi/watches", "{\"match\":{\"resource\":\"pods\"},\"do\":\"expire\"}", NULL);
	assert_int_equal(call(cluster, "DELETE", "/fc-testapi/faults", NULL, NULL), 200);
	await_phase(cluster, "c", "Succeeded");
	AWAIT_COUNT(cluster, pods, 2);
	assert_true(phase_is(cluster, "b", "Running"));
}

static void nodes_are_registered(void **state)
{
	struct cluster *cluster = *state;
	int64_t deadline = clock_boot_ms() + PATIENCE_MS;
	bool ready = false;

	cluster->options.register_nodes = true;
	start_kubelet(cluster);
	while (!ready && clock_boot_ms() < deadline) {
		cleanup_json json_t *node = NULL;

		call(cluster, "GET", "/api/v1/nodes/node-1", NULL, &node);
		ready = json_array_size(json_path(node, "status", "conditions", NULL)) == 4;
	}
	assert_true(ready);
}

/* ---- real Pods --------------------------------------------------------------------------------------------------- */

static void start_real_kubelet(struct cluster *cluster)
{
	temp_directory(cluster->root);
	cluster->options.real = true;
	cluster->options.root = cluster->root;
	start_kubelet(cluster);
}

static void a_real_pod_tells_how_it_ended_before_it_goes(void **state)
{
	struct cluster *cluster = *state;
	cleanup_json json_t *pod = NULL;
	const json_t *terminated;

	start_real_kubelet(cluster);
	assert_int_equal(call(cluster, "POST", PODS,
			      "{\"metadata\":{\"name\":\"p\",\"finalizers\":[\"test/keep\"]},\"spec\":{\"containers\":"
			      "[{\"name\":\"c\",\"image\":\"i\",\"command\":[\"sleep\",\"1000\"]}]}}",
			      NULL),
			 201);
	await_phase(cluster, "p", "Running");
	delete_pod(cluster, "p", NULL);
	await_phase(cluster, "p", "Failed");
	pod = get_pod(cluster, "p");
	terminated = json_path(json_array_get(json_path(pod, "status", "containerStatuses", NULL), 0), "state",
			       "terminated", NULL);
	assert_int_equal(json_int(terminated, "exitCode", -1), 143);
	AWAIT_COUNT(cluster, deleted, 1);
	/* Running, and the end: each is told once. */
	assert_int_equal(kubelet_counts(cluster->kubelet).statuses, 2);
	assert_int_equal(kubelet_processes_left(cluster->kubelet), 0);
}

/* As stateful Frameworks need it: each finds the other by the name that its index gives it. */
static void peers_find_each_other_by_name(void **state)
{
	static const char *const names[] = {"x", "y"};
	struct cluster *cluster = *state;

	if (!launch_can_isolate()) {
		start_kubelet(cluster);
		skip();
	}
	start_real_kubelet(cluster);
	assert_int_equal(call(cluster, "POST", "/api/v1/namespaces/default/services",
			      "{\"metadata\":{\"name\":\"front\"},\"spec\":{\"clusterIP\":\"None\",\"selector\":{"
			      "\"app\":\"s\"}}}",
			      NULL),
			 201);
	assert_int_equal(call(cluster, "POST", "/api/v1/namespaces/default/services",
			      "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"clusterIP\":\"None\",\"selector\":{"
			      "\"app\":\"s\"}}}",
			      NULL),
			 201);
	/* one that does not give them names */
	assert_int_equal(call(cluster, "POST", "/api/v1/namespaces/default/services",
			      "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"selector\":{\"app\":\"s\"}}}", NULL),
			 201);
	assert_int_equal(
		call(cluster, "POST", PODS,
		     "{\"metadata\":{\"name\":\"z\",\"labels\":{\"app\":\"s\"}},\"spec\":{\"hostname\":\"h-9\","
		     "\"subdomain\":\"t\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"command\":[\"sleep\","
		     "\"1000\"]}]}}",
		     NULL),
		201);
	await_phase(cluster, "z", "Running");
	for (int i = 0; i < 2; i++) {
		/* A Pod's names end with it: neither may end before the other has found it. */
		cleanup_free char *body = mem_printf(
			"{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"s\"}},\"spec\":{\"hostname\":\"h-%d\","
			"\"subdomain\":\"s\",\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":"
			"\"i\","
			"\"command\":[\"sh\",\"-c\",\"until grep -q ' h-%d.s ' /etc/hosts && grep -q ' front ' "
			"/etc/hosts; do sleep 0.01; done; ! grep ' h-9.t ' /etc/hosts || exit 1; touch /mnt/fc/%d; "
			"until test -e /mnt/fc/%d; do sleep 0.01; "
			"done\"],\"volumeMounts\":[{\"name\":\"g\",\"mountPath\":\"/mnt/fc\"}]}],\"volumes\":[{"
			"\"name\":\"g\",\"hostPath\":{\"path\":\"%s\"}}]}}",
			names[i], i, 1 - i, i, 1 - i, cluster->root);

		assert_int_equal(call(cluster, "POST", PODS, body, NULL), 201);
	}
	await_phase(cluster, "x", "Succeeded");
	await_phase(cluster, "y", "Succeeded");
	delete_pod(cluster, "x", NULL);
	delete_pod(cluster, "y", NULL);
	delete_pod(cluster, "z", NULL);
	AWAIT_COUNT(cluster, pods, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_cluster, close_cluster)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pod_runs_to_its_end),
		TEST(phases_can_be_held),
		TEST(capacity_makes_others_wait),
		TEST(failed_calls_are_made_again),
		TEST(a_late_status_does_not_hit_a_namesake),
		TEST(pods_of_other_nodes_are_left_alone),
		TEST(namespaces_can_be_left_to_others),
		TEST(a_new_kubelet_goes_on_with_running_pods),
		TEST(a_gap_in_the_stream_hides_no_deletion),
		TEST(nodes_are_registered),
		TEST(a_real_pod_tells_how_it_ended_before_it_goes),
		TEST(peers_find_each_other_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
