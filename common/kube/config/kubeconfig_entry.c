/* Entries of a kubeconfig: their fields, and the credentials in `users`; see kubeconfig_entry.h. */
#include "common/kube/config/kubeconfig_entry.h"

#include <ctype.h>
#include <resolv.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

#define EXEC_API "client.authentication.k8s.io/"

/* ---- fields ---- */

void section_free(struct section *section)
{
	free(section->name);
	*section = (struct section){0};
}

int section_error(const struct section *section, const char *key, struct error *err, const char *format, ...)
{
	const struct yaml_node *node = yaml_get(section->map, key);
	char text[512];
	va_list arguments;

	if (node == NULL)
		node = section->map != NULL ? section->map : section->entry;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return yaml_error(node, err, "%s.%s: %s", section->name, key, text);
}

int section_string(const struct section *section, const char *key, char **out, struct error *err)
{
	const struct yaml_node *node = yaml_get(section->map, key);
	cleanup_free char *what = NULL;
	const char *text;

	if (yaml_is_null(node))
		return 0;
	what = mem_printf("%s.%s", section->name, key);
	if (yaml_as_string(node, what, &text, err) < 0)
		return -1;
	if (*text != '\0')
		mem_replace(out, text);
	return 0;
}

int section_secret(const struct section *section, const char *key, char **out, struct error *err)
{
	if (section_string(section, key, out, err) < 0)
		return section_error(section, key, err, "found something else, expected a string (quote it)");
	return 0;
}

/* *path (owned, replaced) relative to the directory of the file that the section is in. */
static void section_resolve(const struct section *section, char **path)
{
	const char *file = section->map->file;
	const char *slash = strrchr(file, '/');
	char *joined;

	if (**path == '/' || slash == NULL)
		return;
	joined = mem_printf("%.*s/%s", (int)(slash - file), file, *path);
	free(*path);
	*path = joined;
}

int section_path(const struct section *section, const char *key, char **out, struct error *err)
{
	if (section_string(section, key, out, err) < 0)
		return -1;
	if (*out != NULL)
		section_resolve(section, out);
	return 0;
}

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

int section_data(const struct section *section, const char *key, char **out, struct error *err)
{
	cleanup_free char *text = NULL;

	if (section_secret(section, key, &text, err) < 0)
		return -1;
	if (text == NULL)
		return 0;
	*out = decode_base64(text);
	if (*out == NULL)
		return section_error(section, key, err, "found text that is not base64, expected PEM in base64");
	return 0;
}

int section_bool(const struct section *section, const char *key, bool *out, struct error *err)
{
	const struct yaml_node *node = yaml_get(section->map, key);
	cleanup_free char *what = NULL;

	if (yaml_is_null(node))
		return 0;
	what = mem_printf("%s.%s", section->name, key);
	return yaml_as_bool(node, what, out, err);
}

/* Appends the text, which the list owns afterwards. */
static void section_append(char ***list, size_t *count, char *text)
{
	*list = mem_realloc(*list, *count + 2, sizeof(**list));
	(*list)[(*count)++] = text;
	(*list)[*count] = NULL;
}

/* A list of strings, appended to *list, which ends with NULL; *count without that. prefix is put before each. A line
 * break in one is an error, because it may become a header. */
static int section_list(const struct section *section, const char *key, const char *prefix, char ***list, size_t *count,
			struct error *err)
{
	const struct yaml_node *node = yaml_get(section->map, key);
	cleanup_free char *what = NULL;

	if (yaml_is_null(node))
		return 0;
	what = mem_printf("%s.%s", section->name, key);
	if (yaml_check_kind(node, what, YAML_SEQUENCE, err) < 0)
		return -1;
	for (size_t i = 0; i < node->count; i++) {
		cleanup_free char *place = mem_printf("%s[%zu]", what, i);
		const char *text;

		if (yaml_as_string(node->items[i], place, &text, err) < 0)
			return -1;
		for (const char *at = text; *prefix != '\0' && *at != '\0'; at++)
			if (iscntrl((unsigned char)*at))
				return yaml_error(node->items[i], err, "%s: found a control character in it", place);
		section_append(list, count, mem_printf("%s%s", prefix, text));
	}
	return 0;
}

