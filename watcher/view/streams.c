/* Reflectors of Frameworks, ConfigMaps and Pods, and of Workloads; see streams.h. */
#include "watcher/view/streams.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/kube/reflector.h"

struct stream {
	struct streams *streams;
	enum object_kind kind;
	char *ns; /* "": all */
	struct reflector *reflector;
	bool synced;
	bool live;
};

struct streams {
	struct cache *cache;
	bool watch_list;
	const struct streams_handler *handler;
	void *arg;
	bool synced;
	bool live;
	bool relisted; /* and not yet reported */
	size_t count;
	struct stream all[];
};

static void complain(const struct stream *stream, const char *ns, const char *name, const char *message)
{
	log_error("%s %s/%s cannot be read and is left out: %s", object_kind_name(stream->kind), ns, name, message);
}

static int on_object(void *arg, const struct reflector_object *object, bool gone, struct error *err)
{
	struct stream *stream = arg;
	const struct streams *streams = stream->streams;

	if (!gone)
		return cache_present_raw(streams->cache, stream->kind, object, err);
	streams->handler->deleted(streams->arg, stream->kind, object->data, object->len);
	return cache_deleted_raw(streams->cache, stream->kind, object, err);
}

static void on_list_begin(void *arg)
{
	struct stream *stream = arg;

	cache_list_begin(stream->streams->cache, stream->ns, stream->kind);
}

/* Most often all watches end together, and all lists are reported as one. Until then nobody concludes anything from
 * what is absent (CONTRACT.md §12.18). listed: has just been listed; NULL: none. */
static void report_relisted(struct streams *streams, const struct stream *listed)
{
	for (size_t i = 0; i < streams->count; i++)
		if (!streams->all[i].live && &streams->all[i] != listed)
			return;
	if (streams->relisted)
		streams->handler->relisted(streams->arg);
	streams->relisted = false;
}

static void on_list_end(void *arg, const char *resource_version)
{
	struct stream *stream = arg;
	struct streams *streams = stream->streams;

	cache_list_end(streams->cache, stream->ns, stream->kind, resource_version);
	stream->synced = true;
	if (streams->synced) {
		streams->relisted = true;
		report_relisted(streams, stream);
		return;
	}
	for (size_t i = 0; i < streams->count; i++)
		if (!streams->all[i].synced)
			return;
	streams->synced = true;
	streams->handler->synced(streams->arg);
}

static void on_progress(void *arg, const char *resource_version)
{
	struct stream *stream = arg;

	cache_progress(stream->streams->cache, stream->ns, stream->kind, resource_version);
}

static void on_live(void *arg, bool live)
{
	struct stream *stream = arg;
	struct streams *streams = stream->streams;
	bool all = true;

	stream->live = live;
	report_relisted(streams, NULL);
	for (size_t i = 0; i < streams->count; i++)
		all = all && streams->all[i].live;
	if (streams->live == all)
		return;
	streams->live = all;
	streams->handler->live(streams->arg, all);
}

static void on_malformed(void *arg, const char *ns, const char *name, const char *message)
{
	struct stream *stream = arg;

	complain(stream, ns, name, message);
	cache_unreadable(stream->streams->cache, stream->kind, ns, name);
}

static const struct reflector_handler stream_handler = {
	.raw = on_object,
	.list_begin = on_list_begin,
	.list_end = on_list_end,
	.progress = on_progress,
	.live = on_live,
	.malformed = on_malformed,
};

struct kind {
	const char *group; /* "/api/v1" */
	const char *resource;
	const char *label_selector;
	const char *what;
};

static const struct kind kinds[KIND_COUNT] = {
	[KIND_FRAMEWORK] = {.group = "/apis/frameworkcontroller.microsoft.com/v1",
			    .resource = "frameworks",
			    .what = "Frameworks"},
	[KIND_CONFIG_MAP] = {.group = "/api/v1",
			     .resource = "configmaps",
			     .label_selector = "FC_FRAMEWORK_NAME",
			     .what = "ConfigMaps"},
	[KIND_POD] = {.group = "/api/v1", .resource = "pods", .label_selector = "FC_FRAMEWORK_NAME", .what = "Pods"},
	[KIND_WORKLOAD] = {.resource = "workloads", .label_selector = "FC_FRAMEWORK_NAME", .what = "Workloads"},
};

/* group: where the resource is, if the kind does not say. */
static struct reflector *make_reflector(struct ev_loop *loop, struct kube_client *client, struct stream *stream,
					const char *group)
{
	const struct kind *kind = &kinds[stream->kind];
	bool all = stream->ns[0] == '\0';
	const char *root = kind->group == NULL ? group : kind->group;
	cleanup_free char *path = all ? mem_printf("%s/%s", root, kind->resource)
				      : mem_printf("%s/namespaces/%s/%s", root, stream->ns, kind->resource);
	cleanup_free char *what = all ? mem_strdup(kind->what) : mem_printf("%s in %s", kind->what, stream->ns);
	const struct reflector_options options = {
		.path = path,
		.label_selector = kind->label_selector,
		.metadata_only = stream->kind == KIND_CONFIG_MAP,
		.what = what,
		.watch_list = stream->streams->watch_list,
	};

	return reflector_new(loop, client, &options, &stream_handler, stream);
}

/* Allocates streams of kind_count kinds, the first of which is `first`, in each of the namespaces. */
static struct streams *allocate(const struct namespaces *namespaces, enum object_kind first, size_t kind_count)
{
	const size_t count = (namespaces->count == 0 ? 1 : namespaces->count) * kind_count;
	struct streams *streams = mem_calloc(1, sizeof(*streams) + count * sizeof(streams->all[0]));

	streams->count = count;
	for (size_t i = 0; i < count; i++) {
		struct stream *stream = &streams->all[i];

		stream->streams = streams;
		stream->kind = (enum object_kind)(first + i % kind_count);
		stream->ns = mem_strdup(namespaces->count == 0 ? "" : namespaces->names[i / kind_count]);
	}
	return streams;
}

static void start(struct streams *streams, struct ev_loop *loop, struct kube_client *client, const char *group)
{
	for (size_t i = 0; i < streams->count; i++)
		streams->all[i].reflector = make_reflector(loop, client, &streams->all[i], group);
	for (size_t i = 0; i < streams->count; i++)
		reflector_start(streams->all[i].reflector);
}

struct streams *streams_new(struct ev_loop *loop, struct kube_client *client, struct cache *cache,
			    const struct namespaces *namespaces, bool watch_list, const struct streams_handler *handler,
			    void *arg)
{
	struct streams *streams = allocate(namespaces, KIND_FRAMEWORK, KIND_WORKLOAD);

	streams->cache = cache;
	streams->watch_list = watch_list;
	streams->handler = handler;
	streams->arg = arg;
	start(streams, loop, client, NULL);
	return streams;
}

struct streams *streams_new_workloads(struct ev_loop *loop, struct kube_client *client, struct cache *cache,
				      const struct namespaces *namespaces, const char *group,
				      const struct streams_handler *handler, void *arg)
{
	struct streams *streams = allocate(namespaces, KIND_WORKLOAD, 1);

	streams->cache = cache;
	streams->handler = handler;
	streams->arg = arg;
	start(streams, loop, client, group);
	return streams;
}

void streams_free(struct streams *streams)
{
	if (streams == NULL)
		return;
	for (size_t i = 0; i < streams->count; i++) {
		reflector_free(streams->all[i].reflector);
		free(streams->all[i].ns);
	}
	free(streams);
}
