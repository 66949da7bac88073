/* podFailureSpec of frameworkcontroller.yaml (CONTRACT.md §15): what an entry contains, and what is refused. */
#include "tests/unit/config_text.h"

static void test_failure_entry(void **state)
{
	(void)state;
	static const char text[] =
		"podFailureSpec:\n"
		"- code: -2147483648\n"
		"  phrase: P\n"
		"  type: {name: Failed, attributes: [Transient, Conflict]}\n"
		"  podPatterns:\n"
		"  - nameRegex: n\n"
		"    reasonRegex: r\n"
		"    messageRegex: m\n"
		"    containers:\n"
		"    - {nameRegex: cn, reasonRegex: cr, messageRegex: cm, signalRange: {min: 1, max: 9},"
		" codeRange: {min: -5}}\n"
		"    - {codeRange: {}, signalRange: {max: 3}}\n"
		"    - {codeRange: {min: null}}\n"
		"  - {}\n"
		"- code: 2147483647\n"
		"  podPatterns: [{nameRegex: null, reasonRegex: '', containers: null}]\n"
		"- code: 220\n"
		"  type: {name: '', attributes: []}\n"
		"  podPatterns: [{containers: []}]\n";
	struct config config;
	load(text, &config);
	const struct failure_spec *spec = &config.pod_failure_spec;
	assert_int_equal(spec->count, 3);
	const struct failure_entry *entry = &spec->entries[0];
	assert_int_equal(entry->code, INT32_MIN);
	assert_string_equal(entry->phrase, "P");
	char *attributes = json_text(entry->attributes);
	assert_string_equal(attributes, "[\"Transient\",\"Conflict\"]");
	free(attributes);
	assert_int_equal(entry->pattern_count, 2);
	const struct pod_pattern *pattern = &entry->patterns[0];
	assert_string_equal(pattern_source(pattern->name), "n");
	assert_string_equal(pattern_source(pattern->reason), "r");
	assert_string_equal(pattern_source(pattern->message), "m");
	assert_int_equal(pattern->container_count, 3);
	const struct container_pattern *container = &pattern->containers[0];
	assert_string_equal(pattern_source(container->name), "cn");
	assert_string_equal(pattern_source(container->reason), "cr");
	assert_string_equal(pattern_source(container->message), "cm");
	assert_true(container->signal.given && container->signal.min == 1 && container->signal.max == 9);
	assert_true(container->code.given && container->code.min == -5 && container->code.max == INT32_MAX);
	container = &pattern->containers[1];
	assert_null(container->name);
	assert_false(container->code.given);
	assert_true(container->signal.given && container->signal.min == INT32_MIN && container->signal.max == 3);
	assert_false(pattern->containers[2].code.given);
	assert_null(entry->patterns[1].name);
	assert_int_equal(entry->patterns[1].container_count, 0);
	/* absent type: phrase "", attributes null; an empty regex is given and matches everything */
	entry = &spec->entries[1];
	assert_int_equal(entry->code, INT32_MAX);
	assert_string_equal(entry->phrase, "");
	assert_true(json_is_null(entry->attributes));
	assert_null(entry->patterns[0].name);
	assert_string_equal(pattern_source(entry->patterns[0].reason), "");
	assert_true(json_is_array(spec->entries[2].attributes));
	assert_int_equal(json_array_size(spec->entries[2].attributes), 0);
	config_free(&config);
}

#define ENTRY(rest) "podFailureSpec:\n- {code: 1, podPatterns: [{}]}\n- {" rest "}\n"
#define PATTERN(rest) ENTRY("code: 2, podPatterns: [{" rest "}]")

