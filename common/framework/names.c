/* Names of states and the rule for names; see names.h. */
#include "common/framework/names.h"

#include <stddef.h>
#include <string.h>

#include "common/base/mem.h"

enum { NAME_MAX_LEN = 63, PREFIX_MAX_LEN = 253 };

static const char *const state_names[STATE_COUNT] = {
	[STATE_CREATION_PENDING] = "AttemptCreationPending",
	[STATE_CREATION_REQUESTED] = "AttemptCreationRequested",
	[STATE_PREPARING] = "AttemptPreparing",
	[STATE_RUNNING] = "AttemptRunning",
	[STATE_DELETION_PENDING] = "AttemptDeletionPending",
	[STATE_DELETION_REQUESTED] = "AttemptDeletionRequested",
	[STATE_DELETING] = "AttemptDeleting",
	[STATE_ATTEMPT_COMPLETED] = "AttemptCompleted",
	[STATE_COMPLETED] = "Completed",
};

const char *attempt_state_name(enum attempt_state state)
{
	return state_names[state];
}

int attempt_state_parse(const char *name, enum attempt_state *out)
{
	for (size_t i = 0; name != NULL && i < ARRAY_LEN(state_names); i++) {
		if (strcmp(name, state_names[i]) == 0) {
			*out = (enum attempt_state)i;
			return 0;
		}
	}
	return -1;
}

bool framework_name_valid(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");

	return name[len] == '\0' && len >= 1 && len <= NAME_MAX_LEN;
}

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool consists_of(const char *text, size_t len, size_t max, const char *others)
{
	if (len < 1 || len > max || !is_alphanumeric(text[0]) || !is_alphanumeric(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alphanumeric(text[i]) && strchr(others, text[i]) == NULL)
			return false;
	return true;
}

bool label_key_valid(const char *key)
{
	const char *slash = strchr(key, '/');
	const char *name = slash == NULL ? key : slash + 1;

	return (slash == NULL || consists_of(key, (size_t)(slash - key), PREFIX_MAX_LEN, "-.")) &&
	       consists_of(name, strlen(name), NAME_MAX_LEN, "-_.");
}

bool object_name_valid(const char *name)
{
	return strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == NULL &&
	       consists_of(name, strlen(name), PREFIX_MAX_LEN, "-.");
}

bool namespace_name_valid(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return name[len] == '\0' && len >= 1 && len <= NAME_MAX_LEN && name[0] != '-' && name[len - 1] != '-';
}
