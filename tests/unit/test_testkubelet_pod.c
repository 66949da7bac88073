/* The test kubelet's pure parts about a Pod: environment, command, status patch, names and addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/address.h"
#include "tests/cluster/testkubelet/hosts.h"
#include "tests/cluster/testkubelet/podenv.h"
#include "tests/cluster/testkubelet/podstatus.h"

static const struct podenv_facts facts = {.node_name = "node-3", .pod_ip = "10.0.0.7", .host_ip = "172.16.0.1"};

static json_t *load(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	if (value == NULL)
		fail_msg("%s: %s", text, err.message);
	return value;
}

/* The rows of k8s.io/kubernetes/third_party/forked/golang/expansion's own test. */
static void references_expand_as_in_kubernetes(void **state)
{
	static const struct {
		const char *input, *expected;
	} rows[] = {
		{"$(VAR_A)", "A"},
		{"___$(VAR_B)___", "___B___"},
		{"$(VAR_A)_$(VAR_B)", "A_B"},
		{"$$(VAR_B)_$(VAR_A)", "$(VAR_B)_A"},
		{"$$$(VAR_A)", "$A"},
		{"f000-$$VAR_A", "f000-$VAR_A"},
		{"foo\\$(VAR_C)bar", "foo\\Cbar"},
		{"foo$$var", "foo$var"},
		{"$(MISSING)", "$(MISSING)"},
		{"$(VAR_EMPTY)", ""},
		{"$(VAR_A", "$(VAR_A"},
		{"$()", "$()"},
		{"$VAR_A$", "$VAR_A$"},
		{"$$$$$", "$$$"},
		{"", ""},
		{"$(VAR_DASH-1)", "dash"},
	};
	struct podenv env = {0};

	(void)state;
	podenv_set(&env, "VAR_A", "A");
	podenv_set(&env, "VAR_B", "x");
	podenv_set(&env, "VAR_B", "B");
	podenv_set(&env, "VAR_C", "C");
	podenv_set(&env, "VAR_EMPTY", "");
	podenv_set(&env, "VAR_DASH-1", "dash");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *text = podenv_expand(&env, rows[i].input);

		assert_string_equal(text, rows[i].expected);
	}
	podenv_free(&env);
}

static void fields_of_the_pod_are_found(void **state)
{
	static const struct {
		const char *path, *expected;
	} rows[] = {
		{"metadata.name", "p"},
		{"metadata.namespace", "ns"},
		{"metadata.uid", "u-1"},
		{"metadata.labels['a']", "1"},
		{"metadata.labels['none']", ""},
		{"metadata.annotations['x.y/z']", "it's"},
		{"metadata.labels", "a=\"1\"\nb=\"2\""},
		{"spec.nodeName", "node-3"},
		{"spec.serviceAccountName", ""},
		{"status.podIP", "10.0.0.7"},
		{"status.podIPs", "10.0.0.7"},
		{"status.hostIP", "172.16.0.1"},
		{"spec.containers", NULL},
		{"metadata.labelsX", NULL},
		{"metadata.labels['", NULL},
	};
	cleanup_json json_t *pod = load("{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u-1\",\"labels\":"
					"{\"b\":\"2\",\"a\":\"1\"},\"annotations\":{\"x.y/z\":\"it's\"}}}");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *value = podenv_field(pod, rows[i].path, &facts);

		if (rows[i].expected == NULL)
			assert_null(value);
		else
			assert_string_equal(value, rows[i].expected);
	}
}

