/* Compiling pod templates (CONTRACT.md §4); see podtemplate.h and podtext.h. */
#include "reconciler/sync/podtext.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/distributed.h"
#include "reconciler/sync/podtemplate.h"

static void put_hole(struct pod_template *template, enum hole_value value)
{
	if (template->hole_count == template->hole_cap) {
		template->hole_cap = template->hole_cap == 0 ? 32 : template->hole_cap * 2;
		template->holes = mem_realloc(template->holes, template->hole_cap, sizeof(*template->holes));
	}
	template->holes[template->hole_count++] = (struct hole){template->text.len, value};
}

/* ---- names and their values ---- */

/* The thirteen names of CONTRACT.md §4 in the order of the environment; the first six are the placeholders, too. */
static const struct identity {
	const char *name;
	int hole; /* -1: fixed for the role */
} identities[] = {
	{FC_FRAMEWORK_NAMESPACE, -1},
	{FC_FRAMEWORK_NAME, -1},
	{FC_TASKROLE_NAME, -1},
	{FC_TASK_INDEX, HOLE_TASK_INDEX},
	{FC_CONFIGMAP_NAME, -1},
	{FC_POD_NAME, HOLE_POD_NAME},
	{FC_FRAMEWORK_UID, -1},
	{FC_FRAMEWORK_ATTEMPT_ID, HOLE_FRAMEWORK_ATTEMPT_ID},
	{FC_FRAMEWORK_ATTEMPT_INSTANCE_UID, HOLE_FRAMEWORK_ATTEMPT_INSTANCE_UID},
	{FC_CONFIGMAP_UID, HOLE_CONFIGMAP_UID},
	{FC_TASKROLE_UID, HOLE_TASKROLE_UID},
	{FC_TASK_UID, HOLE_TASK_UID},
	{FC_TASK_ATTEMPT_ID, HOLE_TASK_ATTEMPT_ID},
};
enum { PLACEHOLDER_COUNT = 6, LABEL_COUNT = 3 };
static const char *const label_names[LABEL_COUNT] = {FC_FRAMEWORK_NAME, FC_TASKROLE_NAME, FC_TASK_INDEX};

/* Puts the value without quotes. Names need no escapes (object.c, spec.c). */
static void put_identity(struct pod_template *template, const struct identity *identity)
{
	struct buf *out = &template->text;

	if (identity->hole >= 0)
		put_hole(template, (enum hole_value)identity->hole);
	else if (strcmp(identity->name, FC_FRAMEWORK_NAMESPACE) == 0)
		buf_puts(out, template->ns);
	else if (strcmp(identity->name, FC_FRAMEWORK_NAME) == 0)
		buf_puts(out, template->framework_name);
	else if (strcmp(identity->name, FC_TASKROLE_NAME) == 0)
		buf_puts(out, template->role_name);
	else if (strcmp(identity->name, FC_CONFIGMAP_NAME) == 0)
		buf_printf(out, "%s-attempt", template->framework_name);
	else
		buf_json_part(out, template->framework_uid, strlen(template->framework_uid));
}

static const struct identity *find_identity(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(identities); i++)
		if (strcmp(identities[i].name, name) == 0)
			return &identities[i];
	return NULL;
}

/* Appends the name of the attempt's PodGroup. */
static void put_group_name(struct pod_template *template)
{
	buf_printf(&template->text, "\"%s-", template->framework_name);
	put_hole(template, HOLE_FRAMEWORK_ATTEMPT_ID);
	buf_putc(&template->text, '"');
}

static void put_named_value(struct pod_template *template, const char *name)
{
	if (strcmp(name, FC_READY_WANTED) == 0) {
		buf_puts(&template->text, "\"true\"");
		return;
	}
	if (strcmp(name, VOLCANO_GROUP) == 0 || strcmp(name, COSCHEDULING_GROUP) == 0) {
		put_group_name(template);
		return;
	}
	if (strcmp(name, VOLCANO_TASK) == 0)
		name = FC_TASKROLE_NAME;
	buf_putc(&template->text, '"');
	put_identity(template, find_identity(name));
	buf_putc(&template->text, '"');
}