/* A mapping within the section: 1 and *out, 0 when absent or null, -1 and *err. */
static int section_sub(const struct section *section, const char *key, struct section *out, struct error *err)
{
	const struct yaml_node *node = yaml_get(section->map, key);

	if (yaml_is_null(node))
		return 0;
	out->name = mem_printf("%s.%s", section->name, key);
	out->entry = section->entry;
	out->map = node;
	return yaml_check_kind(node, out->name, YAML_MAPPING, err) < 0 ? -1 : 1;
}

/* ---- users ---- */

/* Rejects control characters: a value that becomes part of a header must not end the header. */
static int check_line(const struct section *section, const char *key, const char *text, struct error *err)
{
	for (const char *at = text; at != NULL && *at != '\0'; at++)
		if (iscntrl((unsigned char)*at))
			return section_error(section, key, err, "found a control character in it");
	return 0;
}

/* ---- impersonation ---- */

/* Sends as client-go: every byte of the key that no header name may have is percent-encoded, and so is '%'. */
static char *extra_header(const char *key)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&'*+-.^_`|~";
	char *out = mem_strdup("Impersonate-Extra-");

	for (; *key != '\0'; key++) {
		char *longer = strchr(allowed, *key) != NULL ? mem_printf("%s%c", out, *key)
							     : mem_printf("%s%%%02X", out, (unsigned char)*key);

		free(out);
		out = longer;
	}
	return out;
}

static int read_extra(const struct section *user, char ***lines, size_t *count, struct error *err)
{
	cleanup_section struct section extra = {0};
	int found = section_sub(user, "as-user-extra", &extra, err);

	for (size_t i = 0; found > 0 && i < extra.map->count; i++) {
		const char *key = extra.map->keys[i]->text;
		cleanup_free char *name = extra_header(key);
		cleanup_free char *prefix = mem_printf("%s: ", name);

		if (section_list(&extra, key, prefix, lines, count, err) < 0)
			return -1;
	}
	return found < 0 ? -1 : 0;
}

static int read_impersonation(const struct section *user, struct kube_config *config, struct error *err)
{
	cleanup_free char *name = NULL;
	cleanup_free char *uid = NULL;
	size_t count = 0;

	if (section_string(user, "as", &name, err) < 0 || check_line(user, "as", name, err) < 0 ||
	    section_string(user, "as-uid", &uid, err) < 0 || check_line(user, "as-uid", uid, err) < 0)
		return -1;
	if (name != NULL)
		section_append(&config->impersonate, &count, mem_printf("Impersonate-User: %s", name));
	if (uid != NULL)
		section_append(&config->impersonate, &count, mem_printf("Impersonate-Uid: %s", uid));
	if (section_list(user, "as-groups", "Impersonate-Group: ", &config->impersonate, &count, err) < 0 ||
	    read_extra(user, &config->impersonate, &count, err) < 0)
		return -1;
	if (count > 0 && name == NULL)
		return section_error(user, "as", err,
				     "found none beside as-uid, as-groups or as-user-extra, expected "
				     "a user name");
	return 0;
}

/* ---- exec plugins ---- */

