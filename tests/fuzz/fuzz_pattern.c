/* podFailureSpec: a hostile regular expression (the first line) on a hostile subject (the rest). Its time is bounded,
 * which replay.c and libFuzzer's -timeout look at. */
#include "common/base/mem.h"
#include "common/framework/pattern.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {.data = data, .left = size};
	size_t source_len;
	const char *source_text = fuzz_line(&input, &source_len);
	cleanup_free char *source = mem_strndup(source_len == 0 ? "" : source_text, source_len);
	cleanup_free char *subject = mem_strndup(input.left == 0 ? "" : (const char *)input.data, input.left);
	struct error err;
	struct pattern *pattern = pattern_compile(source, &err);
	int64_t steps = INT64_MAX;
	size_t start;
	size_t len;

	if (pattern == NULL)
		return 0;
	FUZZ_EXPECT(strcmp(pattern_source(pattern), source) == 0);
	if (pattern_search(pattern, subject, &steps, &start, &len))
		FUZZ_EXPECT(start <= strlen(subject) && len <= strlen(subject) - start);
	pattern_free(pattern);
	return 0;
}