/* ---- walking the template ---- */

/* The placeholder that begins at text, or NULL; len: the rest of the string. */
static const struct identity *placeholder_at(const char *text, size_t len, size_t *size)
{
	for (size_t i = 0; i < PLACEHOLDER_COUNT; i++) {
		size_t name_len = strlen(identities[i].name);

		*size = name_len + 4;
		if (len >= *size && memcmp(text, "{{", 2) == 0 && memcmp(text + 2, identities[i].name, name_len) == 0 &&
		    memcmp(text + 2 + name_len, "}}", 2) == 0)
			return &identities[i];
	}
	return NULL;
}

/* A string with its placeholders replaced, quotes included. keep_holes: those whose values differ from Task to Task
 * stay. */
static void put_string(struct pod_template *template, const char *text, size_t len, bool keep_holes)
{
	const char *end = text + len;
	const char *at = text;

	buf_putc(&template->text, '"');
	while ((at = memchr(at, '{', (size_t)(end - at))) != NULL) {
		size_t size;
		const struct identity *identity = placeholder_at(at, (size_t)(end - at), &size);

		if (identity == NULL || (keep_holes && identity->hole >= 0)) {
			at++;
			continue;
		}
		buf_json_part(&template->text, text, (size_t)(at - text));
		put_identity(template, identity);
		at += size;
		text = at;
	}
	buf_json_part(&template->text, text, (size_t)(end - text));
	buf_putc(&template->text, '"');
}

static void put_value(struct pod_template *template, json_t *value);

static void put_member_name(struct pod_template *template, const char *name)
{
	buf_json_next(&template->text);
	put_string(template, name, strlen(name), template->keep_name_holes);
	buf_putc(&template->text, ':');
}

static void put_array(struct pod_template *template, json_t *array)
{
	size_t i;
	json_t *item;

	buf_putc(&template->text, '[');
	json_array_foreach(array, i, item) {
		if (i > 0)
			buf_putc(&template->text, ',');
		put_value(template, item);
	}
	buf_putc(&template->text, ']');
}

static void put_value(struct pod_template *template, json_t *value)
{
	const char *name;
	json_t *member;

	if (json_is_string(value)) {
		put_string(template, json_string_value(value), json_string_length(value), false);
	} else if (json_is_array(value)) {
		put_array(template, value);
	} else if (json_is_object(value)) {
		buf_putc(&template->text, '{');
		json_object_foreach(value, name, member) {
			put_member_name(template, name);
			put_value(template, member);
		}
		buf_putc(&template->text, '}');
	} else {
		cleanup_free char *text = json_text(value);

		buf_puts(&template->text, text);
	}
}

/* ---- containers ---- */

/* Adds the variables that launchers read, except those that the template sets itself. */
static void put_distributed_env(struct pod_template *template, const json_t *env)
{
	struct buf *out = &template->text;

	for (size_t i = 0; i < template->env->count; i++) {
		const struct distributed_var *var = &template->env->vars[i];

		if (json_find(env, "name", var->name) != NULL)
			continue;
		buf_printf(out, ",{\"name\":\"%s\",\"value\":\"", var->name);
		buf_json_part(&template->text, var->before, strlen(var->before));
		if (var->hole != HOLE_OF_NONE)
			put_hole(template, var->hole == HOLE_OF_RANK ? HOLE_RANK : HOLE_TASK_INDEX);
		buf_json_part(&template->text, var->after, strlen(var->after));
		buf_puts(out, "\"}");
	}
}

