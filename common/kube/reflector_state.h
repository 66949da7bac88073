/* Inside the reflector: its state, what lists and watches have in common (reflector_state.c), and the two of them.
 * reflector.c starts them, and decides by their outcomes what is next. Nobody else includes this. */
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

/* Why we ended a request of our own accord. */
enum verdict { NO_VERDICT, VERDICT_GONE, VERDICT_ERROR };

enum reflector_end {
	REFLECTOR_ENDED,  /* what follows from the version is next: a list when there is none, else a watch */
	REFLECTOR_FAILED, /* the same, after a wait */
	REFLECTOR_GONE,   /* the history since our version is gone */
};

/* How a list or a watch ended. */
struct reflector_outcome {
	enum reflector_end end;
	int64_t retry_after_ms; /* FAILED: the wait is at least so long */
	const char *message;    /* GONE: the server's words; lives as long as the call of ended() */
};

struct reflector {
	struct ev_loop *loop;
	struct kube_client *client;
	const struct reflector_handler *handler;
	void *arg;
	void (*ended)(struct reflector *reflector, const struct reflector_outcome *outcome);
	char *path;
	char *selector; /* percent-encoded; NULL: none */
	char *list_accept;
	char *watch_accept;
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
	bool closed;           /* freed by its owner, waiting for the stack and the call to let go */
	enum verdict verdict;
	struct buf verdict_message;

	char *version;      /* where the watch goes on; NULL: a list comes first */
	char *floor;        /* never to be gone behind; NULL before the first list */
	char *list_version; /* of the first page of the list being read */
	char *list_continue;
	bool plain_list; /* the next list asks for the newest state instead of one not older than floor */
	int gone_in_row;
	int expired_in_row;
	bool protobuf; /* is asked for */
	bool encoding_told;
	enum reflector_encoding encoding; /* of the last answer */
	struct pieces pieces; /* of the present watch */

	bool live;
	bool connected;      /* the watch's headers came */
	bool late;           /* they did not for a while */
	bool bookmarks_seen; /* on any watch of this reflector */
	uint64_t events;     /* in this watch that brought us forward, bookmarks aside */
	int64_t watch_started_ms;
	int64_t pause_least_ms; /* Retry-After */

	/* what was last reported, so that a lasting trouble is one line in the log */
	bool trouble;
	enum kube_failure trouble_failure;
	int trouble_status;
	int64_t trouble_since_ms;
};

/* ---- reflector_list.c ---- */

/* Begins a list; ended() follows, unless the reflector or the client goes away. */
void reflector_list_start(struct reflector *reflector);

/* ---- reflector_watch.c ---- */

/* Begins a watch at reflector->version; ended() follows, unless the reflector or the client goes away. */
void reflector_watch_start(struct reflector *reflector);
/* The timer of a watch whose headers have not come. */
void reflector_watch_late(struct reflector *reflector);

/* ---- reflector_state.c ---- */

/* Around everything that may run a handler, in which the owner may free the reflector: after reflector_leave it may be
 * gone, before it only `closed` says so. */
void reflector_enter(struct reflector *reflector);
void reflector_leave(struct reflector *reflector);
/* Its owner lets go of it: freed at once, or when the stack and the call do. */
void reflector_close(struct reflector *reflector);
/* The timer, in delay_ms. */
void reflector_arm(struct reflector *reflector, int64_t delay_ms);
/* Breaks the call off; its done callback finds the verdict. */
void reflector_stop_call(struct reflector *reflector, enum verdict verdict, const char *message);
/* First thing in a done callback, also of a call that we broke off. False: the reflector or the client is going away,
 * and nothing more is to be done. */
bool reflector_call_is_over(struct reflector *reflector, const struct kube_answer *answer);

/* The version moves forward, never back. */
void reflector_advance(struct reflector *reflector, const char *version);
/* One more event of this watch. Repetitions do not count: a server that ends each watch after one is in trouble. */
void reflector_count_event(struct reflector *reflector, const char *version);
void reflector_set_live(struct reflector *reflector, bool live);

/* One line when trouble begins or changes its kind, not one per try. */
void reflector_report_trouble(struct reflector *reflector, const char *doing, enum kube_failure failure, int status,
			      const char *message);
void reflector_report_recovery(struct reflector *reflector);
/* Hands an object on, or its last state. -1 and *err: it cannot be read. */
int reflector_hand_on(struct reflector *reflector, const struct reflector_object *object, bool gone, struct error *err);
/* An object that is not to be had: names it as far as what came of it allows. */
void reflector_report_malformed(struct reflector *reflector, const struct reflector_object *object,
				const char *message);
/* An answer came in this encoding, or begins to. */
void reflector_note_encoding(struct reflector *reflector, enum reflector_encoding encoding);
/* A server that takes none of our media types: JSON is asked for from now on. False: that was so already. */
bool reflector_give_up_protobuf(struct reflector *reflector, const struct kube_answer *answer);

/* The path, "?" and the label selector, each with what must follow before the next parameter. */
void reflector_put_query(struct reflector *reflector, struct buf *url);
/* Everything but the letters, digits and marks of RFC 3986 §2.3 as %XX. */
void reflector_put_encoded(struct buf *out, const char *text);

#endif
