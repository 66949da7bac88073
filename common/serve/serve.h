/* The HTTP server side of every process (ARCHITECTURE.md §9.1): /healthz, /readyz, /metrics, and what a process mounts
 * beside them. libmicrohttpd on a libev loop; no threads, everything runs on the loop's. A handler may park a request
 * and answer it later: that costs a connection and some KiB, however long it takes. */
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
	/* PEM files, both or neither: TLS (1.2 and up). Read again when they change; what cannot be used is reported
	 * and the old ones kept. One server with TLS per process. */
	const char *tls_cert_file;
	const char *tls_key_file;
	/* 0: 256. RLIMIT_NOFILE is raised to fit where it may be, else this is lowered with a warning. */
	unsigned max_connections;
	/* When no more than so many connections are left, they are shared out by address: for each new one a stranger's
	 * (serve_request_vouch) of the address that has most of these ends, idle ones first; those of that very
	 * address, when none of them is idle, are refused. 0: whoever comes first has them. */
	unsigned spare;
	/* Bytes for a request's first line and headers and 64 for each of these, and 512 for the answer's, of which a
	 * connection holds all but 192. 0: 16 KiB; more is answered 431 or 414. */
	size_t head_max;
	int request_timeout_ms; /* until a request is there whole, idle time before it included; 0: 30 000. A tenth of
				 * that when more than half of max_connections are taken: a flood of idle connections
				 * makes room for others. */
	int answer_timeout_ms;  /* for the client to take an answer; 0: 60 000 */

	/* /readyz: true; or false, and *why in a few words. NULL: ready as long as the loop runs. */
	bool (*ready)(void *arg, struct buf *why);
	/* /metrics: appends Prometheus text (metrics.h). NULL: only what the server itself counts. */
	void (*metrics)(void *arg, struct buf *out);
	void *arg;
};

/* Listens at once. The options' strings are copied. NULL and *err naming the address or the file. */
struct serve *serve_new(struct ev_loop *loop, const struct serve_options *options, struct error *err);
/* Ends all connections; parked requests are told gone() first. Not from within a handler. NULL is fine. */
void serve_free(struct serve *serve);
/* Where it listens, with the port the kernel chose: "127.0.0.1:34567". Borrowed. */
const char *serve_address(const struct serve *serve);

/* Called once a request is there whole. Must answer it or park it before it returns. */
typedef void serve_handler(void *arg, struct serve_request *request);
/* Paths that begin with prefix go to the handler, the longest prefix first; what nothing is mounted for is answered
 * 404. At most 8; the prefix is borrowed. */
void serve_mount(struct serve *serve, const char *prefix, serve_handler *handler, void *arg);

/* Strings live as long as the request: until it is answered or gone() was called. Of its body, which is thrown away, at
 * most 1 KiB is taken: more is answered 413. */
const char *serve_request_method(const struct serve_request *request);
const char *serve_request_path(const struct serve_request *request); /* unescaped, without the query */
/* NULL when it has none of that name (headers: in any case). */
const char *serve_request_query(const struct serve_request *request, const char *name);
const char *serve_request_header(const struct serve_request *request, const char *name);

/* Who asks: the address that the connection comes from, "10.0.0.1". */
const char *serve_request_source(const struct serve_request *request);
/* The handler knows who asks: until this request is answered, its connection is nobody else's to have. */
void serve_request_vouch(struct serve_request *request);

/* Keeps the request for later. gone(arg) is called when its client has left (a half-closed connection counts), when its
 * place went to another address, or when the server is freed: the request is no more then, and is not answered. Exactly
 * one of gone() and an answer happens; gone() never from within a serve_*() call but serve_free(). */
void serve_request_park(struct serve_request *request, void (*gone)(void *arg), void *arg);

/* Answers it; the request is no more when this returns. */
void serve_request_answer(struct serve_request *request, struct serve_answer *answer);
/* The same for text of its own. */
void serve_request_reply(struct serve_request *request, int status, const char *content_type, const char *text);
/* A failure as Kubernetes says it, a Status object (API conventions, "Response Status Kind"). retry_after_sec: < 0 for
 * none. */
void serve_request_fail(struct serve_request *request, int status, int retry_after_sec, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* An answer that many requests may share, held once in memory. From 16 KiB on it goes out as gzip to clients that
 * accept that. The body is copied. Never NULL; starts with one reference. */
struct serve_answer *serve_answer_new(int status, const char *content_type, const void *body, size_t len);
void serve_answer_header(struct serve_answer *answer, const char *name, const char *value);
/* Gives the reference up; the answer lives on until all clients have taken it. NULL is fine. */
void serve_answer_free(struct serve_answer *answer);

struct serve_counters {
	uint64_t connections; /* since the start */
	unsigned open;        /* now */
	unsigned parked;      /* now */
	uint64_t gone;        /* parked clients that left */
	uint64_t expired;     /* connections ended for taking too long */
	uint64_t displaced;   /* or refused, for others: see spare */
	uint64_t requests[6]; /* answered, by the first digit of the status */
};
const struct serve_counters *serve_counters(const struct serve *serve);

#endif
