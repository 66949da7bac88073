/* Counting the Tasks that have an IP; see gang.h. */
#include "common/framework/gang.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "common/framework/spec.h"
#include "common/framework/status.h"

enum { NAME_ROOM = 64 /* 63 bytes and a NUL */ };

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

/* ---- the spec ---------------------------------------------------------------------------------------------------- */

/* Absent and null are 0, as in the spec's own reader (spec.c). */
static int read_task_number(const struct json_span *value, const char *role, int32_t *out, struct error *err)
{
	struct json_reader reader;
	int64_t number;

	*out = 0;
	if (value->at == NULL || json_span_is(value, "null"))
		return 0;
	json_reader_init(&reader, value->at, value->len);
	number = json_reader_int(&reader, -1);
	if (number < 0 || number > TASK_NUMBER_MAX)
		return error_set(err, "taskNumber of TaskRole %s is %.*s, expected an integer in 0..%d", role,
				 (int)(value->len < 80 ? value->len : 80), value->at, TASK_NUMBER_MAX);
	*out = (int32_t)number;
	return 0;
}

static struct gang_role *find_role(const struct gang *gang, const struct json_span *name)
{
	struct gang_role *role = NULL;

	if (name->at != NULL)
		HASH_FIND(hh, gang->roles, name->at, name->len, role);
	return role;
}

static int add_role(struct gang *gang, const struct json_span *name, const struct json_span *task_number,
		    struct error *err)
{
	size_t index = HASH_COUNT(gang->roles);
	char text[NAME_ROOM] = "";
	struct gang_role *role;

	if (name->at != NULL && name->len < sizeof(text))
		json_span_decode(name, text);
	if (!framework_name_valid(text))
		return error_set(err, "spec.taskRoles[%zu].name does not match ^[a-z0-9]{1,63}$", index);
	if (find_role(gang, name) != NULL)
		return error_set(err, "spec.taskRoles[%zu].name is \"%s\", which another TaskRole has already", index,
				 text);
	role = mem_calloc(1, sizeof(*role));
	role->name = mem_strdup(text);
	HASH_ADD_KEYPTR(hh, gang->roles, role->name, strlen(role->name), role);
	if (read_task_number(task_number, text, &role->task_number, err) < 0)
		return -1;
	if (gang->total + role->task_number > FRAMEWORK_TASKS_MAX)
		return error_set(err, "spec.taskRoles: more than %d Tasks in all", FRAMEWORK_TASKS_MAX);
	role->ips = mem_calloc((size_t)role->task_number, sizeof(*role->ips));
	gang->total += role->task_number;
	return 0;
}

static int read_role(struct gang *gang, struct json_reader *reader, struct error *err)
{
	struct json_span task_number = {0};
	struct json_span role = {0};
	struct json_span name;

	if (!json_reader_object(reader))
		return error_set(err, "spec.taskRoles[%zu] is not an object", (size_t)HASH_COUNT(gang->roles));
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "name"))
			role = json_reader_string(reader);
		else if (json_span_is(&name, "taskNumber"))
			task_number = json_reader_skip(reader);
		else
			json_reader_skip(reader);
	}
	return add_role(gang, &role, &task_number, err);
}

static int read_spec(struct gang *gang, const struct json_span *spec, struct error *err)
{
	struct json_reader reader;
	struct json_reader other;
	struct json_span list;

	if (spec->at == NULL || json_span_is(spec, "null"))
		return 0;
	if (*spec->at != '{')
		return error_set(err, "spec is not an object");
	json_reader_init(&reader, spec->at, spec->len);
	if (!json_reader_find(&reader, "taskRoles"))
		return 0;
	other = reader;
	if (!json_reader_array(&reader)) {
		list = json_reader_skip(&other);
		return json_span_is(&list, "null") ? 0 : error_set(err, "spec.taskRoles is not a list");
	}
	while (json_reader_item(&reader))
		if (read_role(gang, &reader, err) < 0)
			return -1;
	return 0;
}

/* ---- the statuses ------------------------------------------------------------------------------------------------ */

/* The IP of a Task that is ready. */
static struct json_span read_ip(struct json_reader *reader)
{
	struct json_span ip = {0};
	struct json_span name;
	bool leaving = false;

	if (!json_reader_object(reader))
		return ip;
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "deletionPending")) {
			leaving = json_reader_bool(reader, false);
		} else if (!json_span_is(&name, "attemptStatus")) {
			json_reader_skip(reader);
		} else if (json_reader_object(reader)) {
			while (json_reader_member(reader, &name))
				if (json_span_is(&name, "podIP"))
					ip = json_reader_string(reader);
				else
					json_reader_skip(reader);
		}
	}
	if (leaving || ip.len == 0)
		return (struct json_span){0};
	return ip;
}

