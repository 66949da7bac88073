/* Pods in the test API server: defaults, types, checks, grace, as a real API server of 1.20 has them. */
#include "tests/cluster/testapi/headers.h"
#include "tests/cluster/testapi/quantity.h"
#include "tests/unit/testapi_fixture.h"

#define PODS NS "/pods"

static const char POD[] =
	"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";

static void defaults(void **state)
{
	struct fixture *f = *state;
	const json_t *container;

	expect_call(
		f, 201, "POST", PODS,
		"{\"metadata\":{\"name\":\"p\"},\"unknown\":1,\"status\":{\"phase\":\"Failed\"},\"spec\":{\"nothing\":"
		"2,"
		"\"hostNetwork\":false,\"nodeSelector\":{},\"volumes\":[{\"name\":\"v\"},{\"name\":\"s\",\"secret\":{"
		"\"secretName\":"
		"\"x\"}}],\"containers\":[{\"name\":\"c\",\"image\":\"reg:5000/"
		"i\",\"args\":[],\"env\":[{\"name\":\"A\",\"value\":"
		"\"\"},{\"name\":\"U\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.uid\"}}}],\"resources\":{"
		"\"limits\":"
		"{\"nvidia.com/"
		"gpu\":1}}},{\"name\":\"d\",\"image\":\"i:1\",\"livenessProbe\":{\"httpGet\":{\"port\":80}},\"ports\":"
		"[{\"containerPort\":80}]}]}}");
	assert_null(json_object_get(f->body, "unknown"));
	assert_null(json_path(f->body, "spec", "nothing", NULL));
	assert_null(json_path(f->body, "spec", "hostNetwork", NULL));
	assert_null(json_path(f->body, "spec", "nodeSelector", NULL));
	assert_string_equal(at(f, "status.phase"), "Pending");
	assert_string_equal(at(f, "status.qosClass"), "BestEffort");
	assert_string_equal(at(f, "spec.restartPolicy"), "Always");
	assert_string_equal(at(f, "spec.dnsPolicy"), "ClusterFirst");
	assert_string_equal(at(f, "spec.schedulerName"), "default-scheduler");
	assert_int_equal(json_int(json_object_get(f->body, "spec"), "terminationGracePeriodSeconds", 0), 30);
	assert_true(json_bool(json_object_get(f->body, "spec"), "enableServiceLinks", false));
	assert_true(json_is_object(json_path(f->body, "spec", "securityContext", NULL)));
	assert_true(json_is_object(
		json_object_get(json_array_get(json_path(f->body, "spec", "volumes", NULL), 0), "emptyDir")));
	container = json_array_get(json_path(f->body, "spec", "containers", NULL), 0);
	assert_string_equal(json_str(container, "imagePullPolicy"), "Always");
	assert_string_equal(json_str(container, "terminationMessagePath"), "/dev/termination-log");
	assert_string_equal(json_str(container, "terminationMessagePolicy"), "File");
	assert_null(json_object_get(container, "args"));
	assert_string_equal(at(f, "spec.containers.0.env.1.valueFrom.fieldRef.apiVersion"), "v1");
	assert_null(json_object_get(json_array_get(json_object_get(container, "env"), 0), "value"));
	assert_string_equal(json_str(json_path(container, "resources", "requests", NULL), "nvidia.com/gpu"), "1");
	assert_string_equal(at(f, "spec.containers.1.imagePullPolicy"), "IfNotPresent");
	assert_string_equal(at(f, "spec.containers.1.ports.0.protocol"), "TCP");
	assert_string_equal(at(f, "spec.containers.1.livenessProbe.httpGet.scheme"), "HTTP");
	assert_string_equal(at(f, "apiVersion"), "v1");
	/* what admission adds */
	assert_int_equal(json_int(json_object_get(f->body, "spec"), "priority", -1), 0);
	assert_string_equal(at(f, "spec.tolerations.1.key"), "node.kubernetes.io/unreachable");
}

