/* Failures and what they mean: Pods by the shipped podFailureSpec and by others, and failed creations. Diagnostics are
 * compared byte by byte: clients parse them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/config/config.h"
#include "reconciler/sync/classify.h"

#define SHIPPED "manifests/config/frameworkcontroller.yaml"

static void assert_attributes(const json_t *attributes, const char *expected)
{
	char *text = json_text(attributes);
	assert_string_equal(text, expected);
	free(text);
}

/* ---- Pods ------------------------------------------------------------------------------------------------------ */

static char name[] = "f-r-0";

static struct container_state container(const char *container_name, int32_t code, const char *reason,
					const char *message, int64_t finished_at)
{
	return (struct container_state){
		.name = (char *)(uintptr_t)container_name,
		.terminated = true,
		.exit_code = code,
		.reason = (char *)(uintptr_t)reason,
		.message = (char *)(uintptr_t)message,
		.finished_at = finished_at,
	};
}

static struct pod pod_of(struct container_state *containers, size_t count)
{
	static char empty[] = "";
	return (struct pod){
		.meta = {.name = name},
		.phase = POD_FAILED,
		.reason = empty,
		.message = empty,
		.containers = containers,
		.container_count = count,
	};
}

static void assert_classified(const struct failure_spec *spec, const struct pod *pod, int32_t code, const char *phrase,
			      const char *attributes, const char *diagnostics)
{
	struct pod_failure failure;
	int64_t steps = CLASSIFY_STEPS;
	classify_pod(&(const struct failure_spec){0}, spec, pod, &steps, &failure);
	assert_string_equal(failure.diagnostics, diagnostics);
	assert_int_equal(failure.code, code);
	assert_string_equal(failure.phrase, phrase);
	assert_attributes(failure.attributes, attributes);
	pod_failure_free(&failure);
}

static void load(const char *text, struct config *out)
{
	struct error err = {0};
	if (config_load_text("c.yaml", text, strlen(text), true, out, &err) < 0)
		fail_msg("%s", err.message);
}

static void load_shipped(struct config *out)
{
	struct error err = {0};
	if (config_load(SHIPPED, CONFIG_UNKNOWN_REFUSE, out, &err) < 0)
		fail_msg("%s", err.message);
}

/* What the original controller said for these Pods on a real cluster. */
static void test_golden(void **state)
{
	(void)state;
	struct config config;
	load_shipped(&config);
	const struct failure_spec *spec = &config.pod_failure_spec;
	struct container_state oom = container("c", 137, "OOMKilled", "killed by\nkernel", 5);
	struct pod pod = pod_of(&oom, 1);
	assert_classified(spec, &pod, -1200, "ContainerDockerOOMKilled", "[\"Permanent\"]",
			  "PodPattern matched: {\"containers\":[{\"name\":\"c\",\"reason\":\"OOMKilled\",\"message\":"
			  "\"killed by\\nkernel\",\"code\":137}]}");
	char *details = pod_details(&pod);
	assert_string_equal(details, "{\"containers\":[{\"name\":\"c\",\"reason\":\"OOMKilled\",\"message\":\"killed "
				     "by\\nkernel\",\"code\":137}]}");
	free(details);
	struct container_state none = container("c", 77, "Error", "tail of \"log\" <with> &unicode é\ttab", 5);
	pod = pod_of(&none, 1);
	assert_classified(spec, &pod, 77, "ContainerUnrecognizedFailed", "[]",
			  "PodPattern unmatched: {\"containers\":[{\"name\":\"c\",\"reason\":\"Error\",\"message\":"
			  "\"tail of \\\"log\\\" <with> &unicode é\\ttab\",\"code\":77}]}");
	struct container_state unknown = container("c", 1, "Error", "", 5);
	pod = pod_of(&unknown, 1);
	assert_classified(spec, &pod, 1, "ContainerUnrecognizedFailed", "[]",
			  "PodPattern unmatched: {\"containers\":[{\"name\":\"c\",\"reason\":\"Error\",\"code\":1}]}");
	struct container_state completed = container("c", 0, "Completed", "", 5);
	pod = pod_of(&completed, 1);
	details = pod_details(&pod);
	assert_string_equal(details, "{\"containers\":[{\"name\":\"c\",\"reason\":\"Completed\",\"code\":0}]}");
	free(details);
	config_free(&config);
}

