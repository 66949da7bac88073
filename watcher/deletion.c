/* Log lines that keep the last state of what was deleted; see deletion.h. */
#include "watcher/deletion.h"

#include "common/base/json.h"
#include "common/base/mem.h"
#include "watcher/holdback.h"

void deletion_write(struct buf *out, enum object_kind kind, const json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
	const char *ns = json_str(meta, "namespace");
	const char *name = json_str(meta, "name");
	const char *uid = json_str(meta, "uid");
	cleanup_json json_t *full = json_copy((json_t *)object);
	cleanup_free char *text = NULL;

	if (json_str(full, "apiVersion") == NULL)
		json_object_set_new(
			full, "apiVersion",
			json_string(kind == KIND_FRAMEWORK ? "frameworkcontroller.microsoft.com/v1" : "v1"));
	if (json_str(full, "kind") == NULL)
		json_object_set_new(full, "kind", json_string(object_kind_name(kind)));
	text = json_text(full);
	buf_printf(out, "[%s/%s] %s %s was deleted: %s: ObjectSnapshot: ", ns == NULL ? "" : ns,
		   name == NULL ? "" : name, object_kind_name(kind), uid == NULL ? "" : uid,
		   kind == KIND_FRAMEWORK ? "OnFrameworkDeletion" : "OnPodDeletion");
	buf_puts(out, text);
}

void deletion_log(enum object_kind kind, const json_t *object)
{
	cleanup_buf struct buf line = {0};

	deletion_write(&line, kind, object);
	holdback_line(line.data, line.len);
}
