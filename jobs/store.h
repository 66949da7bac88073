/* The jobs and their Frameworks as they were last seen, and the queue of jobs to look at. No I/O. */
#ifndef JOBS_STORE_H
#define JOBS_STORE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/backoff.h"
#include "common/base/hash.h"
#include "common/kube/reflector.h"
#include "jobs/kinds/translate.h"
#include "jobs/view.h"

struct job_store;

/* A Framework's name, and the jobs that want it: one, unless jobs of two kinds have a name in common. */
struct slot {
	char *key;         /* namespace/name */
	struct view *view; /* NULL: no Framework of the name is known. Of ended jobs it has the identity alone */
	bool read;         /* the view is from a GET: it has no label, so that the watch does not show it */
	bool partial;      /* the view is from an answer that has the metadata alone */
	uint64_t list;     /* the last list that showed it */
	struct item *items;
	UT_hash_handle hh;
};

/* Changes of the Framework, until the job wants another one. */
struct changes {
	bool stop;          /* the next three are of a Framework that is to be stopped, or not */
	bool made;          /* it was as wanted, or a change was accepted */
	int unchanged;      /* changes in a row that were accepted and changed nothing */
	int64_t at_boot_ms; /* no change before then */
	bool refused;       /* the last change, whether to stop the Framework or not */
};

/* A job. */
struct item {
	struct job_store *store;
	char *key; /* namespace/name */
	struct job job;
	char *news; /* the object's newest JSON text, which is read when the item is looked at; NULL: job is the newest
		     */
	size_t news_len;
	char *news_version;
	struct slot *slot;
	struct item *next_of_slot;
	uint64_t list;
	bool gone;      /* deleted, and freed when its call has ended */
	bool confirmed; /* by a GET: it exists, though its Framework is gone */
	bool absent;    /* by a GET: its Framework is not there */

	bool translated;                    /* the translation is valid */
	struct job_translation translation; /* without its spec */
	char *spec;                         /* of the translation, as JSON text, which takes a quarter of the memory */
	char *note;                         /* of the translation (job_note()) */
	char *problem; /* why the spec is refused; NULL: it is not. The translation is that of a former spec then */

	struct kube_call *call; /* at most one */
	bool missed;            /* it was not looked at because of the call */
	json_t *wrote;          /* the status of the last write; NULL: none; null: one that is not kept, as it ended
				   the job */
	int64_t checked;        /* generation of the Framework whose spec is as it should be; 0: none */
	struct changes changes;
	struct backoff backoff;
	struct backoff changing; /* of Frameworks that somebody else changes */
	struct backoff mending;  /* of statuses that somebody else changes */
	int64_t mend_at_boot_ms; /* not before then */
	struct ev_timer timer;   /* when to look again */
	bool waits;              /* for the timer, after a failure: nothing else makes it look */
	char *said;              /* the last Event since the spec or the status has changed; it is not repeated */

	bool queued;
	struct item *prev;
	struct item *next;
	UT_hash_handle hh;
};

/* wake: called when the queue gets its first item. */
struct job_store *job_store_new(struct ev_loop *loop, void (*wake)(void *arg), void *arg);
/* After the client: no item has a call then. */
void job_store_free(struct job_store *store);

/* An object of a kind, from a list or a watch. 0, or -1 and *err if it cannot be read. A version that is known already
 * changes nothing. */
int job_store_job(struct job_store *store, enum job_kind kind, const struct reflector_object *object,
		  struct error *err);
void job_store_job_gone(struct job_store *store, enum job_kind kind, const char *text, size_t len);
/* Objects that a list does not show between these two do not exist. */
void job_store_jobs_begin(struct job_store *store, enum job_kind kind);
void job_store_jobs_end(struct job_store *store, enum job_kind kind);

/* Where the text of a Framework is from: a list or the watch; a GET of one that the watch does not show; the answer to
 * a write, or to a GET of one that the watch shows; the answer to a write with the metadata alone. */
enum job_store_source { JOB_STORE_WATCHED, JOB_STORE_READ, JOB_STORE_WRITTEN, JOB_STORE_METADATA };
/* The same for Frameworks, whose texts are read when they are looked at. */
int job_store_framework(struct job_store *store, const struct reflector_object *object, enum job_store_source source,
			struct error *err);
void job_store_framework_gone(struct job_store *store, const char *text, size_t len);
void job_store_frameworks_begin(struct job_store *store);
void job_store_frameworks_end(struct job_store *store, const char *version);
/* Whether Frameworks have been listed. */
bool job_store_synced(const struct job_store *store);
/* Forgets the view, to look anew. */
void job_store_forget(struct slot *slot);

/* The item's object as the answer to a write shows it. */
void job_store_answered(struct item *item, const char *text, size_t len);
/* What the answer to a write of the job's status said: the object's new version (NULL: it could not be read) and
 * generation. Nothing changes if the job has a later version by now. The status' reference is taken over. */
void job_store_written(struct item *item, const char *version, int64_t generation, json_t *status);
/* Frees an item that is gone, when its call has ended. */
void job_store_release(struct item *item);

void job_store_queue(struct item *item);
/* Queues the item after a moment, unless it waits after a failure: changes of a Framework come many at a time. */
void job_store_queue_soon(struct item *item);
void job_store_queue_all(struct job_store *store);
/* The next item of the queue; NULL: none is left. */
struct item *job_store_next(struct job_store *store);
/* Queues the item after so long, in place of any former time. */
void job_store_queue_after(struct item *item, int64_t wait_ms);

/* The same, unless it is queued earlier. */
void job_store_queue_within(struct item *item, int64_t wait_ms);

/* The name of the item's Framework. */
const char *job_store_framework_name(const struct item *item);

size_t job_store_count(const struct job_store *store, enum job_kind kind);

#endif
