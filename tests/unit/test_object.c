/* Observed objects: what is kept of an API object, and that the kept form survives the way over the bus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/object.h"
#include "tests/objects.h"

static json_t *parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	if (value == NULL)
		fail_msg("%s", err.message);
	return value;
}

#define POD_META                                                                                                \
	"\"metadata\":{\"namespace\":\"ns\",\"name\":\"fw-worker-0\",\"uid\":\"u1\",\"resourceVersion\":\"7\"," \
	"\"generation\":3,\"creationTimestamp\":\"2024-05-06T07:08:09Z\","                                      \
	"\"deletionTimestamp\":\"2024-05-06T07:09:09Z\",\"deletionGracePeriodSeconds\":30,"                     \
	"\"labels\":{\"FC_FRAMEWORK_NAME\":\"fw\"},"                                                            \
	"\"annotations\":{\"FC_TASK_UID\":\"t1\",\"FC_FRAMEWORK_ATTEMPT_INSTANCE_UID\":\"2_c1\","               \
	"\"FC_TASK_ATTEMPT_ID\":\"4\",\"other\":\"x\"},"                                                        \
	"\"ownerReferences\":[{\"kind\":\"Other\",\"name\":\"o\",\"uid\":\"uo\"},"                              \
	"{\"kind\":\"ConfigMap\",\"name\":\"fw-attempt\",\"uid\":\"c1\",\"controller\":true}]}"

static const char failed_pod[] =
	"{" POD_META ",\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Failed\",\"podIP\":\"10.0.0.1\","
	"\"hostIP\":\"10.1.0.1\",\"reason\":\"Evicted\",\"message\":\"no \\\"room\\\"\","
	"\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"exitCode\":137,\"signal\":9,"
	"\"reason\":\"OOMKilled\",\"message\":\"m\\u0000x\",\"finishedAt\":\"2024-05-06T07:08:59Z\"}}},"
	"{\"name\":\"side\",\"state\":{\"running\":{}}}],"
	"\"initContainerStatuses\":[{\"name\":\"barrier\",\"state\":{\"terminated\":{\"exitCode\":0}}}]}}";

static void check_failed_pod(const struct pod *pod)
{
	assert_string_equal(pod->meta.ns, "ns");
	assert_string_equal(pod->meta.name, "fw-worker-0");
	assert_string_equal(pod->meta.uid, "u1");
	assert_string_equal(pod->meta.resource_version, "7");
	assert_int_equal(pod->meta.generation, 3);
	assert_int_equal(pod->meta.deletion_time - pod->meta.creation_time, 60);
	assert_int_equal(pod->meta.deletion_grace_sec, 30);
	assert_string_equal(pod->meta.framework_name, "fw");
	assert_string_equal(pod->meta.controller_kind, "ConfigMap");
	assert_string_equal(pod->meta.controller_name, "fw-attempt");
	assert_string_equal(pod->meta.controller_uid, "c1");
	assert_string_equal(pod->task_uid, "t1");
	assert_string_equal(pod->framework_attempt_instance_uid, "2_c1");
	assert_int_equal(pod->task_attempt_id, 4);
	assert_int_equal(pod->phase, POD_FAILED);
	assert_string_equal(pod->node_name, "n1");
	assert_string_equal(pod->pod_ip, "10.0.0.1");
	assert_string_equal(pod->host_ip, "10.1.0.1");
	assert_string_equal(pod->reason, "Evicted");
	assert_string_equal(pod->message, "no \"room\"");
	assert_int_equal(pod->container_count, 3);
	assert_string_equal(pod->containers[0].name, "barrier"); /* init containers first */
	assert_true(pod->containers[0].terminated);
	assert_string_equal(pod->containers[1].name, "main");
	assert_int_equal(pod->containers[1].exit_code, 137);
	assert_int_equal(pod->containers[1].signal, 9);
	assert_string_equal(pod->containers[1].reason, "OOMKilled");
	assert_int_equal(pod->meta.deletion_time - pod->containers[1].finished_at, 10);
	assert_string_equal(pod->containers[2].name, "side");
	assert_false(pod->containers[2].terminated);
}

