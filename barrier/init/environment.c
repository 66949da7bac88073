/* Reads the environment variables; see environment.h. */
#include "barrier/init/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/framework/names.h"

enum {
	INTERVAL_DEFAULT_SEC = 10,
	INTERVAL_MIN_SEC = 5,
	TIMEOUT_DEFAULT_SEC = 600,
	TIMEOUT_MIN_SEC = 60,
	TIMEOUT_MAX_SEC = 1200,
	UID_MAX = 128,
};

static const char *get(const char *variable)
{
	const char *value = getenv(variable);

	return value == NULL ? "" : value;
}

static int read_seconds(const char *variable, int64_t low, int64_t high, int64_t *out, struct error *err)
{
	const char *text = get(variable);
	char *end;
	long long value;

	if (*text == '\0')
		return 0;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0' || (*text != '+' && (*text < '0' || *text > '9')) || value < low || value > high)
		return error_set(err,
				 "environment variable %s: found \"%.100s\", expected seconds in %" PRId64 "..%" PRId64,
				 variable, text, low, high);
	*out = value;
	return 0;
}

static int wrong(const char *variable, const char *found, const char *expected, struct error *err)
{
	if (*found == '\0')
		return error_set(err, "environment variable %s is not set", variable);
	return error_set(err, "environment variable %s: found \"%.100s\", expected %s", variable, found, expected);
}

/* A uid goes into a URL: what it may hold is what API servers make. */
static bool uid_valid(const char *uid)
{
	return strlen(uid) <= UID_MAX &&
	       strspn(uid, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") == strlen(uid);
}

int environment_read(struct environment *out, struct error *err)
{
	int64_t interval = INTERVAL_DEFAULT_SEC;
	int64_t timeout = TIMEOUT_DEFAULT_SEC;
	const char *ns = get(FC_FRAMEWORK_NAMESPACE);
	const char *name = get(FC_FRAMEWORK_NAME);
	const char *uid = get(FC_FRAMEWORK_UID);

	if (!namespace_name_valid(ns))
		return wrong(FC_FRAMEWORK_NAMESPACE, ns, "the name of a namespace", err);
	if (!framework_name_valid(name))
		return wrong(FC_FRAMEWORK_NAME, name, "a name like ^[a-z0-9]{1,63}$", err);
	if (!uid_valid(uid))
		return wrong(FC_FRAMEWORK_UID, uid, "letters, digits and -", err);
	if (read_seconds("BARRIER_CHECK_INTERVAL_SEC", INTERVAL_MIN_SEC, INT32_MAX, &interval, err) < 0 ||
	    read_seconds("BARRIER_CHECK_TIMEOUT_SEC", TIMEOUT_MIN_SEC, TIMEOUT_MAX_SEC, &timeout, err) < 0)
		return -1;
	*out = (struct environment){
		.ns = mem_strdup(ns),
		.name = mem_strdup(name),
		.uid = mem_strdup(uid),
		.check_interval_sec = interval,
		.check_timeout_sec = timeout,
		.barrier_address = mem_strdup(get("FRAMEWORK_BARRIER_ADDRESS")),
		.barrier_ca_file = mem_strdup(get("FRAMEWORK_BARRIER_CA_FILE")),
		.barrier_token_file = mem_strdup(get("FRAMEWORK_BARRIER_TOKEN_FILE")),
	};
	return 0;
}

void environment_free(struct environment *environment)
{
	free(environment->ns);
	free(environment->name);
	free(environment->uid);
	free(environment->barrier_address);
	free(environment->barrier_ca_file);
	free(environment->barrier_token_file);
	*environment = (struct environment){0};
}
