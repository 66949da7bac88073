/* Inside the client: one call, and how it becomes a libcurl transfer. Shared by client.c (queues, life of a call),
 * exchange.c (requests and answers in libcurl, callbacks of callers), handle.c (libcurl's handles) and wait.c; no other
 * file includes this. */
#ifndef KUBE_CALL_H
#define KUBE_CALL_H

#include <curl/curl.h>
#include <ev.h>

#include "common/base/buf.h"
#include "common/base/rate.h"
#include "common/kube/client.h"
#include "common/kube/client/answer.h"
#include "common/kube/client/counters.h"
#include "common/kube/client/transport.h"
#include "common/kube/client/warnings.h"
#include "common/kube/config/credentials.h"

/* A larger answer is cancelled: 10 000 Tasks in one Framework are some MiB. */
enum { ANSWER_MAX_BYTES = 64 * 1024 * 1024 };
/* libcurl sends as much of a body in a turn of the loop: the least that it takes, and as much as a TLS record holds. */
enum { UPLOAD_BYTES = 16 * 1024 };
/* libcurl handles kept for the next calls; each holds some 20 KiB. */
enum { IDLE_HANDLES_MAX = 64 };

/* QUEUED → RUNNING → FINISHED (its done not yet called). A 401 takes it back to QUEUED once, and so does the loss of
 * its answer in libcurl (common/README.md §7.12). */
enum call_state { CALL_QUEUED, CALL_RUNNING, CALL_FINISHED };
/* LANE_HTTP1: calls that are sent once more, over HTTP/1.1 (common/README.md §7.12). */
enum lane { LANE_EXEMPT, LANE_HTTP1, LANE_NORMAL, LANE_LOW, LANE_LAST, LANES };

struct kube_call {
	struct kube_client *client;
	struct kube_call *prev, *next; /* in the client's list for its state */
	enum call_state state;
	enum lane lane;
	bool stream;
	bool cancelled;
	bool retried;                /* after a 401 */
	bool in_data;                /* its data callback runs: must not be freed */
	bool counted;                /* in the request counters */
	bool announce;               /* the headers of a 2xx stream were received and not yet delivered */
	bool sent;                   /* bytes may have left */
	bool too_large;              /* cancelled for the size of its answer */
	bool no_descriptors;         /* no socket could be opened */
	bool too_late;               /* not sent, because connecting took too long */
	bool fenced;                 /* a write that must not arrive after its timeout or cancellation */
	struct kube_request request; /* strings owned */
	int64_t allowed_ms;          /* after before_send */
	kube_done *done;
	kube_data *data;
	void *arg;

	/* while running */
	CURL *easy;
	struct transport *transport;
	struct curl_slist *headers;
	unsigned token_generation; /* it was sent with */
	int64_t started_ms;
	bool begun;     /* on a connection */
	int local_port; /* of the connection that it was handed to; 0: none yet */
	struct ev_timer deadline;
	struct ev_timer idle;
	char curl_error[CURL_ERROR_SIZE];

	/* what came */
	enum kube_failure failure;
	int http_status;
	int64_t retry_after_ms;
	int64_t date_sec;
	struct buf answer;      /* the body; of streams only when not 2xx */
	struct buf fresh;       /* of 2xx streams: not yet delivered */
	struct ev_watcher news; /* fed when the stream has something to deliver */
	struct buf cause;       /* why there was no answer */
};

struct kube_client {
	struct ev_loop *loop;
	const struct kube_config *config;
	struct credentials credentials;
	unsigned tls_generation;       /* of the transports in use */
	char *user_agent;              /* the header */
	char *url_base;                /* scheme://host:port as libcurl sees it */
	CURLU *url;                    /* the same, taken apart */
	char *url_prefix;              /* the rest of the server's URL: "", "/prefix" */
	struct curl_slist *connect_to; /* the real host, when url_base names tls-server-name instead */
	char *host_header;             /* likewise */
	bool tls;
	size_t max_connections;
	bool fenced;
	bool closing;

