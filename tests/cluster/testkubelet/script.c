/* Scripted Pods: annotations and foreseeable commands; see script.h. */
#include "tests/cluster/testkubelet/script.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/random.h"

enum { RANDOM_MESSAGE_MAX = 1024 * 1024 };

/* A year: longer than any test, far from overflow. */
static const double max_seconds = 366.0 * 86400;

char *script_list_item(const char *list, char separator, int64_t index)
{
	const char *end;

	for (;;) {
		end = strchr(list, separator);
		if (end == NULL)
			return mem_strdup(list);
		if (index <= 0)
			return mem_strndup(list, (size_t)(end - list));
		list = end + 1;
		index--;
	}
}

static bool parse_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
	char *end;
	long long value;

	if (text == NULL || text[0] == '\0')
		return false;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0' || value < min || value > max)
		return false;
	*out = value;
	return true;
}

/* Seconds with an optional unit as sleep(1) takes them. */
static bool parse_seconds(const char *text, int64_t *out_ms)
{
	char *end;
	double value, factor = 1;

	if (strcmp(text, "infinity") == 0 || strcmp(text, "inf") == 0) {
		*out_ms = SCRIPT_FOREVER;
		return true;
	}
	value = strtod(text, &end);
	if (end == text)
		return false;
	switch (*end) {
	case 'm': factor = 60; break;
	case 'h': factor = 3600; break;
	case 'd': factor = 86400; break;
	default: break;
	}
	if (strchr("smhd", *end) != NULL && *end != '\0')
		end++;
	value *= factor;
	if (*end != '\0' || !(value >= 0) || value > max_seconds)
		return false;
	*out_ms = (int64_t)llround(value * 1000);
	return true;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* One simple statement, its words separated by blanks. false: not one of ours. */
static bool run_statement(char *text, int64_t *run_ms, int32_t *status, bool *exited)
{
	char *rest = NULL;
	char *word = strtok_r(text, " \t", &rest);
	char *operand = strtok_r(NULL, " \t", &rest);
	int64_t value;

	if (word == NULL)
		return false;
	if (strcmp(word, "echo") == 0 || strcmp(word, "true") == 0 || strcmp(word, ":") == 0) {
		*status = 0;
		return true;
	}
	if (strcmp(word, "false") == 0) {
		*status = 1;
		return true;
	}
	if (strtok_r(NULL, " \t", &rest) != NULL)
		return false;
	if (strcmp(word, "exit") == 0) {
		*exited = true;
		if (operand == NULL)
			return true;
		if (!parse_int(operand, 0, 255, &value))
			return false;
		*status = (int32_t)value;
		return true;
	}
	if (strcmp(word, "sleep") == 0 && operand != NULL && parse_seconds(operand, &value)) {
		*status = 0;
		if (value == SCRIPT_FOREVER) {
			*run_ms = SCRIPT_FOREVER;
			*exited = true;
		} else {
			*run_ms += value;
		}
		return true;
	}
	return false;
}

static bool foresee_shell(const char *source, int64_t *run_ms, int32_t *exit_code)
{
	cleanup_free char *copy = mem_strdup(source);
	char *at = copy;
	int32_t status = 0;
	bool exited = false, skip = false, any = false;

	/* Whatever the shell would expand, redirect, quote or branch on is beyond us. */
	if (strpbrk(copy, "$`|<>()'\"\\*?[{}!#~=%") != NULL)
		return false;
	*run_ms = 0;
	while (!exited) {
		size_t len = strcspn(at, ";&\n");
		char separator = at[len];
		bool both = separator == '&' && at[len + 1] == '&';

		if (separator == '&' && !both)
			return false;
		at[len] = '\0';
		if (at[strspn(at, " \t\r")] != '\0') {
			any = true;
			if (!skip && !run_statement(at, run_ms, &status, &exited))
				return false;
		} else if (both) {
			return false;
		}
		skip = both && status != 0;
		if (separator == '\0')
			break;
		at += len + (both ? 2 : 1);
	}
	*exit_code = status;
	return any;
}

bool script_foresee(const json_t *container, int64_t *run_ms, int32_t *exit_code)
{
	const json_t *lists[] = {json_object_get(container, "command"), json_object_get(container, "args")};
	const char *first = NULL, *before_last = NULL, *last = NULL;
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		for (size_t j = 0; j < json_array_size(lists[i]); j++) {
			const char *word = json_string_value(json_array_get(lists[i], j));

			if (word == NULL)
				return false;
			if (count++ == 0)
				first = word;
			before_last = last;
			last = word;
		}
	}
	if (count == 2 && (strcmp(first, "sleep") == 0 || strcmp(first, "/bin/sleep") == 0)) {
		*exit_code = 0;
		return parse_seconds(last, run_ms);
	}
	if (count == 3 && strcmp(before_last, "-c") == 0)
		return foresee_shell(last, run_ms, exit_code);
	return false;
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

struct source {
	const json_t *annotations;
	int64_t task_attempt;
	int64_t framework_attempt;
};

static int64_t attempt_id(const json_t *annotations, const char *name)
{
	int64_t id = 0;

	parse_int(json_str(annotations, name), 0, INT32_MAX, &id);
	return id;
}

/* NULL when not given. The caller frees. */
static char *lookup(const struct source *source, const char *name, char separator)
{
	char key[64];
	const char *list;

	snprintf(key, sizeof(key), "testkubelet/attempt-%s", name);
	list = json_str(source->annotations, key);
	if (list != NULL)
		return script_list_item(list, separator, source->framework_attempt);
	snprintf(key, sizeof(key), "testkubelet/%s", name);
	list = json_str(source->annotations, key);
	return list == NULL ? NULL : script_list_item(list, separator, source->task_attempt);
}

/* As lookup, but an empty item counts as not given. */
static char *lookup_text(const struct source *source, const char *name, char separator)
{
	char *text = lookup(source, name, separator);

	if (text != NULL && text[0] == '\0') {
		free(text);
		text = NULL;
	}
	return text;
}

static bool lookup_int(const struct source *source, const char *name, int32_t *out)
{
	cleanup_free char *text = lookup(source, name, ',');
	int64_t value;

	if (!parse_int(text, INT32_MIN, INT32_MAX, &value))
		return false;
	*out = (int32_t)value;
	return true;
}

/* The same for the same Pod, whoever asks. */
static char *random_message(const json_t *pod, int32_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *uid = json_str(json_object_get(pod, "metadata"), "uid");
	char *text = mem_alloc((size_t)len + 1);
	uint64_t seed = 0;
	struct random random;

	for (; uid != NULL && *uid != '\0'; uid++)
		seed = seed * 31 + (unsigned char)*uid;
	random_init_seed(&random, seed);
	for (int32_t i = 0; i < len; i++)
		text[i] = letters[random_between(&random, 0, (int64_t)strlen(letters) - 1)];
	text[len] = '\0';
	return text;
}

static void apply_deadline(const json_t *pod, struct script *out)
{
	int64_t seconds = json_int(json_object_get(pod, "spec"), "activeDeadlineSeconds", 0);

	if (seconds <= 0 || seconds > INT32_MAX || (out->run_ms != SCRIPT_FOREVER && out->run_ms <= seconds * 1000))
		return;
	out->run_ms = seconds * 1000;
	out->pod_failure = true;
	mem_replace(&out->pod_reason, "DeadlineExceeded");
	mem_replace(&out->pod_message, SCRIPT_DEADLINE_MESSAGE);
}

/* Whether the last part of the name, up to a tag or a digest, has only characters of repositories. */
static bool image_is_readable(const char *image)
{
	const char *slash = strrchr(image, '/');
	const char *last = slash == NULL ? image : slash + 1;
	size_t len = strspn(last, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return len > 0 && (last[len] == '\0' || last[len] == ':' || last[len] == '@');
}

static void apply_images(const json_t *pod, const char *kind, struct script *out)
{
	size_t i;
	json_t *container;

	json_array_foreach(json_path(pod, "spec", kind, NULL), i, container) {
		const char *image = json_str(container, "image");

		if (out->kind != SCRIPT_RUN || image == NULL || image_is_readable(image))
			continue;
		out->kind = SCRIPT_PENDING;
		mem_replace(&out->container, json_str(container, "name"));
		mem_replace(&out->reason, "InvalidImageName");
		free(out->message);
		out->message = mem_printf("Failed to apply default image tag \"%s\": couldn't parse image name \"%s\": "
					  "invalid reference format",
					  image, image);
	}
}

void script_parse(const json_t *pod, struct script *out)
{
	const json_t *annotations = json_path(pod, "metadata", "annotations", NULL);
	struct source source = {
		.annotations = annotations,
		.task_attempt = attempt_id(annotations, "FC_TASK_ATTEMPT_ID"),
		.framework_attempt = attempt_id(annotations, "FC_FRAMEWORK_ATTEMPT_ID"),
	};
	cleanup_free char *phase = lookup(&source, "phase", ',');
	cleanup_free char *run = lookup(&source, "run-seconds", ',');
	cleanup_free char *ignore = lookup(&source, "ignore-termination", ',');
	bool has_exit, has_signal, has_run = false;
	int32_t exit_code = 0;
	int32_t random_len;

	*out = (struct script){.kind = SCRIPT_RUN, .run_ms = SCRIPT_FOREVER};
	if (phase != NULL && strcmp(phase, "hold") == 0)
		out->kind = SCRIPT_HOLD;
	else if (phase != NULL && strcmp(phase, "unschedulable") == 0)
		out->kind = SCRIPT_UNSCHEDULABLE;
	else if (phase != NULL && strcmp(phase, "pending") == 0)
		out->kind = SCRIPT_PENDING;
	out->ignore_termination = ignore != NULL && strcmp(ignore, "true") == 0;
	out->container = lookup_text(&source, "container", ',');
	out->reason = lookup_text(&source, "reason", ',');
	out->message = lookup_text(&source, "message", '|');
	if (lookup_int(&source, "random-message", &random_len) && random_len > 0 && random_len <= RANDOM_MESSAGE_MAX) {
		free(out->message);
		out->message = random_message(pod, random_len);
	}
	out->pod_reason = lookup_text(&source, "pod-reason", ',');
	out->pod_message = lookup_text(&source, "pod-message", '|');
	out->pod_failure = out->pod_reason != NULL || out->pod_message != NULL;
	has_exit = lookup_int(&source, "exit-code", &exit_code);
	has_signal = lookup_int(&source, "signal", &out->signal) && out->signal != 0;

	if (run != NULL)
		has_run = run[0] == '\0' || strcmp(run, "forever") == 0 || parse_seconds(run, &out->run_ms);
	if (!has_run) {
		const json_t *first = json_array_get(json_path(pod, "spec", "containers", NULL), 0);

		out->never_runs = out->pod_failure;
		if (!script_foresee(first, &out->run_ms, &out->exit_code)) {
			out->exit_code = 0;
			out->run_ms = has_exit || has_signal || out->pod_failure ? 0 : SCRIPT_FOREVER;
		}
	}
	if (has_exit)
		out->exit_code = exit_code;
	else if (has_signal)
		out->exit_code = 128 + out->signal;
	apply_deadline(pod, out);
	apply_images(pod, "initContainers", out);
	apply_images(pod, "containers", out);
}

void script_free(struct script *script)
{
	free(script->container);
	free(script->reason);
	free(script->message);
	free(script->pod_reason);
	free(script->pod_message);
	*script = (struct script){0};
}
