/* What users of the simulated cluster do, and what happens to what they make: the workload, and the features that only
 * some worlds use. See sim.h. */
#ifndef SIM_USERS_H
#define SIM_USERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/server.h"

enum {
	SIM_FRAMEWORKS = 4, /* names */
	SIM_NAMESPACES = 2,
	SIM_ROLES = 2,
};

/* ---- workload.c ---- */

struct work_size {
	bool small;
	int frameworks; /* at most, as the others */
	int roles;
	int tasks;
	int64_t run_max_ms;
	int64_t create_by_ms; /* from the start */
	int64_t wild_by_ms;   /* from a Framework's creation: what its users do to it */
};

enum pace { RUNS_SHORT, RUNS_FOR_EVER };

struct role_plan {
	bool used;
	int tasks;
	enum pace pace;
	int fail_percent; /* of its attempts */
	int code;         /* with which they fail */
};

struct framework_plan {
	bool used;
	bool tame;           /* nothing happens to it whose outcome depends on time: comparable with a calm run */
	bool tame_tasks;     /* its Tasks' outcomes too */
	bool waits;          /* for ever, rightly: not to be started, or never ending */
	bool strict;         /* G1–G4 hold: no force deletion, no Background deletion */
	char relabelled[40]; /* uid of the Pod whose label a user edited last; "" */
	json_t *spec;
	struct role_plan roles[SIM_ROLES];
};

/* Frameworks of one name live in two namespaces. */
const char *plan_ns(int plan);
const char *plan_name(int plan);
/* The plan of a Framework or of anything whose name begins with its name; -1: of none. */
int plan_find(const char *ns, const char *name);
void workload_make(struct world *world);
void workload_close(struct world *world);
void workload_forget(struct world *world);
/* spec is taken over. */
void workload_change_spec(struct world *world, struct object *framework, json_t *spec);
/* What an attempt of a Task does: its exit code, and how long it takes (INT64_MAX: for ever). */
int workload_run(const struct world *world, const struct instance *instance, int64_t *duration_ms);

/* ---- life.c ---- */

/* Whether the world is lively. */
bool life_of_seed(uint64_t seed);
/* When the Frameworks are planned. */
void life_make(struct world *world);
/* A reconciler has written its status. */
void life_status_written(struct world *world, const struct object *framework);
/* Nothing goes wrong any more: what users still do to it. Returns after how many ms it is stopped or deleted as it is
 * in other worlds; -1: not at all. */
int64_t life_close(struct world *world, int framework);
/* Whether another controller manages it. */
bool life_others(const struct object *framework);
/* As pick() and chance(), from its own random stream. */
int64_t life_draw(struct world *world, int64_t low, int64_t high);
bool life_chance(struct world *world, int per_thousand);

/* ---- life_pods.c ---- */

/* Whether it sees to it that the Pod gets a node; that its containers start. */
bool life_pod_created(struct world *world, const struct instance *instance);
bool life_pod_bound(struct world *world, struct instance *instance);

/* ---- services.c ---- */

struct service {
	struct service *next;
	int plan;
	const char *ns;
	json_t *json;
};

/* When the Frameworks are planned. */
void services_make(struct world *world);
void services_free(struct world *world);
/* NULL: there is none. */
struct service *services_find(const struct world *world, const char *ns, const char *name);
/* The uid of its controller; "". */
const char *services_owner(const struct service *service);
/* A reconciler has written its status. */
void services_status_written(struct world *world, const struct object *framework);
void services_framework_gone(struct world *world, const char *uid);
/* A request of a reconciler about Services. */
void services_handle(struct world *world, const struct wire *wire, const char *ns, const char *name,
		     struct answer *out);

/* ---- gangs.c ---- */

struct pod_group {
	struct pod_group *next;
	int plan;
	const char *ns;
	json_t *json;
	int64_t wrong_since_ms; /* it waits for another number of Pods than it should; 0: not so (check_gangs.c) */
	int undone;             /* PATCHes that had no effect … */
	int64_t undone_from_ms; /* … since then */
};

/* When the Frameworks are planned, and depend on each other or not. */
void gangs_make(struct world *world);
void gangs_free(struct world *world);
/* NULL: there is none. */
struct pod_group *gangs_find(const struct world *world, const char *ns, const char *name);
/* The uid of its controller; "". */
const char *gangs_owner(const struct pod_group *group);
/* How many Pods it (or a patch of it) waits for. */
int64_t gangs_min(const json_t *group);
/* The name of the PodGroup that a Pod is of; "": of none. */
const char *gangs_name(const json_t *pod);
/* Its owner is gone. */
void gangs_owner_gone(struct world *world, const char *uid);
/* Whether the Pod gets its node together with others, or has to wait for them. */
bool gangs_hold(struct world *world, const char *uid);
/* A request of a reconciler; false: it is not about PodGroups. */
bool gangs_handle(struct world *world, const struct wire *wire, struct answer *out);

/* ---- queues.c ---- */

/* A Workload of Kueue. */
struct queued {
	struct queued *next;
	const char *ns;
	json_t *json;
	int64_t last_used_ms; /* the last look that found a reason to hold its quota (check_queues.c) */
};

/* When the Frameworks are planned. */
void queues_make(struct world *world);
void queues_free(struct world *world);
/* Nothing goes wrong any more. */
void queues_heal(struct world *world);
/* Adds the label of a Framework that is in a queue, when it is created. */
void queues_label(struct world *world, int plan, json_t *metadata);
/* NULL: there is none. */
struct queued *queues_find(const struct world *world, const char *ns, const char *name);
/* The uid of its Framework. */
const char *queues_owner(const struct queued *queued);
/* Whether a condition is True; whether somebody has deleted it; whether a finalizer holds it. */
bool queues_is(const struct queued *queued, const char *type);
bool queues_deleting(const struct queued *queued);
bool queues_held(const struct queued *queued);
void queues_framework_gone(struct world *world, const char *uid);
/* Whether the request is one about Kueue; answers it then. */
bool queues_handle(struct world *world, const struct wire *wire, struct answer *out);

/* ---- depends.c ---- */

/* When the Frameworks are planned. */
void depends_make(struct world *world);
/* Who removes a TaskRole from a spec removes what depends on it, too. */
void depends_repair(const struct world *world, json_t *spec);
/* The Pod runs. */
void depends_pod_started(struct world *world, const struct object *pod);
/* A reconciler has written the Framework's status. */
void depends_status_stored(struct world *world, struct object *framework);

#endif
