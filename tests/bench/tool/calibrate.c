/* What the API server alone does: each kind of request that reconcilers send, other ways to send some of them, and
 * those that a Pod's life takes beside them, from plain concurrent clients. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/bench/tool/bench.h"

#define METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define FRAMEWORKS "/apis/frameworkcontroller.microsoft.com/v1/namespaces/"

struct calibration {
	const struct bench_options *options;
	struct bench_api api;
	char **uids; /* of the Frameworks */
	char **versions;
	bool keep; /* answers are Frameworks */
};

typedef void make_request(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body);

static void create_framework(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct calibration *calibration = arg;

	request->method = "POST";
	buf_printf(path, FRAMEWORKS "%s/frameworks", calibration->options->ns);
	bench_framework(body, calibration->options, index);
}

static void update_status(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct calibration *calibration = arg;
	const struct bench_options *options = calibration->options;

	request->method = "PUT";
	request->accept = METADATA;
	buf_printf(path, FRAMEWORKS "%s/frameworks/%s%zu/status", options->ns, options->prefix, index);
	bench_status_update(body, options, index, calibration->uids[index], calibration->versions[index], true);
}

static void patch_status(const struct calibration *calibration, size_t index, struct kube_request *request,
			 struct buf *path)
{
	request->method = "PATCH";
	request->accept = METADATA;
	request->content_type = "application/merge-patch+json";
	buf_printf(path, FRAMEWORKS "%s/frameworks/%s%zu/status", calibration->options->ns,
		   calibration->options->prefix, index);
}

/* All of the status, as a PUT has it. */
static void patch_whole_status(void *arg, size_t index, struct kube_request *request, struct buf *path,
			       struct buf *body)
{
	const struct calibration *calibration = arg;

	patch_status(calibration, index, request, path);
	bench_status_update(body, calibration->options, index, calibration->uids[index], calibration->versions[index],
			    false);
}

/* One of its members. */
static void patch_status_member(void *arg, size_t index, struct kube_request *request, struct buf *path,
				struct buf *body)
{
	patch_status(arg, index, request, path);
	buf_puts(body, "{\"status\":{\"state\":\"AttemptPreparing\"}}");
}

/* The API server tracks no fields of an object from which all managedFields were removed, until somebody applies it. */
static void drop_managed_fields(void *arg, size_t index, struct kube_request *request, struct buf *path,
				struct buf *body)
{
	const struct calibration *calibration = arg;

	request->method = "PATCH";
	request->accept = METADATA;
	request->content_type = "application/merge-patch+json";
	buf_printf(path, FRAMEWORKS "%s/frameworks/%s%zu", calibration->options->ns, calibration->options->prefix,
		   index);
	buf_puts(body, "{\"metadata\":{\"managedFields\":[{}]}}");
}

/* A status that has hardly more than its state. */
static void update_small_status(void *arg, size_t index, struct kube_request *request, struct buf *path,
				struct buf *body)
{
	const struct calibration *calibration = arg;

	update_status(arg, index, request, path, body);
	buf_clear(body);
	buf_printf(body,
		   "{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"kind\":\"Framework\",\"metadata\":{"
		   "\"namespace\":\"%s\",\"name\":\"%s%zu\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"},\"status\":{"
		   "\"state\":\"AttemptRunning\"}}",
		   calibration->options->ns, calibration->options->prefix, index, calibration->uids[index],
		   calibration->versions[index]);
}

static void create_config_map(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct calibration *calibration = arg;

	request->method = "POST";
	buf_printf(path, "/api/v1/namespaces/%s/configmaps", calibration->options->ns);
	buf_printf(body,
		   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c%zu\",\"labels\":{"
		   "\"FC_FRAMEWORK_NAME\":\"x\"}}}",
		   index);
}

