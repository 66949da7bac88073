/* The predefined completion codes (CONTRACT.md §7). */
#ifndef FRAMEWORK_CODES_H
#define FRAMEWORK_CODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	CODE_SUCCEEDED = 0,
	CODE_CONTAINER_TRANSIENT_FAILED = 200,
	CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED = 201,
	CODE_CONTAINER_PERMANENT_FAILED = 210,
	CODE_CONFIG_MAP_EXTERNAL_DELETED = -100,
	CODE_POD_EXTERNAL_DELETED = -101,
	CODE_CONFIG_MAP_LOCAL_CACHE_CREATION_TIMEOUT = -110,
	CODE_POD_LOCAL_CACHE_CREATION_TIMEOUT = -111,
	CODE_POD_CREATION_TRANSIENT_ERROR = -120,
	CODE_POD_CREATION_PERMANENT_ERROR = -200,
	CODE_STOP_FRAMEWORK_REQUESTED = -210,
	CODE_FRAMEWORK_ATTEMPT_COMPLETION = -220,
	CODE_DELETE_TASK_REQUESTED = -230,
	CODE_SUSPEND_FRAMEWORK_REQUESTED = -240,
	CODE_ACTIVE_DEADLINE_EXCEEDED = -250,
	CODE_POD_FAILED_WITHOUT_FAILED_CONTAINER = -300,
	CODE_POD_CREATION_UNKNOWN_ERROR = -310,
	CODE_POD_START_TIMEOUT = -320,
	CODE_POD_NEVER_STARTS = -321,
	CODE_POD_UNSCHEDULABLE_TIMEOUT = -330,
};

/* The phrase of a container's exit code that nothing describes (CONTRACT.md §7.5). */
#define PHRASE_CONTAINER_UNRECOGNIZED_FAILED "ContainerUnrecognizedFailed"

enum { COMPLETION_ATTRIBUTES_MAX = 2 };

struct completion_code {
	int32_t code;
	const char *phrase;
	const char *attributes[COMPLETION_ATTRIBUTES_MAX + 1]; /* type.attributes, ends with NULL */
};

/* NULL when code is not predefined. */
const struct completion_code *completion_code_find(int32_t code);

/* type.attributes of a predefined code as a JSON array, [] for any other code. Shared by all who ask: borrowed, to be
 * kept with json_incref, never to be changed. */
json_t *completion_code_attributes(int32_t code);

/* Whether configuration may not define code: 200..219 and -999..0. */
bool completion_code_reserved(int32_t code);

#endif
