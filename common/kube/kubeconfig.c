/* Kubeconfig files, plain addresses and in-cluster settings; see kubeconfig.h.
 * The format: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ */
#include "common/kube/kubeconfig.h"

#include <ctype.h>
#include <errno.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/yaml.h"

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* ---- addresses ---- */

/* What is shown of an address: all but a user name and password. */
static const char *shown_server(const char *server)
{
	return strchr(server, '@') != NULL ? "…@…" : server;
}

/* "https://host:port/prefix/" → without the slash at the end. What is wrong with it, or NULL. */
static const char *check_server(const char *server, char **out)
{
	const char *host;
	size_t len = strlen(server);

	if (strncmp(server, "https://", 8) == 0)
		host = server + 8;
	else if (strncmp(server, "http://", 7) == 0)
		host = server + 7;
	else
		return "expected http://host:port or https://host:port";
	if (*host == '\0' || *host == '/' || *host == ':')
		return "no host in it";
	for (const char *at = server; *at != '\0'; at++)
		if (isspace((unsigned char)*at) || iscntrl((unsigned char)*at))
			return "white space in it";
	if (memchr(host, '@', strcspn(host, "/")) != NULL)
		return "a user name or password in it, which is not supported";
	if (strpbrk(host, "?#") != NULL)
		return "a query or fragment in it";
	while (server[len - 1] == '/')
		len--;
	*out = mem_strndup(server, len);
	return NULL;
}

/* ---- kubeconfig ---- */

/* NULL when it is no base64, or has NUL bytes, which no PEM has. */
static char *decode_base64(const char *text)
{
	size_t room = strlen(text) / 4 * 3 + 4;
	char *out = mem_calloc(1, room);
	int len = b64_pton(text, (unsigned char *)out, room - 1);

	if (len <= 0 || strlen(out) != (size_t)len) {
		free(out);
		return NULL;
	}
	return out;
}

/* map[key] as a string, copied into *out; absent, null and "" leave it NULL. */
static int take_string(const struct yaml_node *map, const char *key, const char *what, char **out, struct error *err)
{
	const struct yaml_node *node = yaml_get(map, key);
	const char *text;

	if (yaml_is_null(node))
		return 0;
	if (yaml_as_string(node, what, &text, err) < 0)
		return -1;
	if (*text != '\0')
		mem_replace(out, text);
	return 0;
}

/* The same for what must not appear in messages. */
static int take_secret(const struct yaml_node *map, const char *key, const char *what, char **out, struct error *err)
{
	if (take_string(map, key, what, out, err) < 0)
		return yaml_error(yaml_get(map, key), err, "%s: found something else, expected a string (quote it)",
				  what);
	return 0;
}

/* The same for a path, which is relative to the directory of the kubeconfig. */
static int take_path(const struct yaml_node *map, const char *key, const char *what, char **out, struct error *err)
{
	const struct yaml_node *node = yaml_get(map, key);
	const char *slash;
	char *joined;

	if (take_string(map, key, what, out, err) < 0)
		return -1;
	if (*out == NULL || **out == '/')
		return 0;
	slash = strrchr(node->file, '/');
	if (slash == NULL)
		return 0;
	joined = mem_printf("%.*s/%s", (int)(slash - node->file), node->file, *out);
	free(*out);
	*out = joined;
	return 0;
}

/* The same for PEM in base64. */
static int take_data(const struct yaml_node *map, const char *key, const char *what, char **out, struct error *err)
{
	cleanup_free char *text = NULL;

	if (take_secret(map, key, what, &text, err) < 0)
		return -1;
	if (text == NULL)
		return 0;
	*out = decode_base64(text);
	if (*out == NULL)
		return yaml_error(yaml_get(map, key), err, "%s: found text that is not base64, expected PEM in base64",
				  what);
	return 0;
}

/* named_by (its key is `what`) names an entry of root[list]: finds that and gives its value of `key`, a mapping, or
 * NULL when that is empty, as a user without credentials may be. */
