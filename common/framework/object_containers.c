/* The containers of Pods that have ended; see object_view.h. */
#include <string.h>

#include "common/base/mem.h"
#include "common/framework/object_view.h"

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

static bool span_same(const struct json_span *a, const struct json_span *b)
{
	return a->at != NULL && b->at != NULL && a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

static void read_init_container(struct json_reader *reader, struct object_view *view)
{
	struct json_span container = {0};
	struct json_span policy = {0};
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "name"))
			container = json_reader_string(reader);
		else if (json_span_is(&name, "restartPolicy"))
			policy = json_reader_string(reader);
		else
			json_reader_pass(reader);
	for (size_t i = 0; i < view->container_count; i++)
		if (json_span_is(&policy, "Always") && span_same(&container, &view->containers[i].name))
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
