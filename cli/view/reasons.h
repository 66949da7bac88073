/* The Events of many Frameworks: lists of Frameworks take from them the reasons that statuses do not contain. */
#ifndef CLI_VIEW_REASONS_H
#define CLI_VIEW_REASONS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/view/event.h"

struct framework_reasons;

/* Zero-initialise. */
struct reasons {
	struct framework_reasons *by_uid;
	struct framework_reasons *listed; /* by the list that runs */
	bool listing;
};

/* An Event as it is now; takes a reference. Events that name no Framework's uid are ignored. */
void reasons_put(struct reasons *reasons, json_t *event);
void reasons_delete(struct reasons *reasons, const json_t *event);
/* A list of all Events begins and ends: those that reasons_put() did not get in between do not exist. Until its end,
 * reasons_of() has the former ones. */
void reasons_list_begin(struct reasons *reasons);
void reasons_list_end(struct reasons *reasons);
/* The Events of the Framework of that uid. NULL: there are none. Valid until the next change. */
const struct event_views *reasons_of(const struct reasons *reasons, const char *uid);
void reasons_free(struct reasons *reasons);

/* "namespace/name" of the Framework that the Event is about. The caller frees. */
char *reasons_key(const json_t *event);

#endif