/* As the controller writes it: FC_TASK_ATTEMPT_INSTANCE_UID refers to the fieldRef before it. */
static void the_environment_is_built_in_order(void **state)
{
	cleanup_json json_t *pod = load("{\"metadata\":{\"uid\":\"u-1\"}}");
	cleanup_json json_t *container = load(
		"{\"env\":[{\"name\":\"UID\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.uid\"}}},"
		"{\"name\":\"INSTANCE\",\"value\":\"3_$(UID)\"},{\"name\":\"LATE\",\"value\":\"$(LATER)\"},"
		"{\"name\":\"LATER\"},{\"name\":\"FROM\",\"value\":\"$(GIVEN)\"},"
		"{\"name\":\"S\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"k\"}}},"
		"{\"name\":\"O\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"s\",\"key\":\"k\",\"optional\":true}}},"
		"{\"value\":\"nameless\"}],\"command\":[\"sh\",\"-c\"],\"args\":[\"echo $(INSTANCE) $(NO) $$(UID)\"]}");
	struct podenv env = {0};
	char **list, **command;

	(void)state;
	podenv_set(&env, "GIVEN", "g");
	assert_int_equal(podenv_add_container(&env, pod, container, &facts), 1);
	assert_string_equal(podenv_get(&env, "INSTANCE"), "3_u-1");
	assert_string_equal(podenv_get(&env, "LATE"), "$(LATER)");
	assert_string_equal(podenv_get(&env, "LATER"), "");
	assert_string_equal(podenv_get(&env, "FROM"), "g");
	assert_null(podenv_get(&env, "S"));
	assert_null(podenv_get(&env, "O"));
	command = podenv_command(&env, container);
	assert_string_equal(command[0], "sh");
	assert_string_equal(command[2], "echo 3_u-1 $(NO) $(UID)");
	assert_null(command[3]);
	podenv_free_list(command);
	list = podenv_list(&env);
	assert_string_equal(list[0], "GIVEN=g");
	assert_string_equal(list[1], "UID=u-1");
	assert_null(list[env.count]);
	podenv_free_list(list);
	podenv_free(&env);
}

static void a_command_comes_from_what_there_is(void **state)
{
	struct podenv env = {0};
	cleanup_json json_t *text = load("{\"args\":[\"sleep 1; exit 2\"]}");
	cleanup_json json_t *words = load("{\"args\":[\"ls\",\"-l\"]}");
	cleanup_json json_t *nothing = load("{\"command\":[]}");
	char **command = podenv_command(&env, text);

	(void)state;
	assert_string_equal(command[1], "-c");
	assert_string_equal(command[2], "sleep 1; exit 2");
	podenv_free_list(command);
	command = podenv_command(&env, words);
	assert_string_equal(command[0], "ls");
	assert_string_equal(command[1], "-l");
	assert_null(command[2]);
	podenv_free_list(command);
	assert_null(podenv_command(&env, nothing));
}

/* ---- status ------------------------------------------------------------------------------------------------------ */

static json_t *patch_of(const struct pod_report *report)
{
	cleanup_buf struct buf text = {0};

	pod_report_write_patch(&text, report, "u-1");
	return load(text.data);
}

static const char *condition(const json_t *status, const char *type)
{
	size_t i;
	json_t *item;

	json_array_foreach(json_object_get(status, "conditions"), i, item) {
		if (strcmp(json_str(item, "type"), type) == 0)
			return json_str(item, "status");
	}
	return NULL;
}

static void make_report(struct pod_report *report)
{
	cleanup_json json_t *pod = load("{\"spec\":{\"initContainers\":[{\"name\":\"i\",\"image\":\"x\"}],"
					"\"containers\":[{\"name\":\"a\",\"image\":\"y\"},{\"name\":\"b\"}]}}");

	*report = (struct pod_report){.host_ip = "1.2.3.4", .start_time = 100, .transition_time = 101};
	pod_report_init(report, pod);
	report->pod_ip = mem_strdup("10.0.0.1");
}

static void a_pending_pod_waits_for_its_init_container(void **state)
{
	struct pod_report report;
	cleanup_json json_t *patch = NULL;
	const json_t *status, *first;

	(void)state;
	make_report(&report);
	container_report_start(&report.items[0], 102);
	patch = patch_of(&report);
	status = json_object_get(patch, "status");
	assert_string_equal(json_str(json_object_get(patch, "metadata"), "uid"), "u-1");
	assert_string_equal(json_str(status, "phase"), "Pending");
	assert_string_equal(json_str(status, "podIP"), "10.0.0.1");
	assert_string_equal(json_str(status, "startTime"), "1970-01-01T00:01:40Z");
	assert_string_equal(condition(status, "PodScheduled"), "True");
	assert_string_equal(condition(status, "Initialized"), "False");
	assert_string_equal(condition(status, "Ready"), "False");
	first = json_array_get(json_object_get(status, "initContainerStatuses"), 0);
	assert_non_null(json_path(first, "state", "running", "startedAt", NULL));
	first = json_array_get(json_object_get(status, "containerStatuses"), 0);
	assert_string_equal(json_str(json_path(first, "state", "waiting", NULL), "reason"), "PodInitializing");
	assert_null(json_object_get(status, "reason"));
	pod_report_free(&report);
}

