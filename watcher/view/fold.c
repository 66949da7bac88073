/* Folds and unfolds objects; see fold.h. */
#include "watcher/view/fold.h"

#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "common/base/mem.h"
#include "common/base/pack.h"
#include "common/framework/object_pack.h"
#include "common/framework/status.h"

/* ---- texts ---- */

/* Most texts have a few KiB: a small window is quick to begin with, and level 1 is as good as others where the
 * dictionary has most of it (zlib.h). */
enum { WINDOW_BITS = 13, MEMORY_LEVEL = 6, LEVEL = 1, EXAMPLE_TASKS = 2 };

struct folder {
	z_stream deflate;
	z_stream inflate;
	struct buf dictionary;
	struct buf room;
};

/* Writes a typical Framework, whose text holds the parts that all Frameworks share. */
static void write_example(struct buf *out)
{
	struct task_status tasks[EXAMPLE_TASKS] = {0};
	struct role_status role = {.name = (char *)"worker", .instance_uid = (char *)"", .tasks = tasks};
	struct framework_status status = {.state = STATE_RUNNING};

	for (size_t i = 0; i < EXAMPLE_TASKS; i++) {
		tasks[i] = (struct task_status){
			.instance_uid = (char *)"",
			.start_time = 1,
			.run_time = 1,
			.transition_time = 1,
			.state = STATE_RUNNING,
			.retry = {.delay_sec = DELAY_NULL},
			.attempt = {.start_time = 1,
				    .run_time = 1,
				    .instance_uid = (char *)"0_",
				    .pod_uid = (char *)"",
				    .pod_node_name = (char *)"node",
				    .pod_ip = (char *)"10.",
				    .pod_host_ip = (char *)"10."},
		};
	}
	role.task_count = EXAMPLE_TASKS;
	status.attempt.roles = &role;
	status.attempt.role_count = 1;
	buf_puts(out,
		 "{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"kind\":\"Framework\",\"metadata\":{"
		 "\"annotations\":{},\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"generation\":1,\"labels\":{},"
		 "\"name\":\"\",\"namespace\":\"default\",\"resourceVersion\":\"1\",\"uid\":\"\"},\"spec\":{"
		 "\"executionType\":\"Start\",\"retryPolicy\":{\"fancyRetryPolicy\":true,\"maxRetryCount\":0},"
		 "\"taskRoles\":[{\"frameworkAttemptCompletionPolicy\":{\"minFailedTaskCount\":1,"
		 "\"minSucceededTaskCount\":1},\"name\":\"worker\",\"task\":{\"pod\":{\"metadata\":{},\"spec\":{"
		 "\"containers\":[{\"command\":[],\"image\":\"\",\"name\":\"\",\"resources\":{\"limits\":{\"cpu\":1,"
		 "\"memory\":\"1Gi\"}}}],\"restartPolicy\":\"Never\"}}},\"taskNumber\":1}]},\"status\":");
	framework_status_write(out, &status, "framework", NULL);
	buf_putc(out, '}');
}

struct folder *folder_new(void)
{
	struct folder *folder = mem_calloc(1, sizeof(*folder));

	if (deflateInit2(&folder->deflate, LEVEL, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK ||
	    inflateInit2(&folder->inflate, -WINDOW_BITS) != Z_OK)
		mem_exhausted();
	write_example(&folder->dictionary);
	return folder;
}

void folder_free(struct folder *folder)
{
	if (folder == NULL)
		return;
	deflateEnd(&folder->deflate);
	inflateEnd(&folder->inflate);
	buf_free(&folder->dictionary);
	buf_free(&folder->room);
	free(folder);
}

static const unsigned char *dictionary_of(const struct folder *folder)
{
	return (const unsigned char *)folder->dictionary.data;
}

/* In folder->room. 0: it is too long, or would be no shorter. */
static size_t deflate_text(struct folder *folder, const char *text, size_t len)
{
	z_stream *stream = &folder->deflate;

	if (len > FOLD_TEXT_MAX)
		return 0;
	buf_clear(&folder->room);
	buf_reserve(&folder->room, len);
	deflateReset(stream);
	deflateSetDictionary(stream, dictionary_of(folder), (uInt)folder->dictionary.len);
	stream->next_in = (const unsigned char *)text;
	stream->avail_in = (uInt)len;
	stream->next_out = (unsigned char *)folder->room.data;
	stream->avail_out = (uInt)len;
	return deflate(stream, Z_FINISH) == Z_STREAM_END ? stream->total_out : 0;
}

static void inflate_text(struct folder *folder, struct buf *out, const void *deflated, size_t deflated_len, size_t len)
{
	z_stream *stream = &folder->inflate;

	buf_reserve(out, len);
	inflateReset(stream);
	inflateSetDictionary(stream, dictionary_of(folder), (uInt)folder->dictionary.len);
	stream->next_in = deflated;
	stream->avail_in = (uInt)deflated_len;
	stream->next_out = (unsigned char *)out->data + out->len;
	stream->avail_out = (uInt)len;
	if (inflate(stream, Z_FINISH) != Z_STREAM_END || stream->total_out != len)
		abort(); /* we deflated it */
	out->len += len;
	out->data[out->len] = '\0';
}

/* ---- objects ---- */

struct folded_object {
	unsigned char packed[1];
};

/* Both directions begin with the texts that both sides know. */
static void begin(struct pack *pack, const char *ns, const char *name)
{
	pack_known(pack, ns);
	pack_known(pack, name);
	pack_known(pack, "");
	pack_known(pack, "ConfigMap");
	pack_known(pack, "Framework");
	pack_prefix(pack, name);
}

static void begin_writing(struct pack *pack, const struct object_meta *meta)
{
	pack_write(pack);
	begin(pack, meta->ns, meta->name);
}

static void begin_reading(struct pack *pack, const struct folded_object *folded, const char *ns, const char *name)
{
	pack_read(pack, folded->packed);
	begin(pack, ns, name);
}

static struct folded_object *finish(struct pack *pack)
{
	size_t len;

