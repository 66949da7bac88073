/* Counts the access reviews of each user that are under way: a user who asks about thousands of namespaces would fill
 * the rate limit's queue, and the reviews of all others would wait behind them. */
#ifndef BARRIER_USER_LOAD_H
#define BARRIER_USER_LOAD_H

#include <stddef.h>

struct user_load;

/* Counts one more review of the user. NULL: limit reviews are under way already. *loads: all users, NULL at first; an
 * entry exists as long as a review of its user does. */
struct user_load *user_load_take(struct user_load **loads, const char *user, size_t limit);
/* The review has ended. */
void user_load_release(struct user_load **loads, struct user_load *load);

#endif