static int read_environment(const struct section *section, struct kube_exec *exec, struct error *err)
{
	const struct yaml_node *list = yaml_get(section->map, "env");
	cleanup_free char *what = mem_printf("%s.env", section->name);
	size_t count = 0;

	if (yaml_is_null(list))
		return 0;
	if (yaml_check_kind(list, what, YAML_SEQUENCE, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		cleanup_section struct section item = {
			.entry = list->items[i], .map = list->items[i], .name = mem_printf("%s[%zu]", what, i)};
		cleanup_free char *name = NULL;
		cleanup_free char *value = NULL;

		if (yaml_check_kind(item.map, item.name, YAML_MAPPING, err) < 0 ||
		    section_string(&item, "name", &name, err) < 0 || section_secret(&item, "value", &value, err) < 0)
			return -1;
		if (name == NULL || strchr(name, '=') != NULL)
			return section_error(&item, "name", err, "found %s, expected the name of a variable",
					     name == NULL ? "none" : name);
		section_append(&exec->environment, &count, mem_printf("%s=%s", name, value == NULL ? "" : value));
	}
	return 0;
}

/* A controller has no terminal to lend: whoever insists on one is refused, all others get an empty standard input. */
static int check_interactive(const struct section *section, const struct kube_exec *exec, struct error *err)
{
	cleanup_free char *mode = NULL;

	if (section_string(section, "interactiveMode", &mode, err) < 0)
		return -1;
	if (mode == NULL && strcmp(exec->api_version, EXEC_API "v1") == 0)
		return section_error(section, "interactiveMode", err,
				     "found none, expected \"Never\" or \"IfAvailable\", which " EXEC_API
				     "v1 requires");
	if (mode == NULL || strcmp(mode, "Never") == 0 || strcmp(mode, "IfAvailable") == 0)
		return 0;
	return section_error(section, "interactiveMode", err,
			     "found \"%s\", expected \"Never\" or \"IfAvailable\": there is no terminal here", mode);
}

static int read_exec(const struct section *user, struct kube_config *config, struct error *err)
{
	cleanup_section struct section section = {0};
	struct kube_exec *exec;
	size_t count = 0;
	int found = section_sub(user, "exec", &section, err);

	if (found <= 0)
		return found;
	exec = mem_calloc(1, sizeof(*exec));
	config->exec = exec;
	exec->place = mem_printf("%s of %s", section.name, section.map->file);
	if (section_string(&section, "command", &exec->command, err) < 0 ||
	    section_list(&section, "args", "", &exec->args, &count, err) < 0 ||
	    section_string(&section, "apiVersion", &exec->api_version, err) < 0 ||
	    section_string(&section, "installHint", &exec->install_hint, err) < 0 ||
	    section_bool(&section, "provideClusterInfo", &exec->provide_cluster_info, err) < 0 ||
	    read_environment(&section, exec, err) < 0)
		return -1;
	if (exec->command == NULL)
		return section_error(&section, "command", err, "found none, expected a command");
	if (strchr(exec->command, '/') != NULL)
		section_resolve(&section, &exec->command);
	if (exec->api_version == NULL ||
	    (strcmp(exec->api_version, EXEC_API "v1") != 0 && strcmp(exec->api_version, EXEC_API "v1beta1") != 0))
		return section_error(&section, "apiVersion", err,
				     "found %s, expected \"" EXEC_API "v1\" or \"" EXEC_API "v1beta1\"",
				     exec->api_version == NULL ? "none" : exec->api_version);
	return check_interactive(&section, exec, err);
}

/* ---- all of a user ---- */

static int read_secrets(const struct section *user, struct kube_config *config, struct error *err)
{
	if (section_secret(user, "token", &config->token, err) < 0 ||
	    section_path(user, "tokenFile", &config->token_file, err) < 0 ||
	    section_path(user, "client-certificate", &config->client_cert_file, err) < 0 ||
	    section_data(user, "client-certificate-data", &config->client_cert_data, err) < 0 ||
	    section_path(user, "client-key", &config->client_key_file, err) < 0 ||
	    section_data(user, "client-key-data", &config->client_key_data, err) < 0)
		return -1;
	return check_line(user, "token", config->token, err);
}

/* As client-go has it: inline data goes before files, but a tokenFile before a token, and a token before what a
 * plugin says. */
static void settle_precedence(struct kube_config *config)
{
	if (config->client_cert_data != NULL)
		mem_replace(&config->client_cert_file, NULL);
	if (config->client_key_data != NULL)
		mem_replace(&config->client_key_file, NULL);
	if (config->token_file != NULL)
		mem_replace(&config->token, NULL);
}

/* They would be sent as HTTP's basic authentication. */
static int refuse_password(const struct section *user, struct error *err)
{
	static const char *const keys[] = {"username", "password"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		cleanup_free char *text = NULL;

		if (section_secret(user, keys[i], &text, err) < 0)
			return -1;
		if (text != NULL)
			return section_error(user, keys[i], err,
					     "found one, expected a token, client-certificate or exec: kube-apiserver "
					     "dropped passwords in Kubernetes 1.19");
	}
	return 0;
}

int kubeconfig_user_read(const struct section *user, struct kube_config *config, struct error *err)
{
	if (!yaml_is_null(yaml_get(user->map, "auth-provider")))
		return section_error(user, "auth-provider", err,
				     "found one, expected exec: client-go dropped auth-provider in Kubernetes 1.26");
	if (refuse_password(user, err) < 0 || read_secrets(user, config, err) < 0 || read_exec(user, config, err) < 0 ||
	    read_impersonation(user, config, err) < 0)
		return -1;
	if ((config->client_cert_file != NULL || config->client_cert_data != NULL) !=
	    (config->client_key_file != NULL || config->client_key_data != NULL))
		return yaml_error(user->map, err,
				  "%s: found only one of client-certificate and client-key, expected both", user->name);
	settle_precedence(config);
	return 0;
}
