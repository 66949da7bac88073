/* JSONPath for printer columns; see jsonpath.h. */
#include "tests/cluster/testapi/jsonpath.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/mem.h"

static json_t *walk(const json_t *at, const char *path);

/* A name up to the next '.' or '['; `\.` stands for a dot in it. */
static const char *read_name(const char *path, struct buf *name)
{
	while (*path != '\0' && *path != '.' && *path != '[') {
		if (path[0] == '\\' && path[1] != '\0')
			path++;
		buf_putc(name, *path++);
	}
	return path;
}

static json_t *walk_name(const json_t *at, const char *path)
{
	cleanup_buf struct buf name = {0};

	path = read_name(path, &name);
	if (name.len == 0)
		return NULL;
	return walk(json_object_get(at, name.data), path);
}

/* `@.path=="text"`, up to end. */
static bool filter_holds(const json_t *item, const char *filter, size_t len)
{
	cleanup_free char *text = mem_strndup(filter, len);
	char *operator= strstr(text, "==");
	const json_t *found;
	char *value;
	size_t value_len;

	if (operator== NULL || text[0] != '@')
		return false;
	*operator= '\0';
	for (char *at = operator- 1; at > text && *at == ' '; at--)
		*at = '\0';
	value = operator+ 2 + strspn(operator+ 2, " ");
	value_len = strlen(value);
	while (value_len > 0 && value[value_len - 1] == ' ')
		value[--value_len] = '\0';
	found = walk(item, text + 1);
	if (value_len >= 2 && (value[0] == '"' || value[0] == '\'')) {
		value[value_len - 1] = '\0';
		return json_is_string(found) && strcmp(json_string_value(found), value + 1) == 0;
	}
	if (json_is_boolean(found))
		return strcmp(value, json_is_true(found) ? "true" : "false") == 0;
	return json_is_integer(found) && json_integer_value(found) == atoll(value);
}

static json_t *walk_filter(const json_t *at, const char *filter, size_t len, const char *rest)
{
	size_t index;
	json_t *item;

	json_array_foreach(at, index, item)
		if (filter_holds(item, filter, len))
			return walk(item, rest);
	return NULL;
}

/* 'a','b': the first of the members that leads to a value. end: where the ']' is. */
static json_t *walk_names(const json_t *at, const char *names, const char *end)
{
	json_t *found = NULL;

	while (found == NULL && names < end) {
		const char *close = names + 1;
		cleanup_free char *name = NULL;

		while (close < end && *close != *names)
			close++;
		name = mem_strndup(names + 1, (size_t)(close - names - 1));
		found = walk(json_object_get(at, name), end + 1);
		names = close + 1;
		while (names < end && (*names == ',' || *names == ' '))
			names++;
	}
	return found;
}

/* What stands behind '['. */
static json_t *walk_bracket(const json_t *at, const char *path)
{
	const char *end;

	if (strncmp(path, "?(", 2) == 0) {
		end = strstr(path, ")]");
		return end == NULL ? NULL : walk_filter(at, path + 2, (size_t)(end - path - 2), end + 2);
	}
	end = strchr(path, ']');
	if (end == NULL)
		return NULL;
	if (*path == '\'' || *path == '"')
		return walk_names(at, path, end);
	if (*path == '*') {
		if (json_is_object(at))
			return walk(json_object_iter_value(json_object_iter((json_t *)at)), end + 1);
		return walk(json_array_get(at, 0), end + 1);
	}
	if (*path == '-')
		return walk(json_array_get(at, json_array_size(at) - strtoul(path + 1, NULL, 10)), end + 1);
	return walk(json_array_get(at, strtoul(path, NULL, 10)), end + 1);
}

static json_t *walk(const json_t *at, const char *path)
{
	if (at == NULL || *path == '\0')
		return (json_t *)at;
	if (*path == '.')
		return path[1] == '\0' ? (json_t *)at : walk_name(at, path + 1);
	return *path == '[' ? walk_bracket(at, path + 1) : NULL;
}

json_t *jsonpath_first(const json_t *root, const char *path)
{
	return walk(root, path);
}
