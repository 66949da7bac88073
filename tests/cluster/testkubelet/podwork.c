/* One Pod from binding to deletion: what is known about it, and how that changes. What is to be done about it next
 * is podcall.c's business. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/internal.h"

static int64_t now_sec(void)
{
	return clock_wall_ms() / 1000;
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static struct kubelet_pod *find_address(struct kubelet *kubelet, uint32_t address)
{
	struct kubelet_pod *owner;

	HASH_FIND(by_address, kubelet->addresses, &address, sizeof(address), owner);
	return owner;
}

static void take_address(struct kubelet_pod *pod, uint32_t address)
{
	char text[ADDRESS_SIZE];

	pod->address = address;
	HASH_ADD(by_address, pod->kubelet->addresses, address, sizeof(address), pod);
	mem_replace(&pod->report.pod_ip, address_format(address, text));
}

static void give_address(struct kubelet_pod *pod)
{
	if (pod->address == 0)
		return;
	HASH_DELETE(by_address, pod->kubelet->addresses, pod);
	pod->address = 0;
	kubelet_hosts_changed(pod->kubelet);
}

/* Addresses are given out in a row, so that a late packet or a stale status does not meet a new Pod. */
static void choose_address(struct kubelet_pod *pod)
{
	struct kubelet *kubelet = pod->kubelet;
	uint32_t address;

	if (pod->address != 0)
		return;
	do
		address = address_at(&kubelet->block, kubelet->next_address++);
	while (find_address(kubelet, address) != NULL);
	take_address(pod, address);
}
/* ---- the script -------------------------------------------------------------------------------------------------- */

static void set_timer(struct kubelet_pod *pod, int64_t ms)
{
	struct ev_loop *loop = pod->kubelet->loop;

	ev_timer_stop(loop, &pod->timer);
	ev_timer_set(&pod->timer, ms > 0 ? (double)ms / 1000 : 0, 0);
	ev_timer_start(loop, &pod->timer);
}

static void change_phase(struct kubelet_pod *pod, enum pod_report_phase phase)
{
	pod->report.phase = phase;
	pod->report.transition_time = now_sec();
	pod->dirty = true;
}

/* The container that the script's end is about: the one it names, else the first app container. */
static size_t scripted_container(const struct kubelet_pod *pod)
{
	size_t first = 0;

	for (size_t i = 0; i < pod->report.count; i++)
		if (pod->script.container != NULL && strcmp(pod->report.items[i].name, pod->script.container) == 0)
			return i;
	while (first + 1 < pod->report.count && pod->report.items[first].init)
		first++;
	return first;
}

static void script_run(struct kubelet_pod *pod)
{
	int64_t now = now_sec();

	for (size_t i = 0; i < pod->report.count; i++) {
		container_report_start(&pod->report.items[i], now);
		if (pod->report.items[i].init)
			container_report_end(&pod->report.items[i], 0, NULL, NULL, now);
	}
	change_phase(pod, REPORT_RUNNING);
}

static void script_end(struct kubelet_pod *pod)
{
	const struct script *script = &pod->script;
	size_t about = scripted_container(pod);
	int64_t now = now_sec();
	bool failed = script->pod_failure;

	for (size_t i = 0; i < pod->report.count; i++) {
		struct container_report *item = &pod->report.items[i];

		if (i == about) {
			container_report_end(item, script->exit_code, script->reason, script->message, now);
			item->signal = script->signal;
			failed = failed || script->exit_code != 0;
		} else if (item->state == RUN_RUNNING) {
			container_report_end(item, 0, NULL, NULL, now);
		}
	}
	pod->report.no_containers = script->pod_failure;
	mem_replace(&pod->report.reason, script->pod_reason);
	mem_replace(&pod->report.message, script->pod_message);
	change_phase(pod, failed ? REPORT_FAILED : REPORT_SUCCEEDED);
}

