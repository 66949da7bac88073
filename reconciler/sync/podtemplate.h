/* Pod bodies (FRAMEWORK.md §4): each TaskRole's template is compiled once per spec into text with holes, which are
 * filled for each Task. */
#ifndef SYNC_PODTEMPLATE_H
#define SYNC_PODTEMPLATE_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "reconciler/sync/state.h"

/* Appends the body of the Pod for the Task's present attempt; the ConfigMap's uid must be known. Compiles the templates
 * when they are missing. 0, or -1 and *err when the role has gone from the spec. */
int pod_template_render(struct framework *framework, size_t role, size_t index, struct buf *out, struct error *err);
/* Frees the compiled templates: the spec changed, or no Task is pending. */
void pod_templates_free(struct framework *framework);

#endif
