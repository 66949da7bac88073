/* Pod templates with placeholders in any place (CONTRACT.md §4). Input is the JSON of task.pod. Whatever is written in
 * it, the body made of it is JSON and belongs to its Task. */
#include "common/base/json.h"
#include "common/base/mem.h"
#include "reconciler/sync/podtemplate.h"
#include "reconciler/sync/sync.h"
#include "tests/fuzz/fuzz.h"

enum { BODY_MAX_PER_BYTE = 64, BODY_MAX_FIXED = 16 * 1024 };

static json_t *framework_with(json_t *pod)
{
	return json_pack("{s:{s:s,s:s,s:s,s:s,s:i},s:{s:[{s:s,s:i,s:{s:O}}]}}", "metadata", "namespace", "ns", "name",
			 "fw", "uid", "u", "resourceVersion", "1", "generation", 1, "spec", "taskRoles", "name", "a",
			 "taskNumber", 2, "task", "pod", pod);
}

static void render(struct framework *framework, size_t size)
{
	const struct failure_spec failures = {0};
	const struct sync_config config = {
		.failures = &failures, .creation_timeout_sec = 60, .completed_retain_sec = 3600};
	const struct sync_time time = {.wall_ms = 1700000000000, .boot_ms = 1000000, .live = true};
	struct random random;
	struct plan plan = {0};

	random_init_seed(&random, 1);
	framework_sync(framework, &config, &time, &random, &plan);
	plan_reset(&plan);
	if (!framework->has_status || framework->problem != NULL || framework->status.attempt.role_count == 0)
		return;
	mem_replace(&framework->status.attempt.config_map_uid, "cm");
	mem_replace(&framework->status.attempt.instance_uid, "0_cm");
	for (size_t index = 0; index < 2; index++) {
		cleanup_buf struct buf text = {0};
		cleanup_json json_t *body = NULL;
		const json_t *metadata;
		const json_t *labels;

		pod_template_render(framework, 0, index, &text);
		/* a placeholder is as long as its value, and a text of placeholders as many times that */
		FUZZ_EXPECT(text.len <= BODY_MAX_FIXED + size * BODY_MAX_PER_BYTE);
		/* placeholders in keys may make two of a name, of which the API server takes the last */
		body = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
		FUZZ_EXPECT(body != NULL);
		/* what is no map goes as it is, to be refused */
		metadata = json_object_get(body, "metadata");
		FUZZ_EXPECT(!json_is_object(metadata) ||
			    strcmp(json_str(metadata, "name"), index == 0 ? "fw-a-0" : "fw-a-1") == 0);
		labels = json_object_get(metadata, "labels");
		FUZZ_EXPECT(!json_is_object(labels) || strcmp(json_str(labels, "FC_FRAMEWORK_NAME"), "fw") == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_json json_t *pod = json_parse((const char *)data, size, NULL);
	cleanup_json json_t *object = NULL;
	cleanup_free char *text = NULL;
	struct object_parts parts;
	struct framework *framework;

	if (pod == NULL)
		return 0;
	object = framework_with(pod);
	if (object == NULL)
		return 0;
	text = json_text(object);
	if (object_parts_read(text, strlen(text), &parts, NULL) < 0)
		return 0;
	framework = framework_new("ns", "fw");
	framework_observe(framework, &parts, OBSERVED_EVENT);
	object_meta_free(&parts.meta);
	render(framework, size);
	framework_free(framework);
	return 0;
}
