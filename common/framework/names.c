/* Names of states and the rule for names; see names.h. */
#include "common/framework/names.h"

#include <stddef.h>
#include <string.h>

#include "common/base/mem.h"

enum { NAME_MAX_LEN = 63 };

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

bool namespace_name_valid(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return name[len] == '\0' && len >= 1 && len <= NAME_MAX_LEN && name[0] != '-' && name[len - 1] != '-';
}