static void test_failure_refused(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"podFailureSpec: {}", "c.yaml:1:17: podFailureSpec: found a mapping, expected a sequence"},
		{"podFailureSpec: [null]", "podFailureSpec[0]: found null, expected a mapping"},
		{"podFailureSpec: [x]", "podFailureSpec[0]: found the string \"x\", expected a mapping"},
		{ENTRY("podPatterns: [{}]"), "c.yaml:3:3: podFailureSpec[1]: code: found nothing, expected an integer"},
		{ENTRY("code: null, podPatterns: [{}]"), "c.yaml:3:10: podFailureSpec[1]: code: found nothing"},
		{ENTRY("code: x, podPatterns: [{}]"), "podFailureSpec[1] (code x): code: found the string \"x\""},
		{ENTRY("code: 2147483648, podPatterns: [{}]"), "code: found the integer 2147483648, expected"},
		{ENTRY("code: 1.0, podPatterns: [{}]"), "code: found the number 1.0"},
		{ENTRY("code: [1], podPatterns: [{}]"), "code: found a sequence"},
		{ENTRY("code: 0, podPatterns: [{}]"),
		 "c.yaml:3:10: podFailureSpec[1] (code 0): code: found the integer 0, "
		 "expected one outside of -999..0 and 200..219, which are reserved"},
		{ENTRY("code: -999, podPatterns: [{}]"), "podFailureSpec[1] (code -999): code: "},
		{ENTRY("code: 200, podPatterns: [{}]"), "podFailureSpec[1] (code 200): code: "},
		{ENTRY("code: 219, podPatterns: [{}]"), "podFailureSpec[1] (code 219): code: "},
		{ENTRY("code: 1, podPatterns: [{}]"),
		 "c.yaml:3:10: podFailureSpec[1] (code 1): code: used twice, first by "
		 "podFailureSpec[0] at 2:10"},
		/* of several, the first one in the file */
		{"podFailureSpec:\n- {code: 7, podPatterns: [{}]}\n- {code: 7, podPatterns: [{}]}\n"
		 "- {code: 3, podPatterns: [{}]}\n- {code: 3, podPatterns: [{}]}\n",
		 "c.yaml:3:10: podFailureSpec[1] (code 7): code: used twice, first by podFailureSpec[0] at 2:10"},
		{"podFailureSpec:\n- {code: 3, podPatterns: [{}]}\n- {code: 3, podPatterns: [{}]}\n"
		 "- {code: 7, podPatterns: [{}]}\n- {code: 7, podPatterns: [{}]}\n",
		 "c.yaml:3:10: podFailureSpec[1] (code 3): code: used twice, first by podFailureSpec[0] at 2:10"},
		{ENTRY("code: 2"), "c.yaml:3:3: podFailureSpec[1] (code 2): podPatterns: found none"},
		{ENTRY("code: 2, podPatterns: []"), "c.yaml:3:26: podFailureSpec[1] (code 2): podPatterns: found none"},
		{ENTRY("code: 2, podPatterns: null"), "podFailureSpec[1] (code 2): podPatterns: found none"},
		{ENTRY("code: 2, podPatterns: [null]"),
		 "podFailureSpec[1] (code 2): podPatterns[0]: found null, expected "},
		{ENTRY("code: 2, podPatterns: {}"), "podPatterns: found a mapping, expected a sequence"},
		{ENTRY("code: 2, phrase: 5, podPatterns: [{}]"),
		 "podFailureSpec[1] (code 2): phrase: found the integer 5"},
		{ENTRY("code: 2, type: Failed, podPatterns: [{}]"),
		 "type: found the string \"Failed\", expected a mapping"},
		{ENTRY("code: 2, type: {name: Succeeded}, podPatterns: [{}]"),
		 "c.yaml:3:26: podFailureSpec[1] (code 2): type.name: found the string \"Succeeded\", expected Failed"},
		{ENTRY("code: 2, type: {attributes: Transient}, podPatterns: [{}]"),
		 "type.attributes: found the string"},
		{ENTRY("code: 2, type: {attributes: [Transient, 5]}, podPatterns: [{}]"),
		 "type.attributes[1]: found the integer 5, expected a string"},
		{PATTERN("nameRegex: '('"),
		 "c.yaml:3:39: podFailureSpec[1] (code 2): podPatterns[0].nameRegex: found the "
		 "string \"(\", expected a regular expression in RE2 syntax: "},
		{PATTERN("reasonRegex: 'a(?=b)'"),
		 "podPatterns[0].reasonRegex: found the string \"a(?=b)\", expected a "
		 "regular expression in RE2 syntax: offset 1: (?= is not"},
		{PATTERN("messageRegex: 137"), "podPatterns[0].messageRegex: found the integer 137, expected a string"},
		{PATTERN("containers: [{}, {nameRegex: '['}]"), "podPatterns[0].containers[1].nameRegex: found"},
		{PATTERN("containers: [null]"), "podPatterns[0].containers[0]: found null, expected a mapping"},
		{PATTERN("containers: {}"), "podPatterns[0].containers: found a mapping, expected a sequence"},
		{PATTERN("containers: [{codeRange: 5}]"),
		 "containers[0].codeRange: found the integer 5, expected a mapping"},
		{PATTERN("containers: [{codeRange: {min: x}}]"), "containers[0].codeRange.min: found the string \"x\""},
		{PATTERN("containers: [{signalRange: {max: 2147483648}}]"), "containers[0].signalRange.max: found"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_refused(rows[i][0], rows[i][1]);
	static const int32_t free_codes[] = {1, 199, 220, -1000};
	for (size_t i = 0; i < ARRAY_LEN(free_codes); i++) {
		char *text = mem_printf("podFailureSpec: [{code: %d, podPatterns: [{}]}]", free_codes[i]);
		assert_loads(text);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failure_entry),
		cmocka_unit_test(test_failure_refused),
	};
	return cmocka_run_group_tests(tests, clear_environment, NULL);
}
