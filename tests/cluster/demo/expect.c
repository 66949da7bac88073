/* Reading and judging expectations; see expect.h. */
#include "tests/cluster/demo/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/status.h"

static const char mark[] = "# expect:";

/* A number of 32 bits at *at, which is moved behind it. */
static bool read_number(const char **at, int32_t *out)
{
	char *end;
	long value = strtol(*at, &end, 10);

	if (end == *at || value < INT32_MIN || value > INT32_MAX)
		return false;
	*at = end;
	*out = (int32_t)value;
	return true;
}

static bool read_words(const char *words, struct expectation *out)
{
	static const char completed[] = "Completed ";

	*out = (struct expectation){.retries = -1};
	if (strcmp(words, "Running") == 0) {
		out->running = true;
		return true;
	}
	if (strcmp(words, "Suspended") == 0) {
		out->suspended = true;
		return true;
	}
	if (strncmp(words, completed, sizeof(completed) - 1) != 0)
		return false;
	words += sizeof(completed) - 1;
	if (!read_number(&words, &out->code))
		return false;
	if (words[0] == '\0')
		return true;
	if (strncmp(words, ", ", 2) != 0)
		return false;
	words += 2;
	return read_number(&words, &out->retries) && out->retries >= 0 &&
	       strcmp(words, out->retries == 1 ? " retry" : " retries") == 0;
}

int expectation_parse(const char *file, const char *text, struct expectation *out, struct error *err)
{
	size_t number = 1;

	for (const char *line = text; line != NULL && *line != '\0'; number++) {
		const char *newline = strchr(line, '\n');

		if (strncmp(line, mark, sizeof(mark) - 1) == 0) {
			const char *begin = line + sizeof(mark) - 1;
			size_t len = newline == NULL ? strlen(begin) : (size_t)(newline - begin);
			cleanup_free char *words = NULL;

			while (len > 0 && *begin == ' ') {
				begin++;
				len--;
			}
			while (len > 0 && (begin[len - 1] == ' ' || begin[len - 1] == '\r'))
				len--;
			words = mem_strndup(begin, len);
			if (read_words(words, out))
				return 0;
			return error_set(err,
					 "%s:%zu: expect: found \"%.80s\", expected \"Completed CODE\", \"Completed "
					 "CODE, N retries\", \"Running\" or \"Suspended\"",
					 file, number, words);
		}
		line = newline == NULL ? NULL : newline + 1;
	}
	return error_set(err, "%s: found no line that begins with \"%s\", which says how the example ends", file, mark);
}

void expectation_write(struct buf *out, const struct expectation *expectation)
{
	if (expectation->running || expectation->suspended) {
		buf_puts(out, expectation->running ? "Running" : "Suspended");
		return;
	}
	buf_printf(out, "Completed %d", expectation->code);
	if (expectation->retries >= 0)
		buf_printf(out, ", %d %s", expectation->retries, expectation->retries == 1 ? "retry" : "retries");
}

char *example_title(const char *text)
{
	if (strncmp(text, "# ", 2) != 0)
		return mem_strdup("");
	return mem_strndup(text + 2, strcspn(text + 2, ":.\r\n"));
}

int sight_read(const json_t *framework, struct sight *out, struct error *err)
{
	const json_t *json = json_object_get(framework, "status");
	struct framework_status status;

	*out = (struct sight){
		.seen = true,
		.creation_time = json_time(json_object_get(framework, "metadata"), "creationTimestamp"),
	};
	if (!framework_status_present(json))
		return 0;
	if (framework_status_parse(json, &status, err) != 0)
		return -1;
	out->begun = true;
	out->state = status.state;
	out->suspended = status.conditions[CONDITION_SUSPENDED].value == CONDITION_TRUE;
	out->retries = status.retry.total;
	if (status.attempt.completion != NULL) {
		const char *phrase = status.attempt.completion->phrase;

		out->has_code = true;
		out->code = status.attempt.completion->code;
		snprintf(out->phrase, sizeof(out->phrase), "%s", phrase == NULL ? "" : phrase);
	}
	for (size_t i = 0; i < status.attempt.role_count; i++) {
		const struct role_status *role = &status.attempt.roles[i];

		for (size_t j = 0; j < role->task_count; j++) {
			out->tasks[role->tasks[j].state]++;
			out->task_retries += role->tasks[j].retry.total;
		}
		out->task_count += role->task_count;
	}
	framework_status_free(&status);
	return 0;
}

const char *sight_state_name(const struct sight *sight)
{
	return sight->suspended ? "Suspended" : attempt_state_name(sight->state);
}

enum verdict expectation_judge(const struct expectation *expectation, const struct sight *sight)
{
	bool right;

	if (!sight->seen || !sight->begun)
		return VERDICT_AWAITED;
	if (expectation->running && sight->state == STATE_RUNNING && sight->tasks[STATE_RUNNING] == sight->task_count)
		return VERDICT_AS_EXPECTED;
	if (expectation->suspended && sight->suspended)
		return VERDICT_AS_EXPECTED;
	if (sight->state != STATE_COMPLETED)
		return VERDICT_AWAITED;
	right = !expectation->running && !expectation->suspended && sight->has_code &&
		sight->code == expectation->code &&
		(expectation->retries < 0 || sight->retries == expectation->retries);
	return right ? VERDICT_AS_EXPECTED : VERDICT_OTHERWISE;
}