/* Every entry of the shipped file, through each of its patterns. */
static void test_shipped_spec(void **state)
{
	(void)state;
	static const struct {
		int32_t code;
		const char *phrase;
		const char *attributes; /* "T", "P" or "" */
		const char *pod_reason; /* or a container's reason, message and exit code */
		const char *reason;
		const char *message;
		int32_t exit_code;
	} rows[] = {
		{-1000, "PodEvicted", "T", "Evicted", 0, 0, 0},
		{-1000, "PodEvicted", "T", "EVICTED", 0, 0, 0},
		{-1001, "PodNodeLost", "T", "NodeLost", 0, 0, 0},
		{-1001, "PodNodeLost", "T", "DeletionByPodGC", 0, 0, 0},
		{-1002, "PodScheduledToInsufficientResourceNode", "T", "OutOfcpu", 0, 0, 0},
		{-1003, "PodPreemptedForCriticalPod", "T", "Preempting", 0, 0, 0},
		{-1004, "PodDeadlineExceeded", "P", "DeadlineExceeded", 0, 0, 0},
		{-1005, "PodNodeAdmissionForbidden", "P", "Forbidden", 0, 0, 0},
		{-1006, "PodNodeAdmissionUnexpectedError", "T", "UnexpectedAdmissionError", 0, 0, 0},
		{-1006, "PodNodeAdmissionUnexpectedError", "T", "UnknownReason", 0, 0, 0},
		{-1006, "PodNodeAdmissionUnexpectedError", "T", "InvalidNodeInfo", 0, 0, 0},
		{-1006, "PodNodeAdmissionUnexpectedError", "T", "UnexpectedPredicateFailureType", 0, 0, 0},
		{-1006, "PodNodeAdmissionUnexpectedError", "T", "TopologyAffinityError", 0, 0, 0},
		{-1007, "PodNodeShutdown", "T", "NodeShutdown", 0, 0, 0},
		{-1007, "PodNodeShutdown", "T", "Terminated", 0, 0, 0},
		{-1008, "PodNodeAffinityMismatch", "T", "NodeAffinity", 0, 0, 0},
		{-1009, "PodTaintManagerEvicted", "T", "TaintToleration", 0, 0, 0},
		{-1009, "PodTaintManagerEvicted", "T", "DeletionByTaintManager", 0, 0, 0},
		{-1200, "ContainerDockerOOMKilled", "P", 0, "OOMKilled", "m", 1},
		{-1201, "ContainerDockerCreationError", "", 0, "ContainerCannotRun", "m", 125},
		{-1202, "ContainerDockerStartCmdPermissionDenied", "P", 0, "ContainerCannotRun", "m", 126},
		{-1203, "ContainerDockerStartCmdNotFound", "P", 0, "ContainerCannotRun", "m", 127},
		{-1203, "ContainerDockerStartCmdNotFound", "P", 0, "ContainerCannotRun", "exec\nx: Not Found in\n$PATH",
		 128},
		{-1203, "ContainerDockerStartCmdNotFound", "P", 0, "ContainerCannotRun", "it cannot find it", 128},
		{-1203, "ContainerDockerStartCmdNotFound", "P", 0, "ContainerCannotRun", "No such file", 128},
		{-1204, "ContainerDockerStartUnknownError", "", 0, "ContainerCannotRun", "m", 128},
		{-1205, "ContainerStartError", "", 0, "StartError", "m", 128},
		/* before the exit codes */
		{-1205, "ContainerStartError", "", 0, "StartError", "m", 137},
		{130, "ContainerSigIntReceived", "T", 0, 0, "m", 130},
		{131, "ContainerSigQuitReceived", "T", 0, 0, "m", 131},
		{132, "ContainerSigIllReceived", "P", 0, 0, "m", 132},
		{134, "ContainerSigAbrtReceived", "", 0, 0, "m", 134},
		{135, "ContainerSigBusReceived", "P", 0, 0, "m", 135},
		{136, "ContainerSigFpeReceived", "P", 0, 0, "m", 136},
		{137, "ContainerSigKillReceived", "T", 0, 0, "m", 137},
		{139, "ContainerSigSegvReceived", "P", 0, 0, "m", 139},
		{141, "ContainerSigPipeReceived", "P", 0, 0, "m", 141},
		{143, "ContainerSigTermReceived", "T", 0, 0, "m", 143},
	};
	struct config config;
	load_shipped(&config);
	size_t reached = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *attributes = rows[i].attributes[0] == 'T'   ? "[\"Transient\"]"
					 : rows[i].attributes[0] == 'P' ? "[\"Permanent\"]"
									: "null";
		struct container_state state_of = container(
			"c", rows[i].exit_code, rows[i].reason ? rows[i].reason : "Error", rows[i].message, 5);
		struct pod pod = pod_of(&state_of, 1);
		cleanup_buf struct buf expected = {0};
		buf_puts(&expected, "PodPattern matched: {");
		if (rows[i].pod_reason) {
			pod.container_count = 0;
			pod.reason = (char *)(uintptr_t)rows[i].pod_reason;
			pod.message = name;
			buf_printf(&expected, "\"reason\":\"%s\",\"message\":\"%s\"}", rows[i].pod_reason, name);
		} else {
			buf_puts(&expected, "\"containers\":[{\"name\":\"c\"");
			if (rows[i].reason)
				buf_printf(&expected, ",\"reason\":\"%s\"", rows[i].reason);
			buf_json_key(&expected, "message");
			buf_json_string(&expected, rows[i].message);
			/* -1205 asks for no exit code, so it shows none */
			if (rows[i].code != -1205)
				buf_printf(&expected, ",\"code\":%d", rows[i].exit_code);
			buf_puts(&expected, "}]}");
		}
		assert_classified(&config.pod_failure_spec, &pod, rows[i].code, rows[i].phrase, attributes,
				  expected.data);
		if (i == 0 || rows[i].code != rows[i - 1].code)
			reached++;
	}
	assert_int_equal(reached, config.pod_failure_spec.count);
	/* anchored, and not for other codes */
	static const char *const near[] = {"EvictedX", "xEvicted", "OutOf", "OutOf x", "Evicted\n"};
	for (size_t i = 0; i < ARRAY_LEN(near); i++) {
		struct pod pod = pod_of(NULL, 0);
		pod.reason = (char *)(uintptr_t)near[i];
		struct pod_failure failure;
		int64_t steps = CLASSIFY_STEPS;
		classify_pod(&(const struct failure_spec){0}, &config.pod_failure_spec, &pod, &steps, &failure);
		assert_int_equal(failure.code, -300);
		pod_failure_free(&failure);
	}
	static const int32_t unmatched[] = {1, 125, 126, 127, 128, 129, 133, 138, 140, 142, 144, 199, 202, 209, 211};
	for (size_t i = 0; i < ARRAY_LEN(unmatched); i++) {
		struct container_state state_of = container("c", unmatched[i], "Error", "", 5);
		struct pod pod = pod_of(&state_of, 1);
		struct pod_failure failure;
		int64_t steps = CLASSIFY_STEPS;
		classify_pod(&(const struct failure_spec){0}, &config.pod_failure_spec, &pod, &steps, &failure);
		assert_int_equal(failure.code, unmatched[i]);
		assert_string_equal(failure.phrase, "ContainerUnrecognizedFailed");
		pod_failure_free(&failure);
	}
	config_free(&config);
}