/* taskStatuses comes next. */
static void count_tasks(struct gang *gang, const struct gang_role *role, struct json_reader *reader)
{
	if (!json_reader_array(reader))
		return;
	for (size_t i = 0; json_reader_item(reader); i++) {
		struct json_span ip = read_ip(reader);

		if (i >= (size_t)role->task_number)
			continue;                                           /* the spec wants fewer */
		gang->ready += (ip.at != NULL) - (role->ips[i].at != NULL); /* a name may come twice */
		role->ips[i] = ip;
	}
}

static void count_role(struct gang *gang, struct json_reader *reader)
{
	const struct gang_role *role = NULL;
	struct json_span tasks = {0};
	struct json_reader again;
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "name")) {
			name = json_reader_string(reader);
			role = find_role(gang, &name);
		} else if (!json_span_is(&name, "taskStatuses")) {
			json_reader_skip(reader);
		} else if (role != NULL) {
			count_tasks(gang, role, reader);
		} else {
			tasks = json_reader_skip(reader); /* its name may follow */
		}
	}
	if (role == NULL || tasks.at == NULL)
		return;
	json_reader_init(&again, tasks.at, tasks.len);
	count_tasks(gang, role, &again);
}

/* taskRoleStatuses comes next; false: it is none. */
static bool count_roles(struct gang *gang, struct json_reader *reader)
{
	if (!json_reader_array(reader))
		return false;
	while (json_reader_item(reader))
		count_role(gang, reader);
	return true;
}

static void read_status(struct gang *gang, const struct json_span *status)
{
	struct json_span packed = {0};
	struct json_span name;
	struct json_reader reader;
	bool plain = false;

	if (status->at == NULL)
		return;
	json_reader_init(&reader, status->at, status->len);
	if (!json_reader_find(&reader, "attemptStatus") || !json_reader_object(&reader))
		return;
	while (json_reader_member(&reader, &name)) {
		if (json_span_is(&name, "taskRoleStatuses"))
			plain = count_roles(gang, &reader);
		else if (json_span_is(&name, "taskRoleStatusesCompressed"))
			packed = json_reader_string(&reader);
		else
			json_reader_skip(&reader);
	}
	if (plain || packed.at == NULL)
		return;
	gang->packed = mem_alloc(packed.len + 1);
	json_span_decode(&packed, gang->packed);
}

int gang_read(const struct object_parts *framework, struct gang *out, struct error *err)
{
	struct gang gang = {0};

	if (read_spec(&gang, &framework->spec, err) < 0) {
		gang_free(&gang);
		return -1;
	}
	read_status(&gang, &framework->status);
	*out = gang;
	return 0;
}

int gang_unpack(struct gang *gang, struct error *err)
{
	struct buf text = {0};
	struct json_reader reader;
	int result;

	if (gang->packed == NULL)
		return 0;
	result = text_decompress(gang->packed, strlen(gang->packed), &text, err);
	if (result == 0) {
		json_reader_init(&reader, text.data, text.len);
		count_roles(gang, &reader);
		result = json_reader_finish(&reader, err);
	}
	gang->unpacked = buf_steal(&text);
	free(gang->packed);
	gang->packed = NULL;
	return result < 0 ? error_wrap(err, "taskRoleStatusesCompressed") : 0;
}

void gang_free(struct gang *gang)
{
	struct gang_role *role;
	struct gang_role *next;

	HASH_ITER(hh, gang->roles, role, next) {
		HASH_DEL(gang->roles, role);
		free(role->name);
		free(role->ips);
		free(role);
	}
	free(gang->packed);
	free(gang->unpacked);
	*gang = (struct gang){0};
}

bool gang_passed(const struct gang *gang)
{
	return gang->packed == NULL && gang->ready == gang->total;
}

void gang_write_missing(struct buf *out, const struct gang *gang)
{
	size_t count = 0;

	buf_putc(out, '[');
	for (const struct gang_role *role = gang->roles; role != NULL && count < GANG_MISSING_MAX;
	     role = role->hh.next) {
		for (int32_t task = 0; task < role->task_number && count < GANG_MISSING_MAX; task++) {
			if (role->ips[task].at != NULL)
				continue;
			buf_json_next(out);
			buf_printf(out, "\"%s-%" PRId32 "\"", role->name, task);
			count++;
		}
	}
	buf_putc(out, ']');
}
