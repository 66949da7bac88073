/* JSON values as YAML, with libyaml. */
#ifndef CLI_YAML_WRITE_H
#define CLI_YAML_WRITE_H

#include <jansson.h>

#include "common/base/buf.h"

/* Appends one document without "---". Strings that other readers could take for another type are quoted, for YAML 1.1
 * and 1.2. If any text has a character that is unsafe on a terminal (text.h), all text beyond ASCII is escaped. */
void yaml_write(struct buf *out, const json_t *value);

#endif
