/* The kubelet as a whole: its streams of Pods and Services, the table of Pods, and the names they see. */
#include "tests/cluster/testkubelet/kubelet.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/hosts.h"
#include "tests/cluster/testkubelet/internal.h"
#include "tests/cluster/testkubelet/launch.h"
#include "tests/cluster/testkubelet/logserver.h"

enum {
	PROBE_TIMEOUT_MS = 10000,
	/* Loopback networks 127.16 … 127.239, by pid: kubelets on one machine rarely meet. */
	LOOPBACK_NETWORKS = 224,
	LOOPBACK_FIRST = 127 << 24 | 16 << 16,
};

/* Changes of names are gathered this long: a gang's Pods start together. */
static const double hosts_delay_s = 0.02;

/* ---- /etc/hosts -------------------------------------------------------------------------------------------------- */

static struct hosts_pod hosts_entry(const struct kubelet_pod *pod)
{
	const json_t *spec = json_object_get(pod->object, "spec");
	const char *host_name = json_str(spec, "hostname");

	return (struct hosts_pod){
		.ip = pod->report.pod_ip,
		.hostname = host_name == NULL || host_name[0] == '\0' ? pod->name : host_name,
		.subdomain = json_str(spec, "subdomain"),
	};
}

static bool has_names(const struct kubelet_pod *pod)
{
	return pod->runtime != NULL && pod->address != 0 && !pod_report_terminal(&pod->report);
}

static bool selects(const struct kubelet_service *service, const struct kubelet_pod *pod)
{
	const json_t *labels = json_path(pod->object, "metadata", "labels", NULL);
	const char *key;
	json_t *value;

	json_object_foreach(service->selector, key, value) {
		if (!json_equal(value, json_object_get(labels, key)))
			return false;
	}
	return true;
}

/* Whether a headless Service gives the Pod its name; ready or not, as with publishNotReadyAddresses. */
static bool is_published(const struct kubelet *kubelet, const struct kubelet_pod *pod, const char *subdomain)
{
	const struct kubelet_service *service;

	for (service = kubelet->services; service != NULL; service = service->by_uid.next)
		if (service->headless && subdomain != NULL && strcmp(service->name, subdomain) == 0 &&
		    strcmp(service->ns, pod->ns) == 0 && selects(service, pod))
			return true;
	return false;
}

/* The lines that all Pods of a namespace share. */
static void write_shared(struct kubelet *kubelet, struct buf *out, const char *ns)
{
	struct kubelet_pod *pod, *next_pod;
	struct kubelet_service *service, *next_service;

	HASH_ITER(by_uid, kubelet->pods, pod, next_pod) {
		struct hosts_pod entry = hosts_entry(pod);

		if (!has_names(pod) || strcmp(pod->ns, ns) != 0)
			continue;
		if (is_published(kubelet, pod, entry.subdomain))
			hosts_write_pod(out, ns, &entry);
		HASH_ITER(by_uid, kubelet->services, service, next_service) {
			if (strcmp(service->ns, ns) == 0 && selects(service, pod))
				hosts_write_service(out, ns, service->name, entry.ip);
		}
	}
}

static void write_one(struct kubelet_pod *pod, const struct buf *shared)
{
	cleanup_buf struct buf text = {0};
	struct hosts_pod self = hosts_entry(pod);

	hosts_write_head(&text);
	hosts_write_self(&text, pod->ns, &self);
	if (shared->len > 0)
		buf_append(&text, shared->data, shared->len);
	runtime_pod_write_hosts(pod->runtime, text.data, text.len);
}

void kubelet_write_hosts(struct kubelet_pod *pod)
{
	cleanup_buf struct buf shared = {0};

	write_shared(pod->kubelet, &shared, pod->ns);
	write_one(pod, &shared);
}

/* The shared lines of one namespace, kept while all files are rewritten. */
struct shared_lines {
	UT_hash_handle hh;
	struct buf text;
	char ns[];
};

