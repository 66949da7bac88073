/* A libcurl multi handle driven by a libev loop: connections and transfers, independent of Kubernetes.
 * All callbacks to the owner run outside libcurl, so that they may add and remove transfers as they like. */
#ifndef KUBE_TRANSPORT_H
#define KUBE_TRANSPORT_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ev_loop;
struct transport;

/* A transfer ended; the handle is no longer in the transport. */
typedef void transport_done(void *arg, CURL *easy, CURLcode result);

/* max_idle: connections kept open without a transfer. late_ms: the kernel drops data that is not acknowledged within
 * this time, and resets connections when they close, also when the process ends; 0: no limit. Never NULL. */
struct transport *transport_new(struct ev_loop *loop, long max_idle, int late_ms, transport_done *done, void *arg);
/* Not from within a callback of this transport, and only when no transfer is left in it. NULL is fine. */
void transport_free(struct transport *transport);

/* Sets what a handle needs for this transport; before transport_add. */
void transport_prepare(struct transport *transport, CURL *easy);
/* 0, or -1 when libcurl refuses the handle (the done callback will not run then). */
int transport_add(struct transport *transport, CURL *easy);
/* Cancels the transfer; done does not run for it. */
void transport_remove(struct transport *transport, CURL *easy);
/* Resets the connection from this local port (from CURLOPT_PREREQFUNCTION) if part of its written data may not have
 * arrived. This drops the data, and the transfers on it fail. Call it before transport_remove, which writes to the
 * connection. */
void transport_drop_unsent(struct transport *transport, int local_port);
/* Starts added transfers without waiting for the next turn of the loop. */
void transport_kick(struct transport *transport);

/* Transfers in it now. */
size_t transport_active(const struct transport *transport);
/* True while one of its callbacks runs. */
bool transport_busy(const struct transport *transport);

/* The owner's notes, for deciding when to replace a transport (a dead HTTP/2 connection is never given up by libcurl
 * itself). Boot milliseconds. */
struct transport_notes {
	int64_t born_ms;
	int64_t received_ms; /* when bytes last came */
	bool multiplexed;    /* an answer came over HTTP/2 */
};
struct transport_notes *transport_notes(struct transport *transport);

#endif