static void wrong_types(void **state)
{
	static const struct {
		const char *container;
		const char *where;
	} cases[] = {
		{"{\"name\":\"c\",\"image\":\"i\",\"env\":[{\"name\":\"A\",\"value\":1}]}",
		 "v1.Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Env: []v1.EnvVar: v1.EnvVar.Value: "
		 "ReadString: "
		 "expects \" or n, but found 1"},
		{"{\"name\":\"c\",\"image\":\"i\",\"tty\":\"yes\"}",
		 "v1.Container.TTY: ReadBool: expect t or f, but found \""},
		{"{\"name\":\"c\",\"image\":\"i\",\"command\":\"sleep\"}",
		 "v1.Container.Command: []string: decode slice: expect [ or n, but found \""},
		{"{\"name\":\"c\",\"image\":\"i\",\"command\":[1]}",
		 "v1.Container.Command: []string: ReadString: expects \" or n, but found 1"},
		{"{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":\"x\"}]}",
		 "v1.ContainerPort.ContainerPort: readUint32: unexpected character: \xEF\xBF\xBD"},
		{"{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":\"much\"}}}",
		 "v1.ResourceRequirements.Limits: unmarshalerDecoder: quantities must match the regular expression"},
		{"7", "[]v1.Container: readObjectStart: expect { or n, but found 7"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *body = mem_printf("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[%s]}}",
						     cases[i].container);

		expect_call(f, 400, "POST", PODS, body);
		assert_string_equal(at(f, "reason"), "BadRequest");
		assert_int_equal(
			strncmp(message(f), "Pod in version \"v1\" cannot be handled as a Pod: v1.Pod.Spec: ", 61), 0);
		if (strstr(message(f), cases[i].where) == NULL)
			fail_msg("%s\nis not in\n%s", cases[i].where, message(f));
	}
}

static void invalid(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 422, "POST", PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{}}");
	assert_string_equal(message(f), "Pod \"p\" is invalid: spec.containers: Required value");
	expect_call(f, 422, "POST", PODS,
		    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
	assert_string_equal(message(f), "Pod \"p\" is invalid: spec.containers[0].image: Required value");
	expect_call(f, 422, "POST", PODS,
		    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"restartPolicy\":\"Sometimes\",\"containers\":[{"
		    "\"name\":\"c\",\"image\":"
		    "\"i\"},{\"name\":\"c\",\"image\":\"i\"}]}}");
	assert_string_equal(message(f),
			    "Pod \"p\" is invalid: [spec.containers[1].name: Duplicate value: \"c\", "
			    "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
			    "\"OnFailure\", \"Never\"]");
	expect_call(f, 201, "POST", PODS, POD);
	expect_call(f, 400, "POST", PODS "/p/binding", "{\"target\":{\"name\":\"n\"}}");
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 422, "PATCH", PODS "/p", "{\"spec\":{\"hostname\":\"x\"}}");
	assert_non_null(strstr(message(f), "spec: Forbidden: pod updates may not change fields other than"));
	expect_call(f, 200, "PATCH", PODS "/p", "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
}

/* One fault each in a container, with the field and the text a real server answers with. */
static void invalid_containers(void **state)
{
	static const char *const cases[][2] = {
		{"\"name\":\"C\"",
		 "spec.containers[0].name: Invalid value: \"C\": a lowercase RFC 1123 label must consist of"},
		{"\"name\":\"c\",\"imagePullPolicy\":\"Maybe\"",
		 "spec.containers[0].imagePullPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", "
		 "\"IfNotPresent\", \"Never\""},
		{"\"name\":\"c\",\"terminationMessagePolicy\":\"x\"",
		 "spec.containers[0].terminationMessagePolicy: Invalid value: \"x\": must be 'File' or "
		 "'FallbackToLogsOnError'"},
		{"\"name\":\"c\",\"ports\":[{\"containerPort\":0}]",
		 "spec.containers[0].ports[0].containerPort: Required value"},
		{"\"name\":\"c\",\"ports\":[{\"containerPort\":70000}]",
		 "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, "
		 "inclusive"},
		{"\"name\":\"c\",\"env\":[{\"name\":\"\"}]", "spec.containers[0].env[0].name: Required value"},
		{"\"name\":\"c\",\"env\":[{\"name\":\"a b\"}]",
		 "spec.containers[0].env[0].name: Invalid value: \"a b\": a valid environment variable name must "
		 "consist of"},
		{"\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"},\"limits\":{\"cpu\":\"1500m\"}}",
		 "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu "
		 "limit"},
		{"\"name\":\"c\",\"livenessProbe\":{}",
		 "spec.containers[0].livenessProbe: Required value: must specify a handler type"},
		{"\"name\":\"c\",\"volumeMounts\":[{\"name\":\"no\",\"mountPath\":\"/x\"}]",
		 "spec.containers[0].volumeMounts[0].name: Not found: \"no\""},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *body = mem_printf(
			"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"image\":\"i\",%s}]}}",
			cases[i][0]);
		cleanup_free char *wanted = mem_printf("Pod \"p\" is invalid: %s", cases[i][1]);

		expect_call(f, 422, "POST", PODS, body);
		if (strncmp(message(f), wanted, strlen(wanted)) != 0)
			fail_msg("%s\nis not\n%s", message(f), wanted);
	}
}

