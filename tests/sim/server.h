/* The simulated cluster: API server, garbage collector, kubelets, and requests on their way. Part of sim.h. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/framework/object.h"
#include "common/kube/client.h"

struct world;
struct member;

/* ---- apiserver.c ---- */

enum { VERSION_BASE = 970 }; /* so that versions grow from three digits to four: they are no text to be compared */

/* An object as the server keeps it. `json` is never changed in place: a change makes a copy. */
struct object {
	struct object *next;
	enum object_kind kind;
	int plan; /* of the Framework that it belongs to by its name */
	const char *ns;
	char name[96];
	char uid[40];
	uint64_t version;
	json_t *json;
	bool deleting;
	char owner_uid[40];       /* of the controller; "" */
	bool late;                /* what made it was (struct wire), and no attempt has taken it over since */
	int64_t stray_since_ms;   /* no attempt has it or could take it, and somebody could delete it; 0: not so */
	bool bound;               /* Pods: on a node */
	int64_t observed_ms;      /* Frameworks: since when the stored status rests on its observedGeneration */
	bool moved_late;          /* Frameworks: a late write has changed the state, once */
	bool written_late;        /* Frameworks: the stored status was, so its owner may not know it */
	json_t *plain;            /* Frameworks: the status, decompressed; NULL: not asked for yet */
	json_t *specs;            /* Frameworks: that of each generation */
	const char *overdue;      /* Frameworks: what should have happened (check_life.c); NULL: nothing … */
	int64_t overdue_since_ms; /* … and since when somebody could have done it */
};

struct change {
	uint64_t version;
	enum object_kind kind;
	bool gone;
	json_t *json;
	bool labelled; /* has the label FC_FRAMEWORK_NAME now */
	bool was_labelled;
	json_t *before; /* NULL: it is new */
};

struct answer {
	int code;
	char *body; /* owned */
};

struct wire; /* a request on its way */

struct object *api_find(struct world *world, enum object_kind kind, const char *ns, const char *name);
/* The Framework of a plan, or NULL. */
struct object *api_framework(struct world *world, int plan);
struct object *api_find_uid(struct world *world, enum object_kind kind, const char *uid);
/* … of any kind. */
struct object *api_find_any(struct world *world, const char *uid);
/* Carries out a request that has arrived. */
void api_handle(struct world *world, const struct wire *wire, struct answer *out);
/* The Status of an object that is not there. */
void api_not_found(struct answer *out, const char *kind, const char *name);
/* A Status. */
void api_status(struct answer *out, int code, const char *reason, const char *message);
/* Users' and kubelets' ways in. `object` is taken over. */
struct object *api_create(struct world *world, enum object_kind kind, json_t *object);
/* Replaces the object by a changed copy (taken over), with a new version. */
void api_replace(struct world *world, struct object *object, json_t *changed);
/* grace_sec 0: at once; -1: the object's own. foreground: the dependents first. Frees the object if it is gone. */
void api_delete(struct world *world, struct object *object, int64_t grace_sec, bool foreground);
/* With background propagation, whatever its finalizers are about: it goes, and its dependents later. */
void api_delete_background(struct world *world, struct object *object);
/* It goes now. */
void api_gone(struct world *world, struct object *object);
/* An object that is kept elsewhere has changed, or is gone: it gets a version, and watches tell of it. */
void api_tell(struct world *world, enum object_kind kind, json_t *object, bool gone, json_t *before);
/* collector.c: something may have lost its owner, or its last dependent. */
void api_collect_soon(struct world *world);
/* A copy of which metadata and status may be changed. */
json_t *api_copy(const struct object *object);
/* The object at `path` of metadata as text; "" when there is none. */
const char *meta_text(const json_t *object, const char *name);
const char *annotation(const json_t *object, const char *name);
/* The items as they were at version, as an array of references. */
json_t *api_list(struct world *world, enum object_kind kind, uint64_t version);
void api_free(struct world *world);

/* ---- kubelet.c ---- */

/* What runs, or ran, of one Pod: it may go on after its object is gone (force deletion). */
struct instance {
	struct instance *next;
	char pod_uid[40];
	char pod_name[96];
	int plan; /* of its Framework */
	char framework_uid[40];
	char role[64];
	char task_uid[40];
	char attempt_uid[64]; /* FC_FRAMEWORK_ATTEMPT_INSTANCE_UID */
	int index;
	int task_attempt;
	int framework_attempt;
	bool straggler; /* created when its ConfigMap had gone: nothing keeps its Framework from going before it */
	bool late;
	bool running;
	/* gangs.c */
	bool waits_for_gang;
	bool placed;
	/* life_pods.c: its containers fail to start */
	int waits_left;
	bool failing; /* at present */
	bool never_now;
	bool never;             /* at some time, for a reason that does not pass by itself */
	int64_t failed_ms;      /* for the first time; 0: not at all */
	int64_t fails_since_ms; /* at present */
	int64_t cleared_ms;     /* when it first failed no more; 0: not yet */
	bool unschedulable;
	int64_t unschedulable_ms; /* since then, or when it was so last; 0: never */
};

/* NULL: there never was such a Pod. */
struct instance *kubelet_find(struct world *world, const char *uid);
/* A node is found soon; the containers of a Pod on a node start soon. */
void kubelet_bind(struct world *world, const char *uid);
void kubelet_start(struct world *world, const char *uid);
void kubelet_pod_created(struct world *world, struct object *pod);
void kubelet_pod_deleting(struct world *world, struct object *pod);
/* The object is gone without the kubelet's doing. */
void kubelet_pod_forced(struct world *world, const struct object *pod);
void kubelet_framework_gone(struct world *world, const char *framework_uid);
/* Whether its creation came late, and nothing has taken it over since. */
void kubelet_set_late(struct world *world, const char *uid, bool late);
void kubelet_free(struct world *world);

/* ---- network.c ---- */

/* One request of a reconciler, from the call to both of its ends. */
struct wire {
	struct wire *next;
	struct world *world;
	struct member *member; /* who sent it; may be another process by now: see client_done */
	uint64_t number;
	char *method;
	char *path;
	char *body;
	bool metadata_only;
	int64_t timeout_ms;
	bool (*before_send)(void *arg, int64_t *timeout_ms);
	kube_done *done;
	void *arg;
	int64_t sent_ms;
	int64_t deadline_ms; /* when its sender gives it up; 0: not sent yet */
	int64_t expires_ms;  /* … by its sender's clock */
	int events;          /* that have it as their argument */
	bool client_done;    /* its callback ran */
	bool server_done;    /* it will not be carried out any more */
	bool answer_lost;
	int64_t held_until_ms; /* so long it waits somewhere, if need be, for its name to be free; 0: not at all */
	/* whoever sent it was told of a failure since, or died; or may have no lease by then, see member_blind() */
	bool late;
	int64_t retry_after_ms;
	int fault;        /* the code that the server answers instead of carrying it out; 0: none */
	bool fault_after; /* … after carrying it out */
	bool stranger;    /* something else answers 404 in its place */
};

struct kube_call *network_request(void *context, const struct kube_request *request, kube_done *done, void *arg);
/* The process ends: its callbacks run with KUBE_CANCELLED, what was sent goes on. */
void network_cancel(struct member *member);
/* Connections are reset: nobody knows what became of the requests on them. */
void network_reset(struct member *member);
/* How long anything takes to the server or back. */
int64_t network_travel_ms(struct world *world);
/* The process ended in the midst of something: nobody is told anything. */
void network_abandon(struct member *member);
bool network_quiet(const struct world *world);
void network_free(struct world *world);

#endif
