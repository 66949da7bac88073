/* A client of the Kubernetes API: libcurl multi on a libev loop.
 * One client per process; everything runs on the loop's thread. */
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/kube/kubeconfig.h"

struct ev_loop;
struct kube_client;
struct kube_call;

/* A fenced write (see kube_client_options) reaches the server at most KUBE_FENCED_LATE_MS after the call. A write
 * without a connection within KUBE_FENCED_SEND_MS is not sent. The kernel drops data that the server's machine has not
 * acknowledged within KUBE_FENCED_UNACKED_MS, even after the process has ended. The server counts a request's timeout
 * from its arrival, and a lease counts from the call: the lease's margin covers the difference. */
enum {
	KUBE_FENCED_SEND_MS = 3000,
	KUBE_FENCED_UNACKED_MS = 2000,
	KUBE_FENCED_LATE_MS = KUBE_FENCED_SEND_MS + KUBE_FENCED_UNACKED_MS,
};

struct kube_client_options {
	double qps;             /* token bucket; 0 = unlimited */
	int burst;              /* bucket size, >= 1 when qps > 0 */
	int max_connections;    /* for HTTP/1.1; 0 = 32 */
	const char *user_agent; /* "fc-watcher/1.0"; copied */
	int64_t exec_time_ms;   /* how long an exec plugin may take; 0: a minute, as nobody is there to sign in */
	/* Writes with before_send are allowed by a lease and must not arrive after it. If such a write times out or is
	 * cancelled, and part of it may not have arrived, its connection is reset: that drops the data in the kernel,
	 * and other calls on the connection fail with KUBE_NETWORK. The end of the process also resets its
	 * connections. */
	bool fenced;
};

/* config is borrowed and must outlive the client. NULL and *err on failure (for example an unreadable CA file, or an
 * exec plugin on a loop that is not the default one). Opens no connection yet. After a fork the child must create its
 * own client. The process ignores SIGPIPE. config->proxy_url alone names a proxy. */
struct kube_client *kube_client_new(struct ev_loop *loop, const struct kube_config *config,
				    const struct kube_client_options *options, struct error *err);
/* Cancels every call (their callbacks run with KUBE_CANCELLED), then frees. Not from within a callback of the client.
 * NULL is fine. */
void kube_client_free(struct kube_client *client);
/* Takes effect for requests not yet started. */
void kube_client_set_rate(struct kube_client *client, double qps, int burst);
/* For how many ms answers can wait at little cost, to be handled together (process/gather.h): any number, unless more
 * requests are sent when they come. Then it is a tenth of what calls took lately if calls wait for a place, and 0 while
 * a list is under way, page by page, or a body of more than 64 KiB is being sent: each turn sends a part of it. */
int kube_client_patience_ms(const struct kube_client *client);
/* Reads token, CA and certificates again (SIGHUP). */
void kube_client_reload(struct kube_client *client);

enum kube_failure {
	KUBE_OK = 0,    /* an HTTP answer with any status */
	KUBE_NETWORK,   /* no answer: refused, reset, TLS; whether the request was carried out is unknown */
	KUBE_TIMEOUT,   /* no answer in time; unknown likewise */
	KUBE_CANCELLED, /* by kube_call_cancel or kube_client_free */
	KUBE_REFUSED,   /* by the before_send hook: not sent, or sent only in tries that had no effect */
};

/* The parts of an API Status object (API conventions, "Response Status Kind") that decisions need. */
struct kube_status {
	int code;            /* HTTP code */
	const char *reason;  /* "NotFound", "AlreadyExists", …; "" when the body was no Status */
	const char *message; /* "" likewise */
	bool is_status;      /* the body was a Status object */
};

/* Valid during the callback only. */
struct kube_answer {
	enum kube_failure failure;
	int http_status;  /* 0 unless KUBE_OK */
	const char *body; /* NUL-terminated, "" when none */
	size_t body_len;
	struct kube_status status; /* filled when http_status >= 400 */
	/* The object of the path does not exist: a 404 with a Status of reason NotFound that names it. Any other 404
	 * (of a proxy, or of a server that does not serve the resource yet) says nothing about the object. */
	bool absent;
	int64_t retry_after_ms; /* from Retry-After, or -1 */
	int64_t date_sec;       /* the server's clock now, from Date: unix seconds, or 0 */
	bool sent;              /* false: no data was sent (refused before) */
	bool too_large;         /* KUBE_NETWORK: the answer is larger than 64 MiB */
	const char *message;    /* one line for people: operation, URL path, cause; "" on 2xx */
};

