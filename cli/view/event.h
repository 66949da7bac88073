/* The Events of a Framework (CONTRACT.md §18.2), as the views need them. */
#ifndef CLI_VIEW_EVENT_H
#define CLI_VIEW_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings are the object's; "" where missing. */
struct event_view {
	json_t *object; /* a reference */
	const char *reason;
	const char *message;
	bool warning;
	int64_t first_time; /* unix seconds, 0: unknown */
	int64_t last_time;
	int64_t count;
};

struct event_views {
	struct event_view *list; /* by event_views_sort(): in the order of last_time */
	size_t count;
	size_t room;
};

/* Takes a reference. */
void event_views_add(struct event_views *events, json_t *object);
/* Removes the Event of the same name. All are of one namespace. */
void event_views_remove(struct event_views *events, const json_t *object);
void event_views_sort(struct event_views *events);
/* The latest of that reason, not older than since (unix seconds), whose message contains needle (NULL: any); or NULL.
 */
const struct event_view *event_views_latest(const struct event_views *events, const char *reason, int64_t since,
					    const char *needle);
void event_views_free(struct event_views *events);

#endif
