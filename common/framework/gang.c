/* Counting the Tasks that have an IP; see gang.h. */
#include "common/framework/gang.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/spec.h"
#include "common/framework/status.h"

int framework_decompress(json_t *framework, struct error *err)
{
	json_t *attempt = json_path(framework, "status", "attemptStatus", NULL);
	const json_t *compressed = json_object_get(attempt, "taskRoleStatusesCompressed");
	const json_t *plain = json_object_get(attempt, "taskRoleStatuses");
	cleanup_buf struct buf text = {0};
	json_t *roles;

	if (!json_is_string(compressed) || json_is_array(plain))
		return 0;
	if (text_decompress(json_string_value(compressed), json_string_length(compressed), &text, err) < 0)
		return error_wrap(err, "taskRoleStatusesCompressed");
	roles = json_parse(text.data, text.len, err);
	if (roles == NULL)
		return error_wrap(err, "taskRoleStatusesCompressed");
	json_object_set_new(attempt, "taskRoleStatuses", roles);
	json_object_del(attempt, "taskRoleStatusesCompressed");
	return 0;
}

static const json_t *find_task_statuses(const json_t *role_statuses, const char *name)
{
	for (size_t i = 0; i < json_array_size(role_statuses); i++) {
		const json_t *role = json_array_get(role_statuses, i);
		const char *found = json_str(role, "name");

		if (found != NULL && strcmp(found, name) == 0)
			return json_object_get(role, "taskStatuses");
	}
	return NULL;
}

static const char *ip_of(const json_t *task)
{
	const char *ip = json_str(json_object_get(task, "attemptStatus"), "podIP");

	return ip == NULL || *ip == '\0' || json_bool(task, "deletionPending", false) ? NULL : ip;
}

static void read_role(struct gang *gang, struct gang_role *role, const struct task_role_spec *spec,
		      const json_t *role_statuses)
{
	const json_t *tasks = find_task_statuses(role_statuses, spec->name);

	role->name = mem_strdup(spec->name);
	role->task_number = spec->task_number;
	role->ips = mem_calloc((size_t)spec->task_number, sizeof(*role->ips));
	gang->total += spec->task_number;
	for (size_t i = 0; i < (size_t)spec->task_number; i++) {
		role->ips[i] = ip_of(json_array_get(tasks, i));
		gang->ready += role->ips[i] != NULL;
	}
}

int gang_read(const json_t *framework, struct gang *out, struct error *err)
{
	const json_t *role_statuses = json_path(framework, "status", "attemptStatus", "taskRoleStatuses", NULL);
	struct framework_spec spec;

	if (framework_spec_parse(json_object_get(framework, "spec"), &spec, err) < 0)
		return -1;
	*out = (struct gang){
		.roles = mem_calloc(spec.role_count, sizeof(*out->roles)),
		.role_count = spec.role_count,
	};
	for (size_t i = 0; i < spec.role_count; i++)
		read_role(out, &out->roles[i], &spec.roles[i], role_statuses);
	framework_spec_free(&spec);
	return 0;
}

void gang_free(struct gang *gang)
{
	for (size_t i = 0; i < gang->role_count; i++) {
		free(gang->roles[i].name);
		free(gang->roles[i].ips);
	}
	free(gang->roles);
	*gang = (struct gang){0};
}

bool gang_passed(const struct gang *gang)
{
	return gang->ready == gang->total;
}

void gang_write_missing(struct buf *out, const struct gang *gang, size_t max)
{
	buf_putc(out, '[');
	for (size_t i = 0; i < gang->role_count; i++) {
		const struct gang_role *role = &gang->roles[i];

		for (int32_t task = 0; task < role->task_number && max > 0; task++) {
			if (role->ips[task] != NULL)
				continue;
			buf_json_next(out);
			buf_printf(out, "\"%s-%" PRId32 "\"", role->name, task);
			max--;
		}
	}
	buf_putc(out, ']');
}
