/* The shell around the pure core: the store keeps the observed objects, the queue the keys to reconcile; a reconcile
 * calls framework_sync, which makes a plan; apply sends the requests of the plan. One thread, one loop. */
#ifndef RECONCILER_RECONCILER_H
#define RECONCILER_RECONCILER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/hash.h"
#include "common/base/random.h"
#include "common/base/version.h"
#include "common/bus/message.h"
#include "common/kube/client.h"
#include "common/serve/metrics.h"
#include "reconciler/sync/fold.h"
#include "reconciler/sync/served.h"
#include "reconciler/sync/sync.h"

/* How long a process that shuts down waits for its last status writes before it releases its shards. */
enum { LAST_WRITES_MS = 5000 };
/* How long nothing happens to a Framework before it is folded: the events of a Pod that starts or ends come within
 * seconds. */
enum { REST_MS = 10 * 1000 };

/* Everything outside the process (CONTRIBUTING.md §6.4): requests, the lease, time. */
struct reconciler_ports {
	void *context;
	/* As kube_client_call: calls done exactly once, and never before it returns. */
	struct kube_call *(*request)(void *context, const struct kube_request *request, kube_done *done, void *arg);
	/* For how many more milliseconds the lease allows writes to keys of the shard; <= 0: none are allowed. */
	int64_t (*lease_left_ms)(void *context, uint32_t shard);
	int64_t (*boot_ms)(void *context);
	int64_t (*wall_ms)(void *context);
};

struct reconciler;

/* The shell's state for one key. */
enum { ITEM_TOLD = 4 };

struct item {
	struct reconciler *reconciler;
	char *key; /* "namespace/name" */
	uint32_t shard;
	struct framework *framework; /* NULL while it is folded */
	struct folded *folded;       /* NULL while it is not */
	bool fence_due;              /* when it is unfolded: framework_fence() */
	bool unseen_due;             /* … all that it has is unseen */
	bool unseen;                 /* during a snapshot: the snapshot has not contained the Framework yet */
	bool orphan;                 /* its shard was revoked; freed when the calls in flight have ended */

	unsigned asked; /* bits of enum owned_api: it waits for the result of discovery about these */

	/* queue */
	bool queued;
	int64_t queued_ms; /* since when, boot clock */
	struct item *next_queued;
	struct item *prev_queued;
	int64_t wake_ms;   /* when the key is queued next, boot clock */
	size_t heap_place; /* in the heap of wake-ups; 0: not in it */

	/* rest */
	bool resting;      /* in the list of those that may be folded */
	bool interleaved;  /* the snapshot under way came back to it after it had been folded */
	int64_t rested_ms; /* since when, boot clock */
	struct item *next_resting;
	struct item *prev_resting;

	/* log */
	unsigned told[ITEM_TOLD]; /* hashes of refusals that the log has until told_until_ms, boot clock; 0: none */
	int64_t told_until_ms;

	/* apply */
	uint32_t calls_on_way;              /* those that wait included */
	struct pending_call *waiting_first; /* calls that wait, in their order */
	struct pending_call *waiting_last;
	struct item **turns;       /* the list that it is in, while it has such calls */
	struct item *next_in_turn; /* of that list */
	struct item *prev_in_turn;
	uint32_t turn_calls; /* started in its turn; 0: its turn has not begun */
	uint64_t turn;       /* its number */
	bool writing;        /* a status write (or the GET that repairs one) is on the way */
	uint64_t writing_version;
	int64_t writing_since_ms; /* boot clock */
	size_t writing_len;       /* of its body */
	bool writing_last;        /* it waits for the rate limit behind all other requests */
	struct request_backoff writes;
	bool conflicted;   /* a write was a conflict (409), and no write has succeeded since */
	bool write_unsure; /* the last write failed: read before writing again */
	char *held;        /* an event of the Framework that waits for the answer to the write; NULL: none */
	char *read_uid;    /* uid of the Framework that this read is about, or the last one was */

	UT_hash_handle hh; /* by key */
	struct item *next_orphan;
	struct item *prev_orphan;
};

