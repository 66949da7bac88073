/* A Framework as anybody may have stored it: its spec and its status, plain or compressed. What reads must be writable,
 * and read again as the same, shortened or not. Inputs: "{…}" is the object; "z…" goes on as the value of
 * taskRoleStatusesCompressed; "t…" is compressed first. */
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/gang.h"
#include "common/framework/shorten.h"
#include "common/framework/spec.h"
#include "common/framework/status.h"
#include "tests/fuzz/fuzz.h"

static void write_status(const struct framework_status *status, struct buf *out)
{
	framework_status_write(out, status, "fw", NULL);
}

/* Shortened it can be read, too, and is no longer. */
static void look_at_shortened(struct framework_status *status, size_t len)
{
	for (int step = SHORTEN_DUPLICATES; step <= SHORTEN_POD; step++) {
		cleanup_buf struct buf text = {0};
		cleanup_json json_t *parsed = NULL;
		struct framework_status again = {0};
		struct error err;

		if (!attempt_shorten(&status->attempt, step))
			continue;
		write_status(status, &text);
		FUZZ_EXPECT(text.len < len);
		parsed = json_parse(text.data, text.len, &err);
		FUZZ_EXPECT(parsed != NULL && framework_status_parse(parsed, &again, &err) == 0);
		framework_status_free(&again);
		len = text.len;
	}
}

static void look_at_status(const json_t *json)
{
	struct framework_status status = {0};
	struct framework_status again = {0};
	cleanup_buf struct buf first = {0};
	cleanup_buf struct buf second = {0};
	cleanup_json json_t *parsed = NULL;
	struct error err;

	framework_status_present(json);
	if (framework_status_parse(json, &status, &err) < 0)
		return;
	write_status(&status, &first);
	parsed = json_parse(first.data, first.len, &err);
	FUZZ_EXPECT(parsed != NULL);
	if (framework_status_parse(parsed, &again, &err) < 0) {
		fprintf(stderr, "%s: %s\n", err.message, first.data);
		abort();
	}
	write_status(&again, &second);
	FUZZ_EXPECT(strcmp(first.data, second.data) == 0);
	look_at_shortened(&again, second.len);
	framework_status_free(&status);
	framework_status_free(&again);
}

static void look_at_object(json_t *object)
{
	struct framework_spec spec = {0};
	struct error err;

	if (framework_spec_parse(json_object_get(object, "spec"), &spec, &err) == 0) {
		FUZZ_EXPECT(framework_spec_task_count(&spec) >= 0);
		framework_spec_free(&spec);
	}
	look_at_status(json_object_get(object, "status"));
}

static void look_at_gang(const char *text, size_t len)
{
	cleanup_buf struct buf missing = {0};
	struct object_parts parts;
	struct gang gang;
	struct error err;

	if (object_parts_read(text, len, &parts, &err) < 0)
		return;
	if (gang_read(&parts, &gang, &err) == 0) {
		if (gang_unpack(&gang, &err) == 0) {
			FUZZ_EXPECT(gang.ready >= 0 && gang.ready <= gang.total);
			gang_write_missing(&missing, &gang);
			FUZZ_EXPECT((missing.len == 2) == gang_passed(&gang));
		}
		gang_free(&gang);
	}
	object_meta_free(&parts.meta);
}

static void look_at_compressed(const char *text, size_t len)
{
	cleanup_json json_t *object = json_pack("{s:s,s:s,s:s,s:{s:i,s:i,s:n},s:{s:i,s:s,s:n}}", "state",
						"AttemptPreparing", "startTime", "2024-01-02T03:04:05Z",
						"transitionTime", "2024-01-02T03:04:05Z", "retryPolicyStatus",
						"totalRetriedCount", 0, "accountableRetriedCount", 0, "retryDelaySec",
						"attemptStatus", "id", 0, "instanceUID", "0_a", "taskRoleStatuses");
	json_t *value = json_stringn(text, len);

	if (value == NULL) /* no UTF-8 */
		return;
	json_object_set_new(json_object_get(object, "attemptStatus"), "taskRoleStatusesCompressed", value);
	look_at_status(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (size == 0)
		return 0;
	if (text[0] == 'z') {
		cleanup_buf struct buf out = {0};
		struct error err;

		text_decompress(text + 1, size - 1, &out, &err);
		FUZZ_EXPECT(out.len <= DECOMPRESSED_MAX);
		look_at_compressed(text + 1, size - 1);
	} else if (text[0] == 't') {
		cleanup_free char *packed = text_compress(text + 1, size - 1);
		cleanup_buf struct buf out = {0};
		struct error err;

		FUZZ_EXPECT(text_decompress(packed, strlen(packed), &out, &err) == 0);
		FUZZ_EXPECT(out.len == size - 1 && memcmp(out.data, text + 1, out.len) == 0);
		look_at_compressed(packed, strlen(packed));
	} else {
		cleanup_json json_t *object = json_parse(text, size, NULL);

		if (object != NULL)
			look_at_object(object);
		look_at_gang(text, size);
	}
	return 0;
}
