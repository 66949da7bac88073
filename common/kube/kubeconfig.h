/* Where the API server is and who we are to it: kubeconfig, plain address, or in-cluster. Fields, their precedence and
 * how several files become one are client-go's (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/); what
 * differs is said at each. */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* A program that gives out credentials: users[].user.exec. */
struct kube_exec {
	char *command; /* a path, if there is a '/' in it (not relative to where we run), else looked for in PATH */
	char **args;   /* without the command; ends with NULL */
	char **environment; /* NAME=value, beside our own; ends with NULL */
	char *api_version;  /* client.authentication.k8s.io/v1 or /v1beta1 */
	char *install_hint; /* for whom the command is missing, or NULL */
	bool provide_cluster_info;
	char *cluster_config; /* JSON, of the cluster's extension client.authentication.k8s.io/exec, or NULL */
	char *place;          /* for messages: users["me"].user.exec of FILE */
};

/* What one client needs to connect. Strings are NULL where not given. Owned by the struct. */
struct kube_config {
	char *server;           /* "https://host:port[/prefix]", no trailing slash */
	char *namespace_name;   /* of the context; NULL for "default" */
	char *proxy_url;        /* as libcurl takes it; NULL: none */
	bool environment_proxy; /* it is not the kubeconfig's */
	char *ca_data;          /* PEM */
	char *ca_file;          /* read again when it changes */
	char *client_cert_data;
	char *client_cert_file;
	char *client_key_data;
	char *client_key_file;
	char *token;
	char *token_file; /* read again every minute and after a 401 */
	struct kube_exec *exec;
	char **impersonate; /* header lines, "Impersonate-User: …" first; ends with NULL; NULL: none */
	char *tls_server_name;
	bool insecure_skip_tls_verify;
	bool no_http2;
	char *source; /* for messages: "kubeconfig ~/.kube/config, context \"c\"", "address http://…", "in-cluster" */
};

/* address: overrides the kubeconfig's server; alone it means no credentials; NULL or "" when not set.
 * kubeconfig: one file or several, separated by ':', as in $KUBECONFIG; NULL or "" when not set; the caller has applied
 * the defaults of CONTRACT.md §15. Of several, those that do not exist are passed over, if one does; of each name the
 * first file's entry counts, whole; the first current-context counts; paths are relative to the file they are in.
 * context: instead of current-context; NULL or "" when not set; needs a kubeconfig.
 * With neither address nor kubeconfig: in-cluster, from KUBERNETES_SERVICE_HOST and _PORT and the service account's
 * mount (directory overridable for tests by the environment variable KUBERNETES_SERVICE_ACCOUNT_DIR).
 * Unless the kubeconfig names a proxy, the environment may (proxy_environment.h); while DISABLE_HTTP2 has a value
 * there, HTTP/2 is not spoken, as with client-go.
 *
 * 0, or -1 and *err naming context, file:line:column, entry and key, what was found and what was expected. */
int kube_config_load(const char *address, const char *kubeconfig, const char *context, struct kube_config *out,
		     struct error *err);
/* A deep copy into *to, which must hold nothing. */
void kube_config_copy(struct kube_config *to, const struct kube_config *from);
void kube_config_free(struct kube_config *config);

#endif
