/* Reads from the API server what the views need of one Framework. */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "cli/cli.h"
#include "cli/view/wait.h"

enum load_parts {
	LOAD_PODS = 1,   /* those with the label FC_FRAMEWORK_NAME */
	LOAD_EVENTS = 2, /* of the Framework */
	LOAD_DOUBTS = 4, /* what an answer may rest on: foreign objects of its names, whether a controller follows */
	/* With LOAD_DOUBTS: the caller watches the Framework, so that nobody needs to look again whether its status
	 * follows; and it has not followed for LOAD_FOLLOW_MS. */
	LOAD_WATCHED = 8,
	LOAD_STALE = 16,
};

/* A controller writes a first status within milliseconds; a busy one within seconds. */
enum { LOAD_FOLLOW_MS = 5000 };
/* Whether the status follows the spec, or need not. */
bool load_follows(const struct framework_view *framework);

struct loaded {
	struct framework_view framework;
	struct pod_views pods;
	struct event_views events;
	json_t *config_map;
	json_t *service;
	json_t *lease;
	char *flags;
	struct inquiry inquiry; /* of all this */
};

/* A Framework that does not exist is an error. Parts that the user may not read are left out, and a note says so. A
 * Framework whose status does not follow its spec or its Pods is looked at for some seconds with LOAD_DOUBTS. 0, or a
 * code and *err. Free in either case. */
int load_framework(struct cli *cli, const char *name, unsigned parts, struct loaded *out, struct error *err);
void loaded_free(struct loaded *loaded);
/* The Lease of the fc-watcher that leads, or led last. NULL: it is not known, as users mostly may not list Leases of
 * all namespaces. The caller decrefs. */
json_t *load_lease(struct cli *cli);

#endif
