/* What the parts of the kubelet share: the kubelet itself and its record of one Pod. */
#ifndef TESTKUBELET_INTERNAL_H
#define TESTKUBELET_INTERNAL_H

#include <ev.h>
#include <jansson.h>

#include "common/base/hash.h"
#include "common/base/random.h"
#include "common/kube/client.h"
#include "common/kube/reflector.h"
#include "tests/cluster/testkubelet/kubelet.h"
#include "tests/cluster/testkubelet/podstatus.h"
#include "tests/cluster/testkubelet/runtime.h"
#include "tests/cluster/testkubelet/script.h"

struct kubelet_pod;
struct gang;
struct log_server;

/* A first-in first-out queue of Pods; a Pod is in one queue at most. */
struct pod_queue {
	struct kubelet_pod *first;
	struct kubelet_pod *last;
};

enum pod_call { CALL_NONE, CALL_READ, CALL_BIND, CALL_STATUS, CALL_DELETE };

struct kubelet_pod {
	struct kubelet *kubelet;
	UT_hash_handle by_uid;
	char *uid;
	char *ns;
	char *name;
	uint64_t seen;  /* the list it was last part of */
	json_t *object; /* real mode: the latest one seen; else NULL */
	struct script script;
	struct pod_report report;
	struct runtime_pod *runtime; /* real mode, once it runs */
	int node;                    /* -1: not bound */
	int wanted_node;             /* of the binding under way */
	uint32_t address;            /* 0: none */
	UT_hash_handle by_address;

	bool foreign;      /* on somebody else's node */
	bool counted;      /* takes up capacity */
	bool begun;        /* bound and set going */
	bool deleting;     /* has a deletionTimestamp */
	int64_t grace_sec; /* of the deletion */
	bool stopped;      /* everything has ended: the deletion may be confirmed */
	bool dirty;        /* report is not what was last written */
	char *written;     /* real mode: the last patch sent */
	bool reread;       /* the server disagrees with us: look before doing more */
	bool gone;         /* deleted from the server, as far as we know */
	bool removed;      /* out of the table; freed when its call has ended */

	enum pod_call call_kind;
	struct kube_call *call;
	int failures; /* in a row */
	ev_timer retry;
	ev_timer timer; /* scripted: the end of the run, or of the termination */

	struct pod_queue *queue;
	struct kubelet_pod *next;
	struct kubelet_pod *previous;

	struct gang *gang; /* NULL: it is placed alone */
	struct kubelet_pod *next_member;
	struct kubelet_pod *prev_member;
};

/* A Service with a selector (real mode). */
struct kubelet_service {
	UT_hash_handle by_uid;
	char *uid;
	char *ns;
	char *name;
	json_t *selector;
	bool headless;
	uint64_t seen;
};

struct kubelet {
	struct ev_loop *loop;
	struct kube_client *client;
	struct kubelet_options options;
	struct address_block block;
	struct runtime runtime;
	struct random random;
	struct reflector *pod_reflector;
	struct reflector *service_reflector; /* real mode */
	struct kubelet_pod *pods;            /* by uid */
	struct kubelet_pod *addresses;       /* those with one, by address */
	struct kubelet_service *services;
	struct pod_queue ready;        /* have something to do */
	struct pod_queue unplaced;     /* wait for capacity */
	struct gang *gangs;            /* by path */
	struct gang *placing;          /* its Pods are being bound: one gang at a time */
	ev_timer hosts;                /* real mode: the hosts files are to be rewritten */
	struct log_server *log_server; /* NULL: it serves none */
	char **node_names;
	char **host_ips;
	size_t calls;
	size_t placed; /* Pods that take up capacity */
	uint64_t lists;
	uint64_t service_lists;
	uint64_t next_address;
	int next_node;
	bool stopping;
	struct kubelet_counts counts;
};

/* ---- podwork.c: what is known about one Pod ---- */

/* A new record for an object that has an identity. */
struct kubelet_pod *kubelet_pod_new(struct kubelet *kubelet, json_t *object);
/* Takes in what the server says about the Pod, and goes on. */
void kubelet_pod_observe(struct kubelet_pod *pod, json_t *object);
/* The binding to wanted_node has been made. */
void kubelet_pod_bound(struct kubelet_pod *pod);
/* A status has been written; unless dirty is set again, it is the present one. */
void kubelet_pod_reported(struct kubelet_pod *pod);
/* Nothing of it is left on the server, or soon: kills what runs, gives back what it held. */
void kubelet_pod_gone(struct kubelet_pod *pod);
/* Out of the table; the memory goes once no call is under way. */
void kubelet_pod_remove(struct kubelet_pod *pod);
/* Only for a removed Pod without a call. */
void kubelet_pod_free(struct kubelet_pod *pod);

/* ---- podcall.c: what is done about it ---- */

/* Queues the Pod if there is something to do and nothing keeps it from being done. */
void kubelet_pod_step(struct kubelet_pod *pod);
void kubelet_pod_unqueue(struct kubelet_pod *pod);
void kubelet_pod_take_capacity(struct kubelet_pod *pod);
/* Passes it on to those who wait. */
void kubelet_pod_give_capacity(struct kubelet_pod *pod);
/* Whether it is to be bound, and has no capacity for that yet. */
bool kubelet_pod_unplaced(const struct kubelet_pod *pod);
/* How many more Pods can be bound. */
size_t kubelet_room(const struct kubelet *kubelet);
/* Takes capacity for an unplaced Pod, and binds it. */
void kubelet_pod_place(struct kubelet_pod *pod);
void kubelet_pod_on_retry(struct ev_loop *loop, ev_timer *timer, int events);
/* Starts calls for the Pods that are due, as many as may be under way. */
void kubelet_pump(struct kubelet *kubelet);

/* ---- gang.c: Pods that are placed together ---- */

/* A new Pod: of which gang it is. */
void gang_join(struct kubelet_pod *pod, const json_t *object);
void gang_leave(struct kubelet_pod *pod);
/* A member is to be placed: looks at the PodGroup, and places the gang when so many Pods of it exist and fit. */
void gang_consider(struct gang *gang);
/* Something has been bound, has ended or has gone: perhaps there is room for a gang. */
void gangs_place(struct kubelet *kubelet);
void gangs_free(struct kubelet *kubelet);

/* ---- hosts in kubelet.c ---- */

/* The set of Pods with names or addresses has changed. */
void kubelet_hosts_changed(struct kubelet *kubelet);
/* The /etc/hosts of one Pod, as of now. */
void kubelet_write_hosts(struct kubelet_pod *pod);

/* ---- nodes.c ---- */

/* Creates the Node objects and says that they are ready; best effort. */
void nodes_register(struct kubelet *kubelet);

#endif
