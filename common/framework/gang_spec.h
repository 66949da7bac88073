/* Reading spec.gang (CONTRACT.md §2.20); part of spec.c. */
#ifndef FRAMEWORK_GANG_SPEC_H
#define FRAMEWORK_GANG_SPEC_H

#include "common/base/json_field.h"
#include "common/framework/spec.h"

/* Reads the member `gang` of the spec, whose TaskRoles have been read. 0, or -1 and *err. */
int gang_spec_read(const struct json_field *spec, struct framework_spec *out, struct error *err);
/* Whether the PodGroups of a Framework of this name can have their names. 0, or -1 and *err. */
int gang_spec_check_name(const struct gang_spec *gang, const char *framework_name, struct error *err);
void gang_spec_free(struct gang_spec *gang);

#endif
