/* See scale.h. */
#include "cli/view/scale.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/view/framework.h"
#include "cli/view/read.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "common/framework/spec.h"

int scale_wish_parse(const char *text, struct scale_wish *out, struct error *err)
{
	const char *equals = strchr(text, '=');
	size_t len = equals == NULL ? 0 : (size_t)(equals - text);
	char *end = NULL;
	long long number = -1;

	errno = 0;
	if (equals != NULL && equals[1] >= '0' && equals[1] <= '9')
		number = strtoll(equals + 1, &end, 10);
	if (len == 0 || len >= sizeof(out->role) || end == NULL || *end != '\0' || errno != 0 || number < 0 ||
	    number > TASK_NUMBER_MAX)
		return error_set(err, "found \"%.80s\", expected ROLE=N with N of 0 to %d, as worker=5", text,
				 TASK_NUMBER_MAX);
	memcpy(out->role, text, len);
	out->role[len] = '\0';
	if (!framework_name_valid(out->role))
		return error_set(err, "found \"%.80s\", expected the name of a TaskRole before the '='", text);
	out->number = number;
	return 0;
}

static void add_operation(json_t *patch, const char *operation, size_t role, const char *member, json_t *value)
{
	cleanup_free char *path = mem_printf("/spec/taskRoles/%zu/%s", role, member);

	json_array_append_new(patch, json_pack("{s:s, s:s, s:o}", "op", operation, "path", path, "value", value));
}

/* Tests the old value and sets the new one; an absent member is added. */
static void set_number(json_t *patch, size_t role, const char *member, const json_t *old, int64_t number)
{
	if (old != NULL)
		add_operation(patch, "test", role, member, json_incref((json_t *)old));
	add_operation(patch, old == NULL ? "add" : "replace", role, member, json_integer(number));
}

static void set_min(json_t *patch, size_t index, const json_t *role, const struct scale_wish *wish, bool adjust,
		    struct buf *remarks)
{
	static const char member[] = "frameworkAttemptCompletionPolicy/minSucceededTaskCount";
	const json_t *min = json_path(role, "frameworkAttemptCompletionPolicy", "minSucceededTaskCount", NULL);
	int64_t value = json_is_integer(min) ? json_integer_value(min) : -1;
	int64_t before = json_int(role, "taskNumber", 0);
	bool follows = value == before || value > wish->number;

	if (value < 1 || value == wish->number || !follows || wish->number < 1)
		return;
	if (adjust)
		set_number(patch, index, member, min, wish->number);
	else if (remarks != NULL)
		buf_printf(remarks,
			   "%sTaskRole %s: minSucceededTaskCount stays %lld, with %lld %s; --adjust-min-succeeded "
			   "changes it, too",
			   remarks->len > 0 ? "; " : "", wish->role, (long long)value, (long long)wish->number,
			   task_word((size_t)wish->number));
}

static int add_wish(json_t *patch, const json_t *framework, const struct scale_wish *wish, bool adjust,
		    struct buf *remarks, struct error *err)
{
	const json_t *roles = json_path(framework, "spec", "taskRoles", NULL), *role;
	size_t i;

	json_array_foreach(roles, i, role) {
		if (strcmp(view_text(role, "name"), wish->role) != 0)
			continue;
		add_operation(patch, "test", i, "name", json_string(wish->role));
		set_number(patch, i, "taskNumber", json_object_get(role, "taskNumber"), wish->number);
		set_min(patch, i, role, wish, adjust, remarks);
		return 0;
	}
	return framework_without_role(framework, wish->role, err);
}

static int out_of_range(struct error *err)
{
	err->code = ERANGE;
	return -1;
}

static int check_twice(const struct scale_wish *wishes, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(wishes[i].role, wishes[j].role) == 0) {
				error_set(err, "TaskRole %s is named twice", wishes[i].role);
				return out_of_range(err);
			}
	return 0;
}

static json_t *scaled(const json_t *spec, const struct scale_wish *wishes, size_t count)
{
	json_t *result = json_deep_copy(spec);
	json_t *role;
	size_t i;

	json_array_foreach(json_object_get(result, "taskRoles"), i, role)
		for (size_t j = 0; j < count; j++)
			if (strcmp(view_text(role, "name"), wishes[j].role) == 0)
				json_object_set_new(role, "taskNumber", json_integer(wishes[j].number));
	return result;
}

/* The controller does not act on what is malformed: neither on what runs, nor on a stop. */
static int check_result(const json_t *framework, const struct scale_wish *wishes, size_t count, struct error *err)
{
	const char *name = view_text(json_object_get(framework, "metadata"), "name");
	const json_t *before = json_object_get(framework, "spec");
	cleanup_json json_t *after = scaled(before, wishes, count);
	const json_t *role;
	int64_t total = 0;
	struct error why;
	size_t i;

	json_array_foreach(json_object_get(after, "taskRoles"), i, role)
		if (__builtin_add_overflow(total, json_int(role, "taskNumber", 0), &total))
			total = INT64_MAX;
	if (total > FRAMEWORK_TASKS_MAX)
		error_set(err, "all TaskRoles would have %lld Tasks together, expected at most %d", (long long)total,
			  FRAMEWORK_TASKS_MAX);
	else if (spec_malformed(after, name, &why) && !spec_malformed(before, name, err))
		error_set(err, "the Framework would be malformed: %s", why.message);
	else
		return 0;
	return out_of_range(err);
}

bool scale_changes_nothing(const json_t *patch)
{
	const json_t *operation, *before = NULL;
	size_t i;

	json_array_foreach(patch, i, operation) {
		if (strcmp(view_text(operation, "op"), "test") != 0 &&
		    (strcmp(view_text(operation, "op"), "add") == 0 ||
		     !json_equal(json_object_get(operation, "value"), json_object_get(before, "value"))))
			return false;
		before = operation;
	}
	return true;
}

json_t *scale_patch(const json_t *framework, const struct scale_wish *wishes, size_t count, bool adjust,
		    struct buf *remarks, struct error *err)
{
	json_t *patch = json_array();
	int result = check_twice(wishes, count, err);

	for (size_t i = 0; i < count && result == 0; i++)
		result = add_wish(patch, framework, &wishes[i], adjust, remarks, err);
	if (result == 0)
		result = check_result(framework, wishes, count, err);
	if (result == 0)
		return patch;
	json_decref(patch);
	return NULL;
}
