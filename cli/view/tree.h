/* A Framework as a tree: TaskRoles, Tasks (equal ones folded), the Pod of each one's present attempt. */
#ifndef CLI_VIEW_TREE_H
#define CLI_VIEW_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/view/wait.h"

enum tone { TONE_PLAIN, TONE_GOOD, TONE_BAD, TONE_WAITS };

/* The tone of a Task's or Framework's state. */
enum tone tone_of(enum attempt_state state, const struct completion *completion);

struct tree_node {
	const char *kind; /* "Framework", "TaskRole", "Tasks", "Task" or "Pod" */
	char *name;       /* "hello", "worker", "worker[3..97]", "worker[3]", "hello-worker-3" */
	size_t count;     /* of Tasks */
	size_t first;     /* index of the first one */
	char *state;      /* "95 × Running", "Completed 210 ContainerPermanentFailed" */
	char *detail;     /* node, retries, reason; "" if there is none */
	enum tone tone;
	struct tree_node *children;
	size_t child_count;
};

/* unfolded: each Task is a node. ascii: " x " in place of " × ". Free with tree_free(). */
void tree_build(const struct inquiry *inquiry, bool unfolded, bool ascii, struct tree_node *out);
void tree_free(struct tree_node *node);
/* {"kind", "name", "count", "state", "detail", "children": []}. The caller decrefs. */
json_t *tree_json(const struct tree_node *node);

#endif