static void test_predefined_first(void **state)
{
	(void)state;
	static const char text[] = "podFailureSpec: [{code: 5, podPatterns: [{}]}]";
	struct config config;
	load(text, &config);
	struct container_state containers[] = {
		container("a", 210, "Error", "perm", 1),
		container("b", 201, "Error", "a\nb", 2),
		container("c", 201, "Error", "later", 3),
	};
	/* in the order of the codes, not of the containers; then the first container */
	struct pod pod = pod_of(containers, 3);
	assert_classified(&config.pod_failure_spec, &pod, 201, "ContainerTransientConflictFailed",
			  "[\"Transient\",\"Conflict\"]",
			  "PodPattern matched: {\"containers\":[{\"name\":\"b\",\"message\":\"a\\nb\",\"code\":201}]}");
	pod = pod_of(containers, 1);
	assert_classified(&config.pod_failure_spec, &pod, 210, "ContainerPermanentFailed", "[\"Permanent\"]",
			  "PodPattern matched: {\"containers\":[{\"name\":\"a\",\"message\":\"perm\",\"code\":210}]}");
	containers[0].exit_code = 200;
	containers[0].message = NULL;
	assert_classified(&config.pod_failure_spec, &pod, 200, "ContainerTransientFailed", "[\"Transient\"]",
			  "PodPattern matched: {\"containers\":[{\"name\":\"a\",\"code\":200}]}");
	/* not terminated: its exit code means nothing; the pattern that names nothing matches and shows nothing */
	containers[0].terminated = false;
	assert_classified(&config.pod_failure_spec, &pod, 5, "", "null", "PodPattern matched: {}");
	config_free(&config);
}

