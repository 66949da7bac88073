/* The environment variables of the init container (CONTRACT.md §16). */
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

/* An empty variable counts as not set. 0 and *out, which the caller frees with environment_free(); or -1 and *err,
 * which names the variable, the found and the expected value. */
int environment_read(struct environment *out, struct error *err);
void environment_free(struct environment *environment);

#endif
