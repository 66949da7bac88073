/* The CustomResourceDefinition of Frameworks (CONTRACT.md §17): the text of manifests/crd.yaml, which the program
 * contains, and a keeper that creates and updates the CRD on the server. */
#ifndef WATCHER_CRD_H
#define WATCHER_CRD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/kube/client.h"

struct ev_loop;

#define CRD_NAME "frameworks.frameworkcontroller.microsoft.com"

/* The text of manifests/crd.yaml. */
const char *crd_text(void);
/* The same as an object, with the rule that managedBy cannot be changed (CONTRACT.md §17.2). The caller decrefs. */
json_t *crd_object(void);

enum crd_need { CRD_CURRENT, CRD_CREATE, CRD_UPDATE };

/* Compares the CRD of the server (NULL: there is none) with ours. It is current if it has our hash, its status
 * subresource and its validation. The rest is not compared, because the server fills in defaults. */
enum crd_need crd_need(const json_t *stored);
/* The body that makes `stored` (may be NULL) ours: foreign labels, annotations, finalizers stay. The caller decrefs. */
json_t *crd_merge(const json_t *stored);
bool crd_established(const json_t *stored);

struct crd_keeper;

struct crd_options {
	int64_t check_ms;   /* crdEstablishedCheckIntervalSec */
	int64_t timeout_ms; /* crdEstablishedCheckTimeoutSec: from the creation of the CRD until it is Established */
	int64_t retry_ms;   /* first wait after a failure, doubling up to 8 s; 0: 500 */
	int64_t recheck_ms; /* interval between two checks of an established CRD; 0: never */
	bool discover;      /* this process has no rights on CRDs: use discovery, which needs none */
};

struct crd_handler {
	/* Once: Frameworks are served from now on. */
	void (*established)(void *arg);
	/* The CRD was not Established in time. The keeper stops. */
	void (*failed)(void *arg, const char *message);
};

/* Starts at once. While it may write, it creates the CRD, updates a CRD that is not current, and waits for Established.
 * If a request fails, it retries for ever, and logs each new reason. With `discover` an administrator creates the CRD:
 * the keeper waits, and logs the missing parts. */
struct crd_keeper *crd_keeper_new(struct ev_loop *loop, struct kube_client *client, const struct crd_options *options,
				  const struct crd_handler *handler, void *arg);
/* Whether it may write. At first it may not, and waits until the leader has written the CRD. */
void crd_keeper_set_writes(struct crd_keeper *keeper, bool writes);
/* No handler runs any more after this returns. Before the client is freed. */
void crd_keeper_free(struct crd_keeper *keeper);

#endif