/* One pattern against one Pod: reason "PR", message "PM", containers i (exit 0), w (waiting), c (exit 3, signal 9). */
static void test_pattern_parts(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		/* the pattern's YAML; the JSON that matched, or NULL */
		{"{}", "{}"},
		{"{nameRegex: 'r-\\d'}", "{\"name\":\"r-0\"}"},
		{"{nameRegex: 'x*'}", "{\"name\":\"\"}"},
		{"{nameRegex: x}", NULL},
		{"{reasonRegex: R}", "{\"reason\":\"R\"}"},
		{"{reasonRegex: 'x*'}", "{}"},
		{"{messageRegex: PM, reasonRegex: P, nameRegex: f}",
		 "{\"name\":\"f\",\"reason\":\"P\",\"message\":\"PM\"}"},
		{"{messageRegex: PM, reasonRegex: Q}", NULL},
		{"{messageRegex: Q}", NULL},
		{"{containers: []}", "{}"},
		{"{containers: [{}]}", "{}"},
		{"{containers: [{nameRegex: '^w$'}]}", "{\"containers\":[{\"name\":\"w\"}]}"},
		{"{containers: [{nameRegex: 'z*'}]}", "{\"containers\":[{\"name\":\"\"}]}"},
		/* asked for how it ended, a container that has not is no match */
		{"{containers: [{nameRegex: '^w$', codeRange: {min: 0}}]}", NULL},
		{"{containers: [{nameRegex: '^w$', reasonRegex: ''}]}", NULL},
		{"{containers: [{nameRegex: '^w$', messageRegex: ''}]}", NULL},
		{"{containers: [{nameRegex: '^w$', signalRange: {min: 0}}]}", NULL},
		{"{containers: [{nameRegex: '^w$', codeRange: {}}]}", "{\"containers\":[{\"name\":\"w\"}]}"},
		/* init containers first, and code 0 shown */
		{"{containers: [{codeRange: {max: 3}}]}", "{\"containers\":[{\"code\":0}]}"},
		{"{containers: [{codeRange: {min: 1}}]}", "{\"containers\":[{\"code\":3}]}"},
		{"{containers: [{codeRange: {min: 3, max: 3}}]}", "{\"containers\":[{\"code\":3}]}"},
		{"{containers: [{codeRange: {min: 4}}]}", NULL},
		{"{containers: [{codeRange: {max: -1}}]}", NULL},
		{"{containers: [{signalRange: {min: 9, max: 9}}]}", "{\"containers\":[{\"signal\":9}]}"},
		/* signal 0 is left out, and then nothing of that container is named */
		{"{containers: [{signalRange: {max: 0}}]}", "{}"},
		{"{containers: [{messageRegex: 'o+', reasonRegex: Err, signalRange: {min: 1}, codeRange: {min: 1}, "
		 "nameRegex: c}]}",
		 "{\"containers\":[{\"name\":\"c\",\"reason\":\"Err\",\"message\":\"oo\",\"signal\":9,\"code\":3}]}"},
		/* each container pattern finds its own container, in the pattern's order; one may serve two */
		{"{containers: [{codeRange: {min: 3}}, {nameRegex: '^i$'}, {}, {nameRegex: c}]}",
		 "{\"containers\":[{\"code\":3},{\"name\":\"i\"},{\"name\":\"c\"}]}"},
		{"{containers: [{codeRange: {min: 3}}, {nameRegex: nosuch}]}", NULL},
		{"{reasonRegex: PR, containers: [{reasonRegex: Completed}]}",
		 "{\"reason\":\"PR\",\"containers\":[{\"reason\":\"Completed\"}]}"},
	};
	struct container_state containers[] = {
		container("i", 0, "Completed", "", 1),
		container("w", 0, "", "", 0),
		container("c", 3, "Error", "foo", 2),
	};
	containers[1].terminated = false;
	containers[2].signal = 9;
	struct pod pod = pod_of(containers, 3);
	pod.reason = (char[]){"PR"};
	pod.message = (char[]){"PM"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *text = mem_printf("podFailureSpec: [{code: 7, phrase: P, podPatterns: [%s]}]", rows[i][0]);
		struct config config;
		struct pod_failure failure;
		int64_t steps = CLASSIFY_STEPS;
		load(text, &config);
		classify_pod(&(const struct failure_spec){0}, &config.pod_failure_spec, &pod, &steps, &failure);
		char *expected =
			rows[i][1] ? mem_printf("PodPattern matched: %s", rows[i][1])
				   : mem_strdup("PodPattern unmatched: {\"reason\":\"PR\",\"message\":\"PM\","
						"\"containers\":[{\"name\":\"i\",\"reason\":\"Completed\",\"code\":0},"
						"{\"name\":\"w\",\"code\":0},{\"name\":\"c\",\"reason\":\"Error\","
						"\"message\":\"foo\",\"signal\":9,\"code\":3}]}");
		if (strcmp(failure.diagnostics, expected) != 0)
			fail_msg("%s gives %s, expected %s", rows[i][0], failure.diagnostics, expected);
		assert_int_equal(failure.code, rows[i][1] ? 7 : 3);
		pod_failure_free(&failure);
		config_free(&config);
		free(expected);
		free(text);
	}
}

