/* Inside the reflector: its state, the common parts of lists and watches (reflector_state.c), and the two of them.
 * reflector.c starts them, and decides by their outcomes what is next. No other file includes this. */
#ifndef KUBE_REFLECTOR_STATE_H
#define KUBE_REFLECTOR_STATE_H

#include <ev.h>
#include <stdint.h>

#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/random.h"
#include "common/kube/pieces.h"
#include "common/kube/reflector.h"

enum phase { IDLE, LIST, WATCH, PAUSE };

/* Why the reflector itself ended a request. */
enum reflector_verdict { NO_VERDICT, VERDICT_GONE, VERDICT_ERROR, VERDICT_AGAIN /* nothing is wrong */ };

enum reflector_end {
	REFLECTOR_ENDED,  /* a watch is next, or a list if there is no version */
	REFLECTOR_FAILED, /* the same, after a wait */
	REFLECTOR_GONE,   /* the history since our version is gone */
};

/* How a list or a watch ended. */
struct reflector_outcome {
	enum reflector_end end;
	int64_t retry_after_ms; /* FAILED: the wait is at least so long */
	const char *message;    /* GONE: the server's message; valid during ended() */
};

struct reflector {
	struct ev_loop *loop;
	struct kube_client *client;
	const struct reflector_handler *handler;
	void *arg;
	/* Takes an object, or its last state: the handler's raw, or reflector_take_tree. -1 and *err: it is unreadable.
	 */
	int (*take)(void *arg, const struct reflector_object *object, bool gone, struct error *err);
	void *take_arg;
	void (*ended)(struct reflector *reflector, const struct reflector_outcome *outcome);
	char *path;
	char *selector; /* percent-encoded; NULL: none */
	bool metadata_only;
	char *what;
	int page_size;  /* of the first page of a list */
	int page_limit; /* of the next page; less than page_size after one that was too large */
	size_t object_max;
	struct random random;
	struct backoff backoff;

	enum phase phase;
	struct kube_call *call;
	struct ev_timer timer; /* PAUSE: its end; WATCH: the wait for the answer */
	int depth;             /* callbacks of ours on the stack */
	bool closed;           /* freed by its owner; waits for callbacks on the stack and for the call to end */
	enum reflector_verdict verdict;
	struct buf verdict_message;

	char *version;       /* where the watch goes on; NULL: a list comes first */
	char *floor;         /* a list at an older version is refused; NULL before the first list */
	char *list_version;  /* of the first page of the list being read */
	char *list_continue; /* of the next page; in PAUSE: the list goes on there */
	int page_tries;      /* how often that page was not answered */
	bool plain_list;     /* the next list asks for the newest state instead of one not older than floor */
	int gone_in_row;
	int expired_in_row;
	int errors_in_row; /* watches that an ERROR event ended before anything else came */
	bool watch_list;   /* asks for initial events; false: the option is not set, or the server refused or ignored it
			    */
	bool list_first;   /* once a list instead, as the last initial events did not end */
	int64_t initial_idle_ms;
	bool initial;         /* this watch's initial events have not ended */
	struct pieces pieces; /* of the present watch */

	bool live;
	bool connected;      /* the watch's headers were received */
	bool late;           /* they were not for a while */
	bool bookmarks_seen; /* on any watch of this reflector */
	uint64_t events;     /* in this watch, with a newer version; without bookmarks */
	int64_t watch_started_ms;
	int64_t pause_least_ms; /* Retry-After */

	/* the last reported trouble, so that a lasting one is logged once */
	bool trouble;
	enum kube_failure trouble_failure;
	int trouble_status;
	int64_t trouble_since_ms;
};

/* ---- reflector_list.c ---- */

/* Begins a list; ended() follows, unless the reflector or the client goes away. */
void reflector_list_start(struct reflector *reflector);
/* Asks for the page at list_continue. */
void reflector_list_go_on(struct reflector *reflector);

/* ---- reflector_watch.c ---- */

/* Begins a watch at reflector->version, or, if that is NULL, with initial events; ended() follows, unless the reflector
 * or the client goes away. */
void reflector_watch_start(struct reflector *reflector);
/* The timer of a watch whose headers, or whose next initial event, have not come. */
void reflector_watch_late(struct reflector *reflector);

/* ---- reflector_state.c ---- */

/* Call these around everything that may run a handler, because a handler may free the reflector. Before reflector_leave
 * it then has `closed` set; afterwards it may be freed. */
void reflector_enter(struct reflector *reflector);
void reflector_leave(struct reflector *reflector);
/* The owner frees it: at once, or when callbacks on the stack and the call have ended. */
void reflector_close(struct reflector *reflector);
/* Starts the timer. */
void reflector_arm(struct reflector *reflector, int64_t delay_ms);
/* Cancels the call; its done callback reads the verdict. */
void reflector_stop_call(struct reflector *reflector, enum reflector_verdict verdict, const char *message);
/* Call it first in a done callback, also of a cancelled call. False: the reflector or the client is being freed, and
 * the callback must return. */
bool reflector_call_is_over(struct reflector *reflector, const struct kube_answer *answer);

/* The version moves forward, never back. */
void reflector_advance(struct reflector *reflector, const char *version);
/* The same of the floor alone. */
void reflector_raise_floor(struct reflector *reflector, const char *version);
/* One more event of this watch. Repetitions do not count: a server that ends each watch after one is in trouble. */
void reflector_count_event(struct reflector *reflector, const char *version);
void reflector_set_live(struct reflector *reflector, bool live);
void reflector_list_begin(struct reflector *reflector);
void reflector_list_end(struct reflector *reflector);

/* One line when trouble begins or changes its kind, not one per try. */
void reflector_report_trouble(struct reflector *reflector, const char *doing, enum kube_failure failure, int status,
			      const char *message);
void reflector_report_recovery(struct reflector *reflector);
/* The take of handlers that get trees; arg is the reflector. */
int reflector_take_tree(void *arg, const struct reflector_object *object, bool gone, struct error *err);
/* Reports an unreadable object, with its name if that can be read. */
void reflector_report_malformed(struct reflector *reflector, const struct reflector_object *object,
				const char *message);

/* The path, "?" and the label selector, each with what must follow before the next parameter. */
void reflector_put_query(struct reflector *reflector, struct buf *url);
/* Everything but the letters, digits and marks of RFC 3986 §2.3 as %XX. */
void reflector_put_encoded(struct buf *out, const char *text);

#endif
