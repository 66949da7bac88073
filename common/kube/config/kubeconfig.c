/* Kubeconfig files (which entries of which file count), in-cluster settings, plain addresses, and the choice between
 * them; see kubeconfig.h. kubeconfig_entry.c reads user entries. */
#include "common/kube/kubeconfig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/kube/config/kubeconfig_entry.h"
#include "common/kube/config/proxy_environment.h"
#include "common/kube/config/url.h"

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* A list of more is a mistake; each is at most YAML_MAX_BYTES long. */
enum { FILES_MAX = 64 };
/* Where a cluster says something to the exec plugin (client-go's pkg/apis/clientauthentication). */
#define EXEC_EXTENSION "client.authentication.k8s.io/exec"

/* ---- kubeconfig files ---- */

/* The files, first first. */
struct files {
	struct yaml_node *roots[FILES_MAX];
	size_t count;
};

static void free_files(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		yaml_tree_free(files->roots[i]);
}

static int load_file(struct files *files, const char *path, struct error *err)
{
	struct yaml_node *root;

	if (files->count == FILES_MAX)
		return error_set(err, "found more than %d files, expected fewer", FILES_MAX);
	if (yaml_load_file(path, &root, err) < 0)
		return -1;
	files->roots[files->count++] = root;
	if (yaml_is_null(root))
		return 0; /* an empty file says nothing */
	return yaml_check_kind(root, "top level", YAML_MAPPING, err);
}

/* A file that is named alone must exist; of several only one has to. */
static int load_files(const char *paths, struct files *files, struct error *err)
{
	bool several = strchr(paths, ':') != NULL;
	cleanup_free char *rest = mem_strdup(paths);
	char *state = NULL;

	for (char *path = strtok_r(rest, ":", &state); path != NULL; path = strtok_r(NULL, ":", &state)) {
		if (several && access(path, F_OK) != 0)
			continue;
		if (load_file(files, path, err) < 0)
			return -1;
	}
	if (files->count == 0)
		return error_set(err, "none of %s exists", paths);
	return 0;
}

/* ---- entries ---- */

/* Finds the entry of this name in one file's list. 1, 0 when there is none, or -1 and *err. */
static int find_in_file(const struct yaml_node *root, const char *list, const char *name, const struct yaml_node **out,
			struct error *err)
{
	const struct yaml_node *entries = yaml_get(root, list);
	int found = 0;

	if (yaml_is_null(entries))
		return 0;
	if (yaml_check_kind(entries, list, YAML_SEQUENCE, err) < 0)
		return -1;
	for (size_t i = 0; i < entries->count; i++) {
		const struct yaml_node *entry = entries->items[i];
		cleanup_free char *place = mem_printf("%s[%zu]", list, i);
		cleanup_free char *what = mem_printf("%s[%zu].name", list, i);
		const char *text;

		if (yaml_check_kind(entry, place, YAML_MAPPING, err) < 0)
			return -1;
		if (yaml_get(entry, "name") == NULL)
			return yaml_error(entry, err, "%s: found none, expected a name", what);
		if (yaml_as_string(yaml_get(entry, "name"), what, &text, err) < 0)
			return -1;
		if (strcmp(text, name) != 0)
			continue;
		if (found)
			return yaml_error(entry, err, "%s: found \"%s\" a second time, expected each name once", what,
					  name);
		*out = entry;
		found = 1;
	}
	return found;
}

/* Finds list[name], in the first file that has it, and gives its value of `key`; an entry without one gives an empty
 * section. *found: whether there is one. */
static int find_entry(const struct files *files, const char *list, const char *key, const char *name,
		      struct section *out, bool *found, struct error *err)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct yaml_node *entry = NULL;
		int result = find_in_file(files->roots[i], list, name, &entry, err);

		if (result < 0)
			return -1;
		if (result == 0)
			continue;
		out->name = mem_printf("%s[\"%s\"].%s", list, name, key);
		out->entry = entry;
		out->map = yaml_get(entry, key);
		*found = true;
		if (!yaml_is_null(out->map))
			return yaml_check_kind(out->map, out->name, YAML_MAPPING, err);
		out->map = NULL;
		return 0;
	}
	return 0;
}

