/* The effectful shell around the pure core: store (what is observed) → queue (whose turn it is) → reconcile
 * (framework_sync makes a plan) → apply (requests). One thread, one loop. */
#ifndef RECONCILER_RECONCILER_H
#define RECONCILER_RECONCILER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/hash.h"
#include "common/base/random.h"
#include "common/bus/message.h"
#include "common/kube/client.h"
#include "common/serve/metrics.h"
#include "reconciler/sync/sync.h"

/* How long a process that ends waits for its last status writes before it gives its shards back. */
enum { LAST_WRITES_MS = 5000 };

/* The world behind one seam (CONTRIBUTING.md §6.4): requests, the lease, time. */
struct reconciler_ports {
	void *context;
	/* As kube_client_call: done exactly once, never from within. */
	struct kube_call *(*request)(void *context, const struct kube_request *request, kube_done *done, void *arg);
	/* Milliseconds for which writes to keys of the shard are allowed; <= 0: not at all. */
	int64_t (*lease_left_ms)(void *context, uint32_t shard);
	int64_t (*boot_ms)(void *context);
	int64_t (*wall_ms)(void *context);
};

struct reconciler;

/* What the shell keeps for one key. */
struct item {
	struct reconciler *reconciler;
	char *key; /* "namespace/name" */
	uint32_t shard;
	struct framework *framework;
	bool unseen; /* during a snapshot: the Framework was not shown in it yet */
	bool orphan; /* its shard was taken away; freed when the calls on the way have ended */

	/* queue */
	bool queued;
	int64_t queued_ms; /* since when, boot clock */
	struct item *next_queued;
	struct item *prev_queued;
	int64_t wake_ms;   /* when its last reconcile asked to come back, boot clock */
	size_t heap_place; /* in the heap of those; 0: not in it */

	/* apply */
	uint32_t calls_on_way;              /* those that wait are among them */
	struct pending_call *waiting_first; /* calls for which there is no place yet, in their order */
	struct pending_call *waiting_last;
	struct item *next_in_ring; /* of the items with such calls */
	struct item *prev_in_ring;
	bool writing; /* a status write (or the GET that repairs one) is on the way */
	uint64_t writing_version;
	size_t writing_len; /* of its body */
	struct request_backoff writes;
	bool conflicted;      /* a write had no success (409), and none has had since */
	bool write_unsure;    /* the last write failed: read before writing again */
	char *read_uid;       /* of the Framework that is being read so, or was */
	bool compress_always; /* the server found the status too large */
	bool compress_told;   /* by an Event that its status is compressed without having been asked for */
	size_t refused_len;   /* of the last compressed body that was too large, too; 0: none was */
	bool refused_told;    /* by an Event that none is small enough */

	UT_hash_handle hh; /* by key */
	struct item *next_orphan;
	struct item *prev_orphan;
};

/* A call of a plan that waits for a place, or is on its way. */
struct pending_call {
	struct item *item;
	struct call call;
	struct pending_call *next;
};

struct reconciler {
	struct reconciler_ports ports;
	struct sync_config config;
	enum compress_when compress;
	const char *name;                /* member name, for Events */
	char writer[STATUS_WRITER_SIZE]; /* of this process, in the statuses that it writes */
	struct random random;

	/* store */
	struct item *items;
	struct item *orphans;
	struct shard_set ready; /* shards whose snapshot is complete: reconciles may run */
	uint32_t shard_count;
	bool live;
	int64_t live_since_ms;
	bool leaving;                   /* the process ends: nothing is decided or begun any more, but status writes */
	int64_t stranger_told_until_ms; /* until then no other 404 that is not the API server's is told of */

	/* queue */
	struct item *queue_first;
	uint32_t queue_length;
	uint64_t adds;                  /* to the queue, since the start */
	struct metrics_histogram waits; /* seconds that keys were in it before their reconcile */
	struct shard_set unleased;      /* keys of them were passed over for want of a lease */
	struct item **heap;             /* who asked to be woken, the earliest first */
	size_t heap_count;
	size_t heap_cap;

