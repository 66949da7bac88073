/* PodSecurity admission; see podsecurity.h. Rules, order and texts follow k8s.io/pod-security-admission of 1.32; the
 * rules about AppArmor, SELinux, sysctls, procMount and Windows are absent. */
#include "tests/cluster/testapi/podsecurity.h"

#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/store.h"

#define LABELS "pod-security.kubernetes.io/"

static const json_t *context(const json_t *owner)
{
	return json_object_get(owner, "securityContext");
}

/* ---- what of a container violates a rule; pod is the spec ---- */

static bool may_escalate(const json_t *pod, const json_t *container)
{
	(void)pod;
	return json_bool(context(container), "allowPrivilegeEscalation", true);
}

/* Whether a list of strings has another one than text, or text itself. */
static bool has(const json_t *list, const char *text, bool other)
{
	size_t index;
	const json_t *item;

	json_array_foreach(list, index, item)
		if ((strcmp(json_string_value(item), text) != 0) == other)
			return true;
	return false;
}

static bool keeps_capabilities(const json_t *pod, const json_t *container)
{
	(void)pod;
	return !has(json_path(context(container), "capabilities", "drop", NULL), "ALL", false);
}

static bool adds_capabilities(const json_t *pod, const json_t *container)
{
	(void)pod;
	return has(json_path(context(container), "capabilities", "add", NULL), "NET_BIND_SERVICE", true);
}

static bool has_host_port(const json_t *pod, const json_t *container)
{
	size_t index;
	const json_t *port;

	(void)pod;
	json_array_foreach(json_object_get(container, "ports"), index, port)
		if (json_int(port, "hostPort", 0) != 0)
			return true;
	return false;
}

static bool is_privileged(const json_t *pod, const json_t *container)
{
	(void)pod;
	return json_bool(context(container), "privileged", false);
}

static bool may_be_root(const json_t *pod, const json_t *container)
{
	return !json_bool(context(container), "runAsNonRoot", json_bool(context(pod), "runAsNonRoot", false));
}

static bool is_root(const json_t *pod, const json_t *container)
{
	return json_int(context(container), "runAsUser", json_int(context(pod), "runAsUser", 1)) == 0;
}

static bool has_no_seccomp(const json_t *pod, const json_t *container)
{
	const json_t *profile = json_object_get(context(container), "seccompProfile");
	const char *type = json_str(profile != NULL ? profile : json_object_get(context(pod), "seccompProfile"),
				    "type");

	return type == NULL || (strcmp(type, "RuntimeDefault") != 0 && strcmp(type, "Localhost") != 0);
}

static const struct {
	const char *reason;
	const char *before; /* of the containers' names */
	bool (*violates)(const json_t *pod, const json_t *container);
	const char *must;
} RULES[] = {
	{"allowPrivilegeEscalation != false", "", may_escalate,
	 "must set securityContext.allowPrivilegeEscalation=false"},
	{"unrestricted capabilities", "", keeps_capabilities, "must set securityContext.capabilities.drop=[\"ALL\"]"},
	{"unrestricted capabilities", "", adds_capabilities,
	 "must add \"NET_BIND_SERVICE\" alone in securityContext.capabilities.add"},
	{"hostPort", "", has_host_port, "must not use hostPort"},
	{"privileged", "", is_privileged, "must not set securityContext.privileged=true"},
	{"runAsNonRoot != true", "pod or ", may_be_root, "must set securityContext.runAsNonRoot=true"},
	{"runAsUser=0", "pod or ", is_root, "must not set runAsUser=0"},
	{"seccompProfile", "pod or ", has_no_seccomp,
	 "must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""},
};

static void check_containers(const json_t *pod, size_t rule, struct buf *out)
{
	static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
	cleanup_buf struct buf names = {0};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		size_t index;
		const json_t *container;

		json_array_foreach(json_object_get(pod, lists[i]), index, container)
			if (RULES[rule].violates(pod, container))
				buf_printf(&names, "%s\"%s\"", count++ > 0 ? ", " : "", json_str(container, "name"));
	}
	if (count > 0)
		buf_printf(out, "%s%s (%scontainer%s %s %s)", out->len > 0 ? ", " : "", RULES[rule].reason,
			   RULES[rule].before, count > 1 ? "s" : "", names.data, RULES[rule].must);
}

static void check_host_namespaces(const json_t *pod, struct buf *out)
{
	static const char *const members[] = {"hostNetwork", "hostPID", "hostIPC"};

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (json_bool(pod, members[i], false))
			buf_printf(out, "%shost namespaces (%s=true)", out->len > 0 ? ", " : "", members[i]);
}

static void check_volumes(const json_t *pod, struct buf *out)
{
	static const char *const allowed[] = {"name",      "configMap", "csi",    "downwardAPI",          "emptyDir",
					      "ephemeral", "projected", "secret", "persistentVolumeClaim"};
	size_t index;
	json_t *volume;
	const char *kind;
	json_t *source;

	json_array_foreach(json_object_get(pod, "volumes"), index, volume)
		json_object_foreach(volume, kind, source) {
			bool known = false;

			for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
				known = known || strcmp(kind, allowed[i]) == 0;
			if (!known)
				buf_printf(out,
					   "%srestricted volume types (volume \"%s\" uses restricted volume type "
					   "\"%s\")",
					   out->len > 0 ? ", " : "", json_str(volume, "name"), kind);
		}
}

/* What violates the profile that the label of the namespace names; nothing where it names another one. */
static void check(const struct api *api, const json_t *pod, const char *label, struct buf *out)
{
	struct api_object *home = api_store_get(api->namespaces, NULL,
						json_str(json_object_get(pod, "metadata"), "namespace"));
	const char *level = home == NULL
				    ? NULL
				    : json_str(json_path(api_object_json(home), "metadata", "labels", NULL), label);
	const json_t *spec = json_object_get(pod, "spec");

	if (level == NULL || strcmp(level, "restricted") != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(RULES); i++)
		check_containers(spec, i, out);
	check_host_namespaces(spec, out);
	check_volumes(spec, out);
}

int api_podsecurity_admit(const struct api *api, const struct api_resource *resource, const json_t *pod,
			  struct api_failure *failure)
{
	const char *name = json_str(json_object_get(pod, "metadata"), "name");
	cleanup_buf struct buf violations = {0};

	check(api, pod, LABELS "enforce", &violations);
	if (violations.len == 0)
		return 0;
	return api_fail_object(failure, 403, "Forbidden", resource, name,
			       "pods \"%s\" is forbidden: violates PodSecurity \"restricted:latest\": %s", name,
			       violations.data);
}

void api_podsecurity_warn(const struct api *api, const json_t *pod, struct buf *warnings)
{
	cleanup_buf struct buf violations = {0};

	check(api, pod, LABELS "warn", &violations);
	if (violations.len > 0)
		buf_printf(warnings, "would violate PodSecurity \"restricted:latest\": %s\n", violations.data);
}
