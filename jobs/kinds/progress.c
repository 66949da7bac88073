/* The members of a Framework's status that jobs show; see progress.h. */
#include "jobs/kinds/progress.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "common/framework/names.h"
#include "common/framework/refusal.h"
#include "common/framework/status.h"

enum {
	STATE_TEXT_SIZE = 32,
	DIAGNOSTICS_MAX = 512, /* of what a condition repeats: those of a Pod have all its containers */
};

/* completionStatus of an attempt. */
struct completion_view {
	bool present;
	bool succeeded;
	int32_t code;
	struct json_span diagnostics;
	bool triggered;
	struct json_span trigger_role;
};

/* The members of a Task's status that count. */
struct task_view {
	bool has_state;
	enum attempt_state state;
	bool deletion_pending;
	bool ran; /* its attempt has a runTime */
	int64_t retried;
	int64_t accountable; /* of these */
	bool retry_decided;
	struct completion_view completion;
};

static char *copy(struct json_span span)
{
	char *text;

	if (span.at == NULL)
		return NULL;
	text = mem_alloc(span.len + 1);
	json_span_decode(&span, text);
	return text;
}

/* For people. */
static char *copy_diagnostics(struct json_span span)
{
	cleanup_free char *text = copy(span);

	return text == NULL ? NULL : refusal_text(text);
}

static bool is_string(struct json_reader *reader, const char *text)
{
	const struct json_span span = json_reader_string(reader);

	return json_span_is(&span, text);
}

/* Whether the next value is something. */
static bool is_set(struct json_reader *reader)
{
	const struct json_span span = json_reader_skip(reader);

	return span.at != NULL && !json_span_is(&span, "null");
}

static bool read_state(struct json_reader *reader, enum attempt_state *out)
{
	const struct json_span span = json_reader_string(reader);
	char text[STATE_TEXT_SIZE];

	if (span.at == NULL || span.len >= sizeof(text))
		return false;
	json_span_decode(&span, text);
	return attempt_state_parse(text, out) == 0;
}

static void read_trigger(struct json_reader *reader, struct completion_view *out)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	out->triggered = true;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "taskRoleName"))
			out->trigger_role = json_reader_string(reader);
		else
			json_reader_skip(reader);
}

/* Whether the name of a completion type is Succeeded. */
static bool read_type(struct json_reader *reader)
{
	bool succeeded = false;
	struct json_span name;

	if (!json_reader_object(reader))
		return false;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "name"))
			succeeded = is_string(reader, "Succeeded");
		else
			json_reader_skip(reader);
	return succeeded;
}

static void read_completion(struct json_reader *reader, struct completion_view *out)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	out->present = true;
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "code")) {
			out->code = (int32_t)json_reader_int(reader, 0);
		} else if (json_span_is(&name, "diagnostics")) {
			out->diagnostics = json_reader_string(reader);
		} else if (json_span_is(&name, "trigger")) {
			read_trigger(reader, out);
		} else if (json_span_is(&name, "type")) {
			out->succeeded = read_type(reader);
		} else {
			json_reader_skip(reader);
		}
	}
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static void read_task_attempt(struct json_reader *reader, struct task_view *out)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "runTime"))
			out->ran = is_set(reader);
		else if (json_span_is(&name, "completionStatus"))
			read_completion(reader, &out->completion);
		else
			json_reader_skip(reader);
}

static void read_retry(struct json_reader *reader, struct task_view *out)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "totalRetriedCount"))
			out->retried = json_reader_int(reader, 0);
		else if (json_span_is(&name, "accountableRetriedCount"))
			out->accountable = json_reader_int(reader, 0);
		else if (json_span_is(&name, "retryDelaySec"))
			out->retry_decided = is_set(reader);
		else
			json_reader_skip(reader);
}

static void read_task(struct json_reader *reader, struct task_view *out)
{
	struct json_span name;

	*out = (struct task_view){0};
	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "state"))
			out->has_state = read_state(reader, &out->state);
		else if (json_span_is(&name, "deletionPending"))
			out->deletion_pending = json_reader_bool(reader, false);
		else if (json_span_is(&name, "retryPolicyStatus"))
			read_retry(reader, out);
		else if (json_span_is(&name, "attemptStatus"))
			read_task_attempt(reader, out);
		else
			json_reader_skip(reader);
}

/* Its Pod was ended from outside: this says nothing about the program in it. */
static bool was_stopped(const struct completion_view *completion)
{
	return completion->code == CODE_FRAMEWORK_ATTEMPT_COMPLETION ||
	       completion->code == CODE_STOP_FRAMEWORK_REQUESTED || completion->code == CODE_DELETE_TASK_REQUESTED ||
	       completion->code == CODE_SUSPEND_FRAMEWORK_REQUESTED;
}