static void unbound_goes_at_once(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", PODS, POD);
	expect_call(f, 200, "DELETE", PODS "/p", NULL);
	/* the Pod as it was, with its deletion in it */
	assert_string_equal(at(f, "kind"), "Pod");
	assert_string_not_equal(at(f, "metadata.deletionTimestamp"), "");
	expect_call(f, 404, "GET", PODS "/p", NULL);
}

static void bound_waits_for_its_grace(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *stamp = NULL;

	expect_call(f, 201, "POST", PODS, POD);
	expect_call(f, 201, "POST", PODS "/p/binding",
		    "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}");
	expect_call(f, 409, "POST", PODS "/p/binding",
		    "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}");
	expect_call(f, 200, "GET", PODS "?fieldSelector=spec.nodeName%3Dn,status.phase!%3DFailed", NULL);
	assert_string_equal(at(f, "items.0.status.conditions.0.type"), "PodScheduled");
	expect_call(f, 200, "DELETE", PODS "/p", NULL);
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "deletionGracePeriodSeconds", 0), 30);
	stamp = mem_strdup(at(f, "metadata.deletionTimestamp"));
	/* once more changes nothing; a longer grace neither; a shorter one moves it */
	expect_call(f, 200, "DELETE", PODS "/p", "{\"gracePeriodSeconds\":60}");
	assert_string_equal(at(f, "metadata.deletionTimestamp"), stamp);
	expect_call(f, 200, "DELETE", PODS "/p?gracePeriodSeconds=10", NULL);
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "deletionGracePeriodSeconds", 0), 10);
	expect_call(f, 200, "DELETE", PODS "/p", "{\"gracePeriodSeconds\":0}");
	expect_call(f, 404, "GET", PODS "/p", NULL);
}

static void finished_goes_at_once(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", PODS, POD);
	expect_call(f, 201, "POST", PODS "/p/binding", "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n\"}}");
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", PODS "/p/status", "{\"status\":{\"phase\":\"Succeeded\"}}");
	expect_call(f, 200, "DELETE", PODS "/p", NULL);
	expect_call(f, 404, "GET", PODS "/p", NULL);
}

/* A Pod of the namespace "guarded", which labels concern. */
#define GUARDED "/api/v1/namespaces/guarded/pods"
#define SAFE                                                                                    \
	"'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']},'runAsNonRoot':true," \
	"'seccompProfile':{'type':'RuntimeDefault'}"

static char *guarded_pod(const char *name, const char *container_context, const char *spec)
{
	char *text = mem_printf("{'metadata':{'name':'%s'},'spec':{'containers':[{'name':'c','image':'i',"
				"'securityContext':{%s}}]%s}}",
				name, container_context, spec);

	for (char *at = text; *at != '\0'; at++)
		if (*at == '\'')
			*at = '"';
	return text;
}

static void make_guarded(struct fixture *f, const char *label)
{
	cleanup_free char *body = mem_printf("{\"metadata\":{\"name\":\"guarded\",\"labels\":{"
					     "\"pod-security.kubernetes.io/%s\":\"restricted\"}}}",
					     label);

	expect_call(f, 201, "POST", "/api/v1/namespaces", body);
}

