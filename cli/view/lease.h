/* The Lease by which the fc-watchers elect who leads, as evidence of whether the controller works. */
#ifndef CLI_VIEW_LEASE_H
#define CLI_VIEW_LEASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* lease: the object, or NULL if it is not known. now: unix seconds. */

/* Whether it is known, and somebody holds it. */
bool lease_is_held(const json_t *lease, int64_t now);
/* When it ends, or has ended. */
int64_t lease_end(const json_t *lease);
/* Whether it is known, and nobody has held it for a minute, which no takeover takes. changed: the controller's latest
 * step that is known; if that is later, the controller has another Lease. */
bool lease_is_given_up(const json_t *lease, int64_t changed, int64_t now);

#endif
