/* Compiling and filling pod templates (CONTRACT.md §4); see podtemplate.h. */
#include "reconciler/sync/podtemplate.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/distributed.h"

/* What differs from Task to Task or from attempt to attempt. */
enum hole_value {
	HOLE_TASK_INDEX,
	HOLE_POD_NAME,
	HOLE_FRAMEWORK_ATTEMPT_ID,
	HOLE_FRAMEWORK_ATTEMPT_INSTANCE_UID,
	HOLE_CONFIGMAP_UID,
	HOLE_TASKROLE_UID,
	HOLE_TASK_UID,
	HOLE_TASK_ATTEMPT_ID,
	HOLE_RANK,
	HOLE_COUNT
};

struct hole {
	size_t at; /* offset in the text at which the value is put in */
	enum hole_value value;
};

struct pod_template {
	struct buf text;
	struct hole *holes;
	size_t hole_count;
	size_t hole_cap;
	const char *ns; /* the framework's, during compilation */
	const char *framework_name;
	const char *framework_uid;
	const char *role_name;
	bool ready_wanted;
	const char *exclusive_key;         /* NULL: others may run beside it */
	const char *subdomain;             /* NULL: spec.network gives the Pods no names */
	const struct distributed_env *env; /* of spec.distributed, during compilation */
	int64_t first_rank;
};

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
/* the last one only where others are kept away */
static const char *const label_names[LABEL_COUNT + 1] = {FC_FRAMEWORK_NAME, FC_TASKROLE_NAME, FC_TASK_INDEX,
							 FC_FRAMEWORK_UID};

/* Puts the value without quotes: none of these needs escaping, being names or UIDs checked as such by the API server.
 */
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
		buf_puts(out, template->framework_uid);
}

static const struct identity *find_identity(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(identities); i++)
		if (strcmp(identities[i].name, name) == 0)
			return &identities[i];
	return NULL;
}

static void put_named_value(struct pod_template *template, const char *name)
{
	if (strcmp(name, FC_READY_WANTED) == 0) {
		buf_puts(&template->text, "\"true\"");
		return;
	}
	buf_putc(&template->text, '"');
	put_identity(template, find_identity(name));
	buf_putc(&template->text, '"');
}

/* ---- walking the template ---- */

static void put_part(struct pod_template *template, const char *text, size_t len)
{
	/* The part of a JSON string: as a whole one, without its quotes. */
	size_t start = template->text.len;

	buf_json_string_n(&template->text, text, len);
	memmove(template->text.data + start, template->text.data + start + 1, template->text.len - start - 1);
	template->text.len -= 2;
	template->text.data[template->text.len] = '\0';
}

/* The placeholder that begins at text, or NULL; len is what is left of the string. */
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

/* A string with its placeholders replaced, quotes included. */
static void put_string(struct pod_template *template, const char *text, size_t len)
{
	const char *end = text + len;
	const char *at = text;

	buf_putc(&template->text, '"');
	while ((at = memchr(at, '{', (size_t)(end - at))) != NULL) {
		size_t size;
		const struct identity *identity = placeholder_at(at, (size_t)(end - at), &size);

		if (identity == NULL) {
			at++;
			continue;
		}
		put_part(template, text, (size_t)(at - text));
		put_identity(template, identity);
		at += size;
		text = at;
	}
	put_part(template, text, (size_t)(end - text));
	buf_putc(&template->text, '"');
}

static void put_value(struct pod_template *template, json_t *value);