static void test_pod_round_trip(void **state)
{
	cleanup_json json_t *object = parse(failed_pod);
	cleanup_json json_t *again = NULL;
	cleanup_buf struct buf text = {0};
	struct error err;
	struct pod *pod = pod_parse(object, &err);
	struct pod *copy;

	(void)state;
	assert_non_null(pod);
	check_failed_pod(pod);
	pod_write(&text, pod);
	again = parse(text.data);
	assert_string_equal(object_framework_name(again), "fw");
	copy = pod_parse(again, &err);
	assert_non_null(copy);
	check_failed_pod(copy);
	assert_true(pod_same(pod, copy));
	pod_free(pod);
	pod_free(copy);
}

static void test_pod_details_only_when_over(void **state)
{
	cleanup_json json_t *object = parse("{" POD_META
					    ",\"status\":{\"phase\":\"Running\",\"reason\":\"r\",\"message\":\"m\","
					    "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{}}}]}}");
	struct pod *pod = pod_parse(object, NULL);

	(void)state;
	assert_int_equal(pod->phase, POD_RUNNING);
	assert_string_equal(pod->reason, "");
	assert_string_equal(pod->message, "");
	assert_int_equal(pod->container_count, 0);
	assert_string_equal(pod->node_name, "");
	pod_free(pod);
}

