/* Kueue's Workload: the request for a Framework's quota, and its outcome (CONTRACT.md §21). Only the parts that
 * decisions need are kept; they travel on the bus as an ordinary object that has only these. */
#ifndef FRAMEWORK_WORKLOAD_H
#define FRAMEWORK_WORKLOAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/framework/object.h"

#define KUEUE_QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define KUEUE_PRIORITY_LABEL "kueue.x-k8s.io/priority-class"
#define KUEUE_JOB_UID_LABEL "kueue.x-k8s.io/job-uid"
#define KUEUE_FINALIZER "kueue.x-k8s.io/resource-in-use"
/* Annotation: identifies the queue, the priority and the podSets that the Workload was written for; then "/" and
 * activeDeadlineSec, if there is one. */
#define FC_WORKLOAD_REQUEST "FC_WORKLOAD_REQUEST"

/* Condition types and reasons of Kueue (apis/kueue/v1beta2/workload_types.go). */
#define WORKLOAD_QUOTA_RESERVED "QuotaReserved"
#define WORKLOAD_ADMITTED "Admitted"
#define WORKLOAD_EVICTED "Evicted"
#define WORKLOAD_FINISHED "Finished"
#define WORKLOAD_PODS_READY "PodsReady"
#define WORKLOAD_REQUEUED "Requeued"

struct workload {
	struct object_meta meta;
	json_t *object; /* the kept members of the object, metadata.resourceVersion excepted */
};

/* NULL and *err when it is not JSON, or name or uid is missing. Free with workload_free (NULL is fine). */
struct workload *workload_read(const char *text, size_t len, struct error *err);
void workload_free(struct workload *workload);
void workload_write(struct buf *out, const struct workload *workload);
/* As pod_same(). */
bool workload_same(const struct workload *a, const struct workload *b);

/* The condition of that type; NULL: there is none. Borrowed. */
const json_t *workload_condition(const struct workload *workload, const char *type);
/* Whether it is True. */
bool workload_is(const struct workload *workload, const char *type);
/* spec.active: false once somebody has deactivated it. */
bool workload_active(const struct workload *workload);
/* Annotation FC_WORKLOAD_REQUEST, "" when missing. */
const char *workload_request(const struct workload *workload);
/* metadata.finalizers; NULL: there are none. Borrowed. */
const json_t *workload_finalizers(const struct workload *workload);
bool workload_has_finalizer(const struct workload *workload);
/* A member of status; NULL: there is none. Borrowed. */
const json_t *workload_status(const struct workload *workload, const char *member);
/* How many Pods of the podSet are in status.reclaimablePods. */
int64_t workload_reclaimable(const struct workload *workload, const char *pod_set);

#endif