static void put_member_name(struct pod_template *template, const char *name)
{
	buf_json_next(&template->text);
	put_string(template, name, strlen(name));
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
		put_string(template, json_string_value(value), json_string_length(value));
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

static bool absent(const json_t *value)
{
	return value == NULL || json_is_null(value);
}

/* ---- containers ---- */

/* Whether the template sets this variable of a container. */
static bool env_has(const json_t *env, const char *name)
{
	size_t i;
	const json_t *item;

	json_array_foreach(env, i, item) {
		const char *found = json_str(item, "name");

		if (found != NULL && strcmp(found, name) == 0)
			return true;
	}
	return false;
}

/* What launchers read, except variables that the template sets itself. */
static void put_distributed_env(struct pod_template *template, const json_t *env)
{
	struct buf *out = &template->text;

	for (size_t i = 0; i < template->env->count; i++) {
		const struct distributed_var *var = &template->env->vars[i];

		if (env_has(env, var->name))
			continue;
		buf_printf(out, ",{\"name\":\"%s\",\"value\":\"", var->name);
		put_part(template, var->before, strlen(var->before));
		if (var->hole != HOLE_OF_NONE)
			put_hole(template, var->hole == HOLE_OF_RANK ? HOLE_RANK : HOLE_TASK_INDEX);
		put_part(template, var->after, strlen(var->after));
		buf_puts(out, "\"}");
	}
}

static void put_env(struct pod_template *template, json_t *env)
{
	struct buf *out = &template->text;
	size_t i;
	json_t *item;

	if (!absent(env) && !json_is_array(env)) {
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
	return absent(value) || (json_is_string(value) && json_string_length(value) == 0);
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

static bool is_replaced_name(const struct pod_template *template, const char *name, const json_t *value)
{
	return template->subdomain != NULL && unset(value) &&
	       (strcmp(name, "hostname") == 0 || strcmp(name, "subdomain") == 0);
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
		if (is_replaced_name(template, name, member))
			continue;
		put_member_name(template, name);
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
	put_names(template, spec);
	if (affinity != NULL) {
		buf_json_key(&template->text, "affinity");
		put_value(template, affinity);
	}
	buf_putc(&template->text, '}');
}

/* ---- metadata ---- */

static bool is_own_name(const char *name, const char *const *own, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, own[i]) == 0)
			return true;
	return false;
}

/* The user's map with our names in it, ours winning. */
static void put_map(struct pod_template *template, const char *key, json_t *map, const char *const *own, size_t count)
{
	struct buf *out = &template->text;
	const char *name;
	json_t *member;

	buf_json_key(out, key);
	if (!absent(map) && !json_is_object(map)) {
		put_value(template, map);
		return;
	}
	buf_putc(out, '{');
	json_object_foreach(map, name, member) {
		if (is_own_name(name, own, count))
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
	if (!absent(owners) && !json_is_array(owners)) {
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
	const char *annotation_names[ARRAY_LEN(identities) + 1];
	struct buf *out = &template->text;
	const char *name;
	json_t *member;

	for (size_t i = 0; i < ARRAY_LEN(identities); i++)
		annotation_names[i] = identities[i].name;
	annotation_names[ARRAY_LEN(identities)] = FC_READY_WANTED;
	buf_putc(out, '{');
	json_object_foreach(metadata, name, member) {
		if (is_own_name(name, ours, ARRAY_LEN(ours)))
			continue;
		put_member_name(template, name);
		put_value(template, member);
	}
	buf_json_key(out, "name");
	put_named_value(template, FC_POD_NAME);
	buf_json_key(out, "namespace");
	put_named_value(template, FC_FRAMEWORK_NAMESPACE);
	put_map(template, "labels", json_object_get(metadata, "labels"), label_names,
		LABEL_COUNT + (template->exclusive_key != NULL));
	put_map(template, "annotations", json_object_get(metadata, "annotations"), annotation_names,
		ARRAY_LEN(identities) + template->ready_wanted);
	put_owners(template, json_object_get(metadata, "ownerReferences"));
	buf_putc(out, '}');
}

/* ---- compiling and filling ---- */

static struct pod_template *compile(const struct framework *framework, size_t role, json_t *pod)
{
	struct pod_template *template = mem_calloc(1, sizeof(*template));
	struct distributed_env env;

	template->ns = framework->ns;
	template->framework_name = framework->name;
	template->framework_uid = framework->uid;
	template->role_name = framework->spec.roles[role].name;
	template->ready_wanted = framework->spec.roles[role].ready_wanted;
	template->exclusive_key = framework->spec.exclusive_key;
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

static void compile_all(struct framework *framework)
{
	struct error err;
	cleanup_json json_t *spec = json_parse(framework->spec_text, strlen(framework->spec_text), &err);
	json_t *roles = json_object_get(spec, "taskRoles");

	framework->templates = mem_calloc(framework->spec.role_count, sizeof(struct pod_template *));
	for (size_t r = 0; r < framework->spec.role_count; r++) {
		cleanup_json json_t *pod = admission_pod(framework->status.admission, framework->spec.roles[r].name,
							 json_path(json_array_get(roles, r), "task", "pod", NULL));

		framework->templates[r] = compile(framework, r, pod);
	}
}

bool pod_template_too_large(struct framework *framework, size_t role)
{
	if (framework->templates == NULL)
		compile_all(framework);
	return framework->templates[role]->text.len > POD_BODY_MAX;
}

void pod_template_render(struct framework *framework, size_t role, size_t index, struct buf *out)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;
	const struct role_status *role_status = &attempt->roles[role];
	const struct task_status *task = &role_status->tasks[index];
	int in_spec = framework_spec_find_role(&framework->spec, role_status->name);
	const struct pod_template *template;
	size_t done = 0;

	if (framework->templates == NULL)
		compile_all(framework);
	template = framework->templates[in_spec];
	buf_reserve(out, template->text.len + template->hole_count * UUID_SIZE);
	for (size_t i = 0; i < template->hole_count; i++) {
		buf_append(out, template->text.data + done, template->holes[i].at - done);
		done = template->holes[i].at;
		switch (template->holes[i].value) {
		case HOLE_TASK_INDEX: buf_put_int(out, (int64_t)index); break;
		case HOLE_POD_NAME: buf_printf(out, "%s-%s-%zu", framework->name, role_status->name, index); break;
		case HOLE_FRAMEWORK_ATTEMPT_ID: buf_put_int(out, attempt->id); break;
		case HOLE_FRAMEWORK_ATTEMPT_INSTANCE_UID: buf_puts(out, attempt->instance_uid); break;
		case HOLE_CONFIGMAP_UID: buf_puts(out, attempt->config_map_uid); break;
		case HOLE_TASKROLE_UID: buf_puts(out, role_status->instance_uid); break;
		case HOLE_TASK_UID: buf_puts(out, task->instance_uid); break;
		case HOLE_TASK_ATTEMPT_ID: buf_put_int(out, task->attempt.id); break;
		case HOLE_RANK: buf_put_int(out, template->first_rank + (int64_t)index); break;
		case HOLE_COUNT: break;
		}
	}
	buf_append(out, template->text.data + done, template->text.len - done);
}

void pod_templates_free(struct framework *framework)
{
	for (size_t r = 0; framework->templates != NULL && r < framework->spec.role_count; r++) {
		buf_free(&framework->templates[r]->text);
		free(framework->templates[r]->holes);
		free(framework->templates[r]);
	}
	free(framework->templates);
	framework->templates = NULL;
}