static int find_entry(const struct yaml_node *root, const char *list, const char *key, const struct yaml_node *named_by,
		      const char *what, struct yaml_node **out, struct error *err)
{
	const struct yaml_node *entries = yaml_get(root, list);
	const char *name;

	if (yaml_as_string(named_by, what, &name, err) < 0)
		return -1;
	if (!yaml_is_null(entries)) {
		if (yaml_check_kind(entries, list, YAML_SEQUENCE, err) < 0)
			return -1;
		for (size_t i = 0; i < entries->count; i++) {
			char place[64];
			const char *found;
			const struct yaml_node *entry = entries->items[i];

			snprintf(place, sizeof(place), "%s[%zu]", list, i);
			if (yaml_check_kind(entry, place, YAML_MAPPING, err) < 0)
				return -1;
			snprintf(place, sizeof(place), "%s[%zu].name", list, i);
			if (yaml_get(entry, "name") == NULL)
				return yaml_error(entry, err, "%s: found none, expected a name", place);
			if (yaml_as_string(yaml_get(entry, "name"), place, &found, err) < 0)
				return -1;
			if (strcmp(found, name) != 0)
				continue;
			*out = yaml_get(entry, key);
			if (yaml_is_null(*out)) {
				*out = NULL;
				return 0;
			}
			snprintf(place, sizeof(place), "%s[%zu].%s", list, i, key);
			return yaml_check_kind(*out, place, YAML_MAPPING, err);
		}
	}
	return yaml_error(named_by, err, "%s: found \"%s\", expected the name of an entry of %s", what, name, list);
}

static int read_cluster(const struct yaml_node *cluster, struct kube_config *config, struct error *err)
{
	const struct yaml_node *insecure = yaml_get(cluster, "insecure-skip-tls-verify");
	cleanup_free char *server = NULL;
	const char *fault;

	if (!yaml_is_null(yaml_get(cluster, "proxy-url")))
		return yaml_error(yaml_get(cluster, "proxy-url"), err,
				  "cluster.proxy-url: proxies are not supported by this version");
	if (take_string(cluster, "server", "cluster.server", &server, err) < 0 ||
	    take_path(cluster, "certificate-authority", "cluster.certificate-authority", &config->ca_file, err) < 0 ||
	    take_data(cluster, "certificate-authority-data", "cluster.certificate-authority-data", &config->ca_data,
		      err) < 0 ||
	    take_string(cluster, "tls-server-name", "cluster.tls-server-name", &config->tls_server_name, err) < 0)
		return -1;
	if (!yaml_is_null(insecure) &&
	    yaml_as_bool(insecure, "cluster.insecure-skip-tls-verify", &config->insecure_skip_tls_verify, err) < 0)
		return -1;
	if (server == NULL)
		return 0;
	fault = check_server(server, &config->server);
	if (fault != NULL)
		return yaml_error(yaml_get(cluster, "server"), err, "cluster.server: found \"%s\": %s",
				  shown_server(server), fault);
	return 0;
}

static int read_user(const struct yaml_node *user, struct kube_config *config, struct error *err)
{
	static const char *const unsupported[] = {"exec", "auth-provider", "username", "password", "as"};

	for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
		const struct yaml_node *node = yaml_get(user, unsupported[i]);

		if (!yaml_is_null(node))
			return yaml_error(
				node, err,
				"user.%s: not supported by this version; use a token, a tokenFile or a client "
				"certificate",
				unsupported[i]);
	}
	if (take_secret(user, "token", "user.token", &config->token, err) < 0 ||
	    take_path(user, "tokenFile", "user.tokenFile", &config->token_file, err) < 0 ||
	    take_path(user, "client-certificate", "user.client-certificate", &config->client_cert_file, err) < 0 ||
	    take_data(user, "client-certificate-data", "user.client-certificate-data", &config->client_cert_data, err) <
		    0 ||
	    take_path(user, "client-key", "user.client-key", &config->client_key_file, err) < 0 ||
	    take_data(user, "client-key-data", "user.client-key-data", &config->client_key_data, err) < 0)
		return -1;
	for (const char *at = config->token; at != NULL && *at != '\0'; at++)
		if (iscntrl((unsigned char)*at)) /* it would be a header of its own */
			return yaml_error(yaml_get(user, "token"), err, "user.token: found a control character in it");
	if ((config->client_cert_file != NULL || config->client_cert_data != NULL) !=
	    (config->client_key_file != NULL || config->client_key_data != NULL))
		return yaml_error(user, err,
				  "user: found only one of client certificate and client key, expected both");
	return 0;
}

/* As client-go has it: inline data goes before files, but a tokenFile before a token. */
static void settle_precedence(struct kube_config *config)
{
	if (config->ca_data != NULL)
		mem_replace(&config->ca_file, NULL);
	if (config->client_cert_data != NULL)
		mem_replace(&config->client_cert_file, NULL);
	if (config->client_key_data != NULL)
		mem_replace(&config->client_key_file, NULL);
	if (config->token_file != NULL)
		mem_replace(&config->token, NULL);
}

