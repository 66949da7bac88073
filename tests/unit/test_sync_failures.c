/* spec.podFailureSpec (CONTRACT.md §8): a Framework's own entries, between the predefined ones and the configuration's.
 */
#include "common/config/config.h"
#include "common/config/failure.h"
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
		{"[{'code':5,'podPatterns':[{}]},{'code':5,'podPatterns':[{}]}]",
		 "spec.podFailureSpec[1] (code 5): code: used twice, first by spec.podFailureSpec[0]"},
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

/* Pods whose classification takes long do not hold up other Frameworks: a reconcile takes some, the next one the rest.
 */
static void test_long(void **state)
{
	enum { PODS = 7 }; /* the last one succeeds, which takes no search */
	static char text[4097];
	cleanup_free char *message = NULL;
	struct world w;
	int completed = 0;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	message = mem_printf("{'message':'%s'}", text);
	world_begin_of(
		&w, PODS, ",'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':8}", "",
		",'podFailureSpec':[{'code':7,'podPatterns':[{'containers':[{'messageRegex':'a*a*[bc]'}]}]},{'code':"
		"8,'podPatterns':[{'containers':[{'messageRegex':'^aa'}]}]}]");
	world_settle(&w);
	for (int i = 0; i < PODS; i++) {
		cleanup_free char *name = mem_printf("f-a-%d", i);

		world_pod_exit(&w, name, i == PODS - 1 ? 0 : 3, message);
	}
	world_reconcile(&w);
	for (size_t i = 0; i < PODS; i++)
		completed += world_task(&w, 0, i)->attempt.completion != NULL;
	assert_int_equal(completed, 4 + 1);
	assert_int_equal(w.plan.wake_ms, w.time.boot_ms + 1);
	world_settle(&w);
	/* the bound of one search is not that of the next one */
	for (size_t i = 0; i < PODS; i++)
		assert_task_code(&w, 0, i, i == PODS - 1 ? 0 : 8);
	world_end(&w);
}

/* What a Framework's patterns take of the memory that all share. */
static void test_large(void **state)
{
	cleanup_buf struct buf text = {0};
	struct failure_spec spec;
	json_t *list;
	struct error err;

	(void)state;
	buf_puts(&text, "[{\"code\":5,\"podPatterns\":[{}");
	for (int i = 0; i < 100; i++)
		buf_puts(&text, ",{\"nameRegex\":\"(?:[a-z]){1000}\"}");
	buf_puts(&text, "]}]");
	list = json_parse(text.data, text.len, &err);
	assert_int_equal(failure_spec_parse(list, "spec.podFailureSpec", &spec, &err), -1);
	assert_contains(err.message, "].nameRegex: this and the regular expressions before it take ");
	assert_contains(err.message,
			" bytes of memory, expected at most 1048576: have fewer, or fewer repeats in them");
	assert_int_equal(spec.count, 0);
	json_decref(list);
}

/* Characters that JSON has and YAML has not, or reads as the end of a line. */
static void test_characters(void **state)
{
	static const char text[] = "[{\"code\":5,\"podPatterns\":[{\"nameRegex\":\"x\\u0085[\\u0080-\xc3\xbf]"
				   "\\u007f\\u2028\xf0\x9f\x98\x80\"}"
				   "]}]";
	json_t *list = json_parse(text, strlen(text), NULL);
	struct failure_spec spec;
	struct error err = {.message = ""};

	(void)state;
	if (failure_spec_parse(list, "spec.podFailureSpec", &spec, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(pattern_source(spec.entries[0].patterns[0].name),
			    "x\xc2\x85[\xc2\x80-\xc3\xbf]\x7f\xe2\x80\xa8\xf0\x9f\x98\x80");
	failure_spec_free(&spec);
	json_decref(list);
	list = json_pack("[{s:i, s:s%}]", "code", 5, "phrase", "a\0b", (size_t)3);
	assert_int_equal(failure_spec_parse(list, "spec.podFailureSpec", &spec, &err), -1);
	assert_contains(err.message, "spec.podFailureSpec: ");
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_refused),    cmocka_unit_test(test_long),
		cmocka_unit_test(test_large), cmocka_unit_test(test_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