static void put_env(struct pod_template *template, json_t *env)
{
	struct buf *out = &template->text;
	size_t i;
	json_t *item;

	if (!json_absent(env) && !json_is_array(env)) {
		put_value(template, env); /* the API server is to refuse it, as the user wrote it */
		return;
	}
	buf_putc(out, '[');
	for (i = 0; i < ARRAY_LEN(identities); i++) {
		buf_json_next(out);
		buf_printf(out, "{\"name\":\"%s\",\"value\":", identities[i].name);
		put_named_value(template, identities[i].name);
		buf_putc(out, '}');
	}
	buf_puts(out, ",{\"name\":\"" FC_POD_UID "\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.uid\"}}}");
	buf_puts(out, ",{\"name\":\"" FC_TASK_ATTEMPT_INSTANCE_UID "\",\"value\":\"");
	put_hole(template, HOLE_TASK_ATTEMPT_ID);
	buf_puts(out, "_$(" FC_POD_UID ")\"}");
	put_distributed_env(template, env);
	json_array_foreach(env, i, item) {
		buf_putc(out, ',');
		put_value(template, item);
	}
	buf_putc(out, ']');
}

/* "" is Go's zero value: the API server fills in its own default, as it does where the member is missing. */
static bool unset(const json_t *value)
{
	return json_absent(value) || (json_is_string(value) && json_string_length(value) == 0);
}

static void put_container(struct pod_template *template, json_t *container)
{
	static const char policy[] = "terminationMessagePolicy";
	struct buf *out = &template->text;
	bool no_policy = unset(json_object_get(container, policy));
	const char *name;
	json_t *member;

	/* (nobody takes a Pod that is too large, and each container would add 1 KB of ours) */
	if (!json_is_object(container) || out->len > POD_BODY_MAX) {
		put_value(template, container);
		return;
	}
	buf_putc(out, '{');
	json_object_foreach(container, name, member) {
		if (strcmp(name, "env") == 0 || (strcmp(name, policy) == 0 && no_policy))
			continue;
		put_member_name(template, name);
		put_value(template, member);
	}
	buf_json_key(out, "env");
	put_env(template, json_object_get(container, "env"));
	if (no_policy) {
		buf_json_key(out, policy);
		buf_puts(out, "\"FallbackToLogsOnError\"");
	}
	buf_putc(out, '}');
}

/* The Pod's names in the DNS, where the template has none. */
static void put_names(struct pod_template *template, const json_t *spec)
{
	struct buf *out = &template->text;

	if (template->subdomain == NULL)
		return;
	if (unset(json_object_get(spec, "hostname"))) {
		buf_json_key(out, "hostname");
		buf_printf(out, "\"%s-", template->role_name);
		put_hole(template, HOLE_TASK_INDEX);
		buf_putc(out, '"');
	}
	if (unset(json_object_get(spec, "subdomain")))
		buf_json_text(out, "subdomain", template->subdomain);
}

/* The fields that name the PodGroup for its scheduler, or that name the scheduler. */
static void put_gang(struct pod_template *template, const json_t *spec)
{
	if (template->gang == GANG_VOLCANO && unset(json_object_get(spec, "schedulerName")))
		buf_json_text(&template->text, "schedulerName", "volcano");
	if (template->gang != GANG_KUBERNETES)
		return;
	buf_json_open(&template->text, "schedulingGroup", '{');
	buf_json_key(&template->text, "podGroupName");
	put_group_name(template);
	buf_putc(&template->text, '}');
}

