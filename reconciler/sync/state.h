/* One Framework as its owner holds it: the object, its status, observed objects under it, calls on the way. The two
 * state machines of CONTRACT.md §5 and §6 are tables (state.c); framework_enter and task_enter are the only ways to
 * change a state. */
#ifndef SYNC_STATE_H
#define SYNC_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash.h"
#include "common/base/json_reader.h"
#include "common/base/random.h"
#include "common/framework/failure_spec.h"
#include "common/framework/names.h"
#include "common/framework/object.h"
#include "common/framework/spec.h"
#include "common/framework/status.h"
#include "reconciler/sync/kueue.h"
#include "reconciler/sync/plan.h"
#include "reconciler/sync/request_backoff.h"

/* How the object of the name is known, if there is one. */
enum slot_known {
	SLOT_SEEN,      /* by events and lists, or by the answer to a create */
	SLOT_CONFIRMED, /* a GET has answered since the last create or news */
	SLOT_IN_DOUBT,  /* not for certain: GET before anything else; whether a create was carried out may be unknown */
};

enum slot_deletion {
	SLOT_KEPT,    /* no DELETE of ours was accepted */
	SLOT_DELETED, /* one was */
	SLOT_FORCED,  /* one with gracePeriodSeconds 0 was */
};

/* The problem that an Event has already reported. */
enum slot_report {
	REPORTED_NOTHING,
	REPORTED_CONFLICT, /* a foreign object has the name */
	REPORTED_PHASE,    /* the present Pod's phase is unrecognised */
};

/* A place for one named object under the Framework: its attempt's ConfigMap, a Pod, or another object that it owns. It
 * outlives the object: it also keeps facts about an object that is gone, or not yet there. */
struct slot {
	enum slot_kind kind;
	char *name;               /* NULL: of a kind that the Framework has not wanted yet */
	struct object_meta *meta; /* of the object as last observed or answered: inside one of the next; NULL: none */
	struct pod *pod;
	struct config_map *config_map;
	struct owned_object *owned;
	struct workload *workload;
	bool outdated;       /* of an owned object: the answer that is on its way was asked for by an earlier attempt */
	enum call_kind call; /* on the way for this name, or CALL_NONE */
	enum slot_known known;
	enum slot_deletion deletion; /* of the present object */
	bool straggler;              /* the present object was created while the attempt was on its way out */
	bool create_sent;            /* this process sent a create of the name, whatever came of it */
	enum slot_report reported;
	unsigned polls;             /* GETs in a row that found it as it was (slot_call.c) */
	char *gone_uid;             /* the last uid known to be gone for certain (CONTRACT.md §12) … */
	char *gone_version;         /* … unless it is seen at this version or later; NULL: at any */
	char *absent_version;       /* at which none with our label existed under the name; NULL: not known */
	char *first_version;        /* of the present object as it was first seen */
	struct create_error *error; /* of the last create, until it is decided what it means */
	uint64_t failed_at; /* how many creates of the Framework had failed before its last one, and 1; 0: it did not */
	int64_t poll_ms;    /* CLOCK_BOOTTIME from which on a GET may be sent again */
	struct slot_wait *wait; /* of a Pod that fails to start (pending.c); NULL: it does not */
	int64_t ungated_sec; /* when its Pod was first seen without its gates; SLOT_GATED: it has them; 0: none known */
	uint64_t confirmed_by; /* the GET of the ConfigMap that the Pod's deletion waits for (task.c); 0: none */
	uint64_t vouched_by;   /* the status write that proves that no status is newer (fence.c); 0: none */
	size_t role_hint;      /* where the TaskRole was last found */
	uint64_t place;        /* in the order of turns (turns.c) */
	bool unseen;           /* during a snapshot: not shown in it yet */
	bool dirty;
	bool waiting;
	struct slot *next_dirty;
	struct slot *next_waiting;  /* for a status write */
	struct slot *next_creating; /* of those that want to be created, in this reconcile */
	UT_hash_handle hh;
};

enum { SLOT_GATED = -1 /* ungated_sec */ };

/* A failed create or patch, to be classified by CONTRACT.md §8 once it is sure that nothing was created; or another
 * call about an owned object that was refused for want of a right. */
struct create_error {
	uint64_t decided; /* the create's (plan.h): of another attempt it says nothing */
	enum call_verb verb;
	bool unread;     /* a GET was refused: whether there is such an object is not known */
	int http_status; /* 0: no answer */
	bool is_status;  /* the body was an API Status */
	char *reason;
	char *message;
	char *status_json; /* the Status, for the diagnostics; NULL when none */
};

