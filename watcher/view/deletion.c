/* Log lines with the last state of deleted objects; see deletion.h. */
#include "watcher/view/deletion.h"

#include <string.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/log.h"
#include "common/framework/names.h"

/* The text of an object, which has been read before, on one line. apiVersion and kind go in front, as servers have
 * them. */
static void write_object(struct buf *out, enum object_kind kind, const char *text, size_t len)
{
	bool has_version = false;
	bool has_kind = false;
	struct json_reader reader;
	struct json_span name;
	const char *rest;

	json_reader_init(&reader, text, len);
	if (!json_reader_object(&reader))
		return;
	while ((!has_version || !has_kind) && json_reader_member(&reader, &name)) {
		has_version = has_version || json_span_is(&name, "apiVersion");
		has_kind = has_kind || json_span_is(&name, "kind");
		json_reader_pass(&reader);
	}
	buf_putc(out, '{');
	if (!has_kind)
		buf_printf(out, "\"kind\":\"%s\",", object_kind_name(kind));
	if (!has_version)
		buf_printf(out, "\"apiVersion\":\"%s\",", kind == KIND_FRAMEWORK ? FRAMEWORK_API_VERSION : "v1");
	rest = (const char *)memchr(text, '{', len) + 1;
	len -= (size_t)(rest - text);
	text = rest;
	if (memchr(text, '\n', len) != NULL)
		buf_json_compact(out, text, len);
	else
		buf_append(out, text, len);
}

void deletion_write(struct buf *out, enum object_kind kind, const char *text, size_t len)
{
	struct object_meta meta;

	if (object_meta_read(text, len, &meta, NULL) < 0)
		return;
	buf_printf(out, "[%s/%s] %s %s was deleted: %s: ObjectSnapshot: ", meta.ns, meta.name, object_kind_name(kind),
		   meta.uid, kind == KIND_FRAMEWORK ? "OnFrameworkDeletion" : "OnPodDeletion");
	object_meta_free(&meta);
	write_object(out, kind, text, len);
}

void deletion_log(const struct config_snapshots *wanted, enum object_kind kind, const char *text, size_t len)
{
	cleanup_buf struct buf line = {0};

	if (!(kind == KIND_FRAMEWORK && wanted->on_framework_deletion) &&
	    !(kind == KIND_POD && wanted->on_pod_deletion))
		return;
	deletion_write(&line, kind, text, len);
	if (line.len > 0)
		log_write_text('I', __FILE__, __LINE__, line.data, line.len);
}