static void test_pod_phases(void **state)
{
	static const struct {
		const char *text;
		enum pod_phase phase;
	} cases[] = {
		{"Pending", POD_PENDING}, {"Running", POD_RUNNING}, {"Succeeded", POD_SUCCEEDED},
		{"Failed", POD_FAILED},   {"Unknown", POD_UNKNOWN}, {"Odd", POD_UNRECOGNIZED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = mem_printf("{" POD_META ",\"status\":{\"phase\":\"%s\"}}", cases[i].text);
		cleanup_json json_t *object = parse(text);
		cleanup_buf struct buf out = {0};
		cleanup_json json_t *again = NULL;
		struct pod *pod = pod_parse(object, NULL);
		struct pod *copy;

		assert_int_equal(pod->phase, cases[i].phase);
		pod_write(&out, pod);
		again = parse(out.data);
		copy = pod_parse(again, NULL);
		assert_int_equal(copy->phase, cases[i].phase);
		pod_free(pod);
		pod_free(copy);
	}
}

/* A Pod whose node is gone fails with no reason but that of a condition. */
static void test_disruption(void **state)
{
#define DISRUPTED(status)                                                                  \
	"\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"x\"},"       \
	"{\"type\":\"DisruptionTarget\",\"status\":\"" status "\",\"reason\":\"DeletionBy" \
	"PodGC\",\"message\":\"node gone\"}]"
	static const struct {
		const char *status;
		const char *reason;
		const char *message;
	} rows[] = {
		{"\"phase\":\"Failed\"," DISRUPTED("True"), "DeletionByPodGC", "node gone"},
		{DISRUPTED("True") ",\"phase\":\"Failed\",\"reason\":\"\"", "DeletionByPodGC", "node gone"},
		{"\"phase\":\"Failed\",\"message\":\"m\"," DISRUPTED("True"), "DeletionByPodGC", "m"},
		{"\"phase\":\"Failed\",\"reason\":\"Evicted\"," DISRUPTED("True"), "Evicted", ""},
		{"\"phase\":\"Failed\"," DISRUPTED("False"), "", ""},
		{"\"phase\":\"Succeeded\"," DISRUPTED("True"), "", ""},
		{"\"phase\":\"Running\"," DISRUPTED("True"), "", ""},
		{"\"phase\":\"Pending\"," DISRUPTED("True"), "", ""},
		{"\"phase\":\"Failed\",\"conditions\":[7,{}]", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *text = mem_printf("{" POD_META ",\"status\":{%s}}", rows[i].status);
		cleanup_buf struct buf kept = {0};
		struct pod *pod = pod_read(text, strlen(text), NULL);
		struct pod *copy;

		assert_non_null(pod);
		assert_string_equal(pod->reason, rows[i].reason);
		assert_string_equal(pod->message, rows[i].message);
		pod_write(&kept, pod);
		copy = pod_read(kept.data, kept.len, NULL);
		assert_true(pod_same(pod, copy));
		pod_free(pod);
		pod_free(copy);
	}
}

/* Init containers with restartPolicy Always, wherever the spec stands, however it is written; and on the bus. */
static void test_sidecars(void **state)
{
	static const char spec[] =
		"\"spec\":{\"initContainers\":[{\"name\":\"pr\\u006fxy\",\"image\":\"x\",\"restartPolicy\":"
		"\"Always\"},{\"name\":\"setup\",\"restartPolicy\":\"OnFailure\"},7,{\"name\":\"gone\","
		"\"restartPolicy\":\"Always\"},{\"restartPolicy\":\"Always\"}]}";
	static const char status[] = "\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\"},{}],"
				     "\"initContainerStatuses\":[{\"name\":\"setup\"},{\"name\":\"proxy\"}]}";

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		cleanup_free char *text = mem_printf("{" POD_META ",%s,%s}", turn == 0 ? spec : status,
						     turn == 0 ? status : spec);
		cleanup_buf struct buf out = {0};
		struct error err;
		struct pod *pod = pod_read(text, strlen(text), &err);
		struct pod *copy;

		assert_non_null(pod);
		pod_write(&out, pod);
		copy = pod_read(out.data, out.len, &err);
		assert_non_null(copy);
		assert_true(pod_same(pod, copy));
		assert_int_equal(copy->container_count, 4);
		assert_string_equal(copy->containers[1].name, "proxy");
		for (size_t i = 0; i < copy->container_count; i++)
			assert_int_equal(copy->containers[i].sidecar, i == 1);
		copy->containers[1].sidecar = false;
		assert_false(pod_same(pod, copy));
		buf_clear(&out);
		pod_write(&out, copy);
		assert_null(strstr(out.data, "sidecar"));
		pod_free(pod);
		pod_free(copy);
	}
}

/* Every kept part makes a difference, the resourceVersion none. */
static void test_pod_same(void **state)
{
	static const char *const changes[][2] = {
		{"\"uid\":\"u1\"", "\"uid\":\"u2\""},
		{"\"FC_FRAMEWORK_NAME\":\"fw\"", "\"FC_FRAMEWORK_NAME\":\"fx\""},
		{"T07:09:09Z", "T07:09:10Z"},
		{"\"deletionGracePeriodSeconds\":30", "\"deletionGracePeriodSeconds\":0"},
		{"\"t1\"", "\"t2\""},
		{"2_c1", "3_c1"},
		{"\"FC_TASK_ATTEMPT_ID\":\"4\"", "\"FC_TASK_ATTEMPT_ID\":\"5\""},
		{"\"uid\":\"c1\"", "\"uid\":\"c2\""},
		{"\"Failed\"", "\"Succeeded\""},
		{"\"n1\"", "\"n2\""},
		{"10.0.0.1", "10.0.0.2"},
		{"10.1.0.1", "10.1.0.2"},
		{"Evicted", "Elsewise"},
		{"room", "rooms"},
		{"137", "138"},
		{"\"signal\":9", "\"signal\":8"},
		{"OOMKilled", "Error"},
		{"T07:08:59Z", "T07:08:58Z"},
		{"\"side\"", "\"site\""},
	};
	cleanup_json json_t *object = parse(failed_pod);
	cleanup_json json_t *newer = json_deep_copy(object);
	struct pod *pod = pod_parse(object, NULL);
	struct pod *other;

	(void)state;
	json_object_set_new(json_object_get(newer, "metadata"), "resourceVersion", json_string("8"));
	other = pod_parse(newer, NULL);
	assert_true(pod_same(pod, other));
	pod_free(other);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		const char *at = strstr(failed_pod, changes[i][0]);
		cleanup_free char *text = NULL;
		cleanup_json json_t *changed = NULL;

		assert_non_null(at);
		text = mem_printf("%.*s%s%s", (int)(at - failed_pod), failed_pod, changes[i][1],
				  at + strlen(changes[i][0]));
		changed = parse(text);
		other = pod_parse(changed, NULL);
		if (pod_same(pod, other))
			fail_msg("%s -> %s makes no difference", changes[i][0], changes[i][1]);
		pod_free(other);
	}
	pod_free(pod);
}

