/* See tree.h. */
#include "cli/view/tree.h"

#include <stdlib.h>
#include <string.h>

#include "cli/view/age.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"

enum { FOLD_FROM = 3, NODES_LISTED = 3 };

enum tone tone_of(enum attempt_state state, const struct completion *completion)
{
	if (completion != NULL && completion->code == CODE_FRAMEWORK_ATTEMPT_COMPLETION)
		return TONE_PLAIN;
	if (completion != NULL)
		return completion->succeeded ? TONE_GOOD : TONE_BAD;
	return state == STATE_RUNNING ? TONE_GOOD : TONE_WAITS;
}

static struct tree_node *add_child(struct tree_node *parent, const char *kind, char *name)
{
	struct tree_node *child;

	parent->children = mem_realloc(parent->children, parent->child_count + 1, sizeof(*parent->children));
	child = &parent->children[parent->child_count++];
	*child = (struct tree_node){.kind = kind, .name = name, .count = 1};
	return child;
}

/* ---- equal Tasks ------------------------------------------------------------------------------------------------- */

/* Everything that is shown of a Task and of those folded with it. */
struct fold {
	enum attempt_state state;
	const struct completion *completion;
	int32_t attempt;
	bool deletion_pending;
	struct task_wait wait;
	struct index_list indexes;
	size_t first;                   /* index */
	const struct task_status *task; /* the first one */
	const char *nodes[NODES_LISTED];
	size_t node_count; /* more than NODES_LISTED: others, too */
};

static bool same_completion(const struct completion *a, const struct completion *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return a->code == b->code && strcmp(a->phrase, b->phrase) == 0;
}

static bool same_fold(const struct fold *fold, const struct task_status *task, const struct task_wait *wait)
{
	return fold->state == task->state && fold->attempt == task->attempt.id &&
	       fold->deletion_pending == task->deletion_pending &&
	       same_completion(fold->completion, task->attempt.completion) && fold->wait.kind == wait->kind &&
	       strcmp(fold->wait.reason, wait->reason) == 0;
}

static void add_node(struct fold *fold, const char *node)
{
	if (node == NULL || *node == '\0')
		return;
	for (size_t i = 0; i < fold->node_count && i < NODES_LISTED; i++)
		if (strcmp(fold->nodes[i], node) == 0)
			return;
	if (fold->node_count < NODES_LISTED)
		fold->nodes[fold->node_count] = node;
	if (fold->node_count <= NODES_LISTED)
		fold->node_count++;
}

