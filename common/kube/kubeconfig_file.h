/* Inside kubeconfig.c: reading the files. */
#ifndef KUBE_KUBECONFIG_FILE_H
#define KUBE_KUBECONFIG_FILE_H

#include <stdbool.h>

#include "common/kube/kubeconfig.h"

/* Fills config, but for source, from the files named by `paths`, separated by ':'. context: NULL for the current one.
 * *used is set to the context's name, to be freed, as soon as that is known, also on failure. 0, or -1 and *err; then
 * config holds what was read by then. */
int kubeconfig_file_load(const char *paths, const char *context, bool server_needed, struct kube_config *config,
			 char **used, struct error *err);

#endif
