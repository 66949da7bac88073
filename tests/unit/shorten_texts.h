/* Completions with long messages. Shared by test_shorten.c and test_shorten_steps.c. */
#ifndef TESTS_SHORTEN_TEXTS_H
#define TESTS_SHORTEN_TEXTS_H

#include "tests/unit/sync_world.h"

#include <time.h>

#include "common/framework/shorten.h"
#include "reconciler/sync/classify.h"
#include "reconciler/sync/rules.h"

enum { LOG_BYTES = 4096 }; /* the longest termination message that a kubelet passes on */

/* Text that deflate makes nothing of. */
static char *random_text(struct random *random, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = mem_alloc(len + 1);
	uint64_t bits = 0;

	for (size_t i = 0; i < len; i++, bits >>= 6) {
		if (i % 10 == 0)
			bits = random_u64(random);
		text[i] = letters[bits % 64];
	}
	text[len] = '\0';
	return text;
}

/* What is made of a Pod with that many containers, each of which says message. */
static struct completion *failed_with(const char *message, size_t containers)
{
	static const struct failure_spec none;
	struct pod pod = {.phase = POD_FAILED, .container_count = containers};
	struct pod_failure failure;
	int64_t steps = CLASSIFY_STEPS;
	struct completion *completion;
	cleanup_free char *diagnostics = NULL;

	pod.containers = mem_calloc(containers, sizeof(*pod.containers));
	for (size_t i = 0; i < containers; i++)
		pod.containers[i] = (struct container_state){.name = (char *)"c",
							     .terminated = true,
							     .reason = (char *)"Error",
							     .message = (char *)message,
							     .exit_code = 7};
	classify_pod(&none, &none, &pod, &steps, &failure);
	diagnostics = mem_printf("Pod failed: %s", failure.diagnostics);
	completion = completion_new(failure.code, false, failure.phrase, failure.attributes, diagnostics);
	completion->pod = pod_details(&pod);
	pod_failure_free(&failure);
	free(pod.containers);
	return completion;
}

static json_t *json_in(const char *text)
{
	json_t *value;
	struct error err;

	text = strchr(text, '{');
	assert_non_null(text);
	value = json_parse(text, strlen(text), &err);
	if (value == NULL)
		fail_msg("%s: %s", err.message, text);
	return value;
}

#endif
