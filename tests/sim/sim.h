/* The simulator (ARCHITECTURE.md §10.1): the real cores of watcher and reconcilers in one program, over a simulated API
 * server, kubelet, network and bus. One event per step, ordered by (time, sequence); everything random comes from the
 * seed, so that a seed replays a run exactly. This header, with server.h, is what its
 * parts share; each part is one file.
 *
 *   main.c       seeds, workers, the command line        check.h     what must hold: check*.c
 *   world.c      clock, events, trace, one seed's run    workload.c  what users do
 *   apiserver.c  objects, versions, history, requests    faults.c    what goes wrong, and when
 *   objects.c    reading objects                         collector.c  the garbage collector
 *   kubelet.c    what runs                               network.c   requests on their way
 *   watcher.c    a watcher's process                     bus.c       connections between the two
 *   stream.c     its lists and watches, on loop.c        machine.c   clocks
 *   leader.c     which watcher leads                     simlog.c    where the cores' log lines go
 *   member.c     a reconciler's process                  stranger.c  somebody on the bus who means no good
 *   barrier.c    a barrier's process
 *   life.c       suspend, lifetimes and the like        life_pods.c  Pods that do not come to run
 *   services.c   Services, and who gets in their way     depends.c   TaskRoles that depend on others
 *   gangs.c      PodGroups, and who places their Pods    queues.c    Kueue and its Workloads
 *   memory.c     memory that runs out                  memo.c, quickjson.c, quickfold.c  what makes it quick */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/base/rate.h"
#include "common/bus/session.h"
#include "common/kube/client.h"
#include "common/leader/election.h"
#include "reconciler/reconciler.h"
#include "tests/sim/server.h"
#include "tests/sim/users.h"
#include "watcher/shards/router.h"
#include "watcher/view/cache.h"
#include "watcher/view/streams.h"

enum {
	SIM_MEMBERS = 4, /* names */
	SIM_WATCHERS = 2,
	SIM_PROCESSES = 8, /* reconciler processes at once; those past SIM_MEMBERS are namesakes */
	SIM_PLACES = 50,   /* for calls, of all members, when they are not few */
	SIM_SHARDS = 8,    /* unless the configuration is changed */
	SIM_TICK_MS = 500,
	SIM_STRAYS_LOOK_MS = 500,
	SIM_RENEW_MS = 10000,     /* without a renewal, a leader leads so long */
	SIM_LEASE_TIMES = 3,      /* one lease of reconcilers is so many times the other one that users change it to */
	SIM_IN_FLIGHT_MAX = 6000, /* bytes of objects, in every other world */
	SIM_BARRIERS = 2,
	SIM_SEATS = SIM_PROCESSES + SIM_BARRIERS,
	SIM_MACHINES = SIM_WATCHERS + SIM_SEATS,
};

struct world;
struct ev_timer;