static struct fold *fold_of(struct fold **folds, size_t *count, const struct task_status *task,
			    const struct task_wait *wait, size_t index)
{
	struct fold *fold;

	for (size_t i = *count; i-- > 0;)
		if (same_fold(&(*folds)[i], task, wait))
			return &(*folds)[i];
	*folds = mem_realloc(*folds, *count + 1, sizeof(**folds));
	fold = &(*folds)[(*count)++];
	*fold = (struct fold){
		.state = task->state,
		.completion = task->attempt.completion,
		.attempt = task->attempt.id,
		.deletion_pending = task->deletion_pending,
		.wait = *wait,
		.first = index,
		.task = task,
	};
	return fold;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static char *state_text(const struct fold *fold, size_t count, const char *times)
{
	struct buf out = {0};

	if (count > 1)
		buf_printf(&out, "%zu %s ", count, times);
	buf_puts(&out, state_brief(attempt_state_name(fold->state)));
	if (fold->completion != NULL)
		buf_printf(&out, " %d %s", (int)fold->completion->code, fold->completion->phrase);
	return buf_steal(&out);
}

static void put_part(struct buf *out, const char *text)
{
	buf_printf(out, "%s%s", out->len > 0 ? ", " : "", text);
}

static void put_nodes(struct buf *out, const struct fold *fold)
{
	for (size_t i = 0; i < fold->node_count && i < NODES_LISTED; i++)
		buf_printf(out, "%s%s", i > 0 ? ", " : out->len > 0 ? ", on " : "on ", fold->nodes[i]);
	if (fold->node_count > NODES_LISTED)
		buf_puts(out, ", ...");
}

static char *detail_text(const struct fold *fold)
{
	struct buf out = {0};

	buf_puts(&out, "");
	if (fold->wait.kind != WAIT_NONE)
		put_part(&out, wait_row(fold->wait.kind)->name);
	if (*fold->wait.reason != '\0')
		put_part(&out, fold->wait.reason);
	if (fold->attempt > 0)
		buf_printf(&out, "%sattempt %d", out.len > 0 ? ", " : "", (int)fold->attempt);
	if (fold->deletion_pending)
		put_part(&out, "being rescaled away");
	put_nodes(&out, fold);
	return buf_steal(&out);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void add_pod(const struct inquiry *inquiry, struct tree_node *parent, const char *role, size_t index,
		    const struct task_status *task)
{
	struct tree_node *node;
	char *name = pod_name_of(inquiry->framework, role, index);
	const struct pod_view *pod = inquiry->pods == NULL ? NULL : pod_views_find(inquiry->pods, name);
	struct buf detail = {0};
	char age[AGE_SIZE];

	if (task->attempt.pod_uid == NULL && pod == NULL) {
		free(name);
		return;
	}
	node = add_child(parent, "Pod", name);
	node->state = mem_strdup(inquiry->pods == NULL     ? ""
				 : pod == NULL             ? "gone"
				 : pod->deletion_time != 0 ? "Terminating"
							   : pod->phase);
	buf_puts(&detail, "");
	buf_printf(&detail, "attempt %d", (int)task->attempt.id);
	if (pod != NULL && pod->creation_time != 0)
		buf_printf(&detail, ", %s old", age_text(inquiry->now - pod->creation_time, age));
	if (pod != NULL && pod->ready)
		buf_puts(&detail, ", ready");
	if (task->attempt.pod_node_name != NULL && *task->attempt.pod_node_name != '\0')
		buf_printf(&detail, ", on %s", task->attempt.pod_node_name);
	if (task->attempt.pod_ip != NULL && *task->attempt.pod_ip != '\0')
		buf_printf(&detail, ", %s", task->attempt.pod_ip);
	node->detail = buf_steal(&detail);
}

/* The line of a single Task shows the node with the Pod. */
static void add_single(const struct inquiry *inquiry, struct tree_node *parent, const char *role, size_t index,
		       const struct task_status *task, const struct task_wait *wait)
{
	struct fold one = {
		.state = task->state,
		.completion = task->attempt.completion,
		.attempt = task->attempt.id,
		.deletion_pending = task->deletion_pending,
		.wait = *wait,
	};
	struct tree_node *node = add_child(parent, "Task", mem_printf("%s[%zu]", role, index));

	node->first = index;
	node->state = state_text(&one, 1, "");
	node->detail = detail_text(&one);
	node->tone = tone_of(task->state, task->attempt.completion);
	if (wait->kind < WAIT_CREATION && wait->kind != WAIT_RETRY_DELAY)
		node->tone = TONE_WAITS;
	add_pod(inquiry, node, role, index, task);
}

/* Before an attempt has begun nobody creates Pods: the Framework's state says why. */
static struct task_wait wait_shown(const struct role_wait *waits, size_t index)
{
	struct task_wait wait = wait_of(waits, index);

	if (wait.kind == WAIT_CREATION && waits->inquiry->framework->status.state == STATE_CREATION_PENDING)
		wait.kind = WAIT_NONE;
	return wait;
}

static void add_folded(const struct role_wait *waits, struct tree_node *parent, struct fold *fold, const char *times)
{
	const struct role_status *role = waits->role;
	size_t count = fold->indexes.count;
	struct tree_node *node;

	if (count < FOLD_FROM) {
		for (size_t i = fold->first, left = count; left > 0 && i < role->task_count; i++) {
			const struct task_status *task = &role->tasks[i];
			const struct task_wait wait = wait_shown(waits, i);

			if (!same_fold(fold, task, &wait))
				continue;
			add_single(waits->inquiry, parent, role->name, i, task, &wait);
			left--;
		}
		return;
	}
	node = add_child(parent, "Tasks", mem_printf("%s[%s]", role->name, index_list_text(&fold->indexes)));
	node->count = count;
	node->first = fold->first;
	node->state = state_text(fold, count, times);
	node->detail = detail_text(fold);
	node->tone = fold->wait.kind != WAIT_NONE && fold->completion == NULL ? TONE_WAITS
									      : tone_of(fold->state, fold->completion);
}

static int compare_first(const void *a, const void *b)
{
	const struct tree_node *one = a, *other = b;

	return (one->first > other->first) - (one->first < other->first);
}

static void add_tasks(const struct role_wait *waits, struct tree_node *parent, bool unfolded, const char *times)
{
	const struct role_status *role = waits->role;
	struct fold *folds = NULL;
	size_t count = 0;

	for (size_t i = 0; i < role->task_count; i++) {
		const struct task_status *task = &role->tasks[i];
		const struct task_wait wait = wait_shown(waits, i);
		struct fold *fold;

		if (unfolded) {
			add_single(waits->inquiry, parent, role->name, i, task, &wait);
			continue;
		}
		fold = fold_of(&folds, &count, task, &wait, i);
		index_list_add(&fold->indexes, i);
		add_node(fold, task->attempt.pod_node_name);
	}
	for (size_t i = 0; i < count; i++) {
		add_folded(waits, parent, &folds[i], times);
		index_list_free(&folds[i].indexes);
	}
	if (parent->child_count > 0)
		qsort(parent->children, parent->child_count, sizeof(*parent->children), compare_first);
	free(folds);
}

/* "3 Tasks, 1 more in the spec". */
static void add_role(const struct inquiry *inquiry, struct tree_node *root, const struct role_status *role,
		     bool unfolded, const char *times)
{
	const struct framework_view *framework = inquiry->framework;
	int at = framework->has_spec ? framework_spec_find_role(&framework->spec, role->name) : -1;
	struct tree_node *node = add_child(root, "TaskRole", mem_strdup(role->name));
	struct role_wait waits;
	size_t running = 0;

	for (size_t i = 0; i < role->task_count; i++)
		running += role->tasks[i].state == STATE_RUNNING ? 1 : 0;
	node->count = role->task_count;
	node->state = mem_printf("%zu of %zu running", running, role->task_count);
	if (at < 0)
		node->detail = mem_strdup("no longer in the spec");
	else if ((size_t)framework->spec.roles[at].task_number != role->task_count)
		node->detail = mem_printf("taskNumber %d", (int)framework->spec.roles[at].task_number);
	else
		node->detail = mem_strdup("");
	role_wait_read(inquiry, role, &waits);
	add_tasks(&waits, node, unfolded, times);
}

void tree_build(const struct inquiry *inquiry, bool unfolded, bool ascii, struct tree_node *out)
{
	const struct framework_view *framework = inquiry->framework;
	const struct framework_attempt_status *attempt = &framework->status.attempt;
	const char *state = framework_view_state(framework);
	struct task_counts counts = framework_view_count(framework);
	char age[AGE_SIZE];

	*out = (struct tree_node){.kind = "Framework", .name = mem_strdup(framework->name), .count = counts.total};
	age_text(inquiry->now - framework->creation_time, age);
	if (!framework->begun) {
		out->state = mem_strdup(framework->managed_by != NULL ? "managed by another controller"
					: framework->problem != NULL  ? "malformed"
								      : "no status");
		out->detail = mem_printf("%zu %s, %s old", counts.total, task_word(counts.total), age);
		out->tone = TONE_WAITS;
		return;
	}
	out->tone = tone_of(framework->status.state, attempt->completion);
	out->state = attempt->completion == NULL
			     ? mem_strdup(state_brief(state))
			     : mem_printf("%s %d %s", state_brief(state), (int)attempt->completion->code,
					  attempt->completion->phrase);
	out->detail = mem_printf("attempt %d, %zu of %zu %s running, %s old", (int)attempt->id, counts.running,
				 counts.total, task_word(counts.total), age);
	for (size_t i = 0; i < attempt->role_count; i++)
		add_role(inquiry, out, &attempt->roles[i], unfolded, ascii ? "x" : "×");
}

void tree_free(struct tree_node *node)
{
	for (size_t i = 0; i < node->child_count; i++)
		tree_free(&node->children[i]);
	free(node->children);
	free(node->name);
	free(node->state);
	free(node->detail);
}

json_t *tree_json(const struct tree_node *node)
{
	json_t *children = json_array(), *object = json_object();

	for (size_t i = 0; i < node->child_count; i++)
		json_array_append_new(children, tree_json(&node->children[i]));
	json_object_set_new(object, "kind", json_string(node->kind));
	json_object_set_new(object, "name", json_string(node->name));
	json_object_set_new(object, "count", json_integer((json_int_t)node->count));
	json_object_set_new(object, "state", json_string(node->state));
	json_object_set_new(object, "detail", json_string(node->detail));
	json_object_set_new(object, "children", children);
	return object;
}
