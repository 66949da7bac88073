/* Status writes: their bodies, the steps that fit them into an object on the server (CONTRACT.md §13), and the effects
 * of their outcome; see sync.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/framework/shorten.h"
#include "reconciler/sync/rules.h"

enum {
	COMPRESS_FROM = 700 * 1024, /* of taskRoleStatuses, CONTRACT.md §13 */
	OBJECT_MAX = 1400 *
		     1024,      /* of the whole object, so that it has room for what the server adds (managedFields) */
	ETCD_MAX = 1536 * 1024, /* what etcd takes of it (--max-request-bytes) */
};

/* ---- shortening ---- */

/* Shortens by as many steps as it takes to change anything; false: there is nothing left to shorten. Shortens the
 * status in memory, not only the written text: memory must equal the stored status. */
static bool shorten_more(struct framework *framework)
{
	while (framework->shorten_step < SHORTEN_POD) {
		if (!attempt_shorten(&framework->status.attempt, ++framework->shorten_step))
			continue;
		framework->shortened = true;
		framework->version++;
		return true;
	}
	return false;
}

void framework_text_added(struct framework *framework, struct completion *completion)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;

	if (completion_shorten(completion, framework->shorten_step))
		framework->shortened = true;
	framework->text_bytes += completion_text_bytes(completion);
	if (framework->text_bytes <= DECOMPRESSED_MAX)
		return;
	do /* (that of attempts that were retried meanwhile is among it) */
		framework->text_bytes = attempt_text_bytes(attempt);
	while (framework->text_bytes > DECOMPRESSED_MAX && shorten_more(framework));
}

void framework_body_refused(struct framework *framework, size_t body_len)
{
	framework->status_max = body_len - body_len / REFUSED_PART;
}

/* ---- bodies ---- */

/* The room for the status in an object of at most `max` bytes: clients put hundreds of KB of annotations on a
 * Framework. around: bytes of the body beside the status. */
static size_t status_room(const struct framework *framework, size_t around, size_t max)
{
	size_t rest = framework->spec_text == NULL ? 0
						   : strlen(framework->spec_text) + strlen(framework->metadata_text);
	size_t room = rest < max ? max - rest : 0;

	if (framework->status_max == 0 || framework->status_max >= room + around)
		return room;
	return framework->status_max > around ? framework->status_max - around : 0;
}

/* Appends the status, compressed as asked, or when it has no room otherwise. false, and nothing is appended: it has
 * none in either way, or its readers would refuse it; and there is something left to shorten. */
static bool write_status(const struct framework *framework, const struct framework_status *status, size_t around,
			 enum compress_when when, struct buf *out, bool *compressed)
{
	cleanup_free char *packed = NULL;
	size_t room = status_room(framework, around, OBJECT_MAX);
	size_t start = out->len;
	size_t roles_at = framework_status_write(out, status, framework->name, NULL);
	size_t roles_len = out->len - strlen("}}") - roles_at;
	size_t rest = out->len - start - roles_len;

	*compressed = when == COMPRESS_ALWAYS || out->len - start > room ||
		      (when == COMPRESS_LARGE && roles_len >= COMPRESS_FROM);
	if (!*compressed)
		return true;
	/* Before anything but messages is removed the server is asked whether it takes the rest. */
	if (framework->shorten_step >= SHORTEN_MESSAGES)
		room = status_room(framework, around, ETCD_MAX);
	if (!json_too_many_values(out->data + roles_at, roles_len))
		packed = text_compress_within(out->data + roles_at, roles_len, rest < room ? room - rest : 0);
	/* With nothing left to shorten the server may take it all the same. */
	if (packed == NULL && framework->shorten_step == SHORTEN_POD)
		packed = text_compress(out->data + roles_at, roles_len);
	out->len = start;
	if (packed == NULL)
		return false;
	framework_status_write(out, status, framework->name, packed);
	return true;
}

bool framework_status_body(struct framework *framework, enum compress_when when, struct buf *out)
{
	size_t start = out->len;
	bool compressed;

	for (;;) {
		struct framework_status status = framework->status; /* (what it points to is not its own) */

		status.fenced = framework_fence_mark(framework);
		if (framework->writer != NULL)
			snprintf(status.writer, sizeof(status.writer), "%s", framework->writer);
		buf_puts(out, "{\"apiVersion\":\"" FRAMEWORK_API_VERSION
			      "\",\"kind\":\"Framework\",\"metadata\":{\"name\":");
		buf_json_string(out, framework->name);
		buf_puts(out, ",\"namespace\":");
		buf_json_string(out, framework->ns);
		buf_puts(out, ",\"uid\":");
		buf_json_string(out, framework->uid);
		buf_puts(out, ",\"resourceVersion\":");
		buf_json_string(out, framework->resource_version);
		buf_puts(out, "},\"status\":");
		if (write_status(framework, &status, out->len - start + strlen("}"), when, out, &compressed))
			break;
		out->len = start;
		shorten_more(framework);
	}
	buf_putc(out, '}');
	return compressed;
}

/* ---- writes ---- */

uint64_t framework_write_started(struct framework *framework, int64_t boot_ms)
{
	pace_started(framework, boot_ms);
	framework->fence_sent = framework_fence_mark(framework);
	framework->writes_begun++;
	return framework->version;
}

bool framework_write_can_wait(const struct framework *framework)
{
	return framework->version == framework->taken_over && framework->version > framework->written;
}

void framework_write_failed(struct framework *framework)
{
	pace_hurry(framework);
}

void framework_written(struct framework *framework, uint64_t version, const char *resource_version)
{
	if (version > framework->written)
		framework->written = version;
	framework->status.fenced = framework->fence_sent;
	if (framework->writer != NULL)
		snprintf(framework->status.writer, sizeof(framework->status.writer), "%s", framework->writer);
	framework->writes_stored = framework->writes_begun; /* one is on its way at a time */
	fence_pass(framework);
	if (version_compare(resource_version, framework->resource_version) > 0)
		mem_replace(&framework->resource_version, resource_version);
	framework_wake_waiting(framework);
}