static void on_hosts(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct kubelet *kubelet = timer->data;
	struct shared_lines *all = NULL, *lines, *next_lines;
	struct kubelet_pod *pod, *next_pod;

	(void)loop;
	(void)events;
	HASH_ITER(by_uid, kubelet->pods, pod, next_pod) {
		if (!has_names(pod))
			continue;
		HASH_FIND_STR(all, pod->ns, lines);
		if (lines == NULL) {
			lines = mem_calloc(1, sizeof(*lines) + strlen(pod->ns) + 1);
			memcpy(lines->ns, pod->ns, strlen(pod->ns) + 1);
			write_shared(kubelet, &lines->text, pod->ns);
			HASH_ADD_STR(all, ns, lines);
		}
		write_one(pod, &lines->text);
	}
	HASH_ITER(hh, all, lines, next_lines) {
		HASH_DEL(all, lines);
		buf_free(&lines->text);
		free(lines);
	}
}

void kubelet_hosts_changed(struct kubelet *kubelet)
{
	if (!kubelet->options.real || kubelet->stopping || ev_is_active(&kubelet->hosts))
		return;
	ev_timer_set(&kubelet->hosts, hosts_delay_s, 0);
	ev_timer_start(kubelet->loop, &kubelet->hosts);
}

/* ---- Pods -------------------------------------------------------------------------------------------------------- */

static struct kubelet_pod *find_pod(struct kubelet *kubelet, const json_t *object)
{
	const char *uid = json_str(json_object_get(object, "metadata"), "uid");
	struct kubelet_pod *pod = NULL;

	if (uid != NULL)
		HASH_FIND(by_uid, kubelet->pods, uid, strlen(uid), pod);
	return pod;
}

static bool serves(const struct kubelet *kubelet, const char *ns)
{
	const struct kubelet_options *options = &kubelet->options;

	return (options->only_namespace == NULL || strcmp(ns, options->only_namespace) == 0) &&
	       (options->not_namespace == NULL || strcmp(ns, options->not_namespace) != 0);
}

static void pod_present(void *arg, json_t *object)
{
	struct kubelet *kubelet = arg;
	const json_t *meta = json_object_get(object, "metadata");
	const char *ns = json_str(meta, "namespace");
	struct kubelet_pod *pod = find_pod(kubelet, object);

	if (json_str(meta, "uid") == NULL || ns == NULL || json_str(meta, "name") == NULL || !serves(kubelet, ns))
		return;
	if (pod == NULL)
		pod = kubelet_pod_new(kubelet, object);
	pod->seen = kubelet->lists;
	kubelet_pod_observe(pod, object);
}

static void pod_deleted(void *arg, json_t *object)
{
	struct kubelet_pod *pod = find_pod(arg, object);

	if (pod != NULL)
		kubelet_pod_remove(pod);
}

static void pods_list_begin(void *arg)
{
	((struct kubelet *)arg)->lists++;
}

static void pods_list_end(void *arg, const char *resource_version)
{
	struct kubelet *kubelet = arg;
	struct kubelet_pod *pod, *next;

	HASH_ITER(by_uid, kubelet->pods, pod, next) {
		if (pod->seen != kubelet->lists)
			kubelet_pod_remove(pod);
	}
	log_v(1, "%u Pods listed at resourceVersion %s", HASH_CNT(by_uid, kubelet->pods), resource_version);
}

static void ignore_live(void *arg, bool live)
{
	(void)arg;
	(void)live;
}

static const struct reflector_handler pod_handler = {
	.present = pod_present,
	.deleted = pod_deleted,
	.list_begin = pods_list_begin,
	.list_end = pods_list_end,
	.live = ignore_live,
};

/* ---- Services (real mode) ---------------------------------------------------------------------------------------- */

static struct kubelet_service *find_service(struct kubelet *kubelet, const json_t *object)
{
	const char *uid = json_str(json_object_get(object, "metadata"), "uid");
	struct kubelet_service *service = NULL;

	if (uid != NULL)
		HASH_FIND(by_uid, kubelet->services, uid, strlen(uid), service);
	return service;
}

static void remove_service(struct kubelet *kubelet, struct kubelet_service *service)
{
	HASH_DELETE(by_uid, kubelet->services, service);
	json_decref(service->selector);
	free(service->uid);
	free(service->ns);
	free(service->name);
	free(service);
}