static void restricted_namespaces(void **state)
{
	static const struct {
		const char *context;
		const char *spec;
		const char *violations; /* NULL: admitted */
	} cases[] = {
		{SAFE, "", NULL},
		{"", "",
		 "allowPrivilegeEscalation != false (container \"c\" must set "
		 "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"c\" must set "
		 "securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container \"c\" must set "
		 "securityContext.runAsNonRoot=true), seccompProfile (pod or container \"c\" must set "
		 "securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"},
		{"'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL'],'add':['NET_BIND_SERVICE']}",
		 ",'securityContext':{'runAsNonRoot':true,'seccompProfile':{'type':'Localhost','localhostProfile':'p'}"
		 "}",
		 NULL},
		{SAFE ",'runAsUser':0", "", "runAsUser=0 (pod or container \"c\" must not set runAsUser=0)"},
		{SAFE, ",'hostNetwork':true", "host namespaces (hostNetwork=true)"},
		{SAFE, ",'volumes':[{'name':'e','emptyDir':{}},{'name':'h','hostPath':{'path':'/'}}]",
		 "restricted volume types (volume \"h\" uses restricted volume type \"hostPath\")"},
		{SAFE, ",'initContainers':[{'name':'a','image':'i','securityContext':{" SAFE ",'privileged':true}}]",
		 "privileged (container \"a\" must not set securityContext.privileged=true)"},
		{SAFE ",'procMount':'Default'", ",'securityContext':{'seccompProfile':{'type':'Unconfined'}}", NULL},
	};
	struct fixture *f = *state;

	make_guarded(f, "enforce");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char name[8];
		cleanup_free char *pod = NULL;
		cleanup_free char *wanted = NULL;

		snprintf(name, sizeof(name), "p%zu", i);
		pod = guarded_pod(name, cases[i].context, cases[i].spec);
		expect_call(f, cases[i].violations == NULL ? 201 : 403, "POST", GUARDED, pod);
		if (cases[i].violations == NULL)
			continue;
		wanted = mem_printf("pods \"%s\" is forbidden: violates PodSecurity \"restricted:latest\": %s", name,
				    cases[i].violations);
		assert_string_equal(message(f), wanted);
	}
}

static void put_header(void *arg, const char *name, const char *value)
{
	if (strcmp(name, "Warning") == 0)
		buf_printf(arg, "%s|", value);
}

static void expect_warnings(const struct fixture *f, const char *wanted)
{
	cleanup_buf struct buf seen = {0};

	api_answer_headers(&f->answer, put_header, &seen);
	assert_string_equal(seen.data == NULL ? "" : seen.data, wanted);
}

static void warnings_in_headers(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *safe = guarded_pod("safe", SAFE, "");
	cleanup_free char *port = guarded_pod("port", SAFE ",'privileged':true", "");
	cleanup_free char *old = guarded_pod("a123456789b123456789c123456789d123456789e123456789f123456789g12", SAFE,
					     ",'nodeSelector':{'beta.kubernetes.io/os':'linux'}");
	cleanup_free char *longer = guarded_pod("a123456789b123456789c123456789d123456789e123456789f123456789g123",
						SAFE, "");

	make_guarded(f, "warn");
	expect_call(f, 201, "POST", GUARDED, safe);
	expect_warnings(f, "");
	expect_call(f, 201, "POST", GUARDED, port);
	expect_warnings(f,
			"299 - \"would violate PodSecurity \\\"restricted:latest\\\": privileged (container \\\"c\\\" "
			"must not set securityContext.privileged=true)\"|");
	expect_call(f, 201, "POST", GUARDED, old);
	expect_warnings(f, "299 - \"spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
			   "\\\"kubernetes.io/os\\\" instead\"|");
	expect_call(f, 201, "POST", GUARDED, longer);
	expect_warnings(f, "299 - \"metadata.name: this is used in the Pod's hostname, which can result in surprising "
			   "behavior; a DNS label is recommended: [must be no more than 63 characters]\"|");
	expect_call(f, 200, "GET", GUARDED "/port", NULL);
	expect_warnings(f, "");
}

