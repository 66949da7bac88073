/* For what a Task can wait: each cause is one row of a table. */
#ifndef CLI_VIEW_WAIT_KIND_H
#define CLI_VIEW_WAIT_KIND_H

#include <stdbool.h>

/* In the order in which they explain: if some Tasks wait for an image and others for the first ones, the image is the
 * reason. A new cause gets its place here and its row in wait_kind.c. If an Event reports it, that is all; else wait.c
 * finds it in Pods or in the status. */
enum wait_kind {
	WAIT_NEVER_STARTS,    /* the kubelet can never start a container */
	WAIT_START,           /* it fails, and tries again */
	WAIT_CRASH,           /* a container ends again and again, and is started later each time */
	WAIT_TEMPLATE,        /* the API server refuses the Pod: its template is wrong */
	WAIT_QUOTA,           /* the API server refuses the Pod: a quota is exceeded */
	WAIT_REFUSED,         /* it refuses the Pod for another reason, for now */
	WAIT_FOREIGN,         /* another Pod has the name */
	WAIT_FORMER,          /* the Pod of a former attempt still exists */
	WAIT_FOREIGN_SERVICE, /* another Service has the name that spec.network needs */
	WAIT_SERVICE_REFUSED, /* the API server refuses the Service of spec.network, for now */
	WAIT_GANG,            /* the API server does not serve the PodGroups of spec.gang */
	WAIT_FOREIGN_GROUP,   /* another PodGroup has the name that spec.gang needs */
	WAIT_GROUP_REFUSED,   /* the API server refuses the PodGroup of spec.gang, or its number, for now */
	WAIT_UNSCHEDULABLE,   /* no node has room */
	WAIT_GATE,            /* the Pod has scheduling gates */
	WAIT_RETRY_DELAY,     /* the Task is retried later */
	WAIT_TERMINATION,     /* the Pod is being deleted */
	WAIT_BARRIER,         /* in the barrier, until all others have an IP */
	WAIT_INIT,            /* an init container runs */
	WAIT_SCHEDULER,       /* no scheduler has looked at the Pod */
	WAIT_CREATING,        /* the kubelet starts the containers */
	WAIT_PENDING,         /* the Pod is Pending, and its object is not known */
	WAIT_DEPENDS,         /* for the Tasks of another TaskRole */
	WAIT_CREATION,        /* the Pod is not created yet */
	WAIT_UNDELETED,       /* the Pod is to be deleted, and is not, for longer than WAIT_NOTICE_SEC */
	WAIT_UNNOTICED,       /* the Pod has ended or is gone, and the status does not follow */
	WAIT_NONE,            /* it runs, or is completed */
};

struct wait_row {
	const char *name;    /* "unschedulable": one stable word for programs */
	const char *one;     /* after "Task worker[3] " */
	const char *many;    /* after "3 Tasks, worker[3..5], " */
	const char *advice;  /* NULL: none */
	bool quotes_message; /* a message of Kubernetes follows */
	bool describe;       /* kubectl describe of the Pod shows more */
	bool edit;           /* a change of the spec ends it */
	bool pod;     /* its Events are about the Task of the Pod that they name, and hold if Pods are not known */
	bool service; /* does not hold once the Service of spec.network is the Framework's */
	/* Tasks without a Pod wait for this if the latest Event of those that rows name has one of these reasons. NULL:
	 * no Event reports it. */
	const char *events[2];
	const char *begins;      /* with this, the Event's message begins; NULL: anyhow */
	const char *contains[2]; /* one of these is in it; NULL: anything */
};

const struct wait_row *wait_row(enum wait_kind kind);
/* The first kind whose row is about such an Event; WAIT_NONE: no one's. */
enum wait_kind wait_kind_of_event(const char *reason, const char *message);

#endif
