/* common/framework: the table of completion codes, and regular expressions that must mean what they mean to RE2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "common/framework/pattern.h"
#include "tests/unit/slow.h"

static void assert_attributes(const json_t *attributes, const char *expected)
{
	char *text = json_text(attributes);
	assert_string_equal(text, expected);
	free(text);
}

/* ---- codes ----------------------------------------------------------------------------------------------------- */

static void test_codes(void **state)
{
	(void)state;
	static const struct {
		int32_t code;
		const char *phrase;
		const char *attributes;
	} rows[] = {
		{0, "Succeeded", "[]"},
		{200, "ContainerTransientFailed", "[\"Transient\"]"},
		{201, "ContainerTransientConflictFailed", "[\"Transient\",\"Conflict\"]"},
		{210, "ContainerPermanentFailed", "[\"Permanent\"]"},
		{-100, "ConfigMapExternalDeleted", "[\"Transient\"]"},
		{-101, "PodExternalDeleted", "[\"Transient\"]"},
		{-110, "ConfigMapLocalCacheCreationTimeout", "[\"Transient\"]"},
		{-111, "PodLocalCacheCreationTimeout", "[\"Transient\"]"},
		{-120, "PodCreationTransientError", "[\"Transient\"]"},
		{-200, "PodCreationPermanentError", "[\"Permanent\"]"},
		{-210, "StopFrameworkRequested", "[\"Permanent\"]"},
		{-220, "FrameworkAttemptCompletion", "[\"Permanent\"]"},
		{-230, "DeleteTaskRequested", "[\"Permanent\"]"},
		{-240, "SuspendFrameworkRequested", "[]"},
		{-250, "ActiveDeadlineExceeded", "[\"Permanent\"]"},
		{-300, "PodFailedWithoutFailedContainer", "[]"},
		{-310, "PodCreationUnknownError", "[]"},
		{-320, "PodStartTimeout", "[]"},
		{-321, "PodNeverStarts", "[\"Permanent\"]"},
		{-330, "PodUnschedulableTimeout", "[]"},
	};
	size_t found = 0;
	for (int32_t code = -1100; code <= 300; code++)
		found += completion_code_find(code) != NULL;
	assert_int_equal(found, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(completion_code_find(rows[i].code)->phrase, rows[i].phrase);
		assert_attributes(completion_code_attributes(rows[i].code), rows[i].attributes);
		assert_ptr_equal(completion_code_attributes(rows[i].code), completion_code_attributes(rows[i].code));
		assert_true(completion_code_reserved(rows[i].code));
	}
	assert_attributes(completion_code_attributes(77), "[]");
	assert_true(completion_code_reserved(-999));
	assert_true(completion_code_reserved(219));
	assert_false(completion_code_reserved(-1000));
	assert_false(completion_code_reserved(1));
	assert_false(completion_code_reserved(199));
	assert_false(completion_code_reserved(220));
}

/* ---- patterns -------------------------------------------------------------------------------------------------- */

/* What the pattern finds in subject, or NULL; "?" when it does not compile. The caller frees. */
static char *find(const char *source, const char *subject)
{
	struct error err = {0};
	int64_t steps = INT64_MAX;
	size_t start, len;
	struct pattern *pattern = pattern_compile(source, &err);
	if (!pattern)
		return mem_printf("? %s", err.message);
	char *found = NULL;
	if (pattern_search(pattern, subject, &steps, &start, &len))
		found = mem_strndup(subject + start, len);
	pattern_free(pattern);
	return found;
}

