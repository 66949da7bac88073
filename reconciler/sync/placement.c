/* The affinity of spec.placement (CONTRACT.md §4.17), beside what the template has; see podtemplate.h. */
#include "common/base/json.h"
#include "common/framework/names.h"
#include "reconciler/sync/podtemplate.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

/* Appends terms (taken over) to those of the kind. False: the template has something else there. */
static bool add_terms(json_t *affinity, const char *kind, json_t *terms)
{
	cleanup_json json_t *added = terms;
	const json_t *before = json_object_get(affinity, kind);
	const json_t *list_before = json_object_get(before, REQUIRED);
	json_t *after;
	json_t *list;

	if ((!json_absent(before) && !json_is_object(before)) ||
	    (!json_absent(list_before) && !json_is_array(list_before)))
		return false;
	after = json_absent(before) ? json_object() : json_copy((json_t *)(uintptr_t)before);
	list = json_absent(list_before) ? json_array() : json_copy((json_t *)(uintptr_t)list_before);
	json_array_extend(list, added);
	json_object_set_new(after, REQUIRED, list);
	json_object_set_new(affinity, kind, after);
	return true;
}

json_t *placement_affinity(const json_t *affinity, const char *framework_uid, const char *key)
{
	json_t *merged;

	if (!json_absent(affinity) && !json_is_object(affinity))
		return NULL;
	merged = json_absent(affinity) ? json_object() : json_copy((json_t *)(uintptr_t)affinity);
	if (add_terms(merged, "podAffinity",
		      json_pack("[{s:{s:{s:s}},s:s}]", "labelSelector", "matchLabels", FC_FRAMEWORK_UID, framework_uid,
				"topologyKey", key)) &&
	    /* NotIn holds for Pods without that label, too */
	    add_terms(merged, "podAntiAffinity",
		      json_pack("[{s:{s:[{s:s,s:s},{s:s,s:s,s:[s]}]},s:{},s:s}]", "labelSelector", "matchExpressions",
				"key", FC_FRAMEWORK_NAME, "operator", "Exists", "key", FC_FRAMEWORK_UID, "operator",
				"NotIn", "values", framework_uid, "namespaceSelector", "topologyKey", key)))
		return merged;
	json_decref(merged);
	return NULL;
}