void create_error_free(struct create_error *error);

/* The state that belongs to a Task's status and is not stored. */
struct task_work {
	uint64_t decided; /* version of the status that holds the present state */
	uint64_t adopted; /* … and of the one that holds the Pod's uid */
};

/* How far the wait of a TaskRole for others is (depends.c). */
enum depends_state { DEPENDS_WAITING, DEPENDS_MET, DEPENDS_OVER };

struct role_work {
	struct task_work *tasks; /* parallel to role_status.tasks */
	size_t cap;
	enum depends_state depends; /* if it depends on others */
	bool depends_reported;      /* an Event has reported what it waits for */
	uint64_t depends_version;   /* of the status that shows that it is met */
	/* Of Tasks that are not deletionPending; kept by state.c, see role_count. */
	int32_t live;
	int32_t running;
	int32_t ending;     /* AttemptDeletionPending: its Pod is deleted after the write */
	int32_t over;       /* AttemptCompleted: retried after the write */
	int32_t ended;      /* AttemptDeletionPending to AttemptCompleted */
	int32_t without_ip; /* AttemptRunning or before, and its Pod has none yet */
	int32_t completed;
	int32_t failed;
	int32_t succeeded;
	/* Of all Tasks */
	int32_t creation_pending;
	int32_t leaving; /* deletionPending and not Completed yet */
};

/* When the status is to be written (pace.c). Times are CLOCK_BOOTTIME's. */
struct write_pace {
	int64_t by_ms;      /* by which the changes are to be written; INT64_MAX: none */
	unsigned gathered;  /* writes in quick succession: each lets the next one wait longer */
	int64_t last_ms;    /* when the last write began */
	int64_t spacing_ms; /* from that one to the next at least, unless it is urgent */
	bool decisive;      /* a Task's attempt has ended since, and decides more than itself */
	/* the versions at which the last Task came into AttemptRunning, AttemptDeletionPending, AttemptCompleted */
	uint64_t running;
	uint64_t ending;
	uint64_t over;
	uint64_t addressed; /* … got its Pod's first IP */
};

/* The operations that the present grant allows, and the author of the stored status (fence.c). */
enum fence {
	FENCE_NEW,     /* the Framework was seen to come: all may be done, and nothing of ours is stored yet */
	FENCE_FORMER,  /* no create or delete; the stored status has precedence: a former owner may have written it */
	FENCE_PASSED,  /* a write of ours has succeeded: all may be done; the stored status is ours or is overwritten */
	FENCE_RENEWED, /* no create or delete before another write; the stored status is ours or is overwritten */
};

/* The state that belongs to the slot of an owned object (owned.c). */
struct owned_work {
	const struct owned_resource *resource; /* what it is on this API server, as far as known */
	int64_t seen_ms;                       /* CLOCK_BOOTTIME of the last answer that has shown it */
	int64_t reported_ms;   /* … of the last Event that it is not served, or that nobody knows; 0: none */
	bool reported_trouble; /* it was the latter */
	int64_t fitted;        /* the generation of the Framework at which it was last as it should be; -1: none */
	int64_t sent;          /* … at which the last create or PATCH of it was planned */
	int64_t number;        /* what the PATCH on its way states: see owned_kind.h; INT64_MAX before it is sent */
	bool outgrown;         /* it is not as it should be … */
	uint64_t outgrown_at;  /* … since this version of the status */
};

struct pod_template;

struct framework {
	char *ns;
	char *name;

	/* The object on the server. Without one (exists false) the rest of this part is empty. */
	bool exists;
	char *uid;
	char *gone_version; /* at which none of the name existed; NULL: not known */
	char *resource_version;
	int64_t generation;
	int64_t deletion_time;
	char *metadata_text; /* JSON, for snapshots */
	char *spec_text;     /* JSON, for snapshots and pod templates */
	struct framework_spec spec;
	bool managed_by_others;          /* spec.managedBy: left alone */
	char *problem;                   /* why nothing of it is acted on (malformed spec or status); NULL: sound */
	bool problem_reported;           /* by an Event */
	int64_t too_many_reported;       /* the generation of which an Event has reported that it has too many Tasks */
	struct json_span *task_texts;    /* of each spec role in spec_text, found when first needed; NULL: not yet */
	struct pod_template **templates; /* one per spec role, compiled when first needed; NULL: none */