/* The expected results are what Go's regexp package gives. */
static void test_pattern_matches(void **state)
{
	(void)state;
	static const struct {
		const char *source;
		const char *subject;
		const char *found;
	} rows[] = {
		{"b+", "abbbc", "bbb"},
		{"", "x", ""},
		{"^$", "", ""},
		{"x", "abc", NULL},
		{"a|ab", "ab", "a"},
		{"(?:a|ab)(c|bcd)", "abcd", "abcd"},
		{"a.c", "a\nc", NULL},
		{"(?s)a.c", "a\nc", "a\nc"},
		{".*", "one\ntwo", "one"},
		{"(?ms).*", "one\ntwo", "one\ntwo"},
		{"(?i)^evicted$", "Evicted", "Evicted"},
		{"(?msi)^OOMKILLED$", "x\noomkilled\ny", "oomkilled"},
		{"(?i)é", "É", "É"},
		{"(?i:A)b", "aB", NULL},
		{"(?i:A)b", "ab", "ab"},
		{"(?i)a(?-i)b", "Ab", "Ab"},
		{"(?U)a+", "aaa", "a"},
		{"(?U)a+?", "aaa", "aaa"},
		{"a+?", "aaa", "a"},
		/* $ without m: only at the very end */
		{"a$", "a\n", NULL},
		{"a$", "ba", "a"},
		{"(?m)a$", "a\n", "a"},
		{"a\\z", "a\n", NULL},
		{"\\Aa", "\na", NULL},
		/* (?m)^ also after a newline that ends the text */
		{"(?m)\\n^", "a\n", "\n"},
		/* \r is no line end */
		{"a.b", "a\rb", "a\rb"},
		{"(?m)a$", "a\r\n", NULL},
		/* \s without vertical tab, \v alone */
		{"\\s", "\v", NULL},
		{"\\S", "\v", "\v"},
		{"[\\s]", "\v", NULL},
		{"[\\S]", "\v", "\v"},
		{"[^\\s]", "\v", "\v"},
		{"[^\\S]+", "a \t\n\v", " \t\n"},
		{"[x\\s]+", "a x\t", " x\t"},
		{"\\v+", "\n\v\v", "\v\v"},
		{"[[:space:]]", "\v", "\v"},
		{"\\s+x", "a \t\n\f\rx", " \t\n\f\rx"},
		/* ASCII classes */
		{"\\w+", "é_a1-", "_a1"},
		{"\\d", "٣", NULL},
		{"^\\W$", "é", "é"},
		{"\\bé", "aé", "é"},
		{"^OutOf\\S+$", "OutOfnvidia.com/gpu", "OutOfnvidia.com/gpu"},
		{"[[:alpha:]]+", "12ab", "ab"},
		{"[[:^alpha:]]+", "ab12", "12"},
		{"\\p{Greek}+", "aβγ", "βγ"},
		{"\\pL+", "1é2", "é"},
		{"\\P{L}", "a1", "1"},
		{"[\\p{Greek}x]+", "axβ", "xβ"},
		/* classes */
		{"[]a]+", "x]a", "]a"},
		{"[^]a]", "]ab", "b"},
		{"[a-]+", "x-a", "-a"},
		{"[\\d-x]+", "a1-x", "1-x"},
		{"[[:digit:]-x]+", "a1-x", "1-x"},
		{"[[.a]+", "x.[a", ".[a"},
		{"[:alpha:]+", "zlap:", "lap:"},
		{"[\\s-a]+", "b-a ", "-a "},
		{"[a\\]b]+", "x]ab", "]ab"},
		{"[[]", "a[", "["},
		{"[[:]+", "a[:", "[:"},
		{"[é-ü]", "zö", "ö"},
		{"[.*+?|^$(){}]+", "a.*+?|^$(){}b", ".*+?|^$(){}"},
		{"[\\x41-\\x{43}]+", "xABCD", "ABC"},
		{"[\\n\\t]", "a\tb", "\t"},
		{"[#-&]+", "a#$%&'", "#$%&"},
		/* escapes */
		{"\\.\\*\\[\\\\", "a.*[\\", ".*[\\"},
		{"\\x{e9}\\x20", "é ", "é "},
		{"\\101\\07", "A\a", "A\a"},
		{"\\a\\f\\t\\n\\r", "\a\f\t\n\r", "\a\f\t\n\r"},
		{"\\Qa.b*\\E+", "a.b**", "a.b**"},
		{"\\Q(#x", "(#x", "(#x"},
		{"\\-\\_\\#\\ ", "-_# ", "-_# "},
		/* braces that are no counts are literal */
		{"a{,2}", "aa{,2}", "a{,2}"},
		{"a{x", "aa{x", "a{x"},
		{"{}", "a{}", "{}"},
		{"a{2}", "aaa", "aa"},
		{"a{2,}", "aaaa", "aaaa"},
		{"a{1,2}?", "aaa", "a"},
		{"a{0,1000}b", "aab", "aab"},
		/* assertions that are repeated */
		{"^*OOM", "xOOM", "OOM"},
		{"a$+", "ba", "a"},
		{"\\b+a\\B{2}b", "x ab", "ab"},
		{"\\A?x\\z*", "xy", "x"},
		/* groups */
		{"(?P<name>a)(?<other>b)", "xab", "ab"},
		{"((a)(b))*c", "ababc", "ababc"},
		{"a b#c", "a b#c", "a b#c"},
		/* invalid UTF-8 is tolerated and matches nothing */
		{"b",
		 "a\xff"
		 "b",
		 "b"},
		{"(?s)b.*",
		 "a\xff"
		 "bc",
		 "bc"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *found = find(rows[i].source, rows[i].subject);
		bool same = found && rows[i].found ? strcmp(found, rows[i].found) == 0 : found == rows[i].found;
		if (!same)
			fail_msg("%s in '%s': found '%s', expected '%s'", rows[i].source, rows[i].subject,
				 found ? found : "nothing", rows[i].found ? rows[i].found : "nothing");
		free(found);
	}
}

static void test_pattern_refused(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"a(?=b)", "offset 1: (?= is not supported"},
		{"(?!b)", "offset 0: (?! is not supported"},
		{"(?<=b)", "offset 0: (?< is not supported"},
		{"x(?<!b)", "offset 1: (?< is not supported"},
		{"(a)\\1", "offset 3: backreferences such as \\1 are not supported"},
		{"\\8", "backreferences"},
		{"[\\1]", "offset 0: backreferences"},
		{"(?P<n>a)(?P=n)", "offset 8: (?P is not supported"},
		{"(?P<n>a)\\k<n>", "offset 8: unknown escape \\k"},
		{"(a)\\g1", "unknown escape \\g"},
		{"(?R)", "offset 0: (?R is not supported"},
		{"(a)(?1)", "(?1 is not supported"},
		{"(?&n)", "(?& is not supported"},
		{"(?P>n)", "(?P is not supported"},
		{"(?(1)a|b)", "(?( is not supported"},
		{"(?>a)", "(?> is not supported"},
		{"(?|a)", "(?| is not supported"},
		{"(?#c)", "(?# is not supported"},
		{"(?C1)", "(?C is not supported"},
		{"(?x)a", "(?x is not supported"},
		{"(?ix)a", "(?x is not supported"},
		{"(?J)a", "(?J is not supported"},
		{"(?^i)a", "(?^ is not supported"},
		{"(?", "(? is not supported"},
		{"(?'n'a)", "(?' is not supported"},
		{"(?P<n-m>a)", ""},
		{"(?P<>a)", ""},
		{"(*UTF)a", "offset 0: verbs are not supported"},
		{"(*FAIL)", "verbs"},
		{"a*+", "offset 1: repetition of a repetition"},
		{"a++", "repetition of a repetition"},
		{"a?+", "repetition of a repetition"},
		{"a{2}+", "repetition of a repetition"},
		{"a**", ""},
		{"a+{2}", ""},
		{"a{2}{3}", ""},
		{"a{2,1}", ""},
		{"a{99999999999999999999}", ""},
		{"*", ""},
		{"a|*", ""},
		{"(", ""},
		{")", ""},
		{"[a", "offset 0: missing closing ]"},
		{"[]", "missing closing ]"},
		{"[z-a]", ""},
		{"[a-\\d]", ""},
		{"[[:nope:]]", ""},
		{"\\", "offset 0: trailing backslash"},
		{"a\\", "trailing backslash"},
		{"\\Z", "unknown escape \\Z"},
		{"\\K", "unknown escape \\K"},
		{"\\R", "unknown escape \\R"},
		{"\\X", "unknown escape \\X"},
		{"\\G", "unknown escape \\G"},
		{"\\h", "unknown escape \\h"},
		{"\\N", "unknown escape \\N"},
		{"\\C", "unknown escape \\C"},
		{"\\e", "unknown escape \\e"},
		{"\\cA", "unknown escape \\c"},
		{"\\u0041", "unknown escape \\u"},
		{"\\x{110000}", ""},
		{"\\x{}", ""},
		{"\\p{Nope}", ""},
		{"\\p", ""},
		{"\xff", ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = {0};
		struct pattern *pattern = pattern_compile(rows[i][0], &err);
		if (pattern)
			fail_msg("%s was taken", rows[i][0]);
		if (err.message[0] == '\0' || !strstr(err.message, rows[i][1]))
			fail_msg("%s: \"%s\" lacks \"%s\"", rows[i][0], err.message, rows[i][1]);
	}
	char *large = mem_alloc(PATTERN_MAX_BYTES + 2);
	struct error err = {0};
	memset(large, 'a', PATTERN_MAX_BYTES + 1);
	large[PATTERN_MAX_BYTES + 1] = '\0';
	assert_null(pattern_compile(large, &err));
	assert_non_null(strstr(err.message, "4097 bytes long, expected at most 4096"));
	large[PATTERN_MAX_BYTES] = '\0';
	struct pattern *pattern = pattern_compile(large, &err);
	assert_non_null(pattern);
	pattern_free(pattern);
	free(large);
}

