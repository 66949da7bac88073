/* The CustomResourceDefinition of Frameworks (CONTRACT.md §17): manifests/crd.yaml, which is part of the program, and
 * the upkeep of the one on the server. */
#ifndef WATCHER_CRD_H
#define WATCHER_CRD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/kube/client.h"

struct ev_loop;

#define CRD_NAME "frameworks.frameworkcontroller.microsoft.com"

/* manifests/crd.yaml. */
const char *crd_text(void);
/* The same as an object, with the rule that managedBy cannot be changed (CONTRACT.md §17.2). The caller decrefs. */
json_t *crd_object(void);

enum crd_need { CRD_CURRENT, CRD_CREATE, CRD_UPDATE };

/* What is to be done about what the server has (NULL: nothing). It is ours and current when it carries our hash, and
 * has kept its status subresource and its validation; comparing the rest with what the server gives back would be in
 * vain, as it fills in defaults. */
enum crd_need crd_need(const json_t *stored);
/* The body that makes `stored` (may be NULL) ours: foreign labels, annotations, finalizers stay. The caller decrefs. */
json_t *crd_merge(const json_t *stored);
bool crd_established(const json_t *stored);

struct crd_keeper;

struct crd_options {
	int64_t check_ms;   /* crdEstablishedCheckIntervalSec */
	int64_t timeout_ms; /* crdEstablishedCheckTimeoutSec: from the CRD's creation to its being served */
	int64_t retry_ms;   /* first wait after a failure, doubling up to 8 s; 0: 500 */
	int64_t recheck_ms; /* once established, it is looked at again this often; 0: never */
	bool discover;      /* it may be neither read nor written: ask what is served, which everybody may */
};

struct crd_handler {
	/* Once: Frameworks are served from now on. */
	void (*established)(void *arg);
	/* The server has it, but did not get to serve it in time. Nothing more happens. */
	void (*failed)(void *arg, const char *message);
};

/* Begins at once, and as long as it may write: creates it, or updates it when it is not ours and current, and waits for
 * Established. While the server cannot be reached or refuses, it tries again for ever, and says why when the reason
 * changes. With `discover` somebody else is to create it: it waits, and says what is missing. */
struct crd_keeper *crd_keeper_new(struct ev_loop *loop, struct kube_client *client, const struct crd_options *options,
				  const struct crd_handler *handler, void *arg);
/* Whether it may write: at first it does not, but only waits for somebody else to do so (who leads). */
void crd_keeper_set_writes(struct crd_keeper *keeper, bool writes);
/* No handler runs any more after this returns. Before the client is freed. */
void crd_keeper_free(struct crd_keeper *keeper);

#endif