/* What the simulator allocates is not its processes' (memory.c). */
void *__real_mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *__real_mem_calloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *__real_mem_realloc(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
char *__real_mem_strdup(const char *text);
#define mem_alloc __real_mem_alloc
#define mem_calloc __real_mem_calloc
#define mem_realloc __real_mem_realloc
#define mem_strdup __real_mem_strdup

/* ---- world.c ---- */

/* A process that events can be for. An event for one that was ended since is dropped, for one that stands still it
 * waits. */
struct process {
	struct world *world;
	struct machine *machine; /* since it was started */
	char label[16];
	bool alive;
	uint64_t life; /* counts its starts */
	int64_t paused_until_ms;
	int64_t memory_left; /* allocations until there is no memory any more; 0: for ever */
};

/* process: NULL for what happens outside of processes. `drop` (may be NULL) frees the argument of an event that does
 * not happen; `run` frees it otherwise. */
void at(struct world *world, int64_t at_ms, struct process *process, void (*run)(struct world *world, void *arg),
	void (*drop)(void *arg), void *arg);

/* A number from the faults' random stream, both ends included. */
int64_t pick(struct world *world, int64_t low, int64_t high);
/* True that often. */
bool chance(struct world *world, int per_thousand);

/* Goes into the hash of the trace, which tells two runs apart. */
void mark(struct world *world, uint64_t value);
/* A line of the trace, with --seed. */
void trace(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An invariant is broken: reports and ends the worker. */
/* How many events that are to come carry this, as their argument or as what drop_subject() finds in it. */
int events_of(const struct world *world, const void *arg, const void *(*subject)(void (*drop)(void *arg), void *arg));
void violated(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* ---- machine.c ---- */

struct machine {
	int64_t from_ms;  /* from this time on its clock runs … */
	int64_t clock_ms; /* … from here */
	int ppm;          /* faster than time, in millionths; negative: slower */
	/* by its clock: until then its processes may believe in leases that have ended while it was paused */
	int64_t blind_until_ms;
};

void machines_make(struct world *world);
/* What users change memberLeaseSec to; the longer one of the two. */
int64_t other_lease_ms(const struct world *world);
int64_t longest_lease_ms(const struct world *world);
int64_t machine_now_ms(const struct machine *machine, int64_t now_ms);
bool machine_blind(const struct machine *machine, int64_t now_ms);
/* It stands still from now on, with its clock and all of its processes. */
void machine_pause(struct world *world, struct machine *machine, int64_t span_ms);
/* The monotonic clock of a process. */
int64_t process_now_ms(const struct process *process);
/* When its clock shows that, if its machine is not paused before; INT64_MAX: never. */
int64_t process_time_ms(const struct process *process, int64_t clock_ms);

/* ---- bus.c ---- */

struct watcher;

struct link {
	char id[16];
	bool connected;
	uint64_t life; /* counts connections: what was on its way on an earlier one is lost */
	int64_t up_ms; /* when the last letter of each direction arrives: they keep their order */
	int64_t down_ms;
	size_t unread; /* bytes of objects on their way down */
};

/* A peer's place on the bus: a reconciler's or a barrier's. It outlasts the process. */
struct seat {
	struct process *process;
	struct session *session; /* NULL: its process does not run */
	struct watcher *only;    /* a child speaks to its parent alone; NULL: to all */
	void (*settle)(struct process *process);
	struct link links[SIM_WATCHERS];
	int64_t blind_until_ms; /* by its clock: until then what a blind leader said may count for it */
};

/* Its process has started, or has ended (peer NULL). */
void bus_seat(struct seat *seat, struct process *process, struct session *session, struct watcher *only,
	      void (*settle)(struct process *process));
int bus_from_peer(void *arg, unsigned watcher, const struct bus_head *head, const void *body, size_t len);
int bus_from_watcher(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		     size_t len);
/* The connection between the two; NULL: there is none of the kind. */
struct link *bus_link(struct seat *seat, const struct watcher *watcher);
/* Sooner or later, to all that it has to do with. */
void bus_connect(struct seat *seat);
/* A connection that is half open: what is sent in one direction arrives when the time is over. */
void bus_stall(struct seat *seat, bool up, int64_t span_ms);
void bus_disconnect(struct seat *seat);
void bus_disconnect_watcher(struct watcher *watcher);

/* ---- stranger.c ---- */

enum { STRANGER_LINKS = 4 };

/* What a watcher has sent to one of the stranger's connections in its term. */
struct stranger_link {
	size_t unread;
	uint64_t assigned;
};

/* From now on, until nothing goes wrong any more, somebody who has a peer's key says HELLO again and again, and reads
 * nothing. */
void stranger_begin(struct world *world);
/* The number of the stranger's connection; -1: it is somebody else's. */
int stranger_link(const unsigned char *id, size_t id_len);
/* Whether it has a barrier's key; a reconciler's otherwise. */
bool stranger_is_barrier(const struct world *world);

/* ---- barrier.c: a barrier's process ---- */

struct barrier {
	struct process process;
	struct seat *seat;
	struct session *session;
	struct readiness *readiness;
	char name[8];
	int64_t wake_ms; /* as a member's */
};

void barrier_start(struct world *world, int index);
void barrier_kill(struct barrier *barrier, const char *why);

/* ---- member.c: a reconciler's process ---- */

/* The server's wish not to be asked this again for a while. */
struct plea {
	uint64_t request;
	int64_t until_ms; /* by the clock of who was asked to wait */
};

struct member {
	struct process process;
	int slot;
	char name[16];
	struct seat *seat;
	struct session *session;
	struct reconciler reconciler;
	bool ending; /* being torn down: no events any more */
	bool leaving;
	bool left;           /* and has told the watcher */
	int64_t leave_by_ms; /* by its clock */
	bool refused;
	uint64_t pongs;  /* that it has had … */
	int64_t pong_ms; /* … when the last one was looked for */
	uint64_t requests;
	uint64_t crash_after;  /* this many requests; 0: not */
	int64_t doze_ms;       /* its machine is paused for so long once it has an object deleted; 0: not */
	int64_t sends_from_ms; /* until then requests wait within it */
	struct token_bucket bucket;
	struct plea pleas[8]; /* the latest Retry-Afters */
	size_t plea_count;
	uint64_t pleas_from; /* requests up to this one are forgotten */
	bool lazy;           /* reconciles wait for the wake-up */
	int64_t wake_ms;     /* when the earliest wake-up arranged comes; by the world's time */
	int64_t wall_skew_ms;
};

void member_start(struct world *world, int slot);
/* Unless it runs by then, or has nobody to start it. */
void member_start_later(struct world *world, struct member *member, int64_t delay_ms);
/* Its wall clock is wrong by so much from now on. */
void member_skew(struct member *member, int64_t skew_ms);
/* Whether leases that it believes in may have ended: its machine, or the one of the leader that gave them, was paused.
 */
bool member_blind(const struct member *member);
/* A second process of its name. */
bool member_is_namesake(const struct member *member);
void member_kill(struct member *member, const char *why);
void member_terminate(struct member *member);
void member_out_of_memory(struct member *member);
/* After anything that happened to it: reconciles, then sleep. */
void member_settle(struct member *member);

/* ---- watcher.c ---- */

struct watcher {
	struct process process;
	int index;
	struct router *router; /* of its term; NULL: it does not lead */
	uint32_t shard_count;
	int64_t lease_ms; /* of reconcilers */
	struct cache *cache;
	struct streams *streams;
	struct streams *workloads;
	bool synced;
	bool live;
	bool stopping;
	uint64_t requests;
	uint64_t crash_after; /* this many requests; 0: not */
	bool gathering;       /* what it has to tell */
	struct stranger_link stranger[STRANGER_LINKS];
	int64_t led_ms;           /* when its term began */
	int64_t cut_off_until_ms; /* its requests about the Lease and the record are lost */
	/* stream.c */
	struct kube_call *calls;
	uint64_t call_numbers;
	struct {
		struct ev_timer *timer; /* NULL: free */
		uint64_t number;
	} timers[12];
	uint64_t timer_numbers;
	int64_t frozen_until_ms[KIND_COUNT];
	enum { LISTS_AS_EVER, LIST_BREAKS_OFF, LIST_BROKEN_OFF } namesake; /* of its lists of Pods, in ROW_NAMESAKE */
	/* leader.c; NULL: it is alone */
	struct election *election;
	char identity[24];
	bool leading;
	uint64_t term;
	uint64_t epoch; /* of its term, by the Lease */
	bool asking;
	int64_t asked; /* by its clock: the deadline of what was asked last */
	uint64_t lease_versions[ELECTION_OBJECTS];
	int64_t lease_wake_ms;
};

void watcher_start(struct world *world, int index);
void watcher_kill(struct watcher *watcher, const char *why);
void watcher_out_of_memory(struct watcher *watcher);
/* It has sent a request. */
void watcher_requested(struct watcher *watcher);
void watcher_settle(struct watcher *watcher);

/* ---- stream.c ---- */

/* The server has a new version. */
void watcher_news(struct world *world);
/* The connection of a watch breaks. */
void stream_cut(struct watcher *watcher, enum object_kind kind);
/* Whether all watches are connected, and have told all. */
bool streams_quiet(const struct watcher *watcher);
/* Whether the object was sent to it as it is now. */
bool streams_shown(const struct watcher *watcher, const struct object *object);
/* Whether a watch is silent though there is something to tell: of objects that are gone, too. */
bool streams_silent(const struct watcher *watcher);
/* Whether all watches of the kind stand before that version, and no list of it is under way. */
bool streams_before(const struct watcher *watcher, enum object_kind kind, uint64_t version);
void streams_end(struct watcher *watcher);

/* ---- leader.c ---- */

/* The Lease on the server, or its record. */
struct lease_object {
	bool there;
	uint64_t version;
	struct election_lease lease;
};

void leader_start(struct watcher *watcher);
/* Frees what it has of an election and a term. */
void leader_end(struct watcher *watcher);
bool watcher_leads(const struct watcher *watcher);
/* It leads, and its cache is complete. */
void leader_synced(struct watcher *watcher);
void watcher_terminate(struct watcher *watcher);
/* One of the children of a watcher that is stopping. */
void leader_child_ended(struct watcher *watcher);

/* ---- faults.c ---- */

void faults_make(struct world *world);
/* From now on nothing goes wrong any more, and what went wrong is mended. */
void faults_heal(struct world *world);
/* The API server has deleted a Pod or a ConfigMap for the member. */
void faults_deleted(struct member *member);
/* The API server has created a Pod. Returns when the answer is to be sent, in ms from now; 0: as usual. */
int64_t faults_created(struct world *world, const char *ns, const char *name);

/* Faults that follow each other in some worlds. */
enum fault_row {
	ROW_NONE,
	ROW_LATE_ANSWERS,
	ROW_HANDOVER,
	ROW_OVERDUE,
	ROW_LATE_WRITES,
	ROW_ASLEEP,
	ROW_RELISTS,
	ROW_UNSEEN,
	ROW_BEHIND,
	ROW_NAMESAKE
};
enum fault_row row_of_seed(uint64_t seed);

struct faults {
	bool calm; /* none at all */
	enum fault_row row;
	bool lost; /* but that of a machine */
	unsigned kinds;
	int64_t pace_ms; /* between two of them, about */
	int64_t until_ms;
	int64_t long_ms; /* what lasts long lasts so long at most: always longer than a lease */
	/* of each thousand requests */
	int lose_answer;
	int lose_request;
	int delay;
	int refuse;
	int slow_send;
	int slow_answer;
	int stranger; /* in some worlds: answered 404 by something that is no API server */
	/* of each thousand letters */
	int lose_letter;
	int double_letter;
	int delay_letter;
	int reorder_letter;
	bool late; /* requests may be carried out after their deadline */
	bool stale_lists;
	bool slow_streams;
	int64_t lag_ms[KIND_COUNT]; /* of a watch behind the server, all the time … */
	unsigned lagging_watchers;  /* … of these: a bit for each */
	bool lazy_reconciles;       /* reconciles may come later than the events that they answer */
	int64_t outage_until_ms;
	uint64_t quota; /* Pods; 0: none */
	int deny;       /* of each thousand creates of objects of Frameworks that are not tame: refused for good */
	/* Of each thousand starts of watchers, and a tenth of that of requests about the Lease: a user deletes it or
	 * its record right then */
	int lose_lease;
	/* Bytes of a status that is not compressed, 800 at least; of one that is, an eighth of it is what a container
	 * may say. 0: any */
	size_t status_max;
	uint64_t compacted;
	/* ROW_NAMESAKE */
	char shown_ns[8]; /* of a Pod that a list shows before it breaks off */
	char shown[40];   /* its uid */
	uint64_t behind;  /* the version that another replica answers the next list with; 0: not yet */
};

/* ---- memory.c ---- */

/* Runs code of the process (NULL: of none); false: it ran out of memory, and did not come to its end. */
bool memory_run(struct process *process, void (*run)(struct world *world, void *arg), struct world *world, void *arg);
/* While it is on, nothing is counted: what the memo finds is not allocated. */
void memory_shield(bool on);
/* The process has ended by itself: what follows is not its own. */
void memory_ended(void);

/* ---- memo.c ---- */

/* Before the first value is made. */
void memo_start(void);
uint64_t memo_hash(const char *text, size_t len);

/* ---- quickjson.c ---- */

typedef void quick_part(const json_t *value, const char *text, size_t len);
/* NULL: it is not plain, or no JSON. part: gets each member of the outermost object that is an object itself. */
json_t *quick_parse(const char *text, size_t len, quick_part *part);
/* False: it is not plain; out has part of it. */
bool quick_write(struct buf *out, const json_t *value);

/* ---- the world ---- */

struct event;

enum { RATE_SECONDS = 10 };

/* What was seen of a run. */
struct tally {
	uint64_t steps;
	uint64_t late_writes;  /* carried out when their sender could not know any more that it may */
	uint64_t late_objects; /* that they made */
	uint64_t strays;       /* objects that no attempt could have, and that somebody could delete … */
	uint64_t stray_ms;     /* … for so long at most */
};

struct world {
	uint64_t seed;
	struct tally *tally;
	int64_t now_ms;
	int64_t wall_base_ms;
	struct event **heap;
	size_t heap_count;
	size_t heap_cap;
	uint64_t sequence;
	uint64_t steps;
	struct random work_random;
	struct random fault_random;
	uint64_t hash;
	struct faults faults;
	bool by_namespace; /* watchers look at each namespace by itself */
	bool gather;       /* watchers tell what came within a moment together */

	/* the cluster */
	struct object *objects;
	uint64_t version;
	struct change *changes; /* of every version from VERSION_BASE + 1 on */
	size_t change_cap;
	uint64_t uids;
	bool changed;    /* since the last check */
	bool collecting; /* the garbage collector has something to look at */
	struct instance *instances;

	struct wire *wires;
	uint64_t wire_numbers;
	uint64_t requests_of[SIM_FRAMEWORKS];
	uint64_t requests;
	int64_t second;
	uint64_t requests_in_second;
	double qps; /* for the whole cluster */
	int burst;
	int worker_number;              /* likewise */
	uint64_t sent_in[RATE_SECONDS]; /* the latest seconds */
	int64_t sent_second;

	struct machine machines[SIM_MACHINES]; /* the first ones are the watchers' */
	const struct process *running;         /* whose code runs; NULL: none */
	struct watcher watchers[SIM_WATCHERS];
	int watcher_count;
	struct lease_object leases[ELECTION_OBJECTS];
	uint64_t lease_versions;
	uint64_t record_at_deletion; /* its version when one of both was deleted last */
	uint64_t newest_epoch;       /* that anybody has led with, since both were deleted */
	char newest_leader[24];      /* who did, the last time */
	bool same_machine;           /* for the watchers: each can tell whether the other runs */
	uint64_t uuids;
	uint64_t links;
	struct seat seats[SIM_SEATS]; /* the first ones are the reconcilers' */
	struct barrier barriers[SIM_BARRIERS];
	int barrier_count;
	size_t in_flight_max; /* bytes of objects on their way to each peer */
	uint32_t stranger_session;
	struct random stranger_random;
	struct member members[SIM_PROCESSES];
	int member_count; /* names in use */
	int64_t lease_ms; /* of reconcilers, unless the configuration is changed */
	int64_t grace_ms;
	/* the configuration at present, which each watcher reads when it starts */
	uint32_t shard_count;
	int64_t member_lease_ms;
	bool pool; /* children of the watcher that leads: their deaths are known at once */
	bool healed;
	int64_t strays_look_ms;
	bool looks_anew; /* nothing happened since the last look: everybody stood still */
	bool lively;
	struct random life_random;
	int64_t life_until_ms; /* users are at work */
	bool depending;        /* TaskRoles depend on others */
	struct random depends_random;
	char depends_met[SIM_FRAMEWORKS][80]; /* the last attempt whose stored status has shown that it is met */
	bool networked;                       /* has Services */
	struct random service_random;
	struct service *services;
	uint64_t service_version;
	int64_t service_forbidden_until_ms;
	int64_t service_taken_ms[SIM_FRAMEWORKS]; /* when somebody deleted one last */
	int64_t attempt_ms[SIM_FRAMEWORKS];       /* when a ConfigMap was created last */
	bool queued;                              /* has queues of Kueue */
	struct random queue_random;
	struct queued *queued_workloads;
	bool in_queue[SIM_FRAMEWORKS];
	bool queue_looks;
	int64_t queue_quota;
	bool ganged; /* has PodGroups */
	struct random gang_random;
	struct pod_group *pod_groups;
	uint64_t gang_version;
	int64_t gang_forbidden_until_ms;
	int64_t gang_unserved_until_ms;
	int64_t gang_undone_until_ms;
	int64_t stood_still_ms;  /* all machines together: timers that were set before end so much later */
	int64_t paused_until_ms; /* of all machines: what is known for a while by their clocks is known for longer */
	int gang_downgrades;     /* Kubernetes serves v1beta1 after an even number of them */
	int64_t gang_taken_ms[SIM_FRAMEWORKS]; /* as of Services */
	int64_t gang_attempt_ms[SIM_FRAMEWORKS];
	int64_t skew_max_ms; /* between true time and a reconciler's wall clock, at any time so far */

	const struct work_size *size;
	struct framework_plan plans[SIM_FRAMEWORKS];
	struct failure_spec failures; /* empty */
	int64_t creation_timeout_sec;
	int64_t retain_sec;
	int64_t work_until_ms;
	int framework_count;
};

extern bool sim_tracing;
extern struct world *sim_world; /* whose log lines are traced */

/* What became of a Framework. */
struct outcome {
	bool there;
	char text[1024];
};

/* Runs one seed to its end; calm: without faults, and only what is comparable. Fills the outcomes; returns the trace's
 * hash. */
/* The leader of two watchers is lost with its machine, its children with it if there is a pool: how long until each
 * shard has a holder again. */
int64_t world_failover(uint64_t seed, bool pool);
uint64_t world_run(uint64_t seed, bool calm, struct outcome outcomes[SIM_FRAMEWORKS], struct tally *tally,
		   bool tame[SIM_FRAMEWORKS]);

#endif
