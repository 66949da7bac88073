/* What must hold, and where it is looked at: check.c statuses and writes, check_request.c requests and what reconcilers
 * conclude, check_rest.c what goes soon, and rest, check_life.c and check_due.c lively worlds,
 * check_services.c Services, check_gangs.c gangs. Each reports by
 * violated(). */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "tests/sim/sim.h"

/* ---- check.c ---- */

/* The plan of the Framework that a request is about: all names of a Framework's objects begin with its own. -1: of
 * none. */
int check_subject(const struct wire *wire);
/* A reconciler wants to send a request; its token was there; it was asked to wait before it asks again. */
void check_asked(const struct wire *wire);
void check_rate(struct world *world);
void check_plea(const struct wire *wire);
/* The member knows nothing any more of what it was asked. */
void check_forget_pleas(struct member *member);
/* A request of a reconciler is about to be carried out. */
void check_request(struct world *world, const struct wire *wire);
/* Its shards are given back: what is ahead of the server has been tried to be written. */
void check_leaving(const struct member *member);
/* A status is about to be stored. */
void check_status_write(const struct wire *wire, struct object *object, json_t *written);
void check_created(struct world *world, const struct wire *wire, const struct object *object);
void check_deletion(struct world *world, const struct object *object, bool force);
/* The watcher sends more of an object to a peer, to which so many bytes are on their way. */
void check_unread(const struct watcher *watcher, const char *name, size_t unread);
/* The watcher sends something to a connection of the stranger, who reads nothing. */
void check_stranger(struct watcher *watcher, int number, const struct bus_head *head, size_t len);
/* A while after a user gave one of its Pods to another Framework, and deleted it. */
void check_relabelled(struct world *world, int framework);
/* A reconciler has run its reconciles. */
void check_reconciles(struct member *member);
/* A reconciler is told of an absence, or was (told). */
void check_absent(struct member *member, enum object_kind kind, const struct bus_absent *absent, bool told);
/* After every step. */
void check_step(struct world *world);
/* Every so often, once nothing goes wrong any more that could keep an object from being seen and deleted. */
void check_strays(struct world *world);
/* Whether nothing more is to be expected. *why (static) names what is not at rest. */
bool check_rest(struct world *world, const char **why);
/* Whether each shard has a holder. */
bool check_held(const struct world *world);
void check_end(struct world *world);

void check_outcomes(struct world *world, struct outcome out[SIM_FRAMEWORKS]);

/* ---- check_life.c ---- */

/* Of lively worlds: a status is written over what is stored (before, may be NULL); an object was created; one is
 * about to be deleted. By reconcilers, all of them. */
void check_life_write(struct world *world, const struct object *object, const json_t *before, const json_t *after);
void check_life_create(const struct wire *wire, const struct object *object);
void check_life_delete(struct world *world, struct object *object);
/* Whether an attempt that has ended has no time left to be retried, which replaces its completionStatus. */
bool check_deadline_replaces(const json_t *before, const json_t *after);
/* check_due.c; as check_strays(): what is due happens soon. */
void check_overdue(struct world *world);
/* Whether a Framework that is not deleting has come to rest. */
bool check_life_rests(const struct world *world, struct object *framework);

/* depends.c: a reconciler has created a Pod. */
void check_depends(const struct wire *wire, const struct object *pod);

/* ---- check_services.c ---- */

/* A reconciler asks for a Service, if it is one; has created one; has created a Pod or a ConfigMap. */
void check_service_sent(const struct wire *wire);
void check_service_created(struct world *world, const struct wire *wire, const struct service *service);
void check_service_first(const struct wire *wire, const struct object *object);

/* ---- check_gangs.c ---- */

/* As of Services. */
void check_gang_sent(const struct wire *wire);
void check_gang_first(const struct wire *wire, const struct object *object);
/* A PATCH has no effect: the next one is not at once. */
void check_gang_undone(struct world *world, struct pod_group *group);
/* As check_strays(): each PodGroup waits for as many Pods as it should. */
void check_gangs(struct world *world);

/* ---- check_queues.c ---- */

/* A reconciler asks for a Workload, if it is one; is about to change one; it goes. A Pod or a ConfigMap was created. */
void check_queue_sent(const struct wire *wire);
void check_queue_patched(struct world *world, const struct queued *queued, const json_t *changed, bool status);
void check_queue_released(struct world *world, const struct queued *queued);
void check_queue_first(const struct wire *wire, const struct object *object);
/* As check_strays(): the quota of a Framework that is gone is given back soon after its last object has gone, whatever
 * Framework has its name by then. */
void check_queues_former(struct world *world);
/* At rest a watcher has the Workload as it is. */
void check_queue_cached(struct world *world, const char *ns, const json_t *kept);
/* Why they are not at rest (static); NULL: they are. */
const char *check_queues_rest(struct world *world);

/* ---- what they share ---- */

/* check_rest.c: whether everybody is at work who has to act on the Framework, and has seen it as it is. */
bool framework_attended(struct world *world, const struct object *framework);
/* Whether who acts on the Framework knows of that version of the Workload of its name, and which Workloads are served.
 */
bool framework_knows_workload(struct world *world, const struct object *framework, const char *version);

/* A Framework's status as it is stored, decompressed. Borrowed until it changes. */
const json_t *status_of(struct object *framework);
/* Of a Framework's or a Task's status; -1: none. */
int state_of(const json_t *status);
const json_t *attempt_of(const json_t *status);
/* Whether the member is there, and not null. */
bool is_set(const json_t *object, const char *name);
const json_t *find_task(const json_t *status, const char *role, int index);
/* Whether an attempt in that state has ended. */
bool over(int state);
/* Whether an object is of the attempt that a status is at. */
bool of_attempt(const struct object *object, const json_t *status);
bool of_task_attempt(const struct object *pod, const json_t *task);
/* Whether it has the lease of the shard that the key is in. */
bool may_act(const struct member *member, const char *ns, const char *name);

#endif
