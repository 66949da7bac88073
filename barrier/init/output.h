/* The files that the init container writes for the app containers: framework.json and injector.sh (CONTRACT.md §16). */
#ifndef INIT_OUTPUT_H
#define INIT_OUTPUT_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/framework/gang.h"

/* Appends the injector: a script that exports FB_<ROLE>_IPS and FB_<ROLE>_ADDRESSES of each TaskRole when it is sourced
 * by sh, dash, bash or ash. The gang must have passed. 0; or -1 and *err if a value is not an IP address, because such
 * a value could break the shell that sources the script. An IPv6 address has brackets before its port. */
int injector_write(struct buf *out, const struct gang *gang, struct error *err);

/* Writes both files into the directory: framework.json with mode 0644 and injector.sh with mode 0755. Each is written
 * to a temporary file and renamed, so a partial file is never visible. 0, or -1 and *err, which names the file. */
int output_write(const char *directory, const char *framework, const struct buf *injector, struct error *err);

#endif
