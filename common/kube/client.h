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

/* A fenced write (see kube_client_options) reaches the server no later than KUBE_FENCED_LATE_MS after it was asked for:
 * what has no connection within the first time is not sent; what the server's machine has not acknowledged within the
 * second one is dropped by the kernel, whatever became of the process. The server counts the timeout of a request from
 * when it gets it, a lease is counted from when the request was asked for: the difference is in the lease's margin. */
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
	/* A lease allows its writes (those with before_send), and they must not arrive after it. When one is given up
	 * (timeout, cancellation) and part of it may not have arrived, its connection is reset, which drops what the
	 * kernel has of it; whatever else is on that connection fails with KUBE_NETWORK. When the process ends, in
	 * whatever way, its connections are reset likewise. */
	bool fenced;
};

/* config is copied. NULL and *err on failure (an unreadable CA file, say, or an exec plugin and a loop that is not the
 * default one). Connects to nothing yet. After a fork the
 * child makes its own. The process ignores SIGPIPE. Proxies named in the environment are not used. */
struct kube_client *kube_client_new(struct ev_loop *loop, const struct kube_config *config,
				    const struct kube_client_options *options, struct error *err);
/* Cancels every call (their callbacks run with KUBE_CANCELLED), then frees. Not from within a callback of the client.
 * NULL is fine. */
void kube_client_free(struct kube_client *client);
/* Takes effect for requests not yet started. */
void kube_client_set_rate(struct kube_client *client, double qps, int burst);
/* Reads token, CA and certificates again (SIGHUP). */
void kube_client_reload(struct kube_client *client);

enum kube_failure {
	KUBE_OK = 0,    /* an HTTP answer came, of whatever status */
	KUBE_NETWORK,   /* no answer: refused, reset, TLS; whether the request was carried out is unknown */
	KUBE_TIMEOUT,   /* no answer in time; unknown likewise */
	KUBE_CANCELLED, /* by kube_call_cancel or kube_client_free */
	KUBE_REFUSED,   /* by the before_send hook: never sent */
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
	/* 404, and by the API server's word for it the object that the path names is not there: a Status with the
	 * reason NotFound that names it. Any other 404 (a proxy's, or of a server that does not serve the resource yet)
	 * says nothing about the object. */
	bool absent;
	int64_t retry_after_ms; /* from Retry-After, or -1 */
	bool sent;              /* false: nothing was ever handed to the network (refused before) */
	bool too_large;         /* KUBE_NETWORK: the answer is larger than 64 MiB */
	const char *message;    /* one line for people: operation, URL path, cause; "" on 2xx */
};

/* Exactly once per call for which kube_client_call returned non-NULL, cancellation included; never from within it. */
typedef void kube_done(void *arg, const struct kube_answer *answer);
/* Streams only: each chunk of a 2xx body as it comes. The first call has len 0 and says that the headers of a 2xx
 * answer have come. Non-2xx bodies go to the answer as usual. All callbacks may start and cancel calls. */
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
	bool exempt;             /* does not wait in the rate limit (leases, events of the watcher's streams) */
	bool low_priority;       /* waits behind all others for the rate limit, dropped when too many wait (Events) */
	/* Called right before the request is handed to curl; false refuses it (KUBE_REFUSED). May lower *timeout_ms:
	 * the fence of CONTRACT.md §12.17. With it, what has no connection within KUBE_FENCED_SEND_MS is not sent
	 * (KUBE_NETWORK). NULL: none. The argument is the call's arg. */
	bool (*before_send)(void *arg, int64_t *timeout_ms);
	bool gzip;           /* accept a gzip body; it is handed on decompressed */
	bool server_timeout; /* append timeout=<seconds> to the query, so that the server gives up too */
};

/* Starts a request. Strings of the request are copied. Never NULL.
 * Waiting for the rate limit or a connection costs no part of timeout_ms. A 401 makes the client read the token file
 * again, or ask the exec plugin, and send the request once more (before_send is asked again). Calls wait for the plugin
 * of a kubeconfig, which costs no part of timeout_ms either; when it fails, they fail with KUBE_NETWORK. libcurl itself
 * sends again, within the same timeout, what was written to a kept connection that the server had just closed; so one
 * call may reach the server twice, whatever its method. */
struct kube_call *kube_client_call(struct kube_client *client, const struct kube_request *request, kube_done *done,
				   void *arg);
/* The same for a stream (watch). */
struct kube_call *kube_client_stream(struct kube_client *client, const struct kube_request *request, kube_data *data,
				     kube_done *done, void *arg);
/* The Content-Type of a stream's 2xx answer, from the first data callback on; "" when there was none. */
const char *kube_call_content_type(const struct kube_call *call);
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