/* What a search of a text with a pattern takes. */
static int64_t steps_of(const char *source, const char *subject, int64_t steps, bool *found)
{
	struct error err;
	struct pattern *pattern = pattern_compile(source, &err);
	int64_t left = steps;

	assert_non_null(pattern);
	*found = pattern_search(pattern, subject, &left, NULL, NULL);
	pattern_free(pattern);
	return steps - left;
}

/* The bound is on the whole search, not on each starting position, and counts what one item of the pattern passes. */
static void test_pattern_steps(void **state)
{
	static const char *const bad[] = {
		"a*a*[bc]",         "a*?a*?[bc]",  "\\w*\\w*[!:]",        "(?:z?z?z?z?z?z?z?z?z?z?a)*[ef]",
		"(?:a|b|c|d)*[ef]", "(a|aa)+[bc]", "(?:[a-z]){500}[0-9]", "(a*)*[bc]",
	};
	enum { SEARCH = 2000000, SLACK = PATTERN_SUBJECT_MAX_BYTES };
	char *subject = mem_alloc(PATTERN_SUBJECT_MAX_BYTES + 1);
	static const size_t lengths[] = {4096, PATTERN_SUBJECT_MAX_BYTES};
	int64_t steps;
	bool found;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad) * ARRAY_LEN(lengths); i++) {
		size_t len = lengths[i / ARRAY_LEN(bad)];

		memset(subject, 'a', len);
		subject[len] = '\0';
		steps = steps_of(bad[i % ARRAY_LEN(bad)], subject, INT64_MAX, &found);
		assert_false(found);
		assert_in_range(steps, SEARCH, SEARCH + SLACK);
		steps = steps_of(bad[i % ARRAY_LEN(bad)], subject, 1000, &found);
		assert_false(found);
		assert_in_range(steps, 1000, 1000 + SLACK);
	}
	/* what people write takes little of it */
	steps = steps_of("(?is)^.*(not found|cannot find|no such).*$", subject, INT64_MAX, &found);
	assert_in_range(steps, 1, SEARCH / 8);
	assert_int_equal(steps_of("a", "a", 0, &found), 0);
	assert_false(found);
	free(subject);
}