static bool is_replaced(const struct pod_template *template, const char *name, const json_t *value)
{
	if (strcmp(name, "hostname") == 0 || strcmp(name, "subdomain") == 0)
		return template->subdomain != NULL && unset(value);
	if (strcmp(name, "schedulerName") == 0)
		return template->gang == GANG_VOLCANO && unset(value);
	return strcmp(name, "schedulingGroup") == 0 && template->gang == GANG_KUBERNETES;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Whether the Pod's requests are in this member of its spec. */
static bool has_requests(const char *name)
{
	static const char *const names[] = {"containers", "initContainers", "overhead", "resources"};

	return is_one_of(name, names, ARRAY_LEN(names));
}

static void put_spec(struct pod_template *template, json_t *spec)
{
	cleanup_json json_t *affinity = NULL;
	const char *name;
	json_t *member;
	size_t i;
	json_t *container;

	if (!json_is_object(spec)) {
		put_value(template, spec);
		return;
	}
	if (template->exclusive_key != NULL)
		affinity = placement_affinity(json_object_get(spec, "affinity"), template->framework_uid,
					      template->exclusive_key);
	buf_putc(&template->text, '{');
	json_object_foreach(spec, name, member) {
		if (affinity != NULL && strcmp(name, "affinity") == 0)
			continue;
		if (is_replaced(template, name, member))
			continue;
		template->keep_name_holes = template->counted;
		put_member_name(template, name);
		template->keep_name_holes = has_requests(name) && template->counted;
		if ((strcmp(name, "containers") != 0 && strcmp(name, "initContainers") != 0) ||
		    !json_is_array(member)) {
			put_value(template, member);
			continue;
		}
		buf_putc(&template->text, '[');
		json_array_foreach(member, i, container) {
			if (i > 0)
				buf_putc(&template->text, ',');
			put_container(template, container);
		}
		buf_putc(&template->text, ']');
	}
	template->keep_name_holes = false;
	put_names(template, spec);
	put_gang(template, spec);
	if (affinity != NULL) {
		buf_json_key(&template->text, "affinity");
		put_value(template, affinity);
	}
	buf_putc(&template->text, '}');
}

/* ---- metadata ---- */

/* The user's map with our names in it, ours winning. */
static void put_map(struct pod_template *template, const char *key, json_t *map, const char *const *own, size_t count)
{
	struct buf *out = &template->text;
	const char *name;
	json_t *member;

	buf_json_key(out, key);
	if (!json_absent(map) && !json_is_object(map)) {
		put_value(template, map);
		return;
	}
	buf_putc(out, '{');
	json_object_foreach(map, name, member) {
		if (is_one_of(name, own, count))
			continue;
		put_member_name(template, name);
		put_value(template, member);
	}
	for (size_t i = 0; i < count; i++) {
		buf_json_key(out, own[i]);
		put_named_value(template, own[i]);
	}
	buf_putc(out, '}');
}

static void put_owners(struct pod_template *template, json_t *owners)
{
	struct buf *out = &template->text;
	size_t i;
	json_t *owner;

	buf_json_key(out, "ownerReferences");
	if (!json_absent(owners) && !json_is_array(owners)) {
		put_value(template, owners);
		return;
	}
	buf_putc(out, '[');
	json_array_foreach(owners, i, owner) {
		buf_json_next(out);
		put_value(template, owner);
	}
	buf_json_next(out);
	buf_puts(out, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":");
	put_named_value(template, FC_CONFIGMAP_NAME);
	buf_puts(out, ",\"uid\":");
	put_named_value(template, FC_CONFIGMAP_UID);
	buf_puts(out, ",\"controller\":true,\"blockOwnerDeletion\":true}]");
}

static void put_metadata(struct pod_template *template, json_t *metadata)
{
	static const char *const ours[] = {"name", "namespace", "labels", "annotations", "ownerReferences"};
	const char *annotations[ARRAY_LEN(identities) + 3];
	const char *labels[LABEL_COUNT + 2];
	size_t annotation_count = ARRAY_LEN(identities);
	size_t label_count = LABEL_COUNT;
	struct buf *out = &template->text;
	const char *name;
	json_t *member;

	if (!json_absent(metadata) && !json_is_object(metadata)) {
		put_value(template, metadata); /* the server refuses it */
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(identities); i++)
		annotations[i] = identities[i].name;
	if (template->ready_wanted)
		annotations[annotation_count++] = FC_READY_WANTED;
	if (template->gang == GANG_VOLCANO) {
		annotations[annotation_count++] = VOLCANO_GROUP;
		annotations[annotation_count++] = VOLCANO_TASK;
	}
	memcpy(labels, label_names, sizeof(label_names));
	if (template->exclusive_key != NULL)
		labels[label_count++] = FC_FRAMEWORK_UID;
	if (template->gang == GANG_COSCHEDULING)
		labels[label_count++] = COSCHEDULING_GROUP;
	buf_putc(out, '{');
	json_object_foreach(metadata, name, member) {
		if (is_one_of(name, ours, ARRAY_LEN(ours)))
			continue;
		put_member_name(template, name);
		put_value(template, member);
	}
	buf_json_key(out, "name");
	put_named_value(template, FC_POD_NAME);
	buf_json_key(out, "namespace");
	put_named_value(template, FC_FRAMEWORK_NAMESPACE);
	put_map(template, "labels", json_object_get(metadata, "labels"), labels, label_count);
	put_map(template, "annotations", json_object_get(metadata, "annotations"), annotations, annotation_count);
	put_owners(template, json_object_get(metadata, "ownerReferences"));
	buf_putc(out, '}');
}

/* ---- the template that others count ---- */

/* The string with the placeholders replaced that have one value for the TaskRole. */
static json_t *string_of_role(struct pod_template *template, const char *text, size_t len)
{
	buf_clear(&template->text);
	put_string(template, text, len, true);
	return json_parse(template->text.data, template->text.len, NULL);
}

static json_t *value_of_role(struct pod_template *template, json_t *value)
{
	const char *name;
	size_t i;
	json_t *member;
	json_t *out;

	if (json_is_string(value))
		return string_of_role(template, json_string_value(value), json_string_length(value));
	if (json_is_array(value)) {
		out = json_array();
		json_array_foreach(value, i, member)
			json_array_append_new(out, value_of_role(template, member));
		return out;
	}
	if (!json_is_object(value))
		return json_incref(value);
	out = json_object();
	json_object_foreach(value, name, member) { /* of members that get the same name, the last one counts */
		cleanup_json json_t *own = string_of_role(template, name, strlen(name));

		json_object_set_new(out, json_string_value(own), value_of_role(template, member));
	}
	return out;
}

static void describe_role(struct pod_template *template, const struct framework *framework, size_t role)
{
	template->ns = framework->ns;
	template->framework_name = framework->name;
	template->framework_uid = framework->uid;
	template->role_name = framework->spec.roles[role].name;
}

json_t *pod_template_of_role(const struct framework *framework, size_t role, json_t *pod)
{
	struct pod_template template = {0};
	json_t *out;

	describe_role(&template, framework, role);
	out = value_of_role(&template, pod);
	buf_free(&template.text);
	return out;
}

/* ---- compiling and filling ---- */

static struct pod_template *compile(const struct framework *framework, size_t role, json_t *pod, bool counted)
{
	struct pod_template *template = mem_calloc(1, sizeof(*template));
	struct distributed_env env;

	describe_role(template, framework, role);
	template->counted = counted;
	template->ready_wanted = framework->spec.roles[role].ready_wanted;
	template->exclusive_key = framework->spec.exclusive_key;
	template->gang = framework->status.attempt.gang;
	if (framework->spec.network.hostnames)
		template->subdomain = framework_spec_subdomain(&framework->spec, framework->name);
	distributed_env_make(&framework->spec, framework->name, role, &env);
	template->env = &env;
	template->first_rank = env.first_rank;
	buf_puts(&template->text, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":");
	put_metadata(template, json_object_get(pod, "metadata"));
	if (json_object_get(pod, "spec") != NULL) {
		buf_puts(&template->text, ",\"spec\":");
		put_spec(template, json_object_get(pod, "spec"));
	}
	buf_putc(&template->text, '}');
	template->env = NULL;
	distributed_env_free(&env);
	return template;
}

void pod_templates_compile(struct framework *framework)
{
	struct error err;
	cleanup_json json_t *spec = json_parse(framework->spec_text, strlen(framework->spec_text), &err);
	json_t *roles = json_object_get(spec, "taskRoles");
	bool counted = framework->status.admission != NULL || framework->status.attempt.gang != GANG_NONE;

	framework->templates = mem_calloc(framework->spec.role_count, sizeof(struct pod_template *));
	for (size_t r = 0; r < framework->spec.role_count; r++) {
		json_t *own = json_path(json_array_get(roles, r), "task", "pod", NULL);
		cleanup_json json_t *asked = counted ? pod_template_of_role(framework, r, own) : json_incref(own);
		cleanup_json json_t *pod = admission_pod(framework->status.admission, framework->spec.roles[r].name,
							 asked);

		framework->templates[r] = compile(framework, r, pod, counted);
	}
}