	/* The status, ahead of the server's by version - written changes. */
	bool has_status;
	struct framework_status status;
	struct role_work *roles; /* parallel to status.attempt.roles */
	uint64_t version;
	uint64_t written;
	uint64_t taken_over; /* the version that only adds observedGeneration and conditions to another controller's */
	uint64_t writes_begun;  /* the number of the last status write … */
	uint64_t writes_stored; /* … and of the last one that succeeded */
	uint64_t hold;          /* nothing more is decided until this version is written */
	struct write_pace pace;
	uint64_t decided; /* version that holds the present state of the Framework */
	uint64_t adopted; /* … and the one that holds the ConfigMap's uid */
	enum fence fence;
	bool inherited;     /* the attempt was adopted: its author may have created what no event has shown yet */
	bool fence_sent;    /* status.fenced as it is in the write that is on its way */
	const char *writer; /* as this process marks the statuses that it writes; NULL: not at all */

	/* Keeps the status within the server's limits (write.c), in this attempt. */
	int shorten_step;        /* of shorten.h, in force: new messages are shortened as the ones before them */
	bool shortened;          /* some message was */
	bool shortened_reported; /* … by an Event */
	size_t text_bytes;       /* of diagnostics and pod details, at most */
	size_t status_max;       /* of a body that the server is known to take; 0: it has refused none */
	/* The same in all attempts (apply.c). */
	bool compress_always;       /* the server found the status too large */
	bool compress_reported;     /* an Event has reported that it is compressed although not configured */
	size_t body_refused_len;    /* length of the last compressed body that was too large as well; 0: none was */
	bool body_refused_reported; /* an Event has reported that no body is small enough */

	struct slot config_map;
	char *config_map_end;           /* the version where it went out of sight; NULL: not known, or it is seen */
	uint64_t config_map_asked;      /* the number of the last GET of the ConfigMap … */
	uint64_t config_map_present;    /* … and of the last one that found it */
	struct slot owned[OWNED_KINDS]; /* in the order of enum slot_kind */
	struct owned_work owned_work[OWNED_KINDS];
	bool owned_awaited; /* a Task waits for them */
	struct kueue_work kueue;
	struct slot *slots;      /* Pods by name */
	struct slot *dirty;      /* to be looked at in the next reconcile */
	struct slot *waiting;    /* to be looked at after the next write */
	bool sweep;              /* look at every Task and slot */
	int64_t sweep_at_ms;     /* CLOCK_BOOTTIME from which on that is due for some timer; INT64_MAX: none */
	bool scale;              /* the spec, or a Task it no longer wants, has changed: rescale is to be looked at */
	unsigned waits_reported; /* kinds of waits (enum pod_wait_kind) that Events of this attempt have reported */
	bool retention_sent;     /* the Framework's own deletion is on the way */
	/* A DELETE or a GET that the API server refused, for an Event; NULL: none, or it is reported. */
	char *refused;
	const char *refused_reason;
	int64_t refused_again_ms; /* CLOCK_BOOTTIME from which on the next one is reported */

	struct request_backoff creates; /* of Pods */
	struct request_backoff config_map_creates;
	struct request_backoff others;
	struct request_backoff owned_calls; /* all calls about objects in owned */
	uint32_t create_window;             /* creates on the way at most; 0: no limit (slow start after a failure) */
	uint32_t creates_on_way;
	uint64_t creates_failed;  /* how often, ever */
	uint32_t initial_creates; /* of those on the way: of Tasks that never had a Pod */
	uint64_t initial_stage;   /* the lowest stage of these (slot_call.c) */
	bool initial_held;        /* a Task of a later stage waits for their answers */
	bool lowest_first;        /* a quota is used up: what it has place for is the lowest Task's */
	bool unsettled;           /* a turn waits for what has become of a lower Task's create: the answer sweeps */
};

struct framework *framework_new(const char *ns, const char *name);
void framework_free(struct framework *framework);
/* Forgets status and work, keeps the observed objects: the object is gone, or another one has its name. */
void framework_forget(struct framework *framework);
/* Takes over a status (its content moves), as read from the server. */
void framework_adopt_status(struct framework *framework, struct framework_status *status);

