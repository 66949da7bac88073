/* Merge patches; see patch.h. */
#include "jobs/patch.h"

json_t *patch_make(const json_t *from, const json_t *to)
{
	json_t *patch;
	json_t *value;
	const char *name;

	if (!json_is_object(to) || !json_is_object(from))
		return json_incref((json_t *)to);
	patch = json_object();
	json_object_foreach((json_t *)from, name, value)
		if (json_object_get(to, name) == NULL)
			json_object_set_new(patch, name, json_null());
	json_object_foreach((json_t *)to, name, value) {
		const json_t *former = json_object_get(from, name);

		if (former == NULL || !json_equal(former, value))
			json_object_set_new(patch, name, patch_make(former, value));
	}
	return patch;
}

bool patch_contains(const json_t *whole, const json_t *part)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_object(part) && json_is_object(whole)) {
		json_object_foreach((json_t *)part, name, value) {
			const json_t *found = json_object_get(whole, name);

			if (found == NULL ? !json_is_null(value) : !patch_contains(found, value))
				return false;
		}
		return true;
	}
	if (json_is_array(part) && json_is_array(whole)) {
		if (json_array_size(part) != json_array_size(whole))
			return false;
		json_array_foreach(part, i, value)
			if (!patch_contains(json_array_get(whole, i), value))
				return false;
		return true;
	}
	return json_equal(whole, part);
}