/* A call of a plan that waits or is in flight. */
struct pending_call {
	struct item *item;
	struct call call;
	struct pending_call *next;
};

/* Whether the API server serves one kind of object (discovery.c). */
struct discovery {
	struct reconciler *reconciler;
	enum owned_api api;
	bool asking;  /* a request is on the way */
	int failures; /* requests that failed since the last one that succeeded */
};

struct reconciler {
	struct reconciler_ports ports;
	struct sync_config config;
	enum compress_when compress;
	const char *name;                /* member name, for Events */
	char writer[STATUS_WRITER_SIZE]; /* identifies this process in the statuses that it writes */
	struct random random;

	/* store */
	struct item *items;
	struct item *orphans;
	struct shard_set ready; /* shards whose snapshot is complete: reconciles may run */
	uint32_t shard_count;
	bool live;
	int64_t live_since_ms;
	bool leaving;                    /* the process shuts down: it only writes statuses */
	struct version_mark seen;        /* versions of Frameworks */
	int64_t stranger_quiet_until_ms; /* until then no further 404 of another server is logged */

	/* queue */
	struct item *queue_first;
	uint32_t queue_length;
	uint64_t adds;                  /* keys added since the start */
	struct metrics_histogram waits; /* seconds that keys waited in the queue */
	struct shard_set unleased;      /* shards whose keys were skipped because they had no lease */
	struct item **heap;             /* items with a wake-up, the earliest first */
	size_t heap_count;
	size_t heap_cap;

	/* rest */
	int64_t rest_ms;      /* so long nothing happens to a Framework before it is folded */
	struct item *resting; /* the one that has rested longest is the first */
	size_t folded;        /* how many were folded since memory was last given back */

	/* apply */
	struct item *in_turn; /* items with calls that wait, whose turn has begun: the oldest turn first */
	struct item *turns;   /* … whose turn has not begun, as they came: they start calls when in_turn is empty */
	struct item *failing_turns; /* … whose calls fail */
	uint64_t turn_count;        /* that have begun */
	uint32_t waiting_count;     /* calls of all items that wait */
	uint32_t calls_on_way;
	uint32_t writes_on_way; /* status writes, and the GETs that follow failed ones */
	double write_ms;        /* how long a status write took lately, its wait for the rate limit included */
	int64_t written_ms;     /* when the last one was answered, boot clock */
	uint32_t calls_max;     /* this reconciler's share of workerNumber */

	struct events *events;
	struct discovery discoveries[OWNED_APIS];
	struct api_served served[OWNED_APIS];

	uint64_t reconciles;
};

/* reconcile.c */
/* Reconciles queued keys, up to a bound, and returns whether some are left. Called before the loop sleeps. After
 * apply_leave() it runs the last writes instead. */
bool reconciler_run(struct reconciler *reconciler);

/* queue.c */
/* When the next wake-up is due, boot clock; INT64_MAX: there is none. */
int64_t queue_next_ms(const struct reconciler *reconciler);
/* Queues the key: it is reconciled in the next run, or as soon as its shard is ready and leased. */
void queue_add(struct item *item);
/* Queues the keys whose wake-up is due. */
void queue_add_due(struct reconciler *reconciler, int64_t now_ms);
/* Removes and returns the first key of the queue, which must not be empty. */
struct item *queue_take_first(struct reconciler *reconciler);
/* Sets a wake-up of the key at at_ms (boot clock), unless an earlier one is set. */
void queue_wake(struct item *item, int64_t at_ms);
void queue_forget_wake(struct item *item);
/* Removes the key from the queue, and its wake-up. */
void queue_remove(struct item *item);
void queue_free(struct reconciler *reconciler);

/* rest.c */
/* The Framework, unfolded. */
struct framework *item_framework(struct item *item);
/* Something has happened to it, or is about to: it is unfolded, and may be folded after a while. During a snapshot the
 * one before it is folded at once. */
