/* A Framework as the views need it, read from its object. Pure, as all of this folder: no I/O, no clock. */
#ifndef CLI_VIEW_FRAMEWORK_H
#define CLI_VIEW_FRAMEWORK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/framework/spec.h"
#include "common/framework/status.h"

struct framework_view {
	json_t *object; /* a reference */
	const char *ns; /* these are the object's; "" where missing */
	const char *name;
	const char *uid;
	int64_t generation;
	int64_t creation_time; /* unix seconds, 0: none */
	int64_t deletion_time;
	const char *managed_by; /* another controller's name; NULL: ours */
	char *problem;          /* spec or status is malformed (CONTRACT.md §2.14): why; NULL: neither is */
	bool has_spec;          /* spec was read */
	bool begun;             /* there is a status, and it was read */
	struct framework_spec spec;
	struct framework_status status;
};

/* Takes a reference to object. 0, or -1 and *err if it has no name. Free in either case. */
int framework_view_read(json_t *object, struct framework_view *out, struct error *err);
void framework_view_free(struct framework_view *view);

/* Whether the controller takes a Framework with this spec and name for malformed (*err: why), whatever its
 * podFailureSpec. */
bool spec_malformed(const json_t *spec, const char *name, struct error *err);

/* As the column STATE of kubectl: "Suspended", a state's name, or "" before there is a status. */
const char *framework_view_state(const struct framework_view *view);
/* The same without "Attempt", where the name stays unique. */
const char *state_brief(const char *state);

/* Tasks, without those that are being rescaled away (deletionPending). ready: the Task has a podIP (CONTRACT.md §16.2),
 * and its attempt is not over. failed: without those that the end of the Framework's attempt ended (code -220). */
struct task_counts {
	size_t total;
	size_t ready;
	size_t running;
	size_t succeeded;
	size_t failed;
};
struct task_counts framework_view_count(const struct framework_view *view);
/* Whether it counts as failed there. */
bool task_view_failed(const struct task_status *task);

/* status.attemptStatus.taskRoleStatuses[].taskStatuses[] of that role and index, or NULL. */
const struct task_status *framework_view_task(const struct framework_view *view, const char *role, int64_t index);

/* "Task" or "Tasks": of so many. */
const char *task_word(size_t count);

/* Ascending numbers as "0,3..97"; at most `most` ranges, then ",…". */
struct index_list {
	struct buf text;
	size_t count;  /* of numbers */
	size_t ranges; /* written */
	size_t first, last;
};
void index_list_add(struct index_list *list, size_t index);
/* The text so far. Valid until the next call. */
const char *index_list_text(struct index_list *list);
void index_list_free(struct index_list *list);
/* When the controller took the latest step that the status tells of; unix seconds, 0: none. */
int64_t framework_view_changed(const struct framework_view *view);
/* The error that the Framework has no TaskRole of this name, with the names of those that it has. Returns -1. */
int framework_without_role(const json_t *framework, const char *role, struct error *err);

#endif
