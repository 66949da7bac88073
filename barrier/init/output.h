/* What the init container leaves to the app containers: framework.json and injector.sh (CONTRACT.md §16). */
#ifndef INIT_OUTPUT_H
#define INIT_OUTPUT_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/framework/gang.h"

/* Appends the injector: a script that exports FB_<ROLE>_IPS and FB_<ROLE>_ADDRESSES of each TaskRole when it is sourced
 * by sh, dash, bash or ash. The gang has passed. 0; or -1 and *err when a value is no IP address, since anything else
 * could break the shell that sources it. An IPv6 address stands in brackets before its port. */
int injector_write(struct buf *out, const struct gang *gang, struct error *err);

/* Writes both files into the directory, each at once or not at all (a temporary file, renamed): framework.json with
 * mode 0644 and injector.sh with mode 0755. 0, or -1 and *err naming the file. */
int output_write(const char *directory, const char *framework, const struct buf *injector, struct error *err);

#endif
