/* Pods, ConfigMaps and Status objects as an API server sends them. What is kept of one must say the same after it went
 * over the bus. */
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/object.h"
#include "common/kube/answer.h"
#include "tests/fuzz/fuzz.h"

static void look_at_pod(const json_t *object)
{
	cleanup_buf struct buf text = {0};
	cleanup_json json_t *kept = NULL;
	struct error err;
	struct pod *pod = pod_parse(object, &err);
	struct pod *again;

	if (pod == NULL)
		return;
	pod_write(&text, pod);
	kept = json_parse(text.data, text.len, &err);
	FUZZ_EXPECT(kept != NULL);
	again = pod_parse(kept, &err);
	FUZZ_EXPECT(again != NULL && pod_same(pod, again));
	pod_free(pod);
	pod_free(again);
}

static void look_at_config_map(const json_t *object)
{
	cleanup_buf struct buf text = {0};
	cleanup_json json_t *kept = NULL;
	struct error err;
	struct config_map *config_map = config_map_parse(object, &err);
	struct config_map *again;

	if (config_map == NULL)
		return;
	config_map_write(&text, config_map);
	kept = json_parse(text.data, text.len, &err);
	FUZZ_EXPECT(kept != NULL);
	again = config_map_parse(kept, &err);
	FUZZ_EXPECT(again != NULL && config_map_same(config_map, again));
	config_map_free(config_map);
	config_map_free(again);
}

static void look_at_answer(const char *text, size_t size)
{
	struct kube_answer answer = {.http_status = 409, .body = text, .body_len = size, .retry_after_ms = -1};
	cleanup_buf struct buf line = {0};
	json_t *keep = NULL;

	answer_read_status(&answer, &keep);
	answer_describe(&line, "POST", "/api/v1/namespaces/a/pods?timeout=1s", &answer);
	FUZZ_EXPECT(strpbrk(line.data, "\r\n") == NULL);
	FUZZ_EXPECT(answer.retry_after_ms <= 3600 * 1000);
	json_decref(keep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf text = {0};
	cleanup_json json_t *object = json_parse((const char *)data, size, NULL);

	buf_append(&text, size == 0 ? "" : (const void *)data, size);
	look_at_answer(text.data, size);
	if (object == NULL)
		return 0;
	object_framework_name(object);
	look_at_pod(object);
	look_at_config_map(object);
	return 0;
}
