/* Fields of kubeconfig entries; see kubeconfig_fields.h. */
#include "common/kube/kubeconfig_fields.h"

#include <ctype.h>
#include <resolv.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

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

void section_resolve(const struct section *section, char **path)
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

void section_append(char ***list, size_t *count, char *text)
{
	*list = mem_realloc(*list, *count + 2, sizeof(**list));
	(*list)[(*count)++] = text;
	(*list)[*count] = NULL;
}

int section_list(const struct section *section, const char *key, const char *prefix, char ***list, size_t *count,
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

int section_sub(const struct section *section, const char *key, struct section *out, struct error *err)
{
	const struct yaml_node *node = yaml_get(section->map, key);

	if (yaml_is_null(node))
		return 0;
	out->name = mem_printf("%s.%s", section->name, key);
	out->entry = section->entry;
	out->map = node;
	return yaml_check_kind(node, out->name, YAML_MAPPING, err) < 0 ? -1 : 1;
}