static void service_present(void *arg, json_t *object)
{
	struct kubelet *kubelet = arg;
	const json_t *meta = json_object_get(object, "metadata");
	json_t *selector = json_path(object, "spec", "selector", NULL);
	const char *address = json_str(json_object_get(object, "spec"), "clusterIP");
	struct kubelet_service *service = find_service(kubelet, object);

	if (json_str(meta, "uid") == NULL || json_str(meta, "namespace") == NULL || json_str(meta, "name") == NULL)
		return;
	if (service != NULL)
		remove_service(kubelet, service);
	/* One without a selector names nothing of ours. */
	if (json_object_size(selector) > 0) {
		service = mem_calloc(1, sizeof(*service));
		service->uid = mem_strdup(json_str(meta, "uid"));
		service->ns = mem_strdup(json_str(meta, "namespace"));
		service->name = mem_strdup(json_str(meta, "name"));
		service->selector = json_incref(selector);
		service->headless = strcmp(address == NULL ? "" : address, "None") == 0;
		service->seen = kubelet->service_lists;
		HASH_ADD_KEYPTR(by_uid, kubelet->services, service->uid, strlen(service->uid), service);
	}
	kubelet_hosts_changed(kubelet);
}

static void service_deleted(void *arg, json_t *object)
{
	struct kubelet *kubelet = arg;
	struct kubelet_service *service = find_service(kubelet, object);

	if (service != NULL)
		remove_service(kubelet, service);
	kubelet_hosts_changed(kubelet);
}

static void services_list_begin(void *arg)
{
	((struct kubelet *)arg)->service_lists++;
}

static void services_list_end(void *arg, const char *resource_version)
{
	struct kubelet *kubelet = arg;
	struct kubelet_service *service, *next;

	(void)resource_version;
	HASH_ITER(by_uid, kubelet->services, service, next) {
		if (service->seen != kubelet->service_lists)
			remove_service(kubelet, service);
	}
	kubelet_hosts_changed(kubelet);
}

static const struct reflector_handler service_handler = {
	.present = service_present,
	.deleted = service_deleted,
	.list_begin = services_list_begin,
	.list_end = services_list_end,
	.live = ignore_live,
};

/* Of the one namespace, if it is to be only that; the caller frees. */
static char *collection_path(const struct kubelet *kubelet, const char *plural)
{
	const char *ns = kubelet->options.only_namespace;

	return ns == NULL ? mem_printf("/api/v1/%s", plural) : mem_printf("/api/v1/namespaces/%s/%s", ns, plural);
}

/* Not every API server that is good enough for Pods has Services. */
static void on_probe(void *arg, const struct kube_answer *answer)
{
	struct kubelet *kubelet = arg;
	cleanup_free char *path = collection_path(kubelet, "services");
	const struct reflector_options options = {.path = path, .what = "Services"};

	if (answer->failure == KUBE_CANCELLED || kubelet->stopping)
		return;
	if (answer->failure == KUBE_OK && answer->http_status >= 400) {
		log_v(1, "Cannot write the names of Services into /etc/hosts: %s", answer->message);
		return;
	}
	kubelet->service_reflector = reflector_new(kubelet->loop, kubelet->client, &options, &service_handler, kubelet);
	reflector_start(kubelet->service_reflector);
}

