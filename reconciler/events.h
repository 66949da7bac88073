/* Kubernetes Events about Frameworks (CONTRACT.md §18): rate-limited, aggregated, and never in the way of real work.
 */
#ifndef RECONCILER_EVENTS_H
#define RECONCILER_EVENTS_H

#include "reconciler/reconciler.h"

struct events;

struct events *events_new(struct reconciler *reconciler);
void events_free(struct events *events);
/* Posts one; an event that says the same again is counted up instead, at most every few seconds. So many are on their
 * way at once; one for which there is no place waits, and stands for all of the same Framework and reason that come
 * meanwhile: with their number, and the last one's message. Fire and forget: an Event that the server does not take is
 * lost, and its next repetition posted instead. */
void events_post(struct events *events, const struct framework *framework, const struct plan_event *event);
/* Writes the counts that were held back for long enough; when to come back for others, boot clock (INT64_MAX: none). */
int64_t events_run(struct events *events);

#endif