static void test_config_map(void **state)
{
	cleanup_json json_t *object = parse(
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"fw-attempt\",\"uid\":\"c1\","
		"\"resourceVersion\":\"9\",\"labels\":{\"FC_FRAMEWORK_NAME\":\"fw\"},"
		"\"annotations\":{\"FC_FRAMEWORK_UID\":\"f1\",\"FC_FRAMEWORK_ATTEMPT_ID\":\"0\"},"
		"\"ownerReferences\":[{\"kind\":\"Framework\",\"name\":\"fw\",\"uid\":\"f1\",\"controller\":true}]}}");
	cleanup_buf struct buf text = {0};
	cleanup_json json_t *again = NULL;
	struct config_map *config_map = config_map_parse(object, NULL);
	struct config_map *copy;

	(void)state;
	config_map_write(&text, config_map);
	again = parse(text.data);
	copy = config_map_parse(again, NULL);
	assert_string_equal(copy->meta.controller_uid, "f1");
	assert_string_equal(copy->framework_uid, "f1");
	assert_int_equal(copy->attempt_id, 0);
	assert_string_equal(copy->meta.resource_version, "9");
	assert_true(config_map_same(config_map, copy));
	copy->attempt_id = 1;
	assert_false(config_map_same(config_map, copy));
	config_map_free(config_map);
	config_map_free(copy);
	config_map_free(NULL);
}

static void test_attempt_id_text(void **state)
{
	static const struct {
		const char *text;
		int32_t id;
	} cases[] = {
		{"\"0\"", 0},
		{"\"2147483647\"", INT32_MAX},
		{"\"2147483648\"", -1},
		{"\"-1\"", -1},
		{"\"1x\"", -1},
		{"\"\"", -1},
		{"\" 1\"", -1},
		{"\"99999999999999999999\"", -1},
		{"7", -1},
		{"\"1\\u0000\"", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = mem_printf("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"annotations\":"
						     "{\"FC_FRAMEWORK_ATTEMPT_ID\":%s}}}",
						     cases[i].text);
		cleanup_json json_t *object = parse(text);
		struct config_map *config_map = config_map_parse(object, NULL);

		assert_int_equal(config_map->attempt_id, cases[i].id);
		config_map_free(config_map);
	}
}

/* Values of any wrong type are as good as absent; only name and uid are needed. */
static void test_wrong_types(void **state)
{
	static const char *const without_identity[] = {
		"{}",
		"[]",
		"7",
		"{\"metadata\":7}",
		"{\"metadata\":{\"name\":\"a\"}}",
		"{\"metadata\":{\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":7,\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":\"\",\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":\"a\",\"uid\":\"\"}}",
		"{\"metadata\":{\"name\":\"a b\",\"uid\":\"u\"}}", /* of which no path can be made */
		"{\"metadata\":{\"name\":\"a/b\",\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":\"a?b\",\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":\"a\\\"b\",\"uid\":\"u\"}}", /* of which no JSON can be made */
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\\r\\nHost: x\",\"uid\":\"u\"}}",
	};
	cleanup_json json_t *odd = parse(
		"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"namespace\":1,\"labels\":[],\"annotations\":\"x\","
		"\"ownerReferences\":[7,{\"controller\":\"yes\"},{\"controller\":true,\"uid\":5}],"
		"\"deletionTimestamp\":12,\"generation\":\"2\"},\"spec\":[],"
		"\"status\":{\"phase\":\"Failed\",\"podIP\":{},\"containerStatuses\":[null,{\"state\":7},"
		"{\"state\":{\"terminated\":{\"exitCode\":99999999999,\"signal\":\"x\"}}}],"
		"\"initContainerStatuses\":{}}}");
	struct error err = {0};
	struct pod *pod;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(without_identity); i++) {
		cleanup_json json_t *object = parse(without_identity[i]);

		err.message[0] = '\0';
		assert_null(pod_parse(object, &err));
		assert_int_not_equal(strlen(err.message), 0);
		assert_null(config_map_parse(object, &err));
	}
	pod = pod_parse(odd, &err);
	assert_non_null(pod);
	assert_string_equal(pod->meta.ns, "");
	assert_string_equal(pod->meta.controller_uid, "");
	assert_int_equal(pod->meta.deletion_time, 0);
	assert_string_equal(pod->pod_ip, "");
	assert_int_equal(pod->container_count, 3);
	assert_false(pod->containers[1].terminated);
	assert_int_equal(pod->containers[2].exit_code, INT32_MAX);
	assert_null(object_framework_name(odd));
	pod_free(pod);
	pod_free(NULL);
}

