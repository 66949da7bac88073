/* Reading spec.network and spec.distributed (CONTRACT.md §2); part of spec.c. */
#ifndef FRAMEWORK_NETWORK_H
#define FRAMEWORK_NETWORK_H

#include "common/base/json_field.h"
#include "common/framework/spec.h"

/* Linux starts no program with a longer variable, its name and the NUL included, or argument (MAX_ARG_STRLEN). */
enum { VARIABLE_MAX = 131072 };

/* Reads the members `network` and `distributed` of the spec, whose TaskRoles have been read. 0, or -1 and *err. */
int network_spec_read(const struct json_field *spec, struct framework_spec *out, struct error *err);
void network_spec_free(struct framework_spec *spec);

#endif