void rest_begin(struct item *item);
/* Nothing has: it is folded again at once, if it is at rest. */
void rest_resume(struct item *item);
/* It is no longer to be folded. */
void rest_end(struct item *item);
/* Folds Frameworks that have rested for long enough, up to a bound, and returns whether some are left. */
bool rest_fold(struct reconciler *reconciler);

/* waiting.c */
/* Appends the call to the waiting calls of its item, and takes over its strings. */
void waiting_add(struct item *item, struct call *call);
/* The item whose call starts next, of all with calls that wait; NULL: none waits. */
struct item *waiting_next(const struct reconciler *reconciler);
/* Removes and returns the first waiting call of an item that has some; the caller frees it. It still counts in
 * calls_on_way. */
struct pending_call *waiting_take(struct item *item);
/* One of the item's calls was started: its turn begins or goes on. After a number of calls the turn ends, and the item
 * goes behind all others. */
void waiting_started(struct item *item);
/* Ends the turn of an item without calls, because the item wants none. */
void waiting_end_turn(struct item *item);
/* Frees the waiting calls of the item. They were never sent, and no callback runs. */
void waiting_abandon(struct item *item);
/* The same for all items, when the process shuts down. */
void waiting_abandon_all(struct reconciler *reconciler);
void pending_call_free(struct pending_call *pending);

/* apply.c */
/* Carries out the plan, and takes over the parts that it keeps. */
void apply_plan(struct item *item, struct plan *plan);
/* Starts the shutdown: drops the calls that wait, and queues a write of every status that is newer than the server's.
 * After a failed write, the next owner writes the status; after a conflict it is read and written again. */
void apply_leave(struct reconciler *reconciler);
/* Whether the last writes have ended. */
bool apply_left(const struct reconciler *reconciler);
/* Replaces the reconcile of a key after apply_leave(). */
void apply_last_write(struct item *item);
/* Sets this reconciler's share of workerNumber, the limit of calls in flight for all reconcilers together. The share is
 * that of the request rate; at least one call is allowed. */
void apply_set_share(struct reconciler *reconciler, int64_t worker_number, double share);

/* discovery.c */
/* Connects the results of discovery to the core, once its configuration is set. */
void discovery_init(struct reconciler *reconciler);
/* Finds out about these (bits of enum owned_api), and queues the key then. */
void discovery_ask(struct item *item, unsigned apis);

/* store.c */
/* Returns the item of a key in this shard; creates it if it does not exist. */
struct item *store_item(struct reconciler *reconciler, const char *ns, const char *name, uint32_t shard);
/* Stores an object that the watcher sent; false: the object cannot be read. */
bool store_text(struct reconciler *reconciler, enum object_kind kind, uint32_t shard, const char *text, size_t len);
/* Stores the event that waited for the write, which has ended. */
void store_held(struct item *item);
void store_absent(struct reconciler *reconciler, enum object_kind kind, uint32_t shard,
		  const struct bus_absent *absent);
void store_granted(struct reconciler *reconciler, const struct shard_set *shards);
void store_complete(struct reconciler *reconciler, const struct bus_snapshot_end *end);
/* Whether a snapshot is older than what the store met VERSION_SETTLED_MS ago: the API server's store was restored from
 * a backup, or the watcher is that far behind. *found and *known are its version and that one. */
bool store_went_back(const struct reconciler *reconciler, const struct bus_snapshot_end *end, const char **found,
		     const char **known);
void store_revoked(struct reconciler *reconciler, const struct shard_set *shards);
/* Adds the shards of orphans with calls in flight. */
void store_draining(const struct reconciler *reconciler, struct shard_set *out);
/* Called after a call or a reconcile has ended. Frees the item if it was kept only for that, or if it holds nothing any
 * more. An item with a Retry-After of the server is kept until that time is over. */
void store_release(struct item *item);
/* The clocks, the time since which the watcher is live, and how long status writes take, if some were answered lately.
 */
struct sync_time store_time(const struct reconciler *reconciler);
void store_set_live(struct reconciler *reconciler, bool live);
void store_free(struct reconciler *reconciler);

#endif
