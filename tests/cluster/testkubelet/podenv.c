/* Environment and command line of a container; see podenv.h. */
#include "tests/cluster/testkubelet/podenv.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"

static size_t find(const struct podenv *env, const char *name)
{
	size_t i = 0;

	while (i < env->count && strcmp(env->names[i], name) != 0)
		i++;
	return i;
}

void podenv_set(struct podenv *env, const char *name, const char *value)
{
	size_t at = find(env, name);

	if (at < env->count) {
		mem_replace(&env->values[at], value);
		return;
	}
	env->names = mem_realloc(env->names, env->count + 1, sizeof(env->names[0]));
	env->values = mem_realloc(env->values, env->count + 1, sizeof(env->values[0]));
	env->names[env->count] = mem_strdup(name);
	env->values[env->count++] = mem_strdup(value);
}

const char *podenv_get(const struct podenv *env, const char *name)
{
	size_t at = find(env, name);

	return at < env->count ? env->values[at] : NULL;
}

void podenv_free(struct podenv *env)
{
	for (size_t i = 0; i < env->count; i++) {
		free(env->names[i]);
		free(env->values[i]);
	}
	free(env->names);
	free(env->values);
	*env = (struct podenv){0};
}

char **podenv_list(const struct podenv *env)
{
	char **list = mem_calloc(env->count + 1, sizeof(list[0]));

	for (size_t i = 0; i < env->count; i++)
		list[i] = mem_printf("%s=%s", env->names[i], env->values[i]);
	return list;
}

void podenv_free_list(char **list)
{
	if (list == NULL)
		return;
	for (size_t i = 0; list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

char *podenv_expand(const struct podenv *env, const char *text)
{
	struct buf out = {0};

	while (*text != '\0') {
		const char *close;

		if (text[0] == '$' && text[1] == '$') {
			buf_putc(&out, '$');
			text += 2;
		} else if (text[0] == '$' && text[1] == '(' && (close = strchr(text, ')')) != NULL) {
			cleanup_free char *name = mem_strndup(text + 2, (size_t)(close - text - 2));
			const char *value = podenv_get(env, name);

			if (value != NULL)
				buf_puts(&out, value);
			else
				buf_append(&out, text, (size_t)(close - text + 1));
			text = close + 1;
		} else {
			buf_putc(&out, *text++);
		}
	}
	return buf_steal(&out);
}

/* All keys as the downward API lists them: key="escaped value" lines in order of the keys. */
static char *format_map(json_t *map)
{
	struct buf out = {0};
	size_t count = json_object_size(map), i = 0;
	const char **keys = mem_calloc(count, sizeof(keys[0]));
	const char *key;
	json_t *value;

	json_object_foreach(map, key, value) {
		size_t at = i++;

		for (; at > 0 && strcmp(keys[at - 1], key) > 0; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
	for (i = 0; i < count; i++) {
		const char *text = json_str(map, keys[i]);

		buf_printf(&out, "%s%s=", i == 0 ? "" : "\n", keys[i]);
		buf_json_string(&out, text == NULL ? "" : text);
	}
	free(keys);
	return buf_steal(&out);
}

/* path is prefix['key']: the key in *key (the caller frees) and true. */
static bool subscript(const char *path, const char *prefix, char **key)
{
	size_t len = strlen(prefix), total = strlen(path);

	if (strncmp(path, prefix, len) != 0 || total < len + 4 || strncmp(path + len, "['", 2) != 0 ||
	    strcmp(path + total - 2, "']") != 0)
		return false;
	*key = mem_strndup(path + len + 2, total - len - 4);
	return true;
}

static char *text_or_empty(const char *text)
{
	return mem_strdup(text == NULL ? "" : text);
}

char *podenv_field(const json_t *pod, const char *path, const struct podenv_facts *facts)
{
	static const struct {
		const char *path, *part, *name;
	} plain[] = {
		{"metadata.name", "metadata", "name"},
		{"metadata.namespace", "metadata", "namespace"},
		{"metadata.uid", "metadata", "uid"},
		{"spec.serviceAccountName", "spec", "serviceAccountName"},
	};
	static const char *const maps[] = {"labels", "annotations"};

	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (strcmp(path, plain[i].path) == 0)
			return text_or_empty(json_str(json_object_get(pod, plain[i].part), plain[i].name));
	if (strcmp(path, "spec.nodeName") == 0)
		return text_or_empty(facts->node_name);
	if (strcmp(path, "status.podIP") == 0 || strcmp(path, "status.podIPs") == 0)
		return text_or_empty(facts->pod_ip);
	if (strcmp(path, "status.hostIP") == 0 || strcmp(path, "status.hostIPs") == 0)
		return text_or_empty(facts->host_ip);
	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		cleanup_free char *prefix = mem_printf("metadata.%s", maps[i]);
		cleanup_free char *key = NULL;
		json_t *map = json_path(pod, "metadata", maps[i], NULL);

		if (strcmp(path, prefix) == 0)
			return format_map(map);
		if (subscript(path, prefix, &key))
			return text_or_empty(json_str(map, key));
	}
	return NULL;
}

size_t podenv_add_container(struct podenv *env, const json_t *pod, const json_t *container,
			    const struct podenv_facts *facts)
{
	size_t i, missing = 0;
	json_t *entry;

	json_array_foreach(json_object_get(container, "env"), i, entry) {
		const char *name = json_str(entry, "name");
		const char *value = json_str(entry, "value");
		json_t *from = json_object_get(entry, "valueFrom");
		const char *path = json_str(json_object_get(from, "fieldRef"), "fieldPath");
		cleanup_free char *resolved = NULL;
		const char *kind;
		json_t *ref;

		if (name == NULL || name[0] == '\0')
			continue;
		if (!json_is_object(from))
			resolved = podenv_expand(env, value == NULL ? "" : value);
		else if (path != NULL)
			resolved = podenv_field(pod, path, facts);
		if (resolved != NULL) {
			podenv_set(env, name, resolved);
			continue;
		}
		missing++;
		json_object_foreach(from, kind, ref) {
			if (json_bool(ref, "optional", false))
				missing--;
		}
	}
	return missing;
}

char **podenv_command(const struct podenv *env, const json_t *container)
{
	const json_t *command = json_object_get(container, "command");
	const json_t *args = json_object_get(container, "args");
	size_t commands = json_array_size(command), count = commands + json_array_size(args), at = 0;
	char **list;

	if (count == 0)
		return NULL;
	list = mem_calloc(count + 3, sizeof(list[0]));
	if (commands == 0 && count == 1) {
		list[at++] = mem_strdup("sh");
		list[at++] = mem_strdup("-c");
	}
	for (size_t i = 0; i < count; i++) {
		const json_t *word = i < commands ? json_array_get(command, i) : json_array_get(args, i - commands);
		const char *text = json_string_value(word);

		list[at++] = podenv_expand(env, text == NULL ? "" : text);
	}
	return list;
}