static int read_kubeconfig(const struct yaml_node *root, struct kube_config *config, struct error *err)
{
	const struct yaml_node *current = yaml_get(root, "current-context");
	struct yaml_node *context = NULL;
	struct yaml_node *cluster = NULL;
	struct yaml_node *user = NULL;

	if (yaml_check_kind(root, "kubeconfig", YAML_MAPPING, err) < 0)
		return -1;
	if (yaml_is_null(current))
		return yaml_error(root, err, "current-context: found none, expected the name of a context");
	if (find_entry(root, "contexts", "context", current, "current-context", &context, err) < 0)
		return -1;
	if (context == NULL)
		return yaml_error(current, err, "context \"%s\": found none, expected cluster and user", current->text);
	if (take_string(context, "namespace", "context.namespace", &config->namespace_name, err) < 0)
		return -1;
	if (!yaml_is_null(yaml_get(context, "cluster"))) {
		const struct yaml_node *node = yaml_get(context, "cluster");

		if (find_entry(root, "clusters", "cluster", node, "context.cluster", &cluster, err) < 0 ||
		    read_cluster(cluster, config, err) < 0)
			return -1;
	}
	if (!yaml_is_null(yaml_get(context, "user"))) {
		const struct yaml_node *node = yaml_get(context, "user");

		if (find_entry(root, "users", "user", node, "context.user", &user, err) < 0)
			return -1;
		if (user != NULL && read_user(user, config, err) < 0)
			return -1;
	}
	settle_precedence(config);
	return 0;
}

static int load_file(const char *path, const char *address, struct kube_config *config, struct error *err)
{
	struct yaml_node *root;
	int result;

	if (yaml_load_file(path, &root, err) < 0)
		return error_wrap(err, "kubeconfig");
	config->source = mem_printf("kubeconfig %s", path);
	result = read_kubeconfig(root, config, err);
	if (result == 0 && config->server == NULL && address == NULL)
		result = yaml_error(root, err, "cluster.server: found none, expected http[s]://host:port");
	yaml_tree_free(root);
	return result < 0 ? error_wrap(err, "kubeconfig") : 0;
}

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
		return error_set(err, "no API server is known: no address and no kubeconfig is given, and "
				      "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
	if (dir == NULL || *dir == '\0')
		dir = SERVICE_ACCOUNT_DIR;
	/* an IPv6 address needs its brackets */
	server = mem_printf(strchr(host, ':') != NULL ? "https://[%s]:%s" : "https://%s:%s", host, port);
	fault = check_server(server, &config->server);
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

/* ---- public ---- */

int kube_config_load(const char *address, const char *kubeconfig_path, struct kube_config *out, struct error *err)
{
	struct kube_config config = {0};
	int result = 0;

	if (address != NULL && *address == '\0')
		address = NULL;
	if (kubeconfig_path != NULL && *kubeconfig_path == '\0')
		kubeconfig_path = NULL;
	if (kubeconfig_path != NULL)
		result = load_file(kubeconfig_path, address, &config, err);
	else if (address == NULL)
		result = load_in_cluster(&config, err);
	if (result == 0 && address != NULL) {
		const char *fault;
		char *source = kubeconfig_path == NULL
				       ? mem_printf("address %s", address)
				       : mem_printf("address %s with kubeconfig %s", address, kubeconfig_path);

		free(config.source);
		config.source = source;
		mem_replace(&config.server, NULL);
		fault = check_server(address, &config.server);
		if (fault != NULL)
			result = error_set(err, "API server address: found \"%s\": %s", shown_server(address), fault);
	}
	if (result < 0) {
		kube_config_free(&config);
		return -1;
	}
	*out = config;
	return 0;
}

void kube_config_copy(struct kube_config *to, const struct kube_config *from)
{
	*to = (struct kube_config){
		.server = mem_strdup(from->server),
		.namespace_name = mem_strdup(from->namespace_name),
		.ca_data = mem_strdup(from->ca_data),
		.ca_file = mem_strdup(from->ca_file),
		.client_cert_data = mem_strdup(from->client_cert_data),
		.client_cert_file = mem_strdup(from->client_cert_file),
		.client_key_data = mem_strdup(from->client_key_data),
		.client_key_file = mem_strdup(from->client_key_file),
		.token = mem_strdup(from->token),
		.token_file = mem_strdup(from->token_file),
		.tls_server_name = mem_strdup(from->tls_server_name),
		.insecure_skip_tls_verify = from->insecure_skip_tls_verify,
		.source = mem_strdup(from->source),
	};
}

void kube_config_free(struct kube_config *config)
{
	free(config->server);
	free(config->namespace_name);
	free(config->ca_data);
	free(config->ca_file);
	free(config->client_cert_data);
	free(config->client_cert_file);
	free(config->client_key_data);
	free(config->client_key_file);
	free(config->token);
	free(config->token_file);
	free(config->tls_server_name);
	free(config->source);
	*config = (struct kube_config){0};
}
