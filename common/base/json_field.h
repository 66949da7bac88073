/* Reading the members of a JSON object, with errors that name the place, the found and the expected value:
 * "spec.taskRoles[0].taskNumber is -1, expected an integer in 0..10000". */
#ifndef BASE_JSON_FIELD_H
#define BASE_JSON_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* A value and its place in the document. Value and name are borrowed; outer must outlive it. */
struct json_field {
	const json_t *value; /* NULL: absent or null */
	const struct json_field *outer;
	const char *name;
	bool is_item;
	size_t index;  /* of an item */
	bool required; /* an absent or null member is an error; else it leaves *out unchanged */
};

/* Each reads a member of the object. 0, or -1 and *err. */
int json_field_int(const struct json_field *object, const char *name, int64_t low, int64_t high, int64_t *out,
		   struct error *err);
int json_field_int32(const struct json_field *object, const char *name, int32_t low, int32_t high, int32_t *out,
		     struct error *err);
int json_field_bool(const struct json_field *object, const char *name, bool *out, struct error *err);
/* *out is replaced (mem_replace()). */
int json_field_text(const struct json_field *object, const char *name, char **out, struct error *err);
/* RFC 3339, in unix seconds. */
int json_field_time(const struct json_field *object, const char *name, int64_t *out, struct error *err);
/* out->value is NULL when it is absent. */
int json_field_object(const struct json_field *object, const char *name, struct json_field *out, struct error *err);
int json_field_list(const struct json_field *object, const char *name, struct json_field *out, struct error *err);
struct json_field json_field_item(const struct json_field *list, size_t index);

/* Sets *err; name NULL: the value itself is wrong. Returns -1. */
int json_field_wrong(const struct json_field *object, const char *name, const char *expected, struct error *err);

#endif
