/* Which Tasks of a Framework wait, and for what: equal ones together. */
#ifndef CLI_VIEW_WAIT_H
#define CLI_VIEW_WAIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/view/event.h"
#include "cli/view/framework.h"
#include "cli/view/pod.h"
#include "cli/view/wait_kind.h"

/* All objects that explain a Framework. Those that the user may not read are NULL. */
struct inquiry {
	const struct framework_view *framework;
	const struct pod_views *pods; /* those with the Framework's label, and others that have a name of its Pods */
	const struct event_views *events;
	bool config_map_known;    /* whether the next one was looked for */
	const json_t *config_map; /* the object named {framework}-attempt, or NULL */
	const json_t *service;    /* the object that has the name of the Service of spec.network, or NULL */
	const json_t *lease;      /* the watchers' Lease, or NULL */
	bool stale;               /* the status did not follow the spec, or did not come, while somebody looked */
	int64_t now;              /* unix seconds */
	const char *flags; /* what the user gave to reach the cluster, for commands: " --context prod"; NULL: nothing */
};

/* The controller takes each step within seconds. A status follows within seconds, that of the largest Frameworks within
 * half a minute (CONTRACT.md §12.16). */
enum { WAIT_NOTICE_SEC = 60 };

/* Tasks that wait for the same. */
struct waiting_tasks {
	enum wait_kind kind;
	char *reason;  /* Kubernetes' word, or "" */
	char *message; /* what Kubernetes says, or "" */
	char *tasks;   /* "worker[3..97], ps[0]" */
	char *pod;     /* the first one's Pod */
	size_t count;
	int64_t since;                       /* unix seconds; 0: unknown; of the one that has waited longest */
	int64_t until;                       /* the first time at which one goes on; 0: unknown */
	const struct completion *completion; /* of the first one's attempt, of the Framework's status; NULL: none */
};

/* Groups in the order of wait_kind, larger ones first. Zero-initialise. */
struct waiting_list {
	struct waiting_tasks *list;
	size_t count;
};
/* Without WAIT_NONE. */
void waiting_list_read(const struct inquiry *inquiry, struct waiting_list *out);
void waiting_list_free(struct waiting_list *groups);

/* One Task's. Strings are those of the inquiry's objects, "" where there is none. */
struct task_wait {
	enum wait_kind kind;
	const char *reason;
	const char *message;
	char counted[96]; /* a message that is no object's; "": none */
	int64_t since;
	int64_t until;
};
/* The Tasks of one TaskRole, with what they have in common. */
struct role_wait {
	const struct inquiry *inquiry;
	const struct role_status *role;
	const struct role_dependency *unmet; /* of dependsOn; NULL: none */
	size_t awaited, all;                 /* Tasks of the TaskRole that it names … */
	size_t failed;                       /* … and those of them that have failed for good */
};
void role_wait_read(const struct inquiry *inquiry, const struct role_status *role, struct role_wait *out);
struct task_wait wait_of(const struct role_wait *role, size_t index);

/* The Pod of a Task: "hello-worker-3". The caller frees. */
char *pod_name_of(const struct framework_view *framework, const char *role, size_t index);

#endif