/* Real mode. */
static int64_t spec_grace_ms(const struct kubelet_pod *pod)
{
	return json_int(json_object_get(pod->object, "spec"), "terminationGracePeriodSeconds", 30) * 1000;
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct kubelet_pod *pod = timer->data;

	(void)loop;
	(void)events;
	if (pod->runtime != NULL) {
		mem_replace(&pod->report.reason, "DeadlineExceeded");
		mem_replace(&pod->report.message, SCRIPT_DEADLINE_MESSAGE);
		runtime_pod_fail(pod->runtime, spec_grace_ms(pod));
		return;
	}
	if (pod->deleting && !pod->script.ignore_termination)
		pod->stopped = true;
	else if (!pod_report_terminal(&pod->report))
		script_end(pod);
	kubelet_pod_step(pod);
}

/* ---- the runtime ------------------------------------------------------------------------------------------------- */

static void on_runtime_changed(void *arg)
{
	struct kubelet_pod *pod = arg;
	cleanup_buf struct buf patch = {0};

	/* A stop that finds everything ended changes nothing that anyone can see. */
	pod_report_write_patch(&patch, &pod->report, pod->uid);
	if (pod->written == NULL || strcmp(pod->written, patch.data) != 0)
		pod->dirty = true;
	if (runtime_pod_ended(pod->runtime)) {
		if (pod->deleting && !pod->script.ignore_termination)
			pod->stopped = true;
		ev_timer_stop(pod->kubelet->loop, &pod->timer);
		kubelet_pod_give_capacity(pod);
	}
	kubelet_hosts_changed(pod->kubelet);
	kubelet_pod_step(pod);
}

static void fail_pod(struct kubelet_pod *pod, const char *reason, const char *message)
{
	mem_replace(&pod->report.reason, reason);
	mem_replace(&pod->report.message, message);
	change_phase(pod, REPORT_FAILED);
}

static void run_for_real(struct kubelet_pod *pod)
{
	struct kubelet *kubelet = pod->kubelet;
	struct podenv_facts facts = {
		.node_name = kubelet->node_names[pod->node],
		.pod_ip = pod->report.pod_ip,
		.host_ip = kubelet->host_ips[pod->node],
	};
	int64_t deadline_sec;
	struct error err;

	pod->runtime = runtime_pod_new(&kubelet->runtime, pod->object, &pod->report, &facts, on_runtime_changed, pod,
				       &err);
	if (pod->runtime == NULL) {
		log_warning("Pod %s/%s: %s", pod->ns, pod->name, err.message);
		fail_pod(pod, "UnexpectedAdmissionError", err.message);
		return;
	}
	kubelet_write_hosts(pod);
	kubelet_hosts_changed(kubelet);
	runtime_pod_start(pod->runtime);
	pod->dirty = true;
	deadline_sec = json_int(json_object_get(pod->object, "spec"), "activeDeadlineSeconds", 0);
	if (deadline_sec > 0)
		set_timer(pod, deadline_sec * 1000);
}

/* ---- life of a Pod ----------------------------------------------------------------------------------------------- */

/* The Pod is on a node of ours, and nobody has run it yet. */
static void pod_begin(struct kubelet_pod *pod)
{
	struct kubelet *kubelet = pod->kubelet;

	pod->begun = true;
	kubelet_pod_take_capacity(pod);
	pod->report.host_ip = kubelet->host_ips[pod->node];
	pod->report.start_time = pod->report.transition_time = now_sec();
	pod->dirty = true;
	if (pod->script.kind == SCRIPT_PENDING) {
		if (pod->script.reason != NULL)
			container_report_wait(&pod->report.items[scripted_container(pod)], pod->script.reason,
					      pod->script.message);
		return;
	}
	if (pod->script.never_runs) {
		script_end(pod);
		return;
	}
	choose_address(pod);
	if (kubelet->options.real)
		run_for_real(pod);
	else
		script_run(pod);
}

