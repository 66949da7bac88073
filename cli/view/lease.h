/* The Lease by which the fc-watchers elect who leads, as evidence of whether the controller works. */
#ifndef CLI_VIEW_LEASE_H
#define CLI_VIEW_LEASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* lease: the object, or NULL if it is not known. now: unix seconds. */

/* Whether it is known, and somebody holds it. */
bool lease_is_held(const json_t *lease, int64_t now);
/* Whether it is known, and nobody has held it for a minute. A takeover is shorter, and so is what clocks differ by. */
bool lease_is_given_up(const json_t *lease, int64_t now);

#endif