static void probe_services(struct kubelet *kubelet)
{
	cleanup_free char *collection = collection_path(kubelet, "services");
	cleanup_free char *path = mem_printf("%s?limit=1", collection);
	const struct kube_request request = {
		.method = "GET",
		.path = path,
		.timeout_ms = PROBE_TIMEOUT_MS,
	};

	kube_client_call(kubelet->client, &request, on_probe, kubelet);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void name_nodes(struct kubelet *kubelet)
{
	int count = kubelet->options.nodes.count;

	kubelet->node_names = mem_calloc((size_t)count, sizeof(char *));
	kubelet->host_ips = mem_calloc((size_t)count, sizeof(char *));
	for (int i = 0; i < count; i++) {
		char text[ADDRESS_SIZE];
		/* RFC 1918 §3: apart from the Pods' 10/8. */
		struct address_block block = {.first = 172u << 24 | 16u << 16, .size = 1 << 20};

		kubelet->node_names[i] = node_name(&kubelet->options.nodes, i);
		kubelet->host_ips[i] = mem_strdup(
			kubelet->options.real ? "127.0.0.1" : address_format(address_at(&block, (uint64_t)i), text));
	}
}

struct kubelet *kubelet_new(struct ev_loop *loop, struct kube_client *client, const struct kubelet_options *options)
{
	struct kubelet *kubelet = mem_calloc(1, sizeof(*kubelet));
	struct reflector_options pods = {.what = "Pods"};
	cleanup_free char *path = NULL;

	kubelet->loop = loop;
	kubelet->client = client;
	kubelet->options = *options;
	random_init(&kubelet->random);
	kubelet->block = (struct address_block){.first = 10u << 24, .size = 1 << 24};
	if (options->real) {
		kubelet->block.first = LOOPBACK_FIRST + ((uint32_t)getpid() % LOOPBACK_NETWORKS << 16);
		kubelet->block.size = 1 << 16;
	}
	kubelet->runtime = (struct runtime){
		.loop = loop,
		.root = options->root,
		.pod_env = options->pod_env,
		.pod_env_count = options->pod_env_count,
		.image_bin = options->image_bin,
		.volumes = options->volumes,
		.isolate = options->real && launch_can_isolate(),
	};
	if (options->real && !kubelet->runtime.isolate)
		log_warning("Containers run without namespaces (these need root, or unprivileged user namespaces): "
			    "they have no volumes, no names of peers and no /dev/termination-log");
	name_nodes(kubelet);
	ev_timer_init(&kubelet->hosts, on_hosts, 0, 0);
	kubelet->hosts.data = kubelet;
	path = collection_path(kubelet, "pods");
	pods.path = path;
	kubelet->pod_reflector = reflector_new(loop, client, &pods, &pod_handler, kubelet);
	return kubelet;
}

int kubelet_serve_logs(struct kubelet *kubelet, const char *tls_cert, const char *tls_key, struct error *err)
{
	kubelet->log_server = log_server_new(kubelet, tls_cert, tls_key, err);
	return kubelet->log_server == NULL ? -1 : 0;
}

void kubelet_start(struct kubelet *kubelet)
{
	if (kubelet->options.register_nodes)
		nodes_register(kubelet);
	if (kubelet->options.real)
		probe_services(kubelet);
	reflector_start(kubelet->pod_reflector);
}

void kubelet_stop(struct kubelet *kubelet)
{
	struct kubelet_pod *pod, *next_pod;
	struct kubelet_service *service, *next_service;

	if (kubelet->stopping)
		return;
	kubelet->stopping = true;
	reflector_free(kubelet->pod_reflector);
	if (kubelet->service_reflector != NULL)
		reflector_free(kubelet->service_reflector);
	ev_timer_stop(kubelet->loop, &kubelet->hosts);
	HASH_ITER(by_uid, kubelet->pods, pod, next_pod) {
		kubelet_pod_remove(pod);
	}
	HASH_ITER(by_uid, kubelet->services, service, next_service) {
		remove_service(kubelet, service);
	}
}

size_t kubelet_processes_left(const struct kubelet *kubelet)
{
	return kubelet->runtime.processes;
}

void kubelet_free(struct kubelet *kubelet)
{
	for (int i = 0; i < kubelet->options.nodes.count; i++) {
		free(kubelet->node_names[i]);
		free(kubelet->host_ips[i]);
	}
	free(kubelet->node_names);
	free(kubelet->host_ips);
	gangs_free(kubelet);
	log_server_free(kubelet->log_server);
	free(kubelet);
}

struct kubelet_counts kubelet_counts(const struct kubelet *kubelet)
{
	struct kubelet_counts counts = kubelet->counts;

	counts.pods = HASH_CNT(by_uid, kubelet->pods);
	return counts;
}
