/* What changes the reasons in lists of Frameworks beside the Frameworks themselves, for -w and ui: their Events, by a
 * watch, and time. */
#ifndef CLI_REASON_WATCH_H
#define CLI_REASON_WATCH_H

#include <ev.h>

#include "cli/cli.h"
#include "cli/view/reasons.h"

/* Zero-initialise, and fill in changed and arg. */
struct reason_watch {
	/* reasons have changed. key: "namespace/name" of the Framework; NULL: of any. Makes no requests. */
	void (*changed)(void *arg, const char *key);
	void *arg;
	struct reasons *reasons;
	struct cli *cli;
	struct reflector *reflector;
	struct ev_timer timer;
	bool asked;
};

/* The connection exists (cli_connect()). From now on changed() is called, at least every REASON_LOOK_MS. */
enum { REASON_LOOK_MS = 15 * 1000 };
void reason_watch_start(struct reason_watch *watch, struct cli *cli, struct reasons *reasons);
/* Some Framework's status does not contain its reason: watches the Events from the first call on. Without the right to
 * do so there are none. */
void reason_watch_ask(struct reason_watch *watch);
void reason_watch_stop(struct reason_watch *watch);

/* The collection of Events of the namespace, or of all namespaces, and the query that selects the warnings about
 * Frameworks. The caller frees. */
char *reason_events_path(const struct cli *cli);
#define REASON_EVENTS_QUERY "fieldSelector=involvedObject.kind%3DFramework,type%3DWarning"

#endif