static void count(const struct task_view *task, struct replica_counts *out)
{
	out->tasks++;
	out->completed += task->state == STATE_COMPLETED;
	if (!task->completion.present) {
		if (task->state == STATE_RUNNING)
			out->active++;
		else if (task->state == STATE_PREPARING)
			out->pending++;
		if (task->retried > 0 && task->state != STATE_RUNNING)
			out->restarting++;
	} else if (was_stopped(&task->completion)) {
		if (task->ran)
			out->stopped++;
	} else if (task->completion.succeeded) {
		out->succeeded++;
	} else {
		/* (there was no Pod to fail if its creation was refused) */
		out->failed += task->completion.code != CODE_POD_CREATION_UNKNOWN_ERROR ||
			       task->state == STATE_COMPLETED;
		/* until the delay is set nobody knows whether there is a retry */
		if (task->state != STATE_COMPLETED && task->retry_decided)
			out->restarting++;
	}
}

/* Bytes of the text of at most so many, without a part of a character at the end. */
static size_t cut_at(const char *text, size_t most)
{
	size_t len = strnlen(text, most + 1);

	if (len <= most)
		return len;
	for (len = most; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

/* Whether only another template helps. The API server says BadRequest of values of wrong types. */
static bool is_refused(const struct completion_view *completion)
{
	cleanup_free char *text = NULL;

	if (completion->code != CODE_POD_CREATION_UNKNOWN_ERROR)
		return completion->code == CODE_POD_CREATION_PERMANENT_ERROR;
	text = copy(completion->diagnostics);
	return refusal_is(text, "BadRequest");
}

/* What the job says of a Task that has failed. */
static void note_failure(const struct task_view *task, size_t index, struct progress *progress,
			 struct progress_role *role)
{
	const struct completion_view *completion = &task->completion;
	const bool retried = task->state != STATE_COMPLETED && task->retry_decided;

	if (completion->succeeded || completion->diagnostics.at == NULL || (!retried && task->state != STATE_COMPLETED))
		return;
	if (is_refused(completion)) {
		progress->refused_again = progress->refused_again || retried;
		if (progress->refused == NULL)
			progress->refused = copy_diagnostics(completion->diagnostics);
	}
	if (!retried || role->failed_diagnostics != NULL)
		return;
	role->failed_index = index;
	role->failed_code = completion->code;
	role->failed_diagnostics = copy_diagnostics(completion->diagnostics);
	role->failed_diagnostics[cut_at(role->failed_diagnostics, DIAGNOSTICS_MAX)] = '\0';
}

static void read_tasks(struct json_reader *reader, struct progress *progress, struct progress_role *role)
{
	struct task_view task;

	if (!json_reader_array(reader))
		return;
	for (size_t i = 0; json_reader_item(reader); i++) {
		read_task(reader, &task);
		if (!task.has_state)
			continue;
		if (!task.deletion_pending) {
			role->retried += task.accountable;
			count(&task, &role->counts);
			if (task.completion.present)
				note_failure(&task, i, progress, role);
		}
		if (i == 0) {
			role->first_succeeded = task.completion.present && task.completion.succeeded;
			role->first_completed = task.state == STATE_COMPLETED;
		}
	}
}

/* The next value, if it is a list of roles. */
static bool read_roles(struct json_reader *reader, struct progress *progress)
{
	struct json_span name;

	if (!json_reader_array(reader))
		return false;
	while (json_reader_item(reader)) {
		struct progress_role *role;

		progress->roles = mem_realloc(progress->roles, progress->role_count + 1, sizeof(*progress->roles));
		role = &progress->roles[progress->role_count++];
		*role = (struct progress_role){0};
		if (!json_reader_object(reader))
			continue;
		while (json_reader_member(reader, &name)) {
			if (json_span_is(&name, "name")) {
				free(role->name);
				role->name = copy(json_reader_string(reader));
			} else if (json_span_is(&name, "taskStatuses")) {
				read_tasks(reader, progress, role);
			} else {
				json_reader_skip(reader);
			}
		}
	}
	return true;
}

static int read_compressed(struct json_span packed, struct progress *progress, struct error *err)
{
	cleanup_free char *base64 = copy(packed);
	cleanup_buf struct buf text = {0};
	struct json_reader reader;

	if (text_decompress(base64, strlen(base64), &text, err) < 0)
		return error_wrap(err, "status.attemptStatus.taskRoleStatusesCompressed");
	json_reader_init(&reader, text.data, text.len);
	read_roles(&reader, progress);
	if (json_reader_finish(&reader, err) < 0)
		return error_wrap(err, "status.attemptStatus.taskRoleStatusesCompressed");
	return 0;
}

/* ---- the Framework ------------------------------------------------------------------------------------------------
 */

static void take_end(const struct completion_view *completion, struct progress *progress)
{
	progress->suspending = completion->present && completion->code == CODE_SUSPEND_FRAMEWORK_REQUESTED;
	if (!completion->present || progress->suspending)
		return;
	progress->end = completion->succeeded ? PROGRESS_SUCCEEDED : PROGRESS_FAILED;
	progress->code = completion->code;
	/* of an earlier attemptStatus: a member may come twice */
	free(progress->diagnostics);
	free(progress->trigger_role);
	progress->diagnostics = completion->diagnostics.at == NULL ? mem_strdup("")
								   : copy_diagnostics(completion->diagnostics);
	progress->triggered = completion->triggered;
	progress->trigger_role = copy(completion->trigger_role);
}

static int read_attempt(struct json_reader *reader, struct progress *progress, struct error *err)
{
	struct completion_view completion = {0};
	struct json_span packed = {0};
	struct json_span name;
	bool plain = false;

	if (!json_reader_object(reader))
		return 0;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "completionStatus"))
			read_completion(reader, &completion);
		else if (json_span_is(&name, "taskRoleStatuses"))
			plain = read_roles(reader, progress);
		else if (json_span_is(&name, "taskRoleStatusesCompressed"))
			packed = json_reader_string(reader);
		else
			json_reader_skip(reader);
	take_end(&completion, progress);
	return packed.at == NULL || plain ? 0 : read_compressed(packed, progress, err);
}

