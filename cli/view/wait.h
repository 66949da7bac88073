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

/* All that is known when somebody asks for a Framework. What the user may not read is NULL. */
struct inquiry {
	const struct framework_view *framework;
	const struct pod_views *pods; /* those with the Framework's label, and others that have a name of its Pods */
	const struct event_views *events;
	bool config_map_known;    /* whether the next one was looked for */
	const json_t *config_map; /* the object named {framework}-attempt, or NULL */
	const json_t *lease;      /* the watchers' Lease, or NULL */
	bool stale;               /* the status did not follow the spec, or did not come, while somebody looked */
	int64_t now;              /* unix seconds */
};

/* In the order in which they explain: if some Tasks wait for an image and others for the first ones, the image is the
 * reason. A new reason of the controller gets its place here, its words in wait_words(), and its rule in wait_of(). */
enum wait_kind {
	WAIT_NEVER_STARTS,  /* the kubelet can never start a container */
	WAIT_START,         /* it fails, and tries again */
	WAIT_CRASH,         /* a container ends again and again, and is started later each time */
	WAIT_QUOTA,         /* the API server refuses the Pod: a quota is exceeded */
	WAIT_REFUSED,       /* it refuses the Pod for another reason, for now */
	WAIT_FOREIGN,       /* another Pod has the name */
	WAIT_FORMER,        /* the Pod of a former attempt still exists */
	WAIT_UNSCHEDULABLE, /* no node has room */
	WAIT_GATE,          /* the Pod has scheduling gates */
	WAIT_RETRY_DELAY,   /* the Task is retried later */
	WAIT_TERMINATION,   /* the Pod is being deleted */
	WAIT_BARRIER,       /* in the barrier, until all others have an IP */
	WAIT_INIT,          /* an init container runs */
	WAIT_SCHEDULER,     /* no scheduler has looked at the Pod */
	WAIT_CREATING,      /* the kubelet starts the containers */
	WAIT_PENDING,       /* the Pod is Pending, and its object is not known */
	WAIT_CREATION,      /* the Pod is not created yet */
	WAIT_NONE,          /* it runs, or is completed */
};

/* "unschedulable": one stable word for each kind, for programs. */
const char *wait_kind_name(enum wait_kind kind);

/* Tasks that wait for the same. */
struct wait_group {
	enum wait_kind kind;
	char *reason;  /* Kubernetes' word, or "" */
	char *message; /* what Kubernetes says, or "" */
	char *tasks;   /* "worker[3..97], ps[0]" */
	char *pod;     /* the first one's Pod */
	size_t count;
	int64_t since; /* unix seconds; 0: unknown; of the one that has waited longest */
	int64_t until; /* the first time at which one goes on; 0: unknown */
};

/* Groups in the order of wait_kind, larger ones first. Zero-initialise. */
struct wait_groups {
	struct wait_group *list;
	size_t count;
};
/* Without WAIT_NONE. */
void wait_groups_read(const struct inquiry *inquiry, struct wait_groups *out);
void wait_groups_free(struct wait_groups *groups);

/* One Task's. Strings are those of the inquiry's objects, "" where there is none. */
struct task_wait {
	enum wait_kind kind;
	const char *reason;
	const char *message;
	int64_t since;
	int64_t until;
};
struct task_wait wait_of(const struct inquiry *inquiry, const char *role, size_t index, const struct task_status *task);

/* The Pod of a Task: "hello-worker-3". The caller frees. */
char *pod_name_of(const struct framework_view *framework, const char *role, size_t index);

#endif
