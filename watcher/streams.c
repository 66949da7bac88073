/* Reflectors of Frameworks, ConfigMaps and Pods; see streams.h. */
#include "watcher/streams.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/kube/reflector.h"
#include "watcher/deletion.h"

struct stream {
	struct streams *streams;
	enum object_kind kind;
	struct reflector *reflector;
	bool synced;
	bool live;
};

struct streams {
	struct cache *cache;
	struct config_snapshots snapshots;
	const struct streams_handler *handler;
	void *arg;
	bool synced;
	bool live;
	struct stream kinds[KIND_COUNT];
};

static void complain(const struct stream *stream, const char *ns, const char *name, const char *message)
{
	log_error("%s %s/%s cannot be read and is left out: %s", object_kind_name(stream->kind), ns, name, message);
}

static int on_object(void *arg, const struct reflector_object *object, bool gone, struct error *err)
{
	struct stream *stream = arg;
	const struct config_snapshots *snapshots = &stream->streams->snapshots;

	if (!gone)
		return cache_present_raw(stream->streams->cache, stream->kind, object, err);
	if ((stream->kind == KIND_FRAMEWORK && snapshots->on_framework_deletion) ||
	    (stream->kind == KIND_POD && snapshots->on_pod_deletion))
		deletion_log_text(stream->kind, object->data, object->len);
	return cache_deleted_raw(stream->streams->cache, stream->kind, object, err);
}

static void on_list_begin(void *arg)
{
	struct stream *stream = arg;

	cache_list_begin(stream->streams->cache, stream->kind);
}

static void on_list_end(void *arg, const char *resource_version)
{
	struct stream *stream = arg;
	struct streams *streams = stream->streams;

	cache_list_end(streams->cache, stream->kind, resource_version);
	stream->synced = true;
	if (streams->synced) {
		streams->handler->relisted(streams->arg);
		return;
	}
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		if (!streams->kinds[kind].synced)
			return;
	streams->synced = true;
	streams->handler->synced(streams->arg);
}

static void on_progress(void *arg, const char *resource_version)
{
	struct stream *stream = arg;

	cache_progress(stream->streams->cache, stream->kind, resource_version);
}

static void on_live(void *arg, bool live)
{
	struct stream *stream = arg;
	struct streams *streams = stream->streams;
	bool all = true;

	stream->live = live;
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		all = all && streams->kinds[kind].live;
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

static const struct reflector_options kind_options[KIND_COUNT] = {
	[KIND_FRAMEWORK] = {.path = "/apis/frameworkcontroller.microsoft.com/v1/frameworks", .what = "Frameworks"},
	[KIND_CONFIG_MAP] = {.path = "/api/v1/configmaps",
			     .label_selector = "FC_FRAMEWORK_NAME",
			     .accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
			     .what = "ConfigMaps"},
	[KIND_POD] = {.path = "/api/v1/pods", .label_selector = "FC_FRAMEWORK_NAME", .what = "Pods"},
};

struct streams *streams_new(struct ev_loop *loop, struct kube_client *client, struct cache *cache,
			    const struct config_snapshots *snapshots, const struct streams_handler *handler, void *arg)
{
	struct streams *streams = mem_calloc(1, sizeof(*streams));

	streams->cache = cache;
	streams->snapshots = *snapshots;
	streams->handler = handler;
	streams->arg = arg;
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		struct stream *stream = &streams->kinds[kind];
		struct reflector_options options = kind_options[kind];

		/* A snapshot shows all of a Pod that is gone, as JSON has it, and the message alone does not say how:
		 * what later servers add to Pods would be lost. So JSON it is while they are wanted. */
		options.protobuf = kind == KIND_POD && !snapshots->on_pod_deletion;
		stream->streams = streams;
		stream->kind = (enum object_kind)kind;
		stream->reflector = reflector_new(loop, client, &options, &stream_handler, stream);
	}
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		reflector_start(streams->kinds[kind].reflector);
	return streams;
}

void streams_free(struct streams *streams)
{
	if (streams == NULL)
		return;
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		reflector_free(streams->kinds[kind].reflector);
	free(streams);
}