/* The input of one reconcile beside the Framework. */
struct sync_config {
	const struct failure_spec *failures;
	int64_t creation_timeout_sec;   /* objectLocalCacheCreationTimeoutSec */
	int64_t completed_retain_sec;   /* frameworkCompletedRetainSec */
	int64_t conflict_delay_min_sec; /* frameworkMinRetryDelaySecForTransientConflictFailed */
	int64_t conflict_delay_max_sec;
	bool snapshot_framework_retry;
	bool snapshot_framework_deletion;
	bool snapshot_task_retry;
	bool snapshot_task_deletion;
	bool kueue;                      /* Frameworks wait for Kueue */
	const struct api_served *served; /* by enum owned_api (owned_kind.h) */
};

struct sync_time {
	int64_t wall_ms;
	int64_t boot_ms;
	int64_t write_ms;      /* how long status writes of any Framework take; 0: not known */
	bool live;             /* the watcher's streams are live */
	int64_t live_since_ms; /* boot clock */
};

struct reconcile {
	struct framework *framework;
	const struct sync_config *config;
	struct sync_time time;
	int64_t now_sec; /* time.wall_ms in seconds, for stamps */
	struct random *random;
	struct plan *plan;
	uint64_t config_map_asked; /* of the framework, when the reconcile began */
	bool fence_wanted; /* something waits for the fence: the status is written, whether it has changed or not */
	int64_t classify_steps; /* left for failed Pods (classify.h) */

	/* The turns of the Tasks (turns.c), in ascending order */
	bool all;              /* each Task has its turn */
	bool again;            /* that is needed, and was not so */
	bool create_open;      /* whether the Pod of one that had its turn was created is unknown */
	struct slot *creating; /* they want their Pods, of which few may be on the way */
	struct slot **creating_end;
};

/* Moves to a state the table allows (anything else aborts), stamps times. */
void framework_enter(struct reconcile *reconcile, enum attempt_state state, int64_t write_delay_ms);
void task_enter(struct reconcile *reconcile, size_t role, size_t index, enum attempt_state state,
		int64_t write_delay_ms);
bool framework_move_allowed(enum attempt_state from, enum attempt_state to);
bool task_move_allowed(enum attempt_state from, enum attempt_state to);
/* Its Pod reports that IP; "": none. */
void task_set_pod_ip(struct reconcile *reconcile, size_t role, size_t index, const char *ip);
/* Sets deletionPending. */
void task_mark_deletion(struct reconcile *reconcile, size_t role, size_t index);

/* Appends a fresh Task (new instanceUID, AttemptCreationPending). */
void role_append_task(struct reconcile *reconcile, size_t role);
/* The same in place of the Task at index. */
void role_replace_task(struct reconcile *reconcile, size_t role, size_t index);
void role_remove_last_task(struct framework *framework, size_t role);
/* Appends a TaskRole without Tasks; returns its position. */
size_t framework_append_role(struct reconcile *reconcile, const char *name, int64_t graceful_timeout_sec);
/* The last role takes its place. */
void framework_remove_role(struct framework *framework, size_t role);
/* Makes attemptStatus anew from the spec, all Tasks pending, with the given id. */
void framework_new_attempt(struct reconcile *reconcile, int32_t id);
/* Makes attemptStatus of a Task anew with id = totalRetriedCount. */
void task_new_attempt(struct reconcile *reconcile, size_t role, size_t index);

/* The counters recomputed from the Tasks; the kept ones must equal them (tests and DEBUG builds check). */
struct role_work role_count(const struct role_status *role);
/* Whether the attempt is completing or over: its completionStatus is set. */
bool framework_completing(const struct framework *framework);
/* The same, for that code. */
bool framework_completing_for(const struct framework *framework, int32_t code);

/* Slots. slot_find creates one when it is missing. */
struct slot *slot_find(struct framework *framework, const char *name);
struct slot *task_slot(struct framework *framework, size_t role, size_t index);
/* One of framework.owned. */
bool slot_is_owned(const struct slot *slot);
/* The resource of an owned object on this API server, as far as known; NULL of other kinds. */
const struct owned_resource *slot_resource(const struct framework *framework, const struct slot *slot);
/* The kind of the object, as in "ConfigMap f-attempt". */
const char *slot_kind_name(const struct slot *slot);
void slot_mark_dirty(struct framework *framework, struct slot *slot);
void slot_mark_waiting(struct framework *framework, struct slot *slot);
/* Moves what waited for a write to the dirty ones. */
void framework_wake_waiting(struct framework *framework);
/* The Task a Pod's name stands for. False: none. */
bool slot_task(struct framework *framework, struct slot *slot, size_t *role, size_t *index);
/* Whether events about an object reach this Framework. Lists, too, lack an object that a GET has shown without our
 * label. */
