/* See event.h. */
#include "cli/view/event.h"

#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "common/base/mem.h"

void event_views_add(struct event_views *events, json_t *object)
{
	struct event_view *event;

	if (events->count == events->room) {
		events->room = events->room == 0 ? 16 : events->room * 2;
		events->list = mem_realloc(events->list, events->room, sizeof(*events->list));
	}
	event = &events->list[events->count++];
	*event = (struct event_view){
		.object = json_incref(object),
		.reason = view_text(object, "reason"),
		.message = view_text(object, "message"),
		.warning = strcmp(view_text(object, "type"), "Warning") == 0,
		.first_time = json_time(object, "firstTimestamp"),
		.last_time = json_time(object, "lastTimestamp"),
		.count = json_int(object, "count", 1),
	};
	if (event->last_time == 0)
		event->last_time = json_time(json_object_get(object, "metadata"), "creationTimestamp");
	if (event->first_time == 0)
		event->first_time = event->last_time;
}

static const char *name_of(const json_t *object)
{
	return view_text(json_object_get(object, "metadata"), "name");
}

void event_views_remove(struct event_views *events, const json_t *object)
{
	for (size_t i = 0; i < events->count; i++) {
		if (strcmp(name_of(events->list[i].object), name_of(object)) != 0)
			continue;
		json_decref(events->list[i].object);
		events->list[i] = events->list[--events->count];
		return;
	}
}

static int compare(const void *a, const void *b)
{
	const struct event_view *one = a, *other = b;

	return (one->last_time > other->last_time) - (one->last_time < other->last_time);
}

void event_views_sort(struct event_views *events)
{
	if (events->count > 0)
		qsort(events->list, events->count, sizeof(*events->list), compare);
}

const struct event_view *event_views_latest(const struct event_views *events, const char *reason, int64_t since,
					    const char *needle)
{
	const struct event_view *found = NULL;

	for (size_t i = 0; i < events->count; i++) {
		const struct event_view *event = &events->list[i];

		if (strcmp(event->reason, reason) == 0 && event->last_time >= since &&
		    (needle == NULL || strstr(event->message, needle) != NULL) &&
		    (found == NULL || event->last_time >= found->last_time))
			found = event;
	}
	return found;
}

void event_views_free(struct event_views *events)
{
	for (size_t i = 0; i < events->count; i++)
		json_decref(events->list[i].object);
	free(events->list);
	*events = (struct event_views){0};
}
