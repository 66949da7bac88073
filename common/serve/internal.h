/* Inside the HTTP server: connections and requests, shared by its files; no other file includes this. Each file calls
 * only those before it: source.c, conn.c, answer.c, request.c, admit.c, tls.c, serve.c (the listener and its loop). */
#ifndef SERVE_INTERNAL_H
#define SERVE_INTERNAL_H

#include <ev.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/serve/serve.h"

enum { MOUNTS_MAX = 8 };

/* No endpoint of our processes needs a body: it is discarded. Longer ones are refused. */
enum { BODY_MAX = 1024 };

/* Part of head_max for an answer's first line and headers. The longest have some 300 bytes, so a connection does not
 * keep the rest. */
enum { ANSWER_HEAD_MAX = 512, ANSWER_HEAD_SPARE = 192 };

/* READING: idle, or receiving a request. WORKING: a handler has the request, without a time limit. ANSWERING: the
 * client receives the answer. Then READING again. */
enum conn_phase { CONN_READING, CONN_WORKING, CONN_ANSWERING };

enum { SOURCE_NAME_SIZE = INET6_ADDRSTRLEN };

/* An address that connections come from. */
struct source {
	UT_hash_handle hh;
	char name[SOURCE_NAME_SIZE];
	unsigned connections;
	unsigned strangers;  /* of these, in the two lists: unauthenticated */
	struct conn *idle;   /* READING, the longest first */
	struct conn *asking; /* the others, the oldest first */
};

struct conn {
	struct serve *serve;
	struct source *source;
	struct conn **list; /* of the source, that it is in; NULL: in none */
	struct conn *prev_of_source, *next_of_source;
	bool vouched;   /* for its present request */
	bool displaced; /* closed for another one */
	struct conn *prev, *next;
	int fd;
	enum conn_phase phase;
	int64_t since_ms; /* when the phase began */
	struct serve_request *request;
};

struct serve_request {
	struct serve *serve;
	struct conn *conn;
	struct MHD_Connection *mhd;
	const char *method; /* in the connection's memory, like all strings that handlers get */
	const char *path;
	size_t body_len; /* so far */
	bool dispatched; /* a handler has seen it */
	bool parked;
	bool suspended; /* suspended in libmicrohttpd */
	bool dead;      /* gone: its connection ends at the next occasion */
	struct serve_answer *answer;
	void (*gone)(void *arg);
	void *gone_arg;
};

struct mount {
	const char *prefix;
	serve_handler *handler;
	void *arg;
};

struct serve {
	struct ev_loop *loop;
	struct MHD_Daemon *daemon;
	char *address;
	size_t head_max;
	unsigned max_connections;
	unsigned spare;
	int request_timeout_ms;
	int answer_timeout_ms;
	bool (*ready)(void *arg, struct buf *why);
	void (*metrics)(void *arg, struct buf *out);
	void *arg;
	struct mount mounts[MOUNTS_MAX];
	size_t mount_count;
	struct conn *conns;
	struct source *sources;
	struct source *greedy; /* the last one that lost a connection */
	unsigned strangers;    /* of all sources */
	struct ev_io io;       /* libmicrohttpd's epoll */
	struct ev_timer timer; /* when it wants to be run */
	bool soon;             /* … since it was run last, at once */
	struct ev_timer sweep; /* looks for connections that take too long */
	int leave_epoll;       /* parked connections, for EPOLLRDHUP alone, which libev does not know */
	struct ev_io leave_io;
	struct serve_counters counters;
	const struct serve_counters *counted; /* what /metrics tells: its own, or another server's */
	bool tls;
};

/* ---- source.c ---- */

/* NULL: no connection comes from there. */
struct source *source_find(const struct serve *serve, const struct sockaddr *address);
void source_open(struct conn *conn, const struct sockaddr *address);
void source_close(struct conn *conn);
/* Call it after a change of phase, vouched or displaced. */
void source_sort(struct conn *conn);

/* ---- conn.c ---- */

/* libmicrohttpd has work that its epoll does not signal (common/README.md §9.1). */
void serve_run_soon(struct serve *serve);
void conn_enter(struct conn *conn, enum conn_phase phase);
/* MHD_NotifyConnectionCallback: a connection begins or ends. */
void conn_notify(void *serve, struct MHD_Connection *mhd, void **slot, enum MHD_ConnectionNotificationCode code);
/* A timer's callback: ends connections that take too long. */
void conn_sweep(struct ev_loop *loop, struct ev_timer *timer, int events);

/* ---- answer.c ---- */

int answer_status(const struct serve_answer *answer);
/* Queues it on the connection, as gzip if the client accepts it. */
enum MHD_Result answer_queue(struct serve_answer *answer, struct MHD_Connection *mhd);
struct serve_answer *answer_hold(struct serve_answer *answer);

/* ---- request.c ---- */

/* MHD_AccessHandlerCallback and MHD_RequestCompletedCallback. */
enum MHD_Result request_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
			       const char *version, const char *upload, size_t *upload_len, void **slot);
void request_completed(void *cls, struct MHD_Connection *mhd, void **slot, enum MHD_RequestTerminationCode code);
/* The client has disconnected, or the server ends: calls gone() and ends the connection. */
void request_leave(struct serve_request *request);

/* ---- admit.c ---- */

/* MHD_AcceptPolicyCallback: when few connections are left, closes one for the new one, or refuses the new one. */
enum MHD_Result conn_admit(void *serve, const struct sockaddr *address, socklen_t address_len);

/* ---- tls.c ---- */

/* Loads the files of the process' one server with TLS. 0, or -1 and *err naming the file. */
int tls_start(const char *cert_file, const char *key_file, struct error *err);
void tls_stop(void);
/* For MHD_OPTION_HTTPS_CERT_CALLBACK. */
void *tls_callback(void);

#endif
