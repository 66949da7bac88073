/* What the init container is told by its environment (CONTRACT.md §16). */
#ifndef INIT_ENVIRONMENT_H
#define INIT_ENVIRONMENT_H

#include <stdint.h>

#include "common/base/error.h"

struct environment {
	char *ns;                   /* FC_FRAMEWORK_NAMESPACE */
	char *name;                 /* FC_FRAMEWORK_NAME */
	char *uid;                  /* FC_FRAMEWORK_UID, "" when not set: the Framework this Pod belongs to */
	int64_t check_interval_sec; /* BARRIER_CHECK_INTERVAL_SEC: 10, >= 5 */
	int64_t check_timeout_sec;  /* BARRIER_CHECK_TIMEOUT_SEC: 600, 60..1200 */
	char *barrier_address;      /* FRAMEWORK_BARRIER_ADDRESS, "http[s]://host:port", "" when not set */
	char *barrier_ca_file;      /* FRAMEWORK_BARRIER_CA_FILE, "" when not set */
	char *barrier_token_file;   /* FRAMEWORK_BARRIER_TOKEN_FILE, "" when not set */
};

/* Variables that are set but empty count as not set. 0 and *out, to be freed with environment_free(); or -1 and *err
 * naming the variable, what was found and what was expected. */
int environment_read(struct environment *out, struct error *err);
void environment_free(struct environment *environment);

#endif