static void read_conditions(struct json_reader *reader, struct progress *progress)
{
	struct json_span name;

	if (!json_reader_array(reader))
		return;
	while (json_reader_item(reader)) {
		bool suspension = false;
		bool value = false;

		if (!json_reader_object(reader))
			continue;
		while (json_reader_member(reader, &name))
			if (json_span_is(&name, "type"))
				suspension = is_string(reader, condition_type_name(CONDITION_SUSPENDED));
			else if (json_span_is(&name, "status"))
				value = is_string(reader, "True");
			else
				json_reader_skip(reader);
		if (suspension)
			progress->suspended = value;
	}
}

int progress_read(struct json_reader *reader, struct progress *out, struct error *err)
{
	struct json_span name;

	*out = (struct progress){0};
	if (!json_reader_object(reader))
		return 0;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "state"))
			out->present = json_reader_string(reader).len > 0;
		else if (json_span_is(&name, "conditions"))
			read_conditions(reader, out);
		else if (!json_span_is(&name, "attemptStatus"))
			json_reader_skip(reader);
		else if (read_attempt(reader, out, err) < 0)
			return -1;
	return 0;
}

void progress_free(struct progress *progress)
{
	for (size_t i = 0; i < progress->role_count; i++) {
		free(progress->roles[i].name);
		free(progress->roles[i].failed_diagnostics);
	}
	free(progress->roles);
	free(progress->diagnostics);
	free(progress->trigger_role);
	free(progress->refused);
	*progress = (struct progress){0};
}

/* ---- what it says -------------------------------------------------------------------------------------------------
 */

static const struct progress_role *find_role(const struct progress *progress, const char *name)
{
	for (size_t i = 0; progress != NULL && i < progress->role_count; i++)
		if (progress->roles[i].name != NULL && strcmp(progress->roles[i].name, name) == 0)
			return &progress->roles[i];
	return NULL;
}

struct replica_counts progress_counts(const struct progress *progress, const char *role)
{
	const struct progress_role *found = find_role(progress, role);
	static const struct replica_counts none;

	return found == NULL ? none : found->counts;
}

char *progress_failure(const struct progress *progress, const char *role, const char *type)
{
	const struct progress_role *found = find_role(progress, role);

	if (found == NULL || found->failed_diagnostics == NULL)
		return NULL;
	return mem_printf("%s %zu ended with code %d: %s", type, found->failed_index, found->failed_code,
			  found->failed_diagnostics);
}

enum progress_end progress_end(const struct progress *progress)
{
	return progress == NULL ? PROGRESS_GOES_ON : progress->end;
}

int64_t progress_retried(const struct progress *progress, const char *role)
{
	const struct progress_role *found = find_role(progress, role);

	return found == NULL ? 0 : found->retried;
}

bool progress_first_succeeded(const struct progress *progress, const char *role)
{
	const struct progress_role *found = find_role(progress, role);

	/* no Task is retried any more when the end is decided */
	return found != NULL && found->first_succeeded && (found->first_completed || progress->end != PROGRESS_GOES_ON);
}
