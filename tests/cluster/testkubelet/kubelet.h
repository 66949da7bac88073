/* The test kubelet: scheduler and kubelets of a whole cluster in one process, as a client of any API server.
 *
 *   watch of Pods ─▶ kubelet_pod ─▶ next call (bind, status, delete) ─▶ client
 *                        ▲  ▼
 *                 script or runtime: what its containers do
 *
 * It takes every Pod that has no node and every Pod on a node of its own. Each Pod has at most one call under way;
 * what to do next is always derived from what is known about the Pod, never from which call came before. */
#ifndef TESTKUBELET_KUBELET_H
#define TESTKUBELET_KUBELET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "tests/cluster/testkubelet/address.h"

struct ev_loop;
struct kube_client;
struct kubelet;

/* Strings are borrowed as long as the kubelet lives. */
struct kubelet_options {
	bool real;               /* containers are local processes; else as their script says */
	struct node_names nodes; /* Pods go to them in turn */
	bool register_nodes;     /* create the Node objects */
	size_t capacity;         /* Pods bound and not yet over at the same time; 0: no limit */
	int64_t termination_ms;  /* scripted: from a deletion's start to its confirmation */
	size_t max_calls;        /* under way at once */
	/* Which Pods are ours, when kubelets of both modes serve one cluster; NULL: all. */
	const char *only_namespace;
	const char *not_namespace;
	const char *root; /* real: directory for logs and volumes, see runtime.h */
	const char *const *pod_env;
	size_t pod_env_count;
	const char *image_bin;
	const char *volumes; /* see runtime.h */
};

/* loop must be the default one when real is set. */
struct kubelet *kubelet_new(struct ev_loop *loop, struct kube_client *client, const struct kubelet_options *options);
/* Serves logs to API servers (logserver.h), which find the port in the Node objects. 0, or -1 and *err. */
int kubelet_serve_logs(struct kubelet *kubelet, const char *tls_cert, const char *tls_key, struct error *err);
void kubelet_start(struct kubelet *kubelet);
/* Stops all work and begins to kill all processes; processes_left tells when they are gone. */
void kubelet_stop(struct kubelet *kubelet);
size_t kubelet_processes_left(const struct kubelet *kubelet);
/* After kubelet_stop and kube_client_free: cancelled calls still speak to the kubelet. */
void kubelet_free(struct kubelet *kubelet);

/* Counts since the start. */
struct kubelet_counts {
	uint64_t pods; /* known now */
	uint64_t bound;
	uint64_t statuses;
	uint64_t finished;
	uint64_t deleted;
	uint64_t errors;
};
struct kubelet_counts kubelet_counts(const struct kubelet *kubelet);

#endif