/* The first entry wins, whichever of its patterns matches. */
static void test_entry_order(void **state)
{
	(void)state;
	static const char text[] =
		"podFailureSpec:\n"
		"- {code: 11, podPatterns: [{reasonRegex: nosuch}]}\n"
		"- {code: 12, type: {attributes: []}, podPatterns: [{reasonRegex: nosuch}, {nameRegex: f}]}\n"
		"- {code: 13, podPatterns: [{}]}\n";
	struct config config;
	load(text, &config);
	struct pod pod = pod_of(NULL, 0);
	assert_classified(&config.pod_failure_spec, &pod, 12, "", "[]", "PodPattern matched: {\"name\":\"f\"}");
	config_free(&config);
}

static void test_unmatched(void **state)
{
	(void)state;
	const struct failure_spec none = {0};
	struct pod pod = pod_of(NULL, 0);
	assert_classified(&none, &pod, -300, "PodFailedWithoutFailedContainer", "[]", "PodPattern unmatched: {}");
	pod.reason = NULL;
	pod.message = (char[]){"why"};
	assert_classified(&none, &pod, -300, "PodFailedWithoutFailedContainer", "[]",
			  "PodPattern unmatched: {\"message\":\"why\"}");
	struct container_state containers[] = {
		container("init", 4, NULL, NULL, 10), container("first", 5, "", "", 20),
		container("tie", 6, "", "", 20),      container("good", 0, "", "", 30),
		container("running", 9, "", "", 40),
	};
	containers[4].terminated = false;
	pod = pod_of(containers, 5);
	assert_classified(
		&none, &pod, 5, "ContainerUnrecognizedFailed", "[]",
		"PodPattern unmatched: {\"containers\":[{\"name\":\"init\",\"code\":4},"
		"{\"name\":\"first\",\"code\":5},{\"name\":\"tie\",\"code\":6},{\"name\":\"good\",\"code\":0},"
		"{\"name\":\"running\",\"code\":0}]}");
	/* an exit code that is also a predefined completion code brings nothing of it along */
	containers[0].exit_code = -210;
	pod = pod_of(containers, 1);
	assert_classified(&none, &pod, -210, "ContainerUnrecognizedFailed", "[]",
			  "PodPattern unmatched: {\"containers\":[{\"name\":\"init\",\"code\":-210}]}");
	/* no time given: still the only one that failed */
	containers[0].finished_at = 0;
	containers[0].name = NULL;
	assert_classified(&none, &pod, -210, "ContainerUnrecognizedFailed", "[]",
			  "PodPattern unmatched: {\"containers\":[{\"name\":\"\",\"code\":-210}]}");
}

