/* Writes and reads ExecCredential; see exec_credential.h. */
#include "common/kube/config/exec_credential.h"

#include <ctype.h>
#include <jansson.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"

static void set_string(json_t *object, const char *name, const char *text)
{
	if (text != NULL)
		json_object_set_new(object, name, json_string(text));
}

static json_t *describe_cluster(const struct kube_config *config, const char *ca)
{
	json_t *cluster = json_object();

	set_string(cluster, "server", config->server);
	set_string(cluster, "tls-server-name", config->tls_server_name);
	if (!config->environment_proxy) /* that it has anyway */
		set_string(cluster, "proxy-url", config->proxy_url);
	if (config->insecure_skip_tls_verify)
		json_object_set_new(cluster, "insecure-skip-tls-verify", json_true());
	if (ca != NULL) {
		size_t room = (strlen(ca) + 2) / 3 * 4 + 1;
		cleanup_free char *encoded = mem_alloc(room);

		if (b64_ntop((const unsigned char *)ca, strlen(ca), encoded, room) > 0)
			set_string(cluster, "certificate-authority-data", encoded);
	}
	if (config->exec->cluster_config != NULL) {
		struct error err;

		json_object_set_new(
			cluster, "config",
			json_parse(config->exec->cluster_config, strlen(config->exec->cluster_config), &err));
	}
	return cluster;
}

char *exec_credential_ask(const struct kube_config *config, const char *ca)
{
	cleanup_json json_t *info = json_object();
	json_t *spec = json_object();

	set_string(info, "apiVersion", config->exec->api_version);
	set_string(info, "kind", "ExecCredential");
	if (config->exec->provide_cluster_info)
		json_object_set_new(spec, "cluster", describe_cluster(config, ca));
	json_object_set_new(spec, "interactive", json_false());
	json_object_set_new(info, "spec", spec);
	return json_text(info);
}

/* status[name] as a string; null and "" are as good as none. */
static int take(const json_t *status, const char *name, char **out, struct error *err)
{
	const json_t *value = json_object_get(status, name);

	if (value == NULL || json_is_null(value))
		return 0;
	if (!json_is_string(value))
		return error_set(err, "status.%s: found something else, expected a string", name);
	/* jansson lets NUL escapes in */
	if (strlen(json_string_value(value)) != json_string_length(value))
		return error_set(err, "status.%s: found a NUL character in it", name);
	if (*json_string_value(value) != '\0')
		*out = mem_strdup(json_string_value(value));
	return 0;
}

static int check_pem(const char *name, const char *text, struct error *err)
{
	if (text == NULL || strstr(text, "-----BEGIN ") != NULL)
		return 0;
	return error_set(err, "status.%s: found no \"-----BEGIN \", expected PEM", name);
}

static int read_expiry(const json_t *status, int64_t *out, struct error *err)
{
	cleanup_free char *text = NULL;

	*out = INT64_MAX;
	if (take(status, "expirationTimestamp", &text, err) < 0)
		return -1;
	if (text != NULL && time_parse_rfc3339(text, out) < 0)
		return error_set(err, "status.expirationTimestamp: found \"%.64s\", expected an RFC 3339 time", text);
	return 0;
}

static int read_status(const json_t *status, struct exec_credential *out, struct error *err)
{
	if (!json_is_object(status))
		return error_set(err, "status: found none, expected an object with credentials");
	if (take(status, "token", &out->token, err) < 0 ||
	    take(status, "clientCertificateData", &out->client_cert, err) < 0 ||
	    take(status, "clientKeyData", &out->client_key, err) < 0 ||
	    check_pem("clientCertificateData", out->client_cert, err) < 0 ||
	    check_pem("clientKeyData", out->client_key, err) < 0 || read_expiry(status, &out->expires_s, err) < 0)
		return -1;
	for (const char *at = out->token; at != NULL && *at != '\0'; at++)
		if (iscntrl((unsigned char)*at)) /* it would be a header of its own */
			return error_set(err, "status.token: found a control character in it");
	if ((out->client_cert == NULL) != (out->client_key == NULL))
		return error_set(err, "status: found only one of clientCertificateData and clientKeyData, expected "
				      "both");
	if (out->token == NULL && out->client_cert == NULL)
		return error_set(err, "status: found neither a token nor a client certificate");
	return 0;
}

int exec_credential_read(const struct kube_exec *exec, const char *text, size_t len, struct exec_credential *out,
			 struct error *err)
{
	struct exec_credential credential = {0};
	struct error where;
	cleanup_json json_t *root = json_parse(text, len, &where);
	const char *kind = json_str(root, "kind");
	const char *version = json_str(root, "apiVersion");

	/* (the message does not contain the text: it may be a bare token) */
	if (root == NULL)
		return error_set(err, "found %zu bytes that are not JSON, expected an ExecCredential", len);
	if (kind == NULL || strcmp(kind, "ExecCredential") != 0)
		return error_set(err, "kind: found %.64s, expected \"ExecCredential\"", kind == NULL ? "none" : kind);
	if (version == NULL || strcmp(version, exec->api_version) != 0)
		return error_set(err, "apiVersion: found %.64s, expected \"%s\", as the kubeconfig has it",
				 version == NULL ? "none" : version, exec->api_version);
	if (read_status(json_object_get(root, "status"), &credential, err) < 0) {
		exec_credential_free(&credential);
		return -1;
	}
	*out = credential;
	return 0;
}

void exec_credential_free(struct exec_credential *credential)
{
	mem_free_secret(credential->token);
	mem_free_secret(credential->client_cert);
	mem_free_secret(credential->client_key);
	*credential = (struct exec_credential){0};
}