/* The Pod was already under way when we first saw it: a kubelet before us had it. */
static void pod_resume(struct kubelet_pod *pod, const json_t *object, bool running)
{
	const json_t *status = json_object_get(object, "status");
	int64_t started = json_time(status, "startTime"), elapsed;
	uint32_t address;

	pod->begun = true;
	kubelet_pod_take_capacity(pod);
	pod->report.host_ip = pod->kubelet->host_ips[pod->node];
	if (address_parse(&pod->kubelet->block, json_str(status, "podIP"), &address) &&
	    find_address(pod->kubelet, address) == NULL)
		take_address(pod, address);
	if (pod->kubelet->options.real) {
		/* Its processes ended with that kubelet; whether they had done their work nobody knows. */
		pod->report.start_time = started;
		for (size_t i = 0; i < pod->report.count; i++)
			container_report_end(&pod->report.items[i], 128 + 9, "ContainerStatusUnknown",
					     "The container could not be located when the pod was terminated",
					     now_sec());
		change_phase(pod, REPORT_FAILED);
		return;
	}
	script_run(pod);
	pod->report.start_time = started == 0 ? now_sec() : started;
	for (size_t i = 0; i < pod->report.count; i++)
		pod->report.items[i].started_at = pod->report.start_time;
	pod->dirty = !running || pod->address == 0;
	choose_address(pod);
	elapsed = (now_sec() - pod->report.start_time) * 1000;
	if (!pod->dirty && pod->script.run_ms != SCRIPT_FOREVER)
		set_timer(pod, pod->script.run_ms - elapsed);
}

static void pod_stop(struct kubelet_pod *pod)
{
	if (pod->runtime != NULL) {
		runtime_pod_stop(pod->runtime, pod->grace_sec * 1000);
		return;
	}
	if (pod->kubelet->options.termination_ms > 0 && pod->begun && !pod_report_terminal(&pod->report))
		set_timer(pod, pod->kubelet->options.termination_ms);
	else
		pod->stopped = true;
}

/* Nobody will hear from the Pod again. */
void kubelet_pod_gone(struct kubelet_pod *pod)
{
	struct ev_loop *loop = pod->kubelet->loop;

	if (!pod->gone)
		pod->kubelet->counts.deleted++;
	pod->gone = true;
	ev_timer_stop(loop, &pod->retry);
	ev_timer_stop(loop, &pod->timer);
	kubelet_pod_unqueue(pod);
	if (pod->runtime != NULL)
		runtime_pod_release(pod->runtime);
	pod->runtime = NULL;
	give_address(pod);
	kubelet_pod_give_capacity(pod);
}

void kubelet_pod_observe(struct kubelet_pod *pod, json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
	const char *node = json_str(json_object_get(object, "spec"), "nodeName");
	const char *phase = json_str(json_object_get(object, "status"), "phase");
	bool over = phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
	bool running = phase != NULL && strcmp(phase, "Running") == 0;
	bool deleting = json_str(meta, "deletionTimestamp") != NULL;
	int64_t grace = json_int(meta, "deletionGracePeriodSeconds", 0);

	if (pod->gone)
		return;
	if (pod->kubelet->options.real) {
		json_incref(object);
		json_decref(pod->object);
		pod->object = object;
	}
	/* While our own binding is under way its answer decides. */
	if (pod->node < 0 && node != NULL && node[0] != '\0' && pod->call_kind != CALL_BIND) {
		pod->node = node_index(&pod->kubelet->options.nodes, node);
		pod->foreign = pod->node < 0;
		if (pod->foreign) {
			kubelet_pod_unqueue(pod);
			kubelet_pod_give_capacity(pod);
		}
	}
	if (pod->foreign)
		return;
	if (over && !pod_report_terminal(&pod->report)) {
		/* Somebody else has written its end. */
		ev_timer_stop(pod->kubelet->loop, &pod->timer);
		pod->begun = true;
		pod->dirty = false;
		pod->report.phase = strcmp(phase, "Failed") == 0 ? REPORT_FAILED : REPORT_SUCCEEDED;
		if (pod->runtime != NULL)
			runtime_pod_release(pod->runtime);
		pod->runtime = NULL;
		kubelet_pod_give_capacity(pod);
	}
	if (pod->node >= 0 && !pod->begun && !deleting) {
		if (running || json_time(json_object_get(object, "status"), "startTime") != 0)
			pod_resume(pod, object, running);
		else
			pod_begin(pod);
	}
	if (deleting && (!pod->deleting || grace < pod->grace_sec)) {
		pod->deleting = true;
		pod->grace_sec = grace;
		if (!pod->script.ignore_termination)
			pod_stop(pod);
	}
	kubelet_pod_step(pod);
}
void kubelet_pod_bound(struct kubelet_pod *pod)
{
	pod->kubelet->counts.bound++;
	pod->node = pod->wanted_node;
	/* Deleted meanwhile: there is nothing to run any more. */
	if (!pod->deleting)
		pod_begin(pod);
	gangs_place(pod->kubelet);
}

