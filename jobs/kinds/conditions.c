/* Conditions of jobs; see conditions.h. */
#include "jobs/kinds/conditions.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"

static bool is(const json_t *condition, const char *name, const char *text)
{
	const char *found = json_str(condition, name);

	return found != NULL && strcmp(found, text) == 0;
}

static json_t *find(const json_t *conditions, const char *type)
{
	json_t *condition;
	size_t i;

	json_array_foreach(conditions, i, condition)
		if (is(condition, "type", type))
			return condition;
	return NULL;
}

bool condition_exists(const json_t *conditions, const char *type)
{
	return find(conditions, type) != NULL;
}

bool condition_is_true(const json_t *conditions, const char *type)
{
	return is(find(conditions, type), "status", "True");
}

static void drop(json_t *conditions, const char *type)
{
	for (size_t i = json_array_size(conditions); i > 0; i--)
		if (is(json_array_get(conditions, i - 1), "type", type))
			json_array_remove(conditions, i - 1);
}

/* A condition of the list that is changed becomes another one. */
static void end_running(json_t *conditions)
{
	json_t *condition;
	size_t i;

	json_array_foreach(conditions, i, condition) {
		if (!is(condition, "type", "Running"))
			continue;
		condition = json_copy(condition);
		json_object_set_new(condition, "status", json_string("False"));
		json_array_set_new(conditions, i, condition);
		return;
	}
}

static void give_way(json_t *conditions, const char *type)
{
	drop(conditions, type);
	if (strcmp(type, "Restarting") == 0)
		drop(conditions, "Running");
	else if (strcmp(type, "Running") == 0)
		drop(conditions, "Restarting");
	else if (strcmp(type, "Succeeded") == 0 || strcmp(type, "Failed") == 0)
		end_running(conditions);
}

bool condition_set(json_t *conditions, const char *type, bool value, const char *reason, const char *message,
		   int64_t now_sec)
{
	const char *status = value ? "True" : "False";
	const json_t *former = find(conditions, type);
	char now[TIME_RFC3339_SIZE];
	json_t *since;

	if (condition_is_true(conditions, "Succeeded") || condition_is_true(conditions, "Failed") ||
	    (is(former, "status", status) && is(former, "reason", reason)))
		return false;
	time_format_rfc3339(now_sec, now);
	since = is(former, "status", status) ? json_incref(json_object_get(former, "lastTransitionTime")) : NULL;
	if (since == NULL)
		since = json_string(now);
	give_way(conditions, type);
	json_array_append_new(conditions,
			      json_object_of("type", json_string(type), "status", json_string(status), "reason",
					     json_string(reason), "message", json_string(message), "lastUpdateTime",
					     json_string(now), "lastTransitionTime", since, NULL));
	return true;
}
