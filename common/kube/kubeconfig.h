/* Address of the API server and our credentials: kubeconfig, plain address, or in-cluster. Fields, their precedence and
 * the merge of several files are as in client-go (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/);
 * comments name the differences. */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* A program that prints credentials: users[].user.exec. */
struct kube_exec {
	char *command; /* a path if it contains a '/' (not relative to the working directory), else searched in PATH */
	char **args;   /* without the command; ends with NULL */
	char **environment; /* NAME=value, beside our own; ends with NULL */
	char *api_version;  /* client.authentication.k8s.io/v1 or /v1beta1 */
	char *install_hint; /* printed if the command is missing, or NULL */
	bool provide_cluster_info;
	char *cluster_config; /* JSON, of the cluster's extension client.authentication.k8s.io/exec, or NULL */
	char *place;          /* for messages: users["me"].user.exec of FILE */
};

/* The settings of a client's connections. Strings are NULL where not given. Owned by the struct. */
struct kube_config {
	char *server;           /* "https://host:port[/prefix]", no trailing slash */
	char *namespace_name;   /* of the context; NULL for "default" */
	char *proxy_url;        /* as libcurl takes it; NULL: none */
	bool environment_proxy; /* the proxy is from the environment */
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
	/* What was chosen. kube_config_load() with the same three chooses it again, whatever $KUBECONFIG,
	 * $KUBE_APISERVER_ADDRESS and the first current-context are by then. */
	char *address;    /* the one that overrides the kubeconfig's server */
	char *kubeconfig; /* the files */
	char *context;    /* of the files */
	char *source; /* for messages: "kubeconfig ~/.kube/config, context \"c\"", "address http://…", "in-cluster" */
};

/* address: overrides the kubeconfig's server; alone it means no credentials; NULL or "" when not set.
 * kubeconfig: one file or several, separated by ':', as in $KUBECONFIG; NULL or "" when not set; the caller has applied
 * the defaults of CONTRACT.md §15. Files that do not exist are skipped, if one exists. The first file with a name wins,
 * with its whole entry, and so does the first current-context. Paths are relative to their file.
 * context: instead of current-context; NULL or "" when not set; needs a kubeconfig.
 * With neither address nor kubeconfig: in-cluster, from KUBERNETES_SERVICE_HOST and _PORT and the service account's
 * mount (directory overridable for tests by the environment variable KUBERNETES_SERVICE_ACCOUNT_DIR).
 * Unless the kubeconfig names a proxy, the environment may (proxy_environment.h); if DISABLE_HTTP2 is set there, HTTP/2
 * is not used, as in client-go.
 *
 * 0, or -1 and *err naming context, file:line:column, entry and key, what was found and what was expected. */
int kube_config_load(const char *address, const char *kubeconfig, const char *context, struct kube_config *out,
		     struct error *err);
void kube_config_free(struct kube_config *config);
/* The namespace of our Pod by its service account's mount, or NULL. The caller frees. */
char *kube_config_own_namespace(void);

#endif