	struct token_bucket bucket;
	struct kube_call *lanes[LANES];
	size_t low_waiting;
	unsigned passed_low; /* calls of LANE_NORMAL that were sent while one of LANE_LOW waited, since its last one */
	struct kube_call *running;
	struct kube_call *streams; /* running ones */
	struct kube_call *finished;
	size_t in_flight;        /* running calls that count against max_connections */
	size_t http1_running;    /* those of LANE_HTTP1, which may be as many again */
	size_t pages;            /* unfinished calls for a page of a list */
	double call_ms;          /* how long those with a place took lately */
	bool starting;           /* calls are being started, perhaps right before the loop sleeps */
	struct ev_watcher begin; /* fed when there is something to start */
	struct ev_timer work;    /* fed, or armed for the next turn, when there is something to deliver */
	struct ev_timer refill;  /* when the bucket has the next token */

	struct transport *shared;   /* of ordinary calls */
	struct transport *watching; /* of streams: a connection each */
	struct transport *http1;    /* of LANE_HTTP1: likewise */
	struct transport **retired; /* emptying */
	size_t retired_count;

	CURL **idle_handles; /* of the shared transport, with its constant options */
	size_t idle_count;
	struct counters counters;
	struct warnings warnings;
};

/* ---- lanes.c ---- */

/* Into its lane, and out of it; lane_send(): because it is sent. */
void lane_add(struct kube_call *call);
void lane_remove(struct kube_call *call);
void lane_send(struct kube_call *call);
/* Whether the lane's calls need a token and a place. Those of LANE_HTTP1 had both when they were sent first. */
bool lane_is_limited(enum lane lane);
/* The first call of that lane, or of those that wait behind it; NULL: none waits. */
struct kube_call *lane_first(const struct kube_client *client, enum lane lane);
/* The one to send when it is that lane's turn, in which calls wait: that of another lane now and then. */
struct kube_call *lane_next(const struct kube_client *client, enum lane lane);

/* ---- handle.c ---- */

/* Sets url_base, url_prefix and their kin from the config. 0, or -1 and *err. */
int handle_resolve_server(struct kube_client *client, struct error *err);
/* A handle with the options that all calls of the transport have. */
CURL *handle_take(struct kube_client *client, struct transport *transport);
/* Keeps the handle for another call of the shared transport, or frees it. It is part of no transfer any more. */
void handle_return(struct kube_client *client, const struct transport *transport, CURL *easy);
/* Frees the kept ones: the shared transport is replaced, or the client ends. */
void handle_free_idle(struct kube_client *client);

/* ---- exchange.c ---- */

/* Gets a handle ready for the call on its transport. */
void exchange_prepare(struct kube_call *call);
/* Reads status, warnings, Retry-After and sent of an ended or cancelled transfer, and returns its handle. */
void exchange_collect(struct kube_call *call);
/* failure and cause of a transfer that libcurl ended. */
void exchange_judge(struct kube_call *call, CURLcode result);
/* Whether the transfer ended over HTTP/2 before all of the request was sent, and libcurl may have lost the answer
 * (common/README.md §7.12). The server never had the whole request. */
bool exchange_lost(const struct kube_call *call, CURLcode result);
/* The call as the counters name it. */
void exchange_count(struct kube_call *call);
/* Makes the `work` watcher run in the next turn of the loop. Calls may be started last before the loop sleeps; without
 * this, their answers would be delivered only after that sleep. */
void deliver_later(struct kube_client *client);
/* The callback of call->news: delivers what a stream has received to its data callback. */
void exchange_news(struct ev_loop *loop, struct ev_watcher *watcher, int events);
/* Delivers finished calls to their done callbacks; calls that finish meanwhile wait (deliver_is_due). */
void deliver_answers(struct kube_client *client);
/* Whether deliver_answers would find anything. */
bool deliver_is_due(struct kube_client *client);
/* Calls done for a finished call and frees it. The callback may do anything but free the client. */
void call_deliver(struct kube_call *call);

#endif
