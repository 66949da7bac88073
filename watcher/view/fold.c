/* Folds and unfolds objects; see fold.h. */
#include "watcher/view/fold.h"

#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

#include "common/base/mem.h"
#include "common/base/pack.h"
#include "common/framework/object_pack.h"
#include "common/framework/status.h"

/* ---- Pods ---- */

void *fold_pod(const struct pod *pod)
{
	struct pod copy = *pod; /* packing changes nothing, and takes what it could change */
	struct pack pack;
	size_t len;

	if (!pod_packs(pod))
		return NULL;
	pack_write(&pack);
	pack_pod(&pack, &copy);
	return pack_finish(&pack, &len);
}

struct pod *unfold_pod(const void *folded)
{
	struct pod *pod = mem_alloc(sizeof(*pod));
	struct pack pack;

	pack_read(&pack, folded);
	pack_pod(&pack, pod);
	pack_end(&pack);
	return pod;
}

void fold_write_pod(struct buf *out, const void *folded)
{
	struct pod *pod = unfold_pod(folded);

	pod_write(out, pod);
	pod_free(pod);
}

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

/* What is the same in all Frameworks: the text of one. */
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

char *fold_text(struct folder *folder, const char *text, size_t len, size_t *folded_len)
{
	z_stream *stream = &folder->deflate;

	if (len > FOLD_TEXT_MAX)
		return NULL;
	buf_clear(&folder->room);
	buf_reserve(&folder->room, len);
	deflateReset(stream);
	deflateSetDictionary(stream, dictionary_of(folder), (uInt)folder->dictionary.len);
	stream->next_in = (const unsigned char *)text;
	stream->avail_in = (uInt)len;
	stream->next_out = (unsigned char *)folder->room.data;
	stream->avail_out = (uInt)len;
	if (deflate(stream, Z_FINISH) != Z_STREAM_END)
		return NULL;
	*folded_len = stream->total_out;
	return mem_memdup(folder->room.data, *folded_len);
}

void unfold_text(struct folder *folder, struct buf *out, const char *folded, size_t folded_len, size_t len)
{
	z_stream *stream = &folder->inflate;

	buf_reserve(out, len);
	inflateReset(stream);
	inflateSetDictionary(stream, dictionary_of(folder), (uInt)folder->dictionary.len);
	stream->next_in = (const unsigned char *)folded;
	stream->avail_in = (uInt)folded_len;
	stream->next_out = (unsigned char *)out->data + out->len;
	stream->avail_out = (uInt)len;
	if (inflate(stream, Z_FINISH) != Z_STREAM_END || stream->total_out != len)
		abort(); /* we deflated it */
	out->len += len;
	out->data[out->len] = '\0';
}
