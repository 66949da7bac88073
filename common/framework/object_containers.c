/* The containers of Pods that have ended; see object_view.h. */
#include <string.h>

#include "common/base/mem.h"
#include "common/framework/object_view.h"

enum { NAME_SIZE = 256 }; /* names of containers are DNS labels, of 63 characters at most */

static void read_terminated(struct json_reader *reader, struct container_view *container)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	container->terminated = true;
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "exitCode"))
			container->exit_code = json_reader_int(reader, 0);
		else if (json_span_is(&name, "signal"))
			container->signal = json_reader_int(reader, 0);
		else if (json_span_is(&name, "reason"))
			container->reason = json_reader_string(reader);
		else if (json_span_is(&name, "message"))
			container->message = json_reader_string(reader);
		else if (json_span_is(&name, "finishedAt"))
			container->finished_at = json_reader_time(reader);
		else
			json_reader_skip(reader);
	}
}

static struct container_view *add_container(struct object_view *view)
{
	size_t count = view->container_count;

	/* full at every power of two: Pods have few, but who says how many they may have? */
	if ((count & (count - 1)) == 0)
		view->containers = mem_realloc(view->containers, count == 0 ? 1 : 2 * count, sizeof(*view->containers));
	view->containers[view->container_count] = (struct container_view){0};
	return &view->containers[view->container_count++];
}

static void read_container(struct json_reader *reader, struct container_view *container)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "name")) {
			container->name = json_reader_string(reader);
		} else if (json_span_is(&name, "sidecar")) {
			container->sidecar = json_reader_bool(reader, false);
		} else if (json_span_is(&name, "state") && json_reader_object(reader)) {
			while (json_reader_member(reader, &name))
				if (json_span_is(&name, "terminated"))
					read_terminated(reader, container);
				else
					json_reader_skip(reader);
		} else if (!json_span_is(&name, "state")) {
			json_reader_skip(reader);
		}
	}
}

void object_read_containers(const struct json_span *statuses, struct object_view *view)
{
	struct json_reader reader;

	if (statuses->at == NULL)
		return;
	json_reader_init(&reader, statuses->at, statuses->len);
	if (!json_reader_array(&reader))
		return;
	while (json_reader_item(&reader))
		read_container(&reader, add_container(view));
}

/* The decoded text of a name; false if it is none. */
static bool read_name(const struct json_span *span, char out[NAME_SIZE], size_t *len)
{
	if (span->at == NULL || span->len >= NAME_SIZE)
		return false;
	*len = json_span_decode(span, out);
	return *len > 0;
}

static bool name_is(const struct json_span *span, const char *name, size_t len)
{
	char text[NAME_SIZE];
	size_t text_len;

	return read_name(span, text, &text_len) && text_len == len && memcmp(text, name, len) == 0;
}

static void read_init_container(struct json_reader *reader, struct object_view *view)
{
	struct json_span container = {0};
	struct json_span policy = {0};
	struct json_span member;
	char name[NAME_SIZE];
	size_t len;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &member))
		if (json_span_is(&member, "name"))
			container = json_reader_string(reader);
		else if (json_span_is(&member, "restartPolicy"))
			policy = json_reader_string(reader);
		else
			json_reader_pass(reader);
	if (!name_is(&policy, "Always", strlen("Always")) || !read_name(&container, name, &len))
		return;
	for (size_t i = 0; i < view->container_count; i++)
		if (name_is(&view->containers[i].name, name, len))
			view->containers[i].sidecar = true;
}

void object_mark_sidecars(struct object_view *view)
{
	struct json_reader reader;

	if (view->container_count == 0 || view->init_containers.at == NULL)
		return;
	json_reader_init(&reader, view->init_containers.at, view->init_containers.len);
	if (!json_reader_array(&reader))
		return;
	while (json_reader_item(&reader))
		read_init_container(&reader, view);
}