/* A Pending Pod's reason not to run is kept, and the worst of several; others' are not. */
static void test_pod_waits(void **state)
{
#define WAITS(reason) "{\"name\":\"c\",\"state\":{\"waiting\":{\"reason\":\"" reason "\",\"message\":\"m\\n\"}}}"
#define UNSCHEDULED(status, reason)                                                               \
	"\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"Unschedulable\"}," \
	"{\"type\":\"PodScheduled\",\"status\":\"" status "\",\"reason\":\"" reason               \
	"\",\"message\":\"m\\n\",\"lastTransitionTime\":\"1970-01-01T00:01:40Z\"}]"
	static const struct {
		const char *status;
		int kind; /* -1: nothing is kept */
		const char *container;
		const char *reason;
		int64_t since;
	} rows[] = {
		{"\"phase\":\"Pending\",\"containerStatuses\":[" WAITS("ErrImagePull") "]", POD_WAIT_START, "c",
		 "ErrImagePull", 0},
		{"\"containerStatuses\":[" WAITS("ErrImagePull") "],\"phase\":\"Pending\"", POD_WAIT_START, "c",
		 "ErrImagePull", 0},
		{"\"phase\":\"Running\",\"containerStatuses\":[" WAITS("ErrImagePull") "]", -1, "", "", 0},
		{"\"containerStatuses\":[" WAITS("ErrImagePull") "]", -1, "", "", 0},
		{"\"phase\":\"Pending\",\"containerStatuses\":[" WAITS("ContainerCreating") "]", -1, "", "", 0},
		{"\"phase\":\"Pending\",\"containerStatuses\":[" WAITS("CrashLoopBackOff") "]", -1, "", "", 0},
		{"\"phase\":\"Pending\",\"initContainerStatuses\":[" WAITS("CrashLoopBackOff") "]", POD_WAIT_START, "c",
		 "CrashLoopBackOff", 0},
		{"\"phase\":\"Pending\",\"initContainerStatuses\":[" WAITS(
			 "ErrImagePull") "],\"containerStatuses\":[" WAITS("InvalidImageName") "," WAITS("ErrImageNever"
													 "Pull") "]",
		 POD_WAIT_NEVER, "c", "InvalidImageName", 0},
		{"\"phase\":\"Pending\"," UNSCHEDULED("False", "Unschedulable"), POD_WAIT_UNSCHEDULABLE, "",
		 "Unschedulable", 100},
		{"\"phase\":\"Pending\"," UNSCHEDULED("False", "SchedulingGated"), POD_WAIT_GATED, "",
		 "SchedulingGated", 100},
		{"\"phase\":\"Pending\"," UNSCHEDULED("True", "Unschedulable"), -1, "", "", 0},
		{"\"phase\":\"Pending\",\"conditions\":{},\"containerStatuses\":[7,{\"state\":7},{\"state\":{"
		 "\"waiting\":7}}]",
		 -1, "", "", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *text = mem_printf("{" POD_META ",\"status\":{%s}}", rows[i].status);
		struct pod *pod = pod_read(text, strlen(text), NULL);
		cleanup_buf struct buf kept = {0};
		struct pod *copy;

		assert_non_null(pod);
		if (rows[i].kind < 0) {
			assert_null(pod->wait);
		} else {
			assert_non_null(pod->wait);
			assert_int_equal(pod->wait->kind, rows[i].kind);
			assert_string_equal(pod->wait->container, rows[i].container);
			assert_string_equal(pod->wait->reason, rows[i].reason);
			assert_string_equal(pod->wait->message, "m\n");
			assert_int_equal(pod->wait->since, rows[i].since);
		}
		pod_write(&kept, pod); /* what travels on the bus */
		copy = pod_read(kept.data, kept.len, NULL);
		assert_non_null(copy);
		assert_true(pod_same(pod, copy));
		if (pod->wait != NULL) {
			copy->wait->message = "another";
			assert_false(pod_same(pod, copy));
			free(copy->wait);
			copy->wait = NULL;
			assert_false(pod_same(pod, copy));
		}
		pod_free(pod);
		pod_free(copy);
	}
}

/* That a Running Pod is ready is kept if others wait for that; then it is news. */
static void test_pod_ready(void **state)
{
#define WANTED "\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"annotations\":{\"FC_READY_WANTED\":\"true\"}}"
#define READY(phase, status)                                                                               \
	"\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"},{\"type\":\"Ready\"," \
	"\"status\":\"" status "\"}],\"phase\":\"" phase "\"}"
	static const struct {
		const char *text;
		bool wanted;
		bool ready;
	} rows[] = {
		{"{" WANTED "," READY("Running", "True") "}", true, true},
		{"{" WANTED "," READY("Running", "False") "}", true, false},
		{"{" WANTED "," READY("Pending", "True") "}", true, false},
		{"{" WANTED "," READY("Succeeded", "True") "}", true, false},
		{"{" WANTED ",\"status\":{\"phase\":\"Running\"}}", true, false},
		{"{" WANTED ",\"status\":{\"phase\":\"Running\",\"conditions\":[7,{\"type\":7,\"status\":{}}]}}", true,
		 false},
		{"{" POD_META "," READY("Running", "True") "}", false, false},
	};
	struct pod *pod;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_buf struct buf kept = {0};
		struct pod *copy;

		pod = pod_read(rows[i].text, strlen(rows[i].text), NULL);
		assert_non_null(pod);
		assert_int_equal(pod->ready_wanted, rows[i].wanted);
		assert_int_equal(pod->ready, rows[i].ready);
		pod_write(&kept, pod);
		copy = pod_read(kept.data, kept.len, NULL);
		assert_non_null(copy);
		assert_true(pod_same(pod, copy));
		copy->ready = !copy->ready;
		assert_false(pod_same(pod, copy));
		pod_free(pod);
		pod_free(copy);
	}
}

