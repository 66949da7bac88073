/* The HTTP server side of every process (ARCHITECTURE.md §9.1): /healthz, /readyz, /metrics, and the handlers that a
 * process mounts. libmicrohttpd on a libev loop; no threads, everything runs on the loop's. A handler may park a
 * request and answer it later: a parked request costs a connection and some KiB. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

struct ev_loop;
struct serve;
struct serve_request;
struct serve_answer;

struct serve_options {
	/* Where to listen: "127.0.0.1:8080", "[::1]:8080", ":8080" for all addresses. Port 0: the kernel chooses. */
	const char *address;
	/* PEM files, both or neither: TLS (1.2 and up). Read again when they change; if they are invalid, that is
	 * logged and the old ones stay. One server with TLS per process. */
	const char *tls_cert_file;
	const char *tls_key_file;
	/* 0: 256. RLIMIT_NOFILE is raised if possible; else this is lowered with a warning. */
	unsigned max_connections;
	/* The last so many connections are shared by address. Each new one closes an unauthenticated connection
	 * (serve_request_vouch) of the address that has the most of these, idle ones first. A new connection of that
	 * same address is refused if none is idle. 0: first come, first served. */
	unsigned spare;
	/* Bytes for a request's first line and headers and 64 for each of these, and 512 for the answer's, of which a
	 * connection holds all but 192. 0: 16 KiB; more is answered 431 or 414. */
	size_t head_max;
	int request_timeout_ms; /* until a request is complete, including idle time before it; 0: 30 000. A tenth of
				   that when more than half of max_connections are taken: a flood of idle connections
				   makes room for others. */
	int answer_timeout_ms;  /* for the client to take an answer; 0: 60 000 */

	bool mounts_only; /* without /healthz, /readyz and /metrics: for people, who bring a token */
	/* /readyz: true; or false, and *why in a few words. NULL: ready as long as the loop runs. */
	bool (*ready)(void *arg, struct buf *why);
	/* /metrics: appends Prometheus text (metrics.h). NULL: only the server's own metrics. */
	void (*metrics)(void *arg, struct buf *out);
	/* The server whose connections and requests /metrics counts, which must live as long. NULL: this one. */
	const struct serve *counted;
	void *arg;
};

/* Listens at once. The options' strings are copied. NULL and *err naming the address or the file. */
struct serve *serve_new(struct ev_loop *loop, const struct serve_options *options, struct error *err);
/* Ends all connections; gone() of parked requests is called first. Not from within a handler. NULL is fine. */
void serve_free(struct serve *serve);
/* Where it listens, with the port the kernel chose: "127.0.0.1:34567". Borrowed. */
const char *serve_address(const struct serve *serve);

/* Called when a request is complete. Must answer or park it before it returns. */
typedef void serve_handler(void *arg, struct serve_request *request);
/* Paths that begin with prefix go to the handler, the longest prefix first; other paths get 404. At most 8; the prefix
 * is borrowed. */
void serve_mount(struct serve *serve, const char *prefix, serve_handler *handler, void *arg);

/* Strings live as long as the request: until it is answered or gone() was called. The body is discarded; one of more
 * than 1 KiB gets 413. */
const char *serve_request_method(const struct serve_request *request);
const char *serve_request_path(const struct serve_request *request); /* unescaped, without the query */
/* NULL when it has none of that name (headers: in any case). */
const char *serve_request_query(const struct serve_request *request, const char *name);
const char *serve_request_header(const struct serve_request *request, const char *name);

/* The address of the client, "10.0.0.1". */
const char *serve_request_source(const struct serve_request *request);
/* The handler has authenticated the client: until this request is answered, its connection is not closed for others. */
void serve_request_vouch(struct serve_request *request);

/* Parks the request. gone(arg) is called when the client has disconnected (half-closed counts), when its connection is
 * closed for another address, or when the server is freed: the request is then freed and must not be answered. Exactly
 * one of gone() and an answer happens; gone() never from within a serve_*() call but serve_free(). */
void serve_request_park(struct serve_request *request, void (*gone)(void *arg), void *arg);

/* Answers and frees the request. */
void serve_request_answer(struct serve_request *request, struct serve_answer *answer);
/* The same with a body that only this request has. */
void serve_request_reply(struct serve_request *request, int status, const char *content_type, const char *text);
/* Answers with a failure, a Status object of Kubernetes (API conventions, "Response Status Kind"). retry_after_sec: < 0
 * for none. */
void serve_request_fail(struct serve_request *request, int status, int retry_after_sec, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* An answer that many requests may share, held once in memory. From 16 KiB on it goes out as gzip to clients that
 * accept that. The body is copied. Never NULL; starts with one reference. */
struct serve_answer *serve_answer_new(int status, const char *content_type, const void *body, size_t len);
void serve_answer_header(struct serve_answer *answer, const char *name, const char *value);
/* Drops the reference; the answer is freed after all clients have received it. NULL is fine. */
void serve_answer_free(struct serve_answer *answer);

struct serve_counters {
	uint64_t connections; /* since the start */
	unsigned open;        /* now */
	unsigned parked;      /* now */
	uint64_t gone;        /* parked clients that disconnected */
	uint64_t expired;     /* connections closed because they took too long */
	uint64_t displaced;   /* closed or refused for others: see spare */
	uint64_t requests[6]; /* answered, by the first digit of the status */
};
const struct serve_counters *serve_counters(const struct serve *serve);

#endif