/* Exactly once per call, cancellation included; never from within kube_client_call(). */
typedef void kube_done(void *arg, const struct kube_answer *answer);
/* Streams only: each received chunk of a 2xx body. The first call has len 0 and means that the headers of a 2xx answer
 * were received. Non-2xx bodies go to the answer as usual. All callbacks may start and cancel calls. */
typedef void kube_data(void *arg, const char *data, size_t len);

struct kube_request {
	const char *method;       /* "GET", … */
	const char *path;         /* from the root, with the query: "/api/v1/pods?limit=500" */
	const char *accept;       /* NULL: "application/json" */
	const char *content_type; /* NULL: "application/json" when there is a body */
	const void *body;         /* copied */
	size_t body_len;
	int64_t timeout_ms;      /* > 0; from the start of sending; a deadline of our own beside curl's; streams: of the
				    whole stream */
	int64_t idle_timeout_ms; /* longest silence, 0 = none; meant for streams */
	bool exempt;             /* does not wait for the rate limit (leases, events of the watcher's streams) */
	bool low_priority; /* waits behind ordinary calls for the rate limit, dropped when too many wait (Events) */
	bool last;         /* waits behind all others for the rate limit */
	/* Called right before the request is handed to curl; false refuses it (KUBE_REFUSED). May lower *timeout_ms:
	 * the fence of CONTRACT.md §12.17. With it, a request without a connection within KUBE_FENCED_SEND_MS is not
	 * sent (KUBE_NETWORK). NULL: none. The argument is the call's arg. */
	bool (*before_send)(void *arg, int64_t *timeout_ms);
	bool page;           /* of a list: more are asked for when it has come (kube_client_patience_ms) */
	bool gzip;           /* accept a gzip body; callers get it decompressed */
	bool server_timeout; /* append timeout=<seconds> to the query, so that the server gives up too */
};

/* Starts a request. Strings of the request are copied. Never NULL.
 * Waiting for the rate limit or a connection costs no part of timeout_ms. A 401 makes the client read the token file
 * again, or ask the exec plugin, and send the request once more (before_send is asked again). Calls wait for the plugin
 * of a kubeconfig, which costs no part of timeout_ms either; when it fails, they fail with KUBE_NETWORK. If the server
 * has just closed a kept connection, libcurl sends the request again within the same timeout. So a call with any method
 * may reach the server twice. If an HTTP/2 stream breaks before the whole body was sent, the client sends the request
 * once more over HTTP/1.1 (before_send is asked again): libcurl may have lost the answer (common/README.md §7.12). */
struct kube_call *kube_client_call(struct kube_client *client, const struct kube_request *request, kube_done *done,
				   void *arg);
/* The same for a stream (watch). */
struct kube_call *kube_client_stream(struct kube_client *client, const struct kube_request *request, kube_data *data,
				     kube_done *done, void *arg);
/* done runs with KUBE_CANCELLED in the next loop iteration; data not at all. */
void kube_call_cancel(struct kube_call *call);

/* One GET/POST/… that blocks, for start-up steps and small programs (runs the loop given to the client until done).
 * The answer is copied: free with kube_answer_free. */
void kube_client_call_wait(struct kube_client *client, const struct kube_request *request, struct kube_answer *answer);
void kube_answer_free(struct kube_answer *answer);

/* Counts since the start, for metrics and tests: requests sent by method, first path parts and code. */
struct kube_counter {
	char method[8];
	char resource[48]; /* "pods", "frameworks/status", … */
	int code;          /* 0: no answer */
	uint64_t count;
};
/* The array is owned by the client, valid until the next call. */
const struct kube_counter *kube_client_counters(const struct kube_client *client, size_t *count);

#endif
