/* Pods, ConfigMaps and Status objects as an API server sends them. What is kept of one must say the same after it went
 * over the bus. */
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/object.h"
#include "common/kube/client/answer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/objects.h"

/* Both ways of reading must agree, and what is read must be kept as it is, but for texts with a name that comes twice:
 * only the tree refuses them, and no API server sends them. */
static void look_at_pod(const json_t *object, const char *text, size_t size)
{
	cleanup_buf struct buf written = {0};
	struct error err;
	struct pod *pod = pod_read(text, size, &err);
	struct pod *other = object == NULL ? NULL : pod_parse(object, &err);
	struct pod *again;

	FUZZ_EXPECT(object == NULL || (pod == NULL) == (other == NULL));
	if (pod == NULL)
		return;
	FUZZ_EXPECT(other == NULL || pod_same(pod, other));
	pod_write(&written, pod);
	again = pod_read(written.data, written.len, &err);
	FUZZ_EXPECT(again != NULL && (object == NULL || pod_same(pod, again)));
	pod_free(pod);
	pod_free(other);
	pod_free(again);
}

static void look_at_config_map(const json_t *object, const char *text, size_t size)
{
	cleanup_buf struct buf written = {0};
	struct error err;
	struct config_map *config_map = config_map_read(text, size, &err);
	struct config_map *other = object == NULL ? NULL : config_map_parse(object, &err);
	struct config_map *again;

	FUZZ_EXPECT(object == NULL || (config_map == NULL) == (other == NULL));
	if (config_map == NULL)
		return;
	FUZZ_EXPECT(other == NULL || config_map_same(config_map, other));
	config_map_write(&written, config_map);
	again = config_map_read(written.data, written.len, &err);
	FUZZ_EXPECT(again != NULL && config_map_same(config_map, again));
	config_map_free(config_map);
	config_map_free(other);
	config_map_free(again);
}

static void look_at_answer(const char *text, size_t size)
{
	static const char path[] = "/api/v1/namespaces/a/pods?timeout=1s";
	struct kube_answer answer = {.http_status = 409, .body = text, .body_len = size, .retry_after_ms = -1};
	cleanup_buf struct buf line = {0};
	json_t *keep = NULL;

	answer_read_status(&answer, path, &keep);
	answer_describe(&line, "POST", path, &answer);
	FUZZ_EXPECT(strpbrk(line.data, "\r\n") == NULL);
	FUZZ_EXPECT(answer.retry_after_ms <= 3600 * 1000);
	json_decref(keep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf text = {0};
	/* (jansson alone takes a NUL behind a number) */
	bool nul = size > 0 && memchr(data, '\0', size) != NULL;
	cleanup_json json_t *object = nul ? NULL : json_parse((const char *)data, size, NULL);

	buf_append(&text, size == 0 ? "" : (const void *)data, size);
	look_at_answer(text.data, size);
	if (object != NULL)
		object_framework_name(object);
	look_at_pod(object, text.data, text.len);
	look_at_config_map(object, text.data, text.len);
	return 0;
}