	return pack_finish(pack, &len);
}

void cached_framework_free(struct cached_framework *framework)
{
	if (framework == NULL)
		return;
	object_meta_free(&framework->meta);
	free(framework->text);
	free(framework);
}

/* The text behind what pack_meta() has packed. */
static void pack_folded_text(struct pack *pack, struct folder **folder, size_t *len, const void **deflated,
			     size_t *deflated_len)
{
	pack_memory(pack, folder, sizeof(struct folder *));
	PACK_AS_INT(pack, *len);
	pack_bytes(pack, deflated, deflated_len);
}

static void write_text(struct buf *out, struct pack *pack)
{
	struct folder *folder;
	const void *deflated;
	size_t deflated_len;
	size_t len = 0;

	pack_folded_text(pack, &folder, &len, &deflated, &deflated_len);
	inflate_text(folder, out, deflated, deflated_len, len);
}

struct folded_object *fold_framework(struct folder *folder, const struct cached_framework *framework)
{
	struct object_meta meta = framework->meta; /* packing changes nothing, and takes what it could change */
	size_t len = framework->len;
	size_t deflated_len = deflate_text(folder, framework->text, len);
	const void *deflated = folder->room.data;
	struct pack pack;

	if (deflated_len == 0)
		return NULL;
	begin_writing(&pack, &meta);
	pack_meta(&pack, &meta);
	pack_folded_text(&pack, &folder, &len, &deflated, &deflated_len);
	return finish(&pack);
}

struct cached_framework *unfold_framework(const struct folded_object *folded, const char *ns, const char *name)
{
	struct cached_framework *framework = mem_alloc(sizeof(*framework));
	struct buf text = {0};
	struct pack pack;

	begin_reading(&pack, folded, ns, name);
	pack_meta(&pack, &framework->meta);
	write_text(&text, &pack);
	pack_end(&pack);
	framework->len = text.len;
	framework->text = buf_steal(&text);
	return framework;
}

void fold_write_framework(struct buf *out, const struct folded_object *folded, const char *ns, const char *name)
{
	struct object_meta meta;
	struct pack pack;

	begin_reading(&pack, folded, ns, name);
	pack_meta(&pack, &meta);
	write_text(out, &pack);
	pack_end(&pack);
	object_meta_free(&meta);
}

bool fold_is_framework(const struct folded_object *folded, const struct object_meta *meta)
{
	struct object_meta own;
	struct pack pack;
	bool same;

	begin_reading(&pack, folded, meta->ns, meta->name);
	pack_meta(&pack, &own);
	same = strcmp(own.uid, meta->uid) == 0 && strcmp(own.resource_version, meta->resource_version) == 0;
	pack_end(&pack);
	object_meta_free(&own);
	return same;
}

struct folded_object *fold_pod(const struct pod *pod)
{
	struct pod copy = *pod;
	struct pack pack;

	if (!pod_packs(pod))
		return NULL;
	begin_writing(&pack, &pod->meta);
	pack_pod(&pack, &copy);
	return finish(&pack);
}

struct pod *unfold_pod(const struct folded_object *folded, const char *ns, const char *name)
{
	struct pod *pod = mem_alloc(sizeof(*pod));
	struct pack pack;

	begin_reading(&pack, folded, ns, name);
	pack_pod(&pack, pod);
	pack_end(&pack);
	return pod;
}

struct folded_object *fold_config_map(const struct config_map *config_map)
{
	struct config_map copy = *config_map;
	struct pack pack;

	begin_writing(&pack, &copy.meta);
	pack_config_map(&pack, &copy);
	return finish(&pack);
}

struct config_map *unfold_config_map(const struct folded_object *folded, const char *ns, const char *name)
{
	struct config_map *config_map = mem_alloc(sizeof(*config_map));
	struct pack pack;

	begin_reading(&pack, folded, ns, name);
	pack_config_map(&pack, config_map);
	pack_end(&pack);
	return config_map;
}
