/* List and watch one kind, resumed for ever (common/README.md §6).
 * The handler gets objects one by one; the owner of the cache compares after a list. */
#ifndef KUBE_REFLECTOR_H
#define KUBE_REFLECTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/kube/client.h"

struct reflector;

/* An object's JSON as it was received. */
struct reflector_object {
	const char *data; /* borrowed, valid during the call */
	size_t len;
	/* In a watch event: the taker may write the resourceVersion here with reflector_note_version, so that nobody
	 * reads the text a second time. NULL: it is not wanted. */
	char *version;
};

/* The room for a resourceVersion. A longer text is none. */
enum { REFLECTOR_VERSION_SIZE = 64 };
void reflector_note_version(const struct reflector_object *object, const char *version);

struct reflector_handler {
	/* For owners that read objects themselves: called instead of present() and, with gone, of deleted(), which may
	 * then be NULL. -1 and *err: it is unreadable, and malformed() is called. NULL: the others get trees. */
	int (*raw)(void *arg, const struct reflector_object *object, bool gone, struct error *err);
	/* An object as the server has it now: from a list page or an ADDED or MODIFIED event. `object` is borrowed,
	 * valid during the call (json_incref to keep it). */
	void (*present)(void *arg, json_t *object);
	/* A DELETED event with the object's last state. On a stream filtered by label this also comes when the label
	 * was removed: then metadata.deletionTimestamp is unset and the object may live on. */
	void (*deleted)(void *arg, json_t *object);
	/* A list begins: an object that present() does not get before list_end() does not exist at resource_version.
	 * Either may be NULL. */
	void (*list_begin)(void *arg);
	void (*list_end)(void *arg, const char *resource_version);
	/* The stream is at resource_version (a bookmark or an event); for progress only. May be NULL. */
	void (*progress)(void *arg, const char *resource_version);
	/* true when a watch is connected after a list; false when it ends with an error. Creation timeouts run only
	 * while live. May be NULL. */
	void (*live)(void *arg, bool live);
	/* The API server answers a list or a watch with 401 or 403. right: "list" or "watch". Returns whether the
	 * handler reports it, so that no log line does. The reflector tries again unless the handler frees it. May be
	 * NULL. */
	bool (*refused)(void *arg, const char *right, int http_status, const char *message);
	/* An item that could not be parsed; any of the names may be "". May be NULL. */
	void (*malformed)(void *arg, const char *ns, const char *name, const char *message);
};

struct reflector_options {
	const char *path;           /* "/api/v1/pods", "/apis/…/v1/frameworks" */
	const char *label_selector; /* NULL or "" for all */
	bool metadata_only;         /* as PartialObjectMetadata */
	bool watch_list;            /* the first state comes as the watch's initial events, where the server sends these
				       (sendInitialEvents, common/README.md §3.6), not as a list in pages */
	int page_size;              /* 0: 500 */
	const char *what;           /* "Pods", for log lines */
	size_t object_max;          /* bytes of JSON; larger ones go to malformed(); 0: 16 MiB */
	int64_t backoff_base_ms;    /* first wait after a failure; 0: 800; for tests */
	int64_t initial_idle_ms;    /* the longest silence between initial events; 0: 30 000; for tests */
};

/* Strings are copied; the handler must outlive the reflector. */
struct reflector *reflector_new(struct ev_loop *loop, struct kube_client *client,
				const struct reflector_options *options, const struct reflector_handler *handler,
				void *arg);
void reflector_start(struct reflector *reflector);
/* Ends the present watch, and begins the next one at its version: the API server checks rights only when a request
 * begins. Does nothing while there is no connected watch. No handler runs within. */
void reflector_watch_again(struct reflector *reflector);
/* No handler runs any more after this returns. */
void reflector_free(struct reflector *reflector);

#endif