static void create_pod(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct calibration *calibration = arg;

	request->method = "POST";
	request->accept = METADATA;
	buf_printf(path, "/api/v1/namespaces/%s/pods", calibration->options->ns);
	buf_printf(
		body,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%zu\",\"labels\":{"
		"\"FC_FRAMEWORK_NAME\":\"x\",\"FC_TASKROLE_NAME\":\"a\",\"FC_TASK_INDEX\":\"%zu\"},\"annotations\":{",
		index, index);
	for (int i = 0; i < 8; i++)
		buf_printf(body, "%s\"FC_ANNOTATION_%d\":\"3c1e8a44-6e0f-4c6b-9b51-0e1d8f6a0000\"", i > 0 ? "," : "",
			   i);
	buf_puts(body,
		 "}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"env\":[");
	for (int i = 0; i < 14; i++)
		buf_printf(body, "%s{\"name\":\"FC_VARIABLE_%d\",\"value\":\"3c1e8a44-6e0f-4c6b-9b51-0e1d8f6a0000\"}",
			   i > 0 ? "," : "", i);
	buf_puts(body, "]}]}}");
}

static void create_event(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct calibration *calibration = arg;
	const char *ns = calibration->options->ns;

	request->method = "POST";
	buf_printf(path, "/api/v1/namespaces/%s/events", ns);
	buf_printf(body,
		   "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"e%zu\",\"namespace\":\"%s\"},"
		   "\"involvedObject\":{\"kind\":\"Framework\",\"namespace\":\"%s\",\"name\":\"f\"},\"reason\":\"R\","
		   "\"message\":\"m\",\"type\":\"Normal\"}",
		   index, ns, ns);
}

/* What kubelets and the scheduler do with a Pod, as the scripted kubelet does it. */
static void bind_pod(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct calibration *calibration = arg;

	request->method = "POST";
	request->accept = METADATA;
	buf_printf(path, "/api/v1/namespaces/%s/pods/p%zu/binding", calibration->options->ns, index);
	buf_printf(body,
		   "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p%zu\"},\"target\":{"
		   "\"apiVersion\":"
		   "\"v1\",\"kind\":\"Node\",\"name\":\"n\"}}",
		   index);
}

static void patch_pod(const struct calibration *calibration, size_t index, struct kube_request *request,
		      struct buf *path, struct buf *body, const char *phase, const char *state)
{
	request->method = "PATCH";
	request->accept = METADATA;
	request->content_type = "application/merge-patch+json";
	buf_printf(path, "/api/v1/namespaces/%s/pods/p%zu/status", calibration->options->ns, index);
	buf_printf(body,
		   "{\"status\":{\"phase\":\"%s\",\"podIP\":\"10.0.0.1\",\"hostIP\":\"10.0.0.2\",\"conditions\":[{"
		   "\"type\":"
		   "\"Ready\",\"status\":\"True\"}],\"containerStatuses\":[{\"name\":\"c\",\"image\":\"i\",\"imageID\":"
		   "\"i\","
		   "\"ready\":false,\"restartCount\":0,\"state\":{%s}}]}}",
		   phase, state);
}

static void run_pod(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	patch_pod(arg, index, request, path, body, "Running", "\"running\":{\"startedAt\":\"2024-05-06T07:08:09Z\"}");
}

static void complete_pod(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	patch_pod(arg, index, request, path, body, "Succeeded",
		  "\"running\":null,\"terminated\":{\"exitCode\":0,\"reason\":\"Completed\",\"finishedAt\":"
		  "\"2024-05-06T07:08:10Z\"}");
}

static void delete_pod(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct calibration *calibration = arg;

	(void)body;
	request->method = "DELETE";
	buf_printf(path, "/api/v1/namespaces/%s/pods/p%zu", calibration->options->ns, index);
}

/* As reconcilers delete: whatever it owns goes first. */
static void delete_foreground(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct calibration *calibration = arg;

	request->method = "DELETE";
	buf_printf(path, "/api/v1/namespaces/%s/configmaps/c%zu", calibration->options->ns, index);
	buf_puts(body, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Foreground\"}");
}

static void delete_config_map(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct calibration *calibration = arg;

	(void)body;
	request->method = "DELETE";
	buf_printf(path, "/api/v1/namespaces/%s/configmaps/c%zu", calibration->options->ns, index);
}

