/* See lease.h. */
#include "cli/view/lease.h"

#include "cli/view/read.h"

/* A Lease that nobody renewed for so long is not held (client-go's default, LeaseDuration 15 s). */
enum { LEASE_DURATION_SEC = 15, GIVEN_UP_SEC = 60 };

int64_t lease_end(const json_t *lease)
{
	const json_t *spec = json_object_get(lease, "spec");

	return json_time(spec, "renewTime") + json_int(spec, "leaseDurationSeconds", LEASE_DURATION_SEC);
}

bool lease_is_held(const json_t *lease, int64_t now)
{
	return *view_text(json_object_get(lease, "spec"), "holderIdentity") != '\0' && lease_end(lease) >= now;
}

bool lease_is_given_up(const json_t *lease, int64_t changed, int64_t now)
{
	return lease != NULL && lease_end(lease) + GIVEN_UP_SEC < now && lease_end(lease) >= changed;
}
