/* Plain addresses, in-cluster settings, and the choice between them and kubeconfig files; see kubeconfig.h. */
#include "common/kube/kubeconfig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/kube/kubeconfig_file.h"
#include "common/kube/proxy_environment.h"
#include "common/kube/url.h"

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* ---- in-cluster ---- */

/* The namespace we run in, or NULL: the mount may lack it. */
static char *read_namespace(const char *dir)
{
	cleanup_free char *path = mem_printf("%s/namespace", dir);
	char name[64]; /* a DNS label has at most 63 bytes */
	FILE *file = fopen(path, "re");
	int found;

	if (file == NULL)
		return NULL;
	found = fscanf(file, "%63s", name);
	fclose(file);
	return found == 1 ? mem_strdup(name) : NULL;
}

static int load_in_cluster(struct kube_config *config, struct error *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	const char *dir = getenv("KUBERNETES_SERVICE_ACCOUNT_DIR");
	cleanup_free char *server = NULL;
	cleanup_free char *ca = NULL;
	const char *fault;

	if (host == NULL || *host == '\0' || port == NULL || *port == '\0')
		return error_set(err,
				 "no API server is known: no address is given (--address, $KUBE_APISERVER_ADDRESS), "
				 "no kubeconfig is there (--kubeconfig, $KUBECONFIG, ~/.kube/config), and "
				 "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
	if (dir == NULL || *dir == '\0')
		dir = SERVICE_ACCOUNT_DIR;
	/* an IPv6 address needs its brackets */
	server = mem_printf(strchr(host, ':') != NULL ? "https://[%s]:%s" : "https://%s:%s", host, port);
	fault = url_check_server(server, &config->server);
	if (fault != NULL)
		return error_set(err, "in-cluster: KUBERNETES_SERVICE_HOST and _PORT give \"%s\": %s", server, fault);
	config->source = mem_strdup("in-cluster");
	config->token_file = mem_printf("%s/token", dir);
	if (access(config->token_file, R_OK) < 0)
		return error_set_errno(err, errno, "in-cluster: service account token %s", config->token_file);
	ca = mem_printf("%s/ca.crt", dir);
	if (access(ca, R_OK) < 0)
		return error_set_errno(err, errno, "in-cluster: certificate authority %s", ca);
	mem_replace(&config->ca_file, ca);
	config->namespace_name = read_namespace(dir);
	return 0;
}

/* ---- the choice ---- */

static int load_kubeconfig(const char *paths, const char *context, const char *address, struct kube_config *config,
			   struct error *err)
{
	cleanup_free char *used = NULL;

	if (kubeconfig_file_load(paths, context, address == NULL, config, &used, err) < 0) {
		if (used == NULL)
			return error_wrap(err, "kubeconfig");
		return error_wrap(err, "kubeconfig, context \"%s\"", used);
	}
	config->source = mem_printf("kubeconfig %s, context \"%s\"", paths, used);
	return 0;
}

static int override_server(const char *address, struct kube_config *config, struct error *err)
{
	const char *fault;
	char *source = config->source == NULL ? mem_printf("address %s", url_shown(address))
					      : mem_printf("address %s with %s", url_shown(address), config->source);

	free(config->source);
	config->source = source;
	mem_replace(&config->server, NULL);
	fault = url_check_server(address, &config->server);
	if (fault != NULL)
		return error_set(err, "API server address: found \"%s\": %s", url_shown(address), fault);
	return 0;
}

static const char *unless_empty(const char *text)
{
	return text != NULL && *text != '\0' ? text : NULL;
}

int kube_config_load(const char *address, const char *kubeconfig, const char *context, struct kube_config *out,
		     struct error *err)
{
	struct kube_config config = {0};
	int result = 0;

	address = unless_empty(address);
	kubeconfig = unless_empty(kubeconfig);
	context = unless_empty(context);
	if (kubeconfig != NULL)
		result = load_kubeconfig(kubeconfig, context, address, &config, err);
	else if (context != NULL)
		result = error_set(err, "context \"%s\": no kubeconfig is known that could have it", context);
	else if (address == NULL)
		result = load_in_cluster(&config, err);
	if (result == 0 && address != NULL)
		result = override_server(address, &config, err);
	if (result == 0 && config.proxy_url == NULL) {
		result = proxy_environment(config.server, &config.proxy_url, err);
		config.environment_proxy = config.proxy_url != NULL;
	}
	if (result < 0) {
		kube_config_free(&config);
		return -1;
	}
	config.no_http2 = unless_empty(getenv("DISABLE_HTTP2")) != NULL;
	*out = config;
	return 0;
}

/* ---- copies ---- */

static char **copy_list(char *const *list)
{
	size_t count = 0;
	char **copy;

	if (list == NULL)
		return NULL;
	while (list[count] != NULL)
		count++;
	copy = mem_calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = mem_strdup(list[i]);
	return copy;
}

static void free_list(char **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

static struct kube_exec *copy_exec(const struct kube_exec *from)
{
	struct kube_exec *to;

	if (from == NULL)
		return NULL;
	to = mem_alloc(sizeof(*to));
	*to = (struct kube_exec){
		.command = mem_strdup(from->command),
		.args = copy_list(from->args),
		.environment = copy_list(from->environment),
		.api_version = mem_strdup(from->api_version),
		.install_hint = mem_strdup(from->install_hint),
		.provide_cluster_info = from->provide_cluster_info,
		.cluster_config = mem_strdup(from->cluster_config),
		.place = mem_strdup(from->place),
	};
	return to;
}

static void free_exec(struct kube_exec *exec)
{
	if (exec == NULL)
		return;
	free(exec->command);
	free_list(exec->args);
	free_list(exec->environment);
	free(exec->api_version);
	free(exec->install_hint);
	free(exec->cluster_config);
	free(exec->place);
	free(exec);
}

static void free_secret(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

void kube_config_copy(struct kube_config *to, const struct kube_config *from)
{
	*to = (struct kube_config){
		.server = mem_strdup(from->server),
		.namespace_name = mem_strdup(from->namespace_name),
		.proxy_url = mem_strdup(from->proxy_url),
		.environment_proxy = from->environment_proxy,
		.ca_data = mem_strdup(from->ca_data),
		.ca_file = mem_strdup(from->ca_file),
		.client_cert_data = mem_strdup(from->client_cert_data),
		.client_cert_file = mem_strdup(from->client_cert_file),
		.client_key_data = mem_strdup(from->client_key_data),
		.client_key_file = mem_strdup(from->client_key_file),
		.token = mem_strdup(from->token),
		.token_file = mem_strdup(from->token_file),
		.exec = copy_exec(from->exec),
		.impersonate = copy_list(from->impersonate),
		.tls_server_name = mem_strdup(from->tls_server_name),
		.insecure_skip_tls_verify = from->insecure_skip_tls_verify,
		.no_http2 = from->no_http2,
		.source = mem_strdup(from->source),
	};
}

void kube_config_free(struct kube_config *config)
{
	free(config->server);
	free(config->namespace_name);
	free_secret(config->proxy_url);
	free(config->ca_data);
	free(config->ca_file);
	free(config->client_cert_data);
	free(config->client_cert_file);
	free_secret(config->client_key_data);
	free(config->client_key_file);
	free_secret(config->token);
	free(config->token_file);
	free_exec(config->exec);
	free_list(config->impersonate);
	free(config->tls_server_name);
	free(config->source);
	*config = (struct kube_config){0};
}
