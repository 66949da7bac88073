/* Pod bodies (CONTRACT.md §4): each TaskRole's template is compiled once per spec into text with holes, which are
 * filled for each Task. */
#ifndef SYNC_PODTEMPLATE_H
#define SYNC_PODTEMPLATE_H

#include <jansson.h>

#include "common/base/buf.h"
#include "reconciler/sync/state.h"

/* Appends the body of the Pod for the Task's present attempt; the ConfigMap's uid must be known, and the
 * role in the spec. Compiles the templates when they are missing. */
void pod_template_render(struct framework *framework, size_t role, size_t index, struct buf *out);
/* Whether the bodies are larger than the API server takes; compiles likewise. role: as it is in the spec. */
bool pod_template_too_large(struct framework *framework, size_t role);
enum { POD_BODY_MAX = 3 * 1024 * 1024 }; /* the API server's limit of a request */
/* Frees the compiled templates: the spec has changed, no Task is pending, or the attempt is completing. */
void pod_templates_free(struct framework *framework);

/* The template `pod` (NULL: none) of a TaskRole, with the placeholders replaced that have one value for all its Tasks,
 * in values and names of members: what a Workload or a PodGroup counts, and what the Pods are made of then (CONTRACT.md
 * §4.20). The caller frees. */
json_t *pod_template_of_role(const struct framework *framework, size_t role, json_t *pod);

/* admission.c: the template `pod` of a TaskRole (NULL: none) with what status.admission (NULL: nothing) adds to it. The
 * caller frees. */
json_t *admission_pod(const json_t *admission, const char *role, json_t *pod);
/* Adds the nodeSelector, tolerations, labels and annotations of `from` to those of `into`. */
void admission_add(json_t *into, const json_t *from);

/* placement.c: the template's affinity (NULL: none) with what keeps the Pods of the Framework together, and those of
 * all others away, over the node label `key`. The caller frees. NULL: the template's is of a wrong type, and is sent as
 * it is.
 */
json_t *placement_affinity(const json_t *affinity, const char *framework_uid, const char *key);

#endif