/* The entry that a field of another section names; when the field is empty, so is the section. */
static int find_named(const struct files *files, const struct section *from, const char *field, const char *list,
		      struct section *out, struct error *err)
{
	cleanup_free char *what = mem_printf("%s.%s", from->name, field);
	const struct yaml_node *node = yaml_get(from->map, field);
	const char *name;
	bool found = false;

	if (yaml_is_null(node))
		return 0;
	if (yaml_as_string(node, what, &name, err) < 0)
		return -1;
	if (*name == '\0')
		return 0;
	if (find_entry(files, list, field, name, out, &found, err) < 0)
		return -1;
	if (!found)
		return yaml_error(node, err, "%s: found \"%s\", expected the name of an entry of %s", what, name, list);
	return 0;
}

/* ---- context and cluster ---- */

/* The first current-context that is set. NULL in *out: none. */
static int current_context(const struct files *files, const struct yaml_node **out, const char **name,
			   struct error *err)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct yaml_node *node = yaml_get(files->roots[i], "current-context");

		if (yaml_is_null(node))
			continue;
		if (yaml_as_string(node, "current-context", name, err) < 0)
			return -1;
		if (**name != '\0') {
			*out = node;
			return 0;
		}
	}
	return error_set(err, "%s:1:1: current-context: found none, expected the name of a context",
			 files->roots[0]->file);
}

static int find_context(const struct files *files, const char *context, char **used, struct section *out,
			struct error *err)
{
	const struct yaml_node *named_by = NULL;
	bool found = false;

	if (context == NULL) /* found ones are not NULL, which the analyser does not see */
		if (current_context(files, &named_by, &context, err) < 0 || context == NULL)
			return -1;
	*used = mem_strdup(context);
	if (find_entry(files, "contexts", "context", context, out, &found, err) < 0)
		return -1;
	if (found && out->map == NULL)
		return yaml_error(out->entry, err, "%s: found none, expected cluster and user", out->name);
	if (found)
		return 0;
	if (named_by != NULL)
		return yaml_error(named_by, err,
				  "current-context: found \"%s\", expected the name of an entry of contexts", context);
	return error_set(err, "%s: found no such context", files->roots[0]->file);
}

static int read_server(const struct section *cluster, struct kube_config *config, struct error *err)
{
	cleanup_free char *server = NULL;
	cleanup_free char *proxy = NULL;
	const char *fault;

	if (section_string(cluster, "server", &server, err) < 0 ||
	    section_secret(cluster, "proxy-url", &proxy, err) < 0)
		return -1;
	fault = server == NULL ? NULL : url_check_server(server, &config->server);
	if (fault != NULL)
		return section_error(cluster, "server", err, "found \"%s\": %s", url_redacted(server), fault);
	fault = proxy == NULL ? NULL : url_check_proxy(proxy, &config->proxy_url);
	if (fault != NULL)
		return section_error(cluster, "proxy-url", err, "found \"%s\": %s", url_redacted(proxy), fault);
	return 0;
}

static int read_cluster(const struct section *cluster, struct kube_config *config, struct error *err)
{
	if (read_server(cluster, config, err) < 0 ||
	    section_path(cluster, "certificate-authority", &config->ca_file, err) < 0 ||
	    section_data(cluster, "certificate-authority-data", &config->ca_data, err) < 0 ||
	    section_string(cluster, "tls-server-name", &config->tls_server_name, err) < 0 ||
	    section_bool(cluster, "insecure-skip-tls-verify", &config->insecure_skip_tls_verify, err) < 0)
		return -1;
	/* inline data goes before files */
	if (config->ca_data != NULL)
		mem_replace(&config->ca_file, NULL);
	if (config->insecure_skip_tls_verify && (config->ca_data != NULL || config->ca_file != NULL))
		return section_error(cluster, "insecure-skip-tls-verify", err,
				     "found true beside a certificate authority, expected one of them");
	return 0;
}

/* The cluster's extension for exec plugins, as JSON, or NULL. */
static char *exec_extension(const struct section *cluster)
{
	const struct yaml_node *extensions = yaml_get(cluster->map, "extensions");

	if (extensions == NULL || extensions->kind != YAML_SEQUENCE)
		return NULL;
	for (size_t i = 0; i < extensions->count; i++) {
		const struct yaml_node *name = yaml_get(extensions->items[i], "name");

		if (name != NULL && name->kind == YAML_SCALAR && strcmp(name->text, EXEC_EXTENSION) == 0 &&
		    yaml_get(extensions->items[i], "extension") != NULL) {
			cleanup_json json_t *value = yaml_to_json(yaml_get(extensions->items[i], "extension"));

			return json_text(value);
		}
	}
	return NULL;
}