/* The kubelet ends sidecars after the others, mostly by a signal, and their exit codes do not count for the Pod's
 * phase. */
static void test_sidecars(void **state)
{
	static const int codes[] = {143, 201, 7}; /* of the configuration, predefined, of none */
	struct config shipped;
	struct container_state containers[] = {
		container("proxy", 143, "Error", "", 40),
		container("setup", 0, "Completed", "", 10),
		container("main", 1, "Error", "ValueError", 20),
	};
	struct pod pod = pod_of(containers, 3);

	(void)state;
	load_shipped(&shipped);
	assert_classified(&shipped.pod_failure_spec, &pod, 143, "ContainerSigTermReceived", "[\"Transient\"]",
			  "PodPattern matched: {\"containers\":[{\"name\":\"proxy\",\"code\":143}]}");
	containers[0].sidecar = true;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		cleanup_free char *expected = mem_printf(
			"PodPattern unmatched: {\"containers\":[{\"name\":\"proxy\",\"reason\":\"Error\",\"code\":%d},"
			"{\"name\":\"setup\",\"reason\":\"Completed\",\"code\":0},"
			"{\"name\":\"main\",\"reason\":\"Error\",\"message\":\"ValueError\",\"code\":1}]}",
			codes[i]);

		containers[0].exit_code = codes[i];
		assert_classified(&shipped.pod_failure_spec, &pod, 1, "ContainerUnrecognizedFailed", "[]", expected);
	}
	containers[2].exit_code = 210;
	assert_classified(
		&shipped.pod_failure_spec, &pod, 210, "ContainerPermanentFailed", "[\"Permanent\"]",
		"PodPattern matched: {\"containers\":[{\"name\":\"main\",\"message\":\"ValueError\",\"code\":210}]}");
	config_free(&shipped);
}

/* ---- creations ------------------------------------------------------------------------------------------------- */