void kubelet_pod_reported(struct kubelet_pod *pod)
{
	pod->kubelet->counts.statuses++;
	if (pod_report_terminal(&pod->report)) {
		if (!pod->dirty)
			pod->kubelet->counts.finished++;
		if (pod->runtime == NULL || runtime_pod_ended(pod->runtime))
			kubelet_pod_give_capacity(pod);
	} else if (pod->report.phase == REPORT_RUNNING && !pod->kubelet->options.real && !pod->deleting &&
		   pod->script.run_ms != SCRIPT_FOREVER && !ev_is_active(&pod->timer)) {
		set_timer(pod, pod->script.run_ms);
	}
}

/* ---- coming and going -------------------------------------------------------------------------------------------- */

void kubelet_pod_free(struct kubelet_pod *pod)
{
	script_free(&pod->script);
	pod_report_free(&pod->report);
	json_decref(pod->object);
	free(pod->written);
	free(pod->uid);
	free(pod->ns);
	free(pod->name);
	free(pod);
}

struct kubelet_pod *kubelet_pod_new(struct kubelet *kubelet, json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
	struct kubelet_pod *pod = mem_calloc(1, sizeof(*pod));

	pod->kubelet = kubelet;
	pod->uid = mem_strdup(json_str(meta, "uid"));
	pod->ns = mem_strdup(json_str(meta, "namespace"));
	pod->name = mem_strdup(json_str(meta, "name"));
	pod->node = -1;
	script_parse(object, &pod->script);
	pod_report_init(&pod->report, object);
	if (pod->script.kind == SCRIPT_UNSCHEDULABLE) {
		mem_replace(&pod->report.unschedulable,
			    pod->script.message != NULL ? pod->script.message : "0/1 nodes are available");
		pod->report.transition_time = now_sec();
		pod->dirty = true;
	}
	ev_timer_init(&pod->retry, kubelet_pod_on_retry, 0, 0);
	pod->retry.data = pod;
	ev_timer_init(&pod->timer, on_timer, 0, 0);
	pod->timer.data = pod;
	gang_join(pod, object);
	HASH_ADD_KEYPTR(by_uid, kubelet->pods, pod->uid, strlen(pod->uid), pod);
	return pod;
}

void kubelet_pod_remove(struct kubelet_pod *pod)
{
	struct kubelet *kubelet = pod->kubelet;

	HASH_DELETE(by_uid, kubelet->pods, pod);
	pod->removed = true;
	gang_leave(pod);
	kubelet_pod_gone(pod);
	gangs_place(kubelet);
	if (pod->call != NULL)
		kube_call_cancel(pod->call);
	else
		kubelet_pod_free(pod);
}