static void keep_version(void *arg, size_t index, const struct kube_answer *answer)
{
	struct calibration *calibration = arg;
	cleanup_json json_t *object = NULL;

	if (!calibration->keep)
		return;
	object = json_parse(answer->body, answer->body_len, NULL);
	mem_replace(&calibration->uids[index], json_str(json_object_get(object, "metadata"), "uid"));
	mem_replace(&calibration->versions[index], json_str(json_object_get(object, "metadata"), "resourceVersion"));
}

/* The CPU time that each of the other processes has had, in s. */
static void read_others(const struct bench_options *options, double *out)
{
	for (size_t i = 0; i < options->other_count; i++) {
		const char *equals = strchr(options->others[i], '=');

		out[i] = equals == NULL ? -1 : bench_cpu_s(equals + 1);
		if (out[i] < 0)
			bench_fail("--other %s: expected the name and pid of a process", options->others[i]);
	}
}

/* What each request cost them, in ms, as a member of a JSON object. */
static void put_cost(struct buf *out, const struct bench_options *options, const char *name, const double *before)
{
	double *after = mem_calloc(options->other_count + 1, sizeof(double));

	read_others(options, after);
	buf_printf(out, "%s\"%s\":{", out->len > 0 ? "," : "", name);
	for (size_t i = 0; i < options->other_count; i++)
		buf_printf(out, "%s\"%.*s\":%.2f", i > 0 ? "," : "", (int)strcspn(options->others[i], "="),
			   options->others[i], (after[i] - before[i]) * 1000 / (double)options->count);
	buf_putc(out, '}');
	free(after);
}

int bench_calibrate(const struct bench_options *options)
{
	static const struct {
		const char *name; /* as figures.jq names requests */
		make_request *make;
		bool framework; /* the answer has its version */
		bool other_way; /* no request of ours: not in the row's time */
	} kinds[] = {
		{"POST frameworks", create_framework, true, false},
		{"PUT frameworks/status", update_status, true, false},
		{"PUT frameworks/status again", update_status, true, true},
		{"PATCH frameworks/status all", patch_whole_status, true, true},
		{"PATCH frameworks/status one member", patch_status_member, true, true},
		{"PUT frameworks/status small", update_small_status, true, true},
		{"PATCH frameworks without managedFields", drop_managed_fields, true, true},
		{"PUT frameworks/status untracked", update_status, true, true},
		{"POST configmaps", create_config_map, false, false},
		{"POST pods", create_pod, false, false},
		{"POST events", create_event, false, false},
		{"POST pods/binding", bind_pod, false, false},
		{"PATCH pods/status running", run_pod, false, false},
		{"PATCH pods/status completed", complete_pod, false, false},
		{"DELETE pods", delete_pod, false, false},
		{"DELETE configmaps", delete_config_map, false, false},
		{"POST configmaps again", create_config_map, false, true},
		{"DELETE configmaps foreground", delete_foreground, false, true},
	};
	struct calibration calibration = {.options = options};
	size_t count = (size_t)options->count;
	double *before = mem_calloc(options->other_count + 1, sizeof(double));
	cleanup_buf struct buf costs = {0};
	double wall_s = 0;

	calibration.uids = mem_calloc(count, sizeof(char *));
	calibration.versions = mem_calloc(count, sizeof(char *));
	bench_connect(&calibration.api, options);
	printf("{\"rates\":{");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct bench_pump pump = {
			.count = count,
			.at_once = (size_t)options->at_once,
			.make = kinds[i].make,
			.done = keep_version,
			.arg = &calibration,
		};
		double seconds;

		calibration.keep = kinds[i].framework;
		read_others(options, before);
		seconds = (double)bench_pump(&calibration.api, &pump) / 1e6;
		put_cost(&costs, options, kinds[i].name, before);
		printf("%s\"%s\":%.0f", i > 0 ? "," : "", kinds[i].name, (double)count / seconds);
		if (!kinds[i].other_way)
			wall_s += seconds;
	}
	printf("},\"wall_s\":%.3f,\"cpu_ms\":{%s}}\n", wall_s, costs.data);
	for (size_t i = 0; i < count; i++) {
		free(calibration.uids[i]);
		free(calibration.versions[i]);
	}
	free(before);
	free(calibration.uids);
	free(calibration.versions);
	bench_disconnect(&calibration.api);
	return 0;
}
