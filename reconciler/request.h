/* What a call (plan.h) asks the API server for. */
#ifndef RECONCILER_REQUEST_H
#define RECONCILER_REQUEST_H

#include "common/base/buf.h"
#include "common/kube/client.h"
#include "reconciler/sync/sync.h"

/* Answers of a few hundred bytes instead of the whole object. */
#define ACCEPT_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define FRAMEWORKS_PATH "/apis/frameworkcontroller.microsoft.com/v1/namespaces"

/* Fills in method, path, formats and body. The request borrows *path and *body, which the caller frees. */
void call_request(struct framework *framework, const struct call *call, char **path, struct buf *body,
		  struct kube_request *request);

#endif