static void a_running_pod_is_ready(void **state)
{
	struct pod_report report;
	cleanup_json json_t *patch = NULL;
	const json_t *status;

	(void)state;
	make_report(&report);
	container_report_end(&report.items[0], 0, NULL, NULL, 103);
	container_report_start(&report.items[1], 104);
	container_report_start(&report.items[2], 104);
	report.phase = REPORT_RUNNING;
	patch = patch_of(&report);
	status = json_object_get(patch, "status");
	assert_string_equal(json_str(status, "phase"), "Running");
	assert_string_equal(condition(status, "Initialized"), "True");
	assert_string_equal(condition(status, "Ready"), "True");
	assert_true(json_is_true(
		json_path(json_array_get(json_object_get(status, "containerStatuses"), 1), "ready", NULL)));
	pod_report_free(&report);
}

/* CONTRACT.md §8 classifies by exactly these members. */
static void an_ended_container_says_how(void **state)
{
	struct pod_report report;
	cleanup_json json_t *patch = NULL;
	const json_t *terminated;

	(void)state;
	make_report(&report);
	container_report_start(&report.items[1], 104);
	container_report_end(&report.items[1], 137, NULL, "bye", 110);
	report.items[1].signal = 9;
	container_report_end(&report.items[2], 0, "Custom", NULL, 111);
	report.phase = REPORT_FAILED;
	patch = patch_of(&report);
	terminated = json_path(json_array_get(json_path(patch, "status", "containerStatuses", NULL), 0), "state",
			       "terminated", NULL);
	assert_int_equal(json_int(terminated, "exitCode", -1), 137);
	assert_int_equal(json_int(terminated, "signal", -1), 9);
	assert_string_equal(json_str(terminated, "reason"), "Error");
	assert_string_equal(json_str(terminated, "message"), "bye");
	assert_int_equal(json_time(terminated, "startedAt"), 104);
	assert_int_equal(json_time(terminated, "finishedAt"), 110);
	terminated = json_path(json_array_get(json_path(patch, "status", "containerStatuses", NULL), 1), "state",
			       "terminated", NULL);
	assert_int_equal(json_int(terminated, "exitCode", -1), 0);
	assert_null(json_object_get(terminated, "signal"));
	assert_string_equal(json_str(terminated, "reason"), "Custom");
	pod_report_free(&report);
}

static void a_restarted_container_remembers_its_last_run(void **state)
{
	struct pod_report report;
	cleanup_json json_t *patch = NULL;
	const json_t *item;

	(void)state;
	make_report(&report);
	container_report_start(&report.items[1], 104);
	container_report_end(&report.items[1], 4, NULL, NULL, 110);
	container_report_wait(&report.items[1], "CrashLoopBackOff", NULL);
	container_report_start(&report.items[1], 112);
	report.items[1].restart_count++;
	patch = patch_of(&report);
	item = json_array_get(json_path(patch, "status", "containerStatuses", NULL), 0);
	assert_int_equal(json_int(item, "restartCount", -1), 1);
	assert_int_equal(json_int(json_path(item, "lastState", "terminated", NULL), "exitCode", -1), 4);
	assert_int_equal(json_time(json_path(item, "state", "running", NULL), "startedAt"), 112);
	pod_report_free(&report);
}

static void a_pod_that_failed_as_a_whole_has_no_container_statuses(void **state)
{
	struct pod_report report;
	cleanup_json json_t *patch = NULL;
	const json_t *status;

	(void)state;
	make_report(&report);
	report.phase = REPORT_FAILED;
	report.no_containers = true;
	report.reason = mem_strdup("Evicted");
	report.message = mem_strdup("The node was low on \"disk\".");
	patch = patch_of(&report);
	status = json_object_get(patch, "status");
	assert_string_equal(json_str(status, "reason"), "Evicted");
	assert_string_equal(json_str(status, "message"), "The node was low on \"disk\".");
	assert_true(json_is_null(json_object_get(status, "containerStatuses")));
	pod_report_free(&report);
}

