/* spec.podFailureSpec (CONTRACT.md §8): a Framework's own entries, between the predefined ones and the configuration's.
 */
#include "common/config/config.h"
#include "tests/unit/sync_world.h"

#define OWN(code, phrase, rest)                                                                                      \
	"{'code':" #code ",'phrase':'" phrase "','type':{'attributes':['Permanent']},'podPatterns':[{'containers':[" \
	"{'codeRange':{'min':5,'max':6}" rest "}]}]}"

static void test_order(void **state)
{
	static const struct {
		const char *spec_rest;
		int exit_code;
		int code;
		const char *phrase;
	} rows[] = {
		{"", 5, 1000, "Configured"},
		{",'podFailureSpec':[]", 5, 1000, "Configured"},
		{",'podFailureSpec':null", 5, 1000, "Configured"},
		{",'podFailureSpec':[" OWN(1000, "Own", "") "]", 5, 1000, "Own"},
		{",'podFailureSpec':[" OWN(7, "First", "") "," OWN(8, "Second", "") "]", 6, 7, "First"},
		{",'podFailureSpec':[" OWN(7, "First", ",'nameRegex':'^other$'") "," OWN(8, "Second", "") "]", 6, 8,
		 "Second"},
		{",'podFailureSpec':[" OWN(7, "Own", "") "]", 9, 1000, "Configured"},
		{",'podFailureSpec':[" OWN(7, "Own", "") "]", 210, 210, "ContainerPermanentFailed"},
	};
	struct pod_pattern any = {0};
	struct failure_entry entry = {.code = 1000, .phrase = "Configured", .patterns = &any, .pattern_count = 1};

	(void)state;
	entry.attributes = json_null();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		world_begin_of(&w, 1, "", "", rows[i].spec_rest);
		w.failures = (struct failure_spec){.entries = &entry, .count = 1};
		world_settle(&w);
		world_pod_exit(&w, "f-a-0", rows[i].exit_code, "");
		world_settle(&w);
		assert_task_code(&w, 0, 0, rows[i].code);
		assert_string_equal(world_task(&w, 0, 0)->attempt.completion->phrase, rows[i].phrase);
		world_end(&w);
	}
}

/* The error names the member, what was found and what was expected; nothing of the Framework is acted on. */
static void test_refused(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} rows[] = {
		{"7", "spec.podFailureSpec: found the integer 7, expected a sequence"},
		{"[7]", "spec.podFailureSpec[0]: found the integer 7, expected a mapping"},
		{"[{'podPatterns':[{}]}]", "spec.podFailureSpec[0]: code: found nothing, expected an integer"},
		{"[{'code':-5,'podPatterns':[{}]}]",
		 "spec.podFailureSpec[0] (code -5): code: found the integer -5, expected one outside of -999..0"},
		{"[{'code':5,'podPatterns':[]}]",
		 "spec.podFailureSpec[0] (code 5): podPatterns: found none, expected at least one"},
		{"[{'code':5,'podPatterns':[{'nameRegex':'('}]}]",
		 "spec.podFailureSpec[0] (code 5): podPatterns[0].nameRegex: found the string \"(\", expected a "
		 "regular "
		 "expression in RE2 syntax"},
		{"[{'code':5,'podPatterns':[{}]},{'code':5,'podPatterns':[{}]}]", "used twice"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		cleanup_free char *rest = mem_printf(",'podFailureSpec':%s", rows[i].text);

		world_begin_of(&w, 1, "", "", rest);
		assert_non_null(w.framework->problem);
		assert_contains(w.framework->problem, rows[i].message);
		if (strncmp(rows[i].message, "spec", 4) == 0)
			assert_ptr_equal(strstr(w.framework->problem, rows[i].message), w.framework->problem);
		world_settle(&w);
		assert_calls(&w, "");
		assert_int_equal(w.writes, 0);
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
