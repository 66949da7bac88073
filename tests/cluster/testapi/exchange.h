/* Inside the network side: a request on its way, shared by http.c and stream.c; no other file includes this. */
#ifndef TESTAPI_EXCHANGE_H
#define TESTAPI_EXCHANGE_H

#include <ev.h>
#include <microhttpd.h>

#include "tests/cluster/testapi/faults.h"
#include "tests/cluster/testapi/http.h"
#include "tests/cluster/testapi/request.h"

/* Most that goes out at a time. */
enum { EXCHANGE_BLOCK = 64 * 1024 };

struct api_http {
	struct api *api;
	struct MHD_Daemon *daemon;
	uint16_t port;
	unsigned connections; /* accepted so far */
	bool resumed;         /* MHD_run is needed */
	ev_io io;
	ev_prepare prepare;
	ev_timer again; /* MHD has more to do at a time of its own */
	ev_timer tick;
	struct exchange *suspended; /* those that are, for the end */
};

enum stage { READING, DELAYED, CARRIED_OUT, ANSWERED };

/* One request on its way. */
struct exchange {
	struct api_http *http;
	struct MHD_Connection *connection;
	struct buf body;
	bool http_1_0; /* the client knows no chunks */
	bool too_large;
	enum stage stage;
	struct api_request request;
	struct api_answer answer;
	struct api_strike strike;
	struct api_watch *watch; /* a stream, once its response is on the way: this */
	struct api_log *log;     /* or this */
	struct buf chunk;        /* of it: what is being sent */
	size_t chunk_sent;
	ssize_t stream_end; /* WATCH_END or WATCH_CUT once it is over */
	bool suspended;
	bool gone;    /* the client left while suspended */
	ev_io socket; /* of a stream: its client can take more, or leaves */
	ev_timer delay;
	int64_t began_ms;             /* boot clock */
	struct exchange *prev, *next; /* while suspended */
};

/* ---- http.c ---- */

void exchange_suspend(struct exchange *exchange);
/* No effect on one that is not suspended. */
void exchange_resume(struct exchange *exchange);

/* ---- stream.c ---- */

int exchange_fd(struct exchange *exchange);
/* Breaks the connection off by an RST, before MHD can end it properly (its shutdown would send a FIN first). */
void exchange_reset(struct exchange *exchange);
/* Sends what its stream has, as long as the client takes it. */
void exchange_send_news(struct exchange *exchange);
/* MHD_ContentReaderCallback of a stream. */
ssize_t exchange_read_stream(void *cls, uint64_t position, char *data, size_t max);

#endif