bool framework_labels(const struct framework *framework, const struct object_meta *meta);
/* Whether the present object is of a kind that is not watched, or is without our label: no event will come. */
bool slot_lost(const struct framework *framework, const struct slot *slot);
/* Nobody waits for Pods without our label any more: the attempt is over, or suspended. */
void slots_forget_lost(struct framework *framework);
/* Something has happened to the object of that name: answers to earlier GETs are outdated. */
void slot_news(struct slot *slot);
/* Frees the object in it. */
void slot_clear(struct slot *slot);
void slot_delete(struct framework *framework, struct slot *slot);
/* That of creations of its kind. */
struct request_backoff *slot_create_backoff(struct framework *framework, const struct slot *slot);
/* Frees all that it has. */
void slot_free_parts(struct slot *slot);
/* A new attempt makes sure that what the Framework owns is still there (CONTRACT.md §12.21). */
void owned_attempt_begins(struct framework *framework);
/* Notes that uid is gone for certain; drops the object if it is that one. version: the one at which the absence was
 * reported; NULL for an answer, which has none. */
void slot_gone(struct slot *slot, const char *uid, const char *version);

/* slot_call.c: the calls of the two kinds, with all that holds them back (persistence, fence, backoff, calls on the
 * way). Where one is held back, the reconcile is arranged that will send it. */

/* Looks at every Task again at at_ms. */
void reconcile_sweep_at(struct reconcile *reconcile, int64_t at_ms);
/* Deletes the present object, unless it is already going. */
void slot_send_delete(struct reconcile *reconcile, struct slot *slot);
/* The same for an object that is ours only by its owner, which others may have taken away since (orphaning): only as it
 * is seen. A newer one answers 409, and is looked at first. */
void slot_send_delete_owned(struct reconcile *reconcile, struct slot *slot);
/* decided: as for reconcile_may_act (rules.h), which has said yes. */
void slot_send_create(struct reconcile *reconcile, struct slot *slot, uint64_t decided);
/* Patches the present, owned object. */
void slot_send_patch(struct reconcile *reconcile, struct slot *slot, bool status);
void slot_send_get(struct reconcile *reconcile, struct slot *slot, const char *uid);
/* The same, less and less often: for what may stay as it is for long. */
void slot_send_get_rarely(struct reconcile *reconcile, struct slot *slot, const char *uid);
/* The force-delete timer of CONTRACT.md §2 for the present, deleting object. */
void slot_watch_deletion(struct reconcile *reconcile, struct slot *slot, int64_t timeout_sec);
/* CLOCK_BOOTTIME from which on an object whose creation was noted at since_sec (wall clock) and that is not to be seen
 * counts as missing: time counts only while the stream is live (CONTRACT.md §12). */
int64_t slot_awaited_until(const struct sync_time *time, int64_t since_sec, int64_t timeout_ms);
/* Whether uid is gone for certain; asks the server when only its absence is known. */
bool slot_confirm_gone(struct reconcile *reconcile, struct slot *slot, const char *uid);
/* The same, deleting it by uid first, seen or not. */
bool slot_confirm_deleted(struct reconcile *reconcile, struct slot *slot, const char *uid);
/* Whether it is certain that no object controlled by controller_uid has this name; deletes one, asks the server. */
bool slot_confirm_none(struct reconcile *reconcile, struct slot *slot, const char *controller_uid);
/* Whether the attempt's ConfigMap is seen, not deleting: only then is a Pod created under it. */
bool framework_has_config_map(const struct framework *framework);
/* Whether the present object is controlled by controller_uid. */
bool slot_ours(const struct slot *slot, const char *controller_uid);
/* The failed create that is to be classified now: its decision still holds, and it is certain that nothing was created.
 * NULL: none. */
const struct create_error *slot_create_error(const struct slot *slot, uint64_t decided);
/* Reports it by an Event of this reason, with a hint behind the server's message, and discards it. */
void slot_create_failed(struct reconcile *reconcile, struct slot *slot, const char *reason, const char *hint);
/* Waits for a same-named object that is not ours, and reports it, once; one of an earlier attempt, or of a Framework
 * that had the name, only when it still exists after a while. since_sec: when the name was first wanted. */
void slot_report_conflict(struct reconcile *reconcile, struct slot *slot, int64_t since_sec);

#endif
