/* Reviews under way by user; see user_load.h. */
#include "barrier/user_load.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/mem.h"

struct user_load {
	UT_hash_handle hh;
	char *user;
	size_t reviews;
};

struct user_load *user_load_take(struct user_load **loads, const char *user, size_t limit)
{
	struct user_load *load;

	HASH_FIND_STR(*loads, user, load);
	if (load == NULL) {
		load = mem_calloc(1, sizeof(*load));
		load->user = mem_strdup(user);
		HASH_ADD_KEYPTR(hh, *loads, load->user, strlen(load->user), load);
	} else if (load->reviews >= limit) {
		return NULL;
	}
	load->reviews++;
	return load;
}

void user_load_release(struct user_load **loads, struct user_load *load)
{
	if (--load->reviews > 0)
		return;
	HASH_DEL(*loads, load);
	free(load->user);
	free(load);
}
