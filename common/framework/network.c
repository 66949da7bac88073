/* spec.network and spec.distributed: reading, and which names they make; see network.h. */
#include "common/framework/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/distributed.h"
#include "common/framework/gang_spec.h"

enum {
	LABEL_MAX = 63, /* characters of a name in the DNS (RFC 1035 §2.3.4) */
	PORT_MAX = 65535,
	PORT_TENSORFLOW = 2222,
	PORT_OTHERS = 29500,
	VARIABLES_MAX = 2 * 1024 * 1024, /* in the templates of a Framework's TaskRoles */
};

#define LABEL_EXPECTED "a name like ^[a-z]([-a-z0-9]*[a-z0-9])?$ of at most 63 characters"

/* Services have such names (RFC 1035 §2.3.1). */
static bool label_valid(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return name[len] == '\0' && len >= 1 && len <= LABEL_MAX && name[0] >= 'a' && name[0] <= 'z' &&
	       name[len - 1] != '-';
}

static int read_network(const struct json_field *spec, struct network_spec *out, struct error *err)
{
	struct json_field network;

	if (json_field_object(spec, "network", &network, err) < 0)
		return -1;
	out->hostnames = network.value != NULL;
	out->publish_not_ready = true;
	if (json_field_bool(&network, "enableDNSHostnames", &out->hostnames, err) < 0 ||
	    json_field_bool(&network, "publishNotReadyAddresses", &out->publish_not_ready, err) < 0 ||
	    json_field_text(&network, "subdomain", &out->subdomain, err) < 0)
		return -1;
	if (out->subdomain != NULL && !label_valid(out->subdomain))
		return json_field_wrong(&network, "subdomain", LABEL_EXPECTED, err);
	return 0;
}

static int read_kind(const struct json_field *distributed, struct distributed_spec *out, struct error *err)
{
	static const char *const names[] = {
		[DISTRIBUTED_TENSORFLOW] = "TensorFlow",
		[DISTRIBUTED_PYTORCH] = "PyTorch",
		[DISTRIBUTED_JAX] = "JAX",
	};
	const char *kind = json_str(distributed->value, "kind");

	for (size_t i = DISTRIBUTED_TENSORFLOW; kind != NULL && i < ARRAY_LEN(names); i++)
		if (strcmp(kind, names[i]) == 0)
			out->kind = (enum distributed_kind)i;
	if (out->kind == DISTRIBUTED_NONE)
		return json_field_wrong(distributed, "kind", "\"TensorFlow\", \"PyTorch\" or \"JAX\"", err);
	return 0;
}

static int read_processes(const struct json_field *distributed, struct distributed_spec *out, struct error *err)
{
	static const char name[] = "processesPerTask";
	const char *text = json_str(distributed->value, name);
	bool torch = out->kind == DISTRIBUTED_PYTORCH;

	out->processes_per_task = 1;
	if (torch && text != NULL && strcmp(text, "auto") == 0) {
		out->processes_per_task = 0;
		return 0;
	}
	if (torch && text != NULL)
		return json_field_wrong(distributed, name, "an integer of 1 or more, or \"auto\"", err);
	if (json_field_int32(distributed, name, 1, INT32_MAX, &out->processes_per_task, err) < 0)
		return -1;
	if (!torch && out->processes_per_task != 1)
		return json_field_wrong(distributed, name, "1: only PyTorch starts more processes in a Task", err);
	return 0;
}

/* The next ranks are the TaskRole's. */
static void give_ranks(struct framework_spec *spec, size_t role)
{
	struct distributed_spec *distributed = &spec->distributed;

	if (distributed->tasks == 0)
		distributed->master = role;
	distributed->roles[distributed->role_count++] = role;
	distributed->first_ranks[role] = distributed->tasks;
	distributed->tasks += spec->roles[role].task_number;
}

