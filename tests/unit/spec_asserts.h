/* What the tests of members of the spec share: reading one, and the message when it is refused. */
#ifndef UNIT_SPEC_ASSERTS_H
#define UNIT_SPEC_ASSERTS_H

#include "common/framework/spec.h"
#include "tests/unit/sync_world.h"

static inline int parse(const char *text, struct framework_spec *out, struct error *err)
{
	cleanup_json json_t *spec = json_of(text);

	return framework_spec_parse(spec, out, err);
}

static inline void assert_refused(const char *text, const char *message)
{
	struct framework_spec spec;
	struct error err;

	if (parse(text, &spec, &err) == 0)
		fail_msg("%s was read", text);
	assert_string_equal(err.message, message);
}

#endif
