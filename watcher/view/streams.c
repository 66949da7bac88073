/* Reflectors of Frameworks, ConfigMaps and Pods, and of Workloads; see streams.h. */
#include "watcher/view/streams.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/kube/reflector.h"

/* So many refusals in a row, over some 25 s, are not those of an API server that has just started. */
enum { REFUSALS = 6 };
/* After so many, some 2 s, the other streams of the namespace ask, too. */
enum { REFUSALS_ALONE = 2 };

struct stream {
	struct streams *streams;
	enum object_kind kind;
	char *ns; /* "": all */
	struct reflector *reflector;
	bool synced;
	bool live;
	int refusals; /* 403, in a row */
};

struct streams {
	struct cache *cache;
	bool watch_list;
	const struct streams_handler *handler;
	void *arg;
	bool synced;
	bool live;
	bool relisted;     /* and not yet reported */
	size_t kind_count; /* streams of a namespace follow each other */
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

/* Whether the API server refuses all access to the stream's namespace, because somebody deleted the namespace or the
 * RoleBinding in it. The other namespaces do not wait for such a namespace: nobody can act in it. */
static bool is_left_out(const struct streams *streams, size_t index)
{
	size_t first = index - index % streams->kind_count;

	if (streams->all[index].ns[0] == '\0')
		return false;
	for (size_t i = first; i < first + streams->kind_count; i++)
		if (streams->all[i].refusals < REFUSALS)
			return false;
	return true;
}

static void set_refusals(struct stream *stream, int refusals)
{
	const struct streams *streams = stream->streams;
	size_t index = (size_t)(stream - streams->all);
	bool before = is_left_out(streams, index);

	stream->refusals = refusals;
	if (is_left_out(streams, index) == before)
		return;
	if (before)
		log_info("namespace %s: the API server no longer refuses access", stream->ns);
	else
		log_error("namespace %s: the API server refuses all access, and the other namespaces no longer wait "
			  "for it. Restore the controller's RoleBinding in it, or remove it from --namespaces",
			  stream->ns);
}

/* Of all streams that are not left out; false if there is none. */
static bool all_synced(const struct streams *streams)
{
	bool any = false;

	for (size_t i = 0; i < streams->count; i++) {
		if (is_left_out(streams, i))
			continue;
		if (!streams->all[i].synced)
			return false;
		any = true;
	}
	return any;
}

/* listed: has just been listed, and counts as live; NULL: none. */
static bool all_live(const struct streams *streams, const struct stream *listed)
{
	bool any = false;

	for (size_t i = 0; i < streams->count; i++) {
		if (is_left_out(streams, i))
			continue;
		if (!streams->all[i].live && &streams->all[i] != listed)
			return false;
		any = true;
	}
	return any;
}

/* Most often all watches end together, and all lists are reported as one. Until then nobody concludes anything from
 * what is absent (CONTRACT.md §12.18). */
static void report(struct streams *streams, const struct stream *listed)
{
	bool live;

	if (!streams->synced && all_synced(streams)) {
		streams->synced = true;
		streams->handler->synced(streams->arg);
	} else if (streams->relisted && all_live(streams, listed)) {
		streams->relisted = false;
		streams->handler->relisted(streams->arg);
	}
	live = all_live(streams, NULL);
	if (streams->live == live)
		return;
	streams->live = live;
	streams->handler->live(streams->arg, live);
}

static void on_list_end(void *arg, const char *resource_version)
{
	struct stream *stream = arg;
	struct streams *streams = stream->streams;

	cache_list_end(streams->cache, stream->ns, stream->kind, resource_version);
	set_refusals(stream, 0);
	stream->synced = true;
	streams->relisted = streams->synced;
	report(streams, stream);
}

static void on_progress(void *arg, const char *resource_version)
{
	struct stream *stream = arg;

	cache_progress(stream->streams->cache, stream->ns, stream->kind, resource_version);
}

static void on_live(void *arg, bool live)
{
	struct stream *stream = arg;

	if (live)
		set_refusals(stream, 0);
	stream->live = live;
	report(stream->streams, NULL);
}

/* The other streams of a namespace learn whether they are refused, too. A watch that began before goes on for minutes,
 * and the other namespaces would wait for its end. */
static void ask_others(const struct stream *stream)
{
	const struct streams *streams = stream->streams;
	size_t index = (size_t)(stream - streams->all);
	size_t first = index - index % streams->kind_count;

	for (size_t i = first; i < first + streams->kind_count; i++)
		if (streams->all[i].refusals == 0)
			reflector_watch_again(streams->all[i].reflector);
}

static bool on_refused(void *arg, const char *right, int http_status, const char *message)
{
	struct stream *stream = arg;

	(void)right;
	(void)message;
	if (http_status == 403 && stream->refusals < REFUSALS) {
		set_refusals(stream, stream->refusals + 1);
		if (stream->refusals == REFUSALS_ALONE)
			ask_others(stream);
	}
	report(stream->streams, NULL);
	return false;
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
	.refused = on_refused,
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
	streams->kind_count = kind_count;
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