static void test_create_errors(void **state)
{
	(void)state;
	const enum create_failure T = CREATE_FAILURE_TRANSIENT, P = CREATE_FAILURE_PERMANENT,
				  U = CREATE_FAILURE_UNKNOWN;
	const struct {
		int http_code;
		bool is_status;
		const char *reason;
		const char *message;
		enum create_failure expected;
	} rows[] = {
		/* by the Status' reason */
		{400, true, "BadRequest", "pod in version \"v1\" cannot be handled", U},
		{403, true, "Forbidden", "pods \"x\" is forbidden: no", U},
		{422, true, "Invalid", "Pod \"x\" is invalid", P},
		{413, true, "RequestEntityTooLarge", "Request entity too large", P},
		{500, true, "RequestEntityTooLarge", NULL, P},
		{413, true, NULL, "limit is 3145728", P},
		{413, true, "Unknown", NULL, P},
		{409, true, "AlreadyExists", "pods \"x\" already exists", T},
		{404, true, "NotFound", "namespaces \"n\" not found", T},
		{500, true, "InternalError", "boom", T},
		{503, true, "ServiceUnavailable", NULL, T},
		{504, true, "Timeout", NULL, T},
		{429, true, "TooManyRequests", NULL, T},
		{401, true, "Unauthorized", NULL, T},
		/* webhook denials: no reason, or another one */
		{400, true, NULL, "admission webhook \"w\" denied the request", T},
		{403, true, "", "admission webhook \"w\" denied the request", T},
		{422, true, "Quota", "denied", T},
		/* messages that mean it will pass */
		{403, true, "Forbidden", "pods \"x\" is forbidden: exceeded quota: q, requested: pods=1", T},
		{400, true, "BadRequest", "the object provided is unrecognized (must be of type Pod)", T},
		{422, true, "Invalid", "exceeded quota", T},
		{403, true, "Forbidden",
		 "pods \"x\" is forbidden: error looking up service account ns/default: serviceaccount \"default\" not "
		 "found",
		 T},
		{403, true, "Forbidden",
		 "pods \"x\" is forbidden: error looking up service account ns/mine: serviceaccount \"mine\" not found",
		 U},
		{403, true, "Forbidden", "pods \"x\" is forbidden: status unknown for quota: q, resources: pods", T},
		{413, false, NULL, "exceeded quota", T},
		/* a permanent verdict that the network may have caused */
		{422, true, "Invalid", "read: connection reset by peer", U},
		{422, true, "Invalid", "use of closed network connection", U},
		{413, true, "RequestEntityTooLarge", "http2: server sent GOAWAY and closed the connection", U},
		{413, false, NULL, "connection reset by peer", U},
		/* by the code when the body is no Status */
		{400, false, NULL, "<html>", U},
		{403, false, NULL, "<html>", U},
		{413, false, NULL, "<html>", P},
		{422, false, NULL, "", P},
		{404, false, NULL, "", T},
		{502, false, NULL, "Bad Gateway", T},
		{400, false, "Invalid", "no Status, so this is not its reason", U},
		/* no answer */
		{0, false, NULL, "Couldn't connect to server", T},
		{0, false, NULL, "connection reset by peer", T},
		{0, false, NULL, NULL, T},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum create_failure found = classify_create_error(rows[i].http_code, rows[i].is_status, rows[i].reason,
								  rows[i].message);
		if (found != rows[i].expected)
			fail_msg("row %zu (%d %s %s): found %d, expected %d", i, rows[i].http_code,
				 rows[i].reason ? rows[i].reason : "-", rows[i].message ? rows[i].message : "-", found,
				 rows[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),           cmocka_unit_test(test_shipped_spec),
		cmocka_unit_test(test_predefined_first), cmocka_unit_test(test_pattern_parts),
		cmocka_unit_test(test_entry_order),      cmocka_unit_test(test_unmatched),
		cmocka_unit_test(test_create_errors),    cmocka_unit_test(test_sidecars),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
