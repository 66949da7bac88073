/* The shares of namespaces in the places for waiters and in the reads; see wait_internal.h. Whoever may get Frameworks
 * in one namespace cannot keep out callers of other namespaces. */
#include <stdlib.h>
#include <string.h>

#include "barrier/wait_internal.h"
#include "common/base/mem.h"

static struct wait_share *find_share(const struct wait_groups *groups, const char *ns)
{
	struct wait_share *share;

	HASH_FIND_STR(groups->shares, ns, share);
	return share;
}

void wait_share_join(struct wait_group *group, const char *ns)
{
	struct wait_groups *groups = group->all;

	group->share = find_share(groups, ns);
	if (group->share == NULL) {
		group->share = mem_calloc(1, sizeof(*group->share));
		group->share->ns = mem_strdup(ns);
		HASH_ADD_KEYPTR(hh, groups->shares, group->share->ns, strlen(ns), group->share);
	}
	group->share->groups++;
}

void wait_share_leave(struct wait_group *group)
{
	struct wait_share *share = group->share;

	if (--share->groups > 0)
		return;
	HASH_DEL(group->all->shares, share);
	free(share->ns);
	free(share);
}

struct waiter *wait_share_giving_way(const struct wait_groups *groups, const char *ns)
{
	const struct wait_share *own = find_share(groups, ns);
	const struct wait_share *most = groups->shares;
	const struct wait_share *share;

	for (share = most; share != NULL; share = share->hh.next)
		if (share->count > most->count)
			most = share;
	if (most == NULL || most->count < (own == NULL ? 0 : own->count) + 2)
		return NULL;
	return most->waiters->prev_of_share;
}