/* ---- names and addresses ----------------------------------------------------------------------------------------- */

static void nodes_know_their_names(void **state)
{
	static const struct node_names many = {.base = "node", .count = 12};
	static const struct node_names one = {.base = "laptop", .count = 1, .single = true};
	static const struct {
		const char *name;
		int index;
	} rows[] = {{"node-0", 0},   {"node-11", 11}, {"node-12", -1},          {"node-01", -1}, {"node-", -1},
		    {"node-1x", -1}, {"other-1", -1}, {"node-99999999999", -1}, {"node", -1},    {NULL, -1}};
	cleanup_free char *name = node_name(&many, 11);

	(void)state;
	assert_string_equal(name, "node-11");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(node_index(&many, rows[i].name), rows[i].index);
	assert_int_equal(node_index(&one, "laptop"), 0);
	assert_int_equal(node_index(&one, "laptop-0"), -1);
}

/* Two Pods with one address would make the barrier's lists of peers wrong without any error. */
static void addresses_do_not_repeat(void **state)
{
	static const struct address_block block = {.first = 127u << 24 | 16u << 16, .size = 1 << 16};
	uint32_t previous = 0, parsed;
	char text[ADDRESS_SIZE];

	(void)state;
	assert_string_equal(address_format(address_at(&block, 0), text), "127.16.0.1");
	assert_string_equal(address_format(address_at(&block, 253), text), "127.16.0.254");
	assert_string_equal(address_format(address_at(&block, 254), text), "127.16.1.1");
	for (uint64_t n = 0; n < 256 * 254; n++) {
		uint32_t address = address_at(&block, n);

		assert_true(address > previous);
		assert_true(address_parse(&block, address_format(address, text), &parsed) && parsed == address);
		previous = address;
	}
	assert_int_equal(address_at(&block, 256 * 254), address_at(&block, 0));
	assert_false(address_parse(&block, "127.17.0.0", &parsed));
	assert_false(address_parse(&block, "127.15.255.255", &parsed));
	assert_false(address_parse(&block, "", &parsed));
	assert_false(address_parse(&block, NULL, &parsed));
}

static void hosts_name_pods_with_a_subdomain(void **state)
{
	static const struct hosts_pod named = {.ip = "127.1.0.1", .hostname = "server-0", .subdomain = "fw-server"};
	static const struct hosts_pod plain = {.ip = "127.1.0.2", .hostname = "p"};
	cleanup_buf struct buf text = {0};

	(void)state;
	hosts_write_self(&text, "ns", &named);
	hosts_write_self(&text, "ns", &plain);
	hosts_write_pod(&text, "ns", &named);
	hosts_write_pod(&text, "ns", &plain);
	hosts_write_service(&text, "ns", "fw-server", "127.1.0.1");
	assert_string_equal(text.data,
			    "127.1.0.1 server-0.fw-server.ns.svc.cluster.local server-0\n"
			    "127.1.0.2 p\n"
			    "127.1.0.1 server-0.fw-server.ns.svc.cluster.local server-0.fw-server "
			    "server-0.fw-server.ns server-0.fw-server.ns.svc\n"
			    "127.1.0.1 fw-server.ns.svc.cluster.local fw-server fw-server.ns fw-server.ns.svc\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_expand_as_in_kubernetes),
		cmocka_unit_test(fields_of_the_pod_are_found),
		cmocka_unit_test(the_environment_is_built_in_order),
		cmocka_unit_test(a_command_comes_from_what_there_is),
		cmocka_unit_test(a_pending_pod_waits_for_its_init_container),
		cmocka_unit_test(a_running_pod_is_ready),
		cmocka_unit_test(an_ended_container_says_how),
		cmocka_unit_test(a_restarted_container_remembers_its_last_run),
		cmocka_unit_test(a_pod_that_failed_as_a_whole_has_no_container_statuses),
		cmocka_unit_test(nodes_know_their_names),
		cmocka_unit_test(addresses_do_not_repeat),
		cmocka_unit_test(hosts_name_pods_with_a_subdomain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
