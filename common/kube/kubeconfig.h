/* Where the API server is and who we are to it: kubeconfig, plain address, or in-cluster. */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* What one client needs to connect. Strings are NULL where not given. Owned by the struct. */
struct kube_config {
	char *server;         /* "https://host:port[/prefix]", no trailing slash */
	char *namespace_name; /* of the context; NULL for "default" */
	char *ca_data;        /* PEM */
	char *ca_file;        /* read again when it changes */
	char *client_cert_data;
	char *client_cert_file;
	char *client_key_data;
	char *client_key_file;
	char *token;
	char *token_file; /* read again every minute and after a 401 */
	char *tls_server_name;
	bool insecure_skip_tls_verify;
	char *source; /* for messages: "kubeconfig ~/.kube/config", "address http://…", "in-cluster" */
};

/* address: overrides the kubeconfig's server; alone it means no credentials; NULL or "" when not set.
 * kubeconfig_path: NULL or "" when not set; the caller has applied the defaults of FRAMEWORK.md §15.
 * With neither: in-cluster, from KUBERNETES_SERVICE_HOST and _PORT and the service account's mount
 * (directory overridable for tests by the environment variable KUBERNETES_SERVICE_ACCOUNT_DIR).
 * 0, or -1 and *err naming file:line:column, the key, what was found and what was expected. */
int kube_config_load(const char *address, const char *kubeconfig_path, struct kube_config *out, struct error *err);
/* A deep copy into *to, which must hold nothing. */
void kube_config_copy(struct kube_config *to, const struct kube_config *from);
void kube_config_free(struct kube_config *config);

#endif