/* With " for '. */
static char *quoted(const char *text)
{
	char *out = mem_strdup(text);

	for (char *at = out; (at = strchr(at, '\'')) != NULL;)
		*at = '"';
	return out;
}

/* What comes behind metadata need not even be JSON. */
static void test_identity(void **state)
{
	static const struct {
		const char *text;
		const char *key; /* NULL: there is none */
		const char *version;
	} rows[] = {
		{"{'kind':'F','metadata':{'labels':{'a':{}},'name':'f','namespace':'n','resourceVersion':'7',", "n/f",
		 "7"},
		{"{'metadata':{'resourceVersion':'7','namespace':'\\u006e','uid':'u','name':'f'", "n/f", "7"},
		{"{'metadata':{'namespace':'n','resourceVersion':'7'}}", NULL, NULL},
		{"{'metadata':{'namespace':'n','name':7,'resourceVersion':'7'}}", NULL, NULL},
		{"{'metadata':[],'namespace':'n','name':'f','resourceVersion':'7'}", NULL, NULL},
		{"{'spec':{'metadata':{'namespace':'n','name':'f','resourceVersion':'7'}}}", NULL, NULL},
		{"{'spec':", NULL, NULL},
		{"", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *text = quoted(rows[i].text);
		struct object_identity identity;

		assert_int_equal(object_identity_read(text, strlen(text), &identity), rows[i].key != NULL);
		if (rows[i].key == NULL)
			continue;
		assert_string_equal(identity.key, rows[i].key);
		assert_string_equal(identity.resource_version, rows[i].version);
		object_identity_free(&identity);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pod_round_trip), cmocka_unit_test(test_pod_details_only_when_over),
		cmocka_unit_test(test_pod_phases),     cmocka_unit_test(test_pod_same),
		cmocka_unit_test(test_sidecars),       cmocka_unit_test(test_disruption),
		cmocka_unit_test(test_config_map),     cmocka_unit_test(test_attempt_id_text),
		cmocka_unit_test(test_wrong_types),    cmocka_unit_test(test_pod_waits),
		cmocka_unit_test(test_pod_ready),      cmocka_unit_test(test_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