static int read_ranks(const struct json_field *distributed, struct framework_spec *spec, struct error *err)
{
	struct distributed_spec *out = &spec->distributed;
	struct json_field list;
	size_t count;

	if (json_field_list(distributed, "taskRoles", &list, err) < 0)
		return -1;
	count = list.value == NULL ? spec->role_count : json_array_size(list.value);
	if (list.value != NULL && count == 0)
		return json_field_wrong(distributed, "taskRoles", "at least one TaskRole", err);
	out->roles = mem_calloc(count, sizeof(*out->roles));
	out->first_ranks = mem_calloc(spec->role_count, sizeof(*out->first_ranks));
	for (size_t i = 0; i < spec->role_count; i++)
		out->first_ranks[i] = -1;
	for (size_t i = 0; i < count; i++) {
		struct json_field item = json_field_item(&list, i);
		const char *name = json_string_value(item.value);
		int role = list.value == NULL ? (int)i : name == NULL ? -1 : framework_spec_find_role(spec, name);

		if (role < 0)
			return json_field_wrong(&item, NULL, "the name of a TaskRole of this Framework", err);
		if (out->first_ranks[role] >= 0)
			return json_field_wrong(&item, NULL, "each TaskRole at most once", err);
		give_ranks(spec, (size_t)role);
	}
	return 0;
}

static int read_distributed(const struct json_field *spec, struct framework_spec *out, struct error *err)
{
	struct distributed_spec *distributed = &out->distributed;
	const json_t *network = json_object_get(spec->value, "network");
	struct json_field field;

	if (json_field_object(spec, "distributed", &field, err) < 0)
		return -1;
	if (field.value == NULL)
		return 0;
	if (!out->network.hostnames && network != NULL && !json_is_null(network))
		return error_set(err, "spec.network.enableDNSHostnames is false, expected true: spec.distributed needs "
				      "the names of the Pods");
	out->network.hostnames = true;
	if (read_kind(&field, distributed, err) < 0 || read_processes(&field, distributed, err) < 0)
		return -1;
	distributed->port = distributed->kind == DISTRIBUTED_TENSORFLOW ? PORT_TENSORFLOW : PORT_OTHERS;
	if (json_field_int32(&field, "port", 1, PORT_MAX, &distributed->port, err) < 0)
		return -1;
	return read_ranks(&field, out, err);
}

int network_spec_read(const struct json_field *spec, struct framework_spec *out, struct error *err)
{
	if (read_network(spec, &out->network, err) < 0)
		return -1;
	return read_distributed(spec, out, err);
}

void network_spec_free(struct framework_spec *spec)
{
	free(spec->network.subdomain);
	free(spec->distributed.roles);
	free(spec->distributed.first_ranks);
}

/* The Pods' hostnames are labels, too. */
static int check_hostnames(const struct framework_spec *spec, struct error *err)
{
	for (size_t i = 0; i < spec->role_count; i++) {
		const struct task_role_spec *role = &spec->roles[i];
		int len = snprintf(NULL, 0, "%s-%d", role->name, role->task_number > 0 ? role->task_number - 1 : 0);

		if (len > LABEL_MAX)
			return error_set(
				err,
				"spec.taskRoles[%zu].name is \"%s\", expected at most %d characters: with spec."
				"network its Pods have hostnames like %s-0, which have at most %d",
				i, role->name, (int)strlen(role->name) - (len - LABEL_MAX), role->name, LABEL_MAX);
	}
	return 0;
}

int framework_spec_check_names(const struct framework_spec *spec, const char *framework_name, struct error *err)
{
	size_t all = 0;

	if (gang_spec_check_name(&spec->gang, framework_name, err) < 0)
		return -1;
	if (!spec->network.hostnames)
		return 0;
	if (spec->network.subdomain == NULL && !label_valid(framework_name))
		return error_set(err,
				 "spec.network.subdomain is missing, and metadata.name is \"%s\", which no Service can "
				 "have: expected a subdomain, " LABEL_EXPECTED,
				 framework_name);
	if (check_hostnames(spec, err) < 0)
		return -1;
	if (spec->distributed.kind != DISTRIBUTED_TENSORFLOW) /* the variables of the others name one Task */
		return 0;
	for (size_t i = 0; i < spec->distributed.role_count; i++) {
		size_t len = distributed_env_longest(spec, framework_name, spec->distributed.roles[i]);

		if (len > VARIABLE_MAX)
			return error_set(
				err,
				"spec.distributed: TF_CONFIG would have %zu bytes with the names of all Tasks, "
				"expected at most %d, which Linux takes: have fewer Tasks, or a shorter "
				"spec.network.subdomain",
				len, VARIABLE_MAX);
		all += len;
		if (all > VARIABLES_MAX)
			return error_set(
				err,
				"spec.distributed: TF_CONFIG would have %zu bytes or more in the templates of "
				"%zu TaskRoles, expected at most %d in all: have fewer TaskRoles or Tasks in it",
				all, spec->distributed.role_count, VARIABLES_MAX);
	}
	return 0;
}
