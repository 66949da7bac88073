/* Watches: each is a cursor into its resource's log, read when its client can take more, so that a slow client costs
 * no memory. */
#ifndef TESTAPI_WATCH_H
#define TESTAPI_WATCH_H

#include <ev.h>

#include "common/base/buf.h"
#include "tests/cluster/testapi/selector.h"
#include "tests/cluster/testapi/table.h"

/* sendInitialEvents: NONE and REQUIRED as given; LEGACY where it is not: without a resourceVersion, and without a
 * bookmark that ends them. */
enum api_initial { INITIAL_LEGACY, INITIAL_NONE, INITIAL_REQUIRED };

struct api_watch_request {
	const char *namespace_name;   /* "" for all */
	const char *resource_version; /* NULL or "": from now, after what is there */
	const char *labels;
	const char *fields;
	const char *user_agent;
	unsigned connection; /* its number */
	enum api_form form;
	bool protobuf; /* Pods only */
	bool bookmarks;
	enum api_initial initial;
	int64_t timeout_sec; /* 0: a random time of 30 to 60 minutes, as the real server */
};

struct api_watch {
	struct api_watch *next; /* in the resource's list */
	struct api *api;
	struct api_resource *resource;
	char *namespace_name;
	struct api_selector selector;
	enum api_form form;
	bool protobuf;
	bool bookmarks;
	uint64_t begins;             /* events up to this version are not for it */
	uint64_t cursor;             /* the next event's number */
	uint64_t version;            /* everything up to here was handed out or did not match */
	struct api_object **initial; /* what there was when it began, as far as it is not handed out; references */
	size_t initial_at;
	size_t initial_count;
	bool initial_bookmark; /* is owed behind them */
	struct buf out;
	size_t out_sent;
	bool columns_sent; /* a Table's columns go out once */
	bool waiting;      /* its transport has been told there is nothing */
	bool ended;
	bool broken;    /* a fault: end in the middle of an event */
	bool reset;     /* and by RST */
	bool half;      /* half an event is in out, then the end */
	bool last_sent; /* the bookmark before the end is out */
	ev_tstamp expires;
	ev_tstamp next_bookmark;
	char *user_agent; /* for faults; may be NULL */
	unsigned connection;
	void *transport; /* http.c's */
};

/* NULL and *failure: a bad selector, 410 for a version too old. One from the future waits for it, as the real server
 * does. */
struct api_watch *api_watch_new(struct api *api, struct api_resource *resource, const struct api_watch_request *request,
				struct api_failure *failure);
void api_watch_free(struct api_watch *watch);

enum { WATCH_NOTHING = 0, WATCH_END = -1, WATCH_CUT = -2 };

/* Up to max bytes of the stream; WATCH_NOTHING: wait for api->wake; WATCH_END: over; WATCH_CUT: break it off. */
ssize_t api_watch_read(struct api_watch *watch, char *data, size_t max);

/* The client is told 410 and the stream ends. */
void api_watch_expire(struct api_watch *watch);

/* The resource's log has grown. */
void api_watch_notify(struct api *api, struct api_resource *resource);
/* Wakes the watches that have something to send; before the loop sleeps. */
void api_watch_flush(struct api *api);
/* Looks for watches whose time is up or whose bookmark is due; about once a second. */
void api_watch_tick(struct api *api);

#endif