static int read_files(const struct files *files, const char *context, bool server_needed, struct kube_config *config,
		      char **used, struct error *err)
{
	cleanup_section struct section chosen = {0};
	cleanup_section struct section cluster = {0};
	cleanup_section struct section user = {0};

	if (find_context(files, context, used, &chosen, err) < 0 ||
	    section_string(&chosen, "namespace", &config->namespace_name, err) < 0 ||
	    find_named(files, &chosen, "cluster", "clusters", &cluster, err) < 0 ||
	    find_named(files, &chosen, "user", "users", &user, err) < 0 || read_cluster(&cluster, config, err) < 0 ||
	    kubeconfig_user_read(&user, config, err) < 0)
		return -1;
	if (config->exec != NULL)
		config->exec->cluster_config = exec_extension(&cluster);
	if (config->server != NULL || !server_needed)
		return 0;
	if (cluster.name == NULL)
		return yaml_error(chosen.map, err, "%s.cluster: found none, expected the name of a cluster",
				  chosen.name);
	return section_error(&cluster, "server", err, "found none, expected http[s]://host:port");
}

/* ---- in-cluster ---- */

static const char *service_account_dir(void)
{
	const char *dir = getenv("KUBERNETES_SERVICE_ACCOUNT_DIR");

	return dir == NULL || *dir == '\0' ? SERVICE_ACCOUNT_DIR : dir;
}

char *kube_config_own_namespace(void)
{
	cleanup_free char *path = mem_printf("%s/namespace", service_account_dir());
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
	const char *dir = service_account_dir();
	cleanup_free char *server = NULL;
	cleanup_free char *ca = NULL;
	const char *fault;

	if (host == NULL || *host == '\0' || port == NULL || *port == '\0')
		return error_set(err, "found no API server: no address is set (--address, $KUBE_APISERVER_ADDRESS), "
				      "no kubeconfig exists (--kubeconfig, $KUBECONFIG, ~/.kube/config), and "
				      "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
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
	config->namespace_name = kube_config_own_namespace();
	return 0;
}

/* ---- the choice ---- */

static int load_kubeconfig(const char *paths, const char *context, const char *address, struct kube_config *config,
			   struct error *err)
{
	struct files files = {0};
	int result = load_files(paths, &files, err);

	if (result == 0)
		result = read_files(&files, context, address == NULL, config, &config->context, err);
	free_files(&files);
	if (result < 0 && config->context == NULL)
		return error_wrap(err, "kubeconfig");
	if (result < 0)
		return error_wrap(err, "kubeconfig, context \"%s\"", config->context);
	config->kubeconfig = mem_strdup(paths);
	config->source = mem_printf("kubeconfig %s, context \"%s\"", paths, config->context);
	return 0;
}

static int override_server(const char *address, struct kube_config *config, struct error *err)
{
	const char *fault;
	char *source = config->source == NULL ? mem_printf("address %s", url_redacted(address))
					      : mem_printf("address %s with %s", url_redacted(address), config->source);

	free(config->source);
	config->source = source;
	config->address = mem_strdup(address);
	mem_replace(&config->server, NULL);
	mem_replace(&config->tls_server_name, NULL); /* of the other server, as in client-go */
	fault = url_check_server(address, &config->server);
	if (fault != NULL)
		return error_set(err, "API server address: found \"%s\": %s", url_redacted(address), fault);
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
		result = error_set(err, "context \"%s\": found no kubeconfig, expected one with this context", context);
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

static void free_list(char **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
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

void kube_config_free(struct kube_config *config)
{
	free(config->server);
	free(config->namespace_name);
	mem_free_secret(config->proxy_url);
	free(config->ca_data);
	free(config->ca_file);
	free(config->client_cert_data);
	free(config->client_cert_file);
	mem_free_secret(config->client_key_data);
	free(config->client_key_file);
	mem_free_secret(config->token);
	free(config->token_file);
	free_exec(config->exec);
	free_list(config->impersonate);
	free(config->tls_server_name);
	free(config->address);
	free(config->kubeconfig);
	free(config->context);
	free(config->source);
	*config = (struct kube_config){0};
}
