/* Kubernetes Events about Frameworks (CONTRACT.md §18.4). Their number per time is limited, repeated Events are
 * counted, and Events never delay other requests. */
#ifndef RECONCILER_EVENTS_H
#define RECONCILER_EVENTS_H

#include "reconciler/reconciler.h"

struct events;

struct events *events_new(struct reconciler *reconciler);
void events_free(struct events *events);
/* Posts an Event. An Event with the same text as an earlier one increases the count of that one, at most every few
 * seconds. The number of requests in flight is limited. An Event beyond the limit waits, and is combined with later
 * Events of the same Framework and reason: it has their count and the message of the last one. The function reports no
 * failure: an Event that the server refuses is lost, and its next repetition is posted as a new one. */
void events_post(struct events *events, const struct framework *framework, const struct plan_event *event);
/* Writes the counts that are due. Returns when the next ones are due, boot clock (INT64_MAX: none are waiting). */
int64_t events_run(struct events *events);

#endif