/* Patterns that explode: the search gives up (a log line) instead of hanging; the bound is loose for busy machines. */
static void test_pattern_bounds(void **state)
{
	(void)state;
	static const char *const bad[] = {"(a+)+b?c", "(a*)*[bc]", "(a|a)*[bc]", "(a|aa)+$[^a]?[bc]",
					  "(?s)(.*a){12}[bc]"};
	char *subject = mem_alloc(PATTERN_SUBJECT_MAX_BYTES + 100);
	memset(subject, 'a', PATTERN_SUBJECT_MAX_BYTES + 99);
	subject[PATTERN_SUBJECT_MAX_BYTES + 99] = '\0';
	int64_t start_ms = cpu_ms();
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_null(find(bad[i], subject));
	assert_true(cpu_ms() - start_ms < allowed_ms(2000));
	static const char *const large[] = {"((a{1000}){1000}){1000}", "((((a{99}){99}){99}){99}){99}"};
	for (size_t i = 0; i < ARRAY_LEN(large); i++) {
		struct error err = {0};
		assert_null(pattern_compile(large[i], &err));
	}
	/* A good pattern works on the longest termination message there is. */
	subject[4096] = '\0';
	memcpy(subject + 10, "no such", 7);
	char *found = find("(?is)^.*(not found|cannot find|no such).*$", subject);
	assert_non_null(found);
	assert_int_equal(strlen(found), 4096);
	free(found);
	subject[4096] = 'a';
	/* Only so much of a subject is searched, in whole characters. */
	memset(subject, 'a', PATTERN_SUBJECT_MAX_BYTES + 99);
	memcpy(subject + PATTERN_SUBJECT_MAX_BYTES - 1, "é", 2);
	found = find("(?s).*", subject);
	assert_int_equal(strlen(found), PATTERN_SUBJECT_MAX_BYTES - 1);
	free(found);
	free(subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),           cmocka_unit_test(test_pattern_matches),
		cmocka_unit_test(test_pattern_refused), cmocka_unit_test(test_pattern_steps),
		cmocka_unit_test(test_pattern_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