static void table_row(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", PODS, POD);
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", PODS "/p/status",
		    "{\"status\":{\"phase\":\"Running\",\"podIP\":\"127.0.0.9\",\"containerStatuses\":[{\"name\":\"c\","
		    "\"ready\":true,"
		    "\"restartCount\":2,\"state\":{\"running\":{}}}]}}");
	f->local.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
	expect_call(f, 200, "GET", PODS "/p", NULL);
	assert_string_equal(at(f, "rows.0.cells.1"), "1/1");
	assert_string_equal(at(f, "rows.0.cells.2"), "Running");
	assert_string_equal(at(f, "rows.0.cells.5"), "127.0.0.9");
	f->local.accept = NULL;
	expect_call(f, 200, "PATCH", PODS "/p/status",
		    "{\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"c\",\"ready\":false,"
		    "\"state\":{\"terminated\":"
		    "{\"exitCode\":3,\"reason\":\"Error\"}}}]}}");
	f->local.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
	expect_call(f, 200, "GET", PODS "/p", NULL);
	assert_string_equal(at(f, "rows.0.cells.2"), "Error");
}

static void quantities(void **state)
{
	static const char *const cases[][2] = {
		{"1", "1"},     {"0.5", "500m"},    {"1000m", "1"},     {"1024Mi", "1Gi"},   {"1.5Gi", "1536Mi"},
		{"100", "100"}, {"1000", "1k"},     {"1500", "1500"},   {"0", "0"},          {"0Gi", "0"},
		{"-2", "-2"},   {"1e3", "1e3"},     {"512Ki", "512Ki"}, {"10000000", "10M"}, {"0.1", "100m"},
		{"+5", "5"},    {"100Mi", "100Mi"}, {"1E", "1E"},
	};
	static const char *const refused[] = {"", "much", "1.2.3", "1Kib", "Gi", "1 Gi"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *canonical = quantity_canonical(cases[i][0]);

		assert_non_null(canonical);
		assert_string_equal(canonical, cases[i][1]);
	}
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		assert_null(quantity_canonical(refused[i]));
}

/* Which logs there are is known before a kubelet is asked. */
static void logs(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *query;
		int status;
		const char *message;
	} cases[] = {
		{"p/log", 400,
		 "a container name must be specified for pod p, choose one of: [c d] or one of the init containers: "
		 "[i]"},
		{"p/log?container=e", 400, "container e is not valid for pod p"},
		{"p/log?container=c", 404, "nodes \"n\" not found"},
		{"p/log?container=d", 400, "container \"d\" in pod \"p\" is waiting to start: ImagePullBackOff"},
		{"p/log?container=i", 400, "container \"i\" in pod \"p\" is waiting to start: no logs yet"},
		{"p/log?container=c&previous=true", 400, "previous terminated container \"c\" in pod \"p\" not found"},
		{"p/log?container=c&tailLines=-1", 400, "tailLines: found \"-1\", expected a number from 0 up"},
		{"p/log?container=c&sinceTime=today", 400, "sinceTime: found \"today\", expected a time of RFC 3339"},
		{"q/log", 404, "pods \"q\" not found"},
	};

	expect_call(f, 201, "POST", PODS,
		    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"initContainers\":[{\"name\":\"i\",\"image\":\"i\"}],"
		    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"},{\"name\":\"d\",\"image\":\"i\"}]}}");
	expect_call(f, 200, "GET", PODS "/p/log?container=c", NULL);
	assert_string_equal(api_answer_text(&f->answer), "");
	expect_call(f, 201, "POST", PODS "/p/binding", "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n\"}}");
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", PODS "/p/status",
		    "{\"status\":{\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"running\":{}}},"
		    "{\"name\":\"d\",\"state\":{\"waiting\":{\"reason\":\"ImagePullBackOff\"}}}]}}");
	f->local.content_type = NULL;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *url = mem_printf("%s/%s", PODS, cases[i].query);

		expect_call(f, cases[i].status, "GET", url, NULL);
		assert_string_equal(message(f), cases[i].message);
	}
	expect_call(f, 201, "POST", "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}");
	expect_call(f, 500, "GET", PODS "/p/log?container=c", NULL);
	assert_non_null(strstr(message(f), "node n has no status.daemonEndpoints.kubeletEndpoint.Port"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(defaults, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_types, set_up, tear_down),
		cmocka_unit_test_setup_teardown(invalid, set_up, tear_down),
		cmocka_unit_test_setup_teardown(invalid_containers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unbound_goes_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bound_waits_for_its_grace, set_up, tear_down),
		cmocka_unit_test_setup_teardown(finished_goes_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(restricted_namespaces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(warnings_in_headers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(table_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(logs, set_up, tear_down),
		cmocka_unit_test(quantities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