	/* apply */
	struct item *ring;      /* of the items with calls that wait; the first is the next to start one */
	uint32_t waiting_count; /* calls that wait for a place, of all items */
	uint32_t calls_on_way;
	uint32_t writes_on_way; /* of statuses, and the GETs that repair them */
	uint32_t calls_max;     /* our part of workerNumber */

	struct events *events;

	uint64_t reconciles;
};

/* reconcile.c */
/* Runs the reconciles that are due, up to a bound; whether some are left. Called before the loop sleeps. After
 * apply_leave() it runs the last writes instead. */
bool reconciler_run(struct reconciler *reconciler);

/* queue.c */
/* When the next key is to be woken, boot clock; INT64_MAX: none. */
int64_t queue_next_ms(const struct reconciler *reconciler);
/* The key gets a reconcile in the next run, or as soon as its shard is ready and leased. */
void queue_add(struct item *item);
/* Adds the keys that asked to be woken by now. */
void queue_add_due(struct reconciler *reconciler, int64_t now_ms);
/* Takes the first one out of the queue, which is not empty. */
struct item *queue_take_first(struct reconciler *reconciler);
/* Gives the key a reconcile at at_ms (boot clock), or earlier if an earlier one is arranged. */
void queue_wake(struct item *item, int64_t at_ms);
void queue_forget_wake(struct item *item);
/* Takes it out, its timer too. */
void queue_remove(struct item *item);
void queue_free(struct reconciler *reconciler);

/* waiting.c */
/* The call waits, behind those of its item; its strings move. */
void waiting_add(struct item *item, struct call *call);
/* The first one of an item that has some; the caller frees it. It still counts as one that is on the item's way. */
struct pending_call *waiting_take(struct item *item);
/* The item's next call comes after one of each other item. */
void waiting_end_turn(struct item *item);
/* Frees the item's calls that have found no place: they were never sent, and nobody is told. */
void waiting_abandon(struct item *item);
/* The same for all items; the process ends. */
void waiting_abandon_all(struct reconciler *reconciler);
void pending_call_free(struct pending_call *pending);

/* apply.c */
/* Carries out the plan (and takes what it needs out of it). */
void apply_plan(struct item *item, struct plan *plan);
/* The process ends: calls that wait are dropped, and every status that is ahead of the server's is written, as the
 * queue runs. One whose write fails is left to the next owner; one that conflicts is read and written again. */
void apply_leave(struct reconciler *reconciler);
/* Whether the last writes have ended. */
bool apply_left(const struct reconciler *reconciler);
/* In the place of a reconcile then. */
void apply_last_write(struct item *item);
/* Our part of the rate is also our part of workerNumber, the calls that all reconcilers may have on their way together;
 * one at least. */
void apply_set_share(struct reconciler *reconciler, int64_t worker_number, double share);

/* store.c */
/* The item of a key, made when missing; its shard is `shard`. */
struct item *store_item(struct reconciler *reconciler, const char *ns, const char *name, uint32_t shard);
/* An object as the watcher shows it; false: it cannot be read. */
bool store_text(struct reconciler *reconciler, enum object_kind kind, uint32_t shard, const char *text, size_t len);
void store_absent(struct reconciler *reconciler, enum object_kind kind, uint32_t shard,
		  const struct bus_absent *absent);
void store_granted(struct reconciler *reconciler, const struct shard_set *shards);
void store_complete(struct reconciler *reconciler, const struct bus_snapshot_end *end);
void store_revoked(struct reconciler *reconciler, const struct shard_set *shards);
/* Adds the shards of orphans with calls on the way. */
void store_draining(const struct reconciler *reconciler, struct shard_set *out);
/* A call has ended, or a reconcile: frees the item if that was what it waited for, or if nothing is left to keep. What
 * the server asked for (Retry-After) is kept until it is over. */
void store_release(struct item *item);
/* The clocks, and since when the watcher is live. */
struct sync_time store_time(const struct reconciler *reconciler);
void store_set_live(struct reconciler *reconciler, bool live);
void store_free(struct reconciler *reconciler);

#endif
