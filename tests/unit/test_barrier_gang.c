/* How many Tasks of a Framework have an IP (CONTRACT.md §16), read from its text: whatever stands in it, a gang never
 * passes by what is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "common/framework/gang.h"
#include "common/framework/spec.h"
#include "common/framework/status.h"
#include "tests/unit/slow.h"

/* total < 0: it cannot be read. */
struct story {
	const char *spec;
	const char *status;
	int ready;
	int total;
	const char *missing;
};

static char *text_of(const struct story *story)
{
	return mem_printf("{\"metadata\":{\"name\":\"fw\",\"uid\":\"u\"}%s%s%s%s}",
			  story->spec == NULL ? "" : ",\"spec\":", story->spec == NULL ? "" : story->spec,
			  story->status == NULL ? "" : ",\"status\":", story->status == NULL ? "" : story->status);
}

static void check(const struct story *story)
{
	cleanup_free char *text = text_of(story);
	cleanup_buf struct buf missing = {0};
	struct object_parts parts;
	struct gang gang;
	struct error err;
	int result;

	assert_int_equal(object_parts_read(text, strlen(text), &parts, &err), 0);
	result = gang_read(&parts, &gang, &err);
	object_meta_free(&parts.meta);
	if (result == 0) {
		assert_true(gang.packed == NULL || !gang_passed(&gang));
		result = gang_unpack(&gang, &err);
		if (result < 0)
			gang_free(&gang);
	}
	if ((result == 0) != (story->total >= 0))
		fail_msg("%s: %s", text, result == 0 ? "could be read" : err.message);
	if (result < 0)
		return;
	gang_write_missing(&missing, &gang);
	if (gang.ready != story->ready || gang.total != story->total || strcmp(missing.data, story->missing) != 0)
		fail_msg("%s: %d of %d, waiting for %s", text, (int)gang.ready, (int)gang.total, missing.data);
	assert_true(gang_passed(&gang) == (story->ready == story->total));
	gang_free(&gang);
}

#define SPEC "{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":2},{\"name\":\"b\",\"taskNumber\":1}]}"
#define STATUS(roles) "{\"attemptStatus\":{\"taskRoleStatuses\":" roles "}}"
#define IP "{\"attemptStatus\":{\"podIP\":\"10.0.0.1\"}}"

static void counts_what_the_spec_asks_for(void **state)
{
	static const struct story stories[] = {
		{SPEC, NULL, 0, 3, "[\"a-0\",\"a-1\",\"b-0\"]"},
		{SPEC, "null", 0, 3, "[\"a-0\",\"a-1\",\"b-0\"]"},
		{SPEC, STATUS("null"), 0, 3, "[\"a-0\",\"a-1\",\"b-0\"]"},
		{SPEC,
		 STATUS("[{\"name\":\"a\",\"taskStatuses\":[" IP "," IP "]},{\"name\":\"b\",\"taskStatuses\":[" IP
			"]}]"),
		 3, 3, "[]"},
		/* in any order, with anything between */
		{SPEC,
		 "{\"x\":[{}],\"attemptStatus\":{\"x\":{\"taskRoleStatuses\":[]},\"taskRoleStatuses\" : [ "
		 "{\"taskStatuses\":["
		 "{\"x\":1,\"attemptStatus\":{\"a\":[],\"podIP\":\"10.0.0.1\",\"b\":{}},\"deletionPending\":false},"
		 "null],"
		 "\"x\":{},\"name\":\"a\"} , 7] , \"z\":1},\"z\":[]}",
		 1, 3, "[\"a-1\",\"b-0\"]"},
		/* more than the spec asks for, roles it does not know */
		{SPEC,
		 STATUS("[{\"name\":\"b\",\"taskStatuses\":[" IP "," IP "," IP
			"]},{\"name\":\"c\",\"taskStatuses\":[" IP "]}]"),
		 1, 3, "[\"a-0\",\"a-1\"]"},
		/* a role that comes twice is not twice as many */
		{SPEC,
		 STATUS("[{\"name\":\"a\",\"taskStatuses\":[" IP "]},{\"name\":\"a\",\"taskStatuses\":[" IP "]}]"), 1,
		 3, "[\"a-1\",\"b-0\"]"},
		{SPEC,
		 STATUS("[{\"name\":\"a\",\"taskStatuses\":[" IP "]},{\"name\":\"a\",\"taskStatuses\":[{}," IP "]}]"),
		 1, 3, "[\"a-0\",\"b-0\"]"},
		/* what is no IP, or not for long */
		{SPEC,
		 STATUS("[{\"name\":\"a\",\"taskStatuses\":[{\"attemptStatus\":{\"podIP\":\"\"}},{\"attemptStatus\":{"
			"\"podIP\":1}}]},"
			"{\"name\":\"b\",\"taskStatuses\":[{\"deletionPending\":true,\"attemptStatus\":{\"podIP\":\"10."
			"0.0.1\"}}]}]"),
		 0, 3, "[\"a-0\",\"a-1\",\"b-0\"]"},
		{NULL, NULL, 0, 0, "[]"},
		{"null", NULL, 0, 0, "[]"},
		{"{}", NULL, 0, 0, "[]"},
		{"{\"taskRoles\":null}", NULL, 0, 0, "[]"},
		{"{\"taskRoles\":[{\"name\":\"a\"},{\"taskNumber\":null,\"name\":\"b\"}]}", NULL, 0, 0, "[]"},
		{"{\"taskRoles\":[{\"name\":\"w\",\"taskNumber\":10000}]}", NULL, 0, 10000,
		 "[\"w-0\",\"w-1\",\"w-2\",\"w-3\",\"w-4\"]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++)
		check(&stories[i]);
}

static void refuses_specs_that_mean_nothing(void **state)
{
	static const char *const specs[] = {
		"[]",
		"\"\"",
		"{\"taskRoles\":{}}",
		"{\"taskRoles\":7}",
		"{\"taskRoles\":[7]}",
		"{\"taskRoles\":[{}]}",
		"{\"taskRoles\":[{\"name\":7,\"taskNumber\":1}]}",
		"{\"taskRoles\":[{\"name\":\"A\",\"taskNumber\":1}]}",
		"{\"taskRoles\":[{\"name\":\"a b\",\"taskNumber\":1}]}",
		"{\"taskRoles\":[{\"name\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":-1}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":10001}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":\"1\"}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":1.0}]}",
		"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":99999999999999999999}]}",
		"{\"taskRoles\":[{\"name\":\"a\"},{\"name\":\"a\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		check(&(struct story){.spec = specs[i], .total = -1});
}

static void check_packed(const char *roles, const char *plain, int ready, const char *missing)
{
	cleanup_free char *packed = text_compress(roles, strlen(roles));
	cleanup_free char *status = mem_printf("{\"attemptStatus\":{\"taskRoleStatusesCompressed\":\"%s\"%s}}", packed,
					       plain);

	check(&(struct story){
		.spec = SPEC, .status = status, .ready = ready, .total = missing == NULL ? -1 : 3, .missing = missing});
}

static void unpacks(void **state)
{
	(void)state;
	check_packed("[{\"name\":\"a\",\"taskStatuses\":[" IP "," IP "]}]", "", 2, "[\"b-0\"]");
	check_packed("[{\"name\":\"a\",\"taskStatuses\":[" IP "," IP "]}]", ",\"taskRoleStatuses\":null", 2,
		     "[\"b-0\"]");
	/* statuses that stand there in plain text are the ones that count */
	check_packed("[{\"name\":\"a\",\"taskStatuses\":[" IP "," IP "]}]", ",\"taskRoleStatuses\":[]", 0,
		     "[\"a-0\",\"a-1\",\"b-0\"]");
	check_packed("{}", "", 0, "[\"a-0\",\"a-1\",\"b-0\"]");
	check_packed("[{\"name\":\"a\",\"taskStatuses\":[" IP "," IP, "", 0, NULL);
	check_packed("", "", 0, NULL);
	check(&(struct story){.spec = SPEC,
			      .total = -1,
			      .status = "{\"attemptStatus\":{\"taskRoleStatusesCompressed\":\"rubbish\"}}"});
	check(&(struct story){
		.spec = SPEC, .total = -1, .status = "{\"attemptStatus\":{\"taskRoleStatusesCompressed\":\"\"}}"});
}

/* Each of the TaskRoles is within its bound, all of them together are not: nothing is made ready for their IPs. */
static void refuses_too_many_tasks(void **state)
{
	cleanup_buf struct buf spec = {0};

	(void)state;
	buf_puts(&spec, "{\"taskRoles\":[");
	for (int i = 0; i <= FRAMEWORK_TASKS_MAX / TASK_NUMBER_MAX; i++)
		buf_printf(&spec, "%s{\"name\":\"a%d\",\"taskNumber\":%d}", i > 0 ? "," : "", i, TASK_NUMBER_MAX);
	buf_puts(&spec, "]}");
	check(&(struct story){.spec = spec.data, .total = -1});
}

/* An object of 1.5 MB has room for some 80 000 TaskRoles. Each is looked for by its name: if that took as long as there
 * are roles, one such Framework would hold up everybody who waits for another, for seconds. */
static void many_roles_take_no_time(void **state)
{
	enum { ROLES = 80000, LIMIT_MS = 1000 };
	cleanup_buf struct buf spec = {0};
	cleanup_buf struct buf status = {0};
	clock_t begin;

	(void)state;
	buf_puts(&spec, "{\"taskRoles\":[");
	buf_puts(&status, "{\"attemptStatus\":{\"taskRoleStatuses\":[");
	for (int i = 0; i < ROLES; i++) {
		buf_printf(&spec, "%s{\"name\":\"a%d\"}", i > 0 ? "," : "", i);
		buf_printf(&status, "%s{\"name\":\"a%d\"}", i > 0 ? "," : "", i);
	}
	buf_puts(&spec, "]}");
	buf_puts(&status, "]}}");
	begin = clock();
	check(&(struct story){.spec = spec.data, .status = status.data, .missing = "[]"});
	assert_in_range((clock() - begin) * 1000 / CLOCKS_PER_SEC, 0, allowed_ms(LIMIT_MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_what_the_spec_asks_for), cmocka_unit_test(refuses_specs_that_mean_nothing),
		cmocka_unit_test(refuses_too_many_tasks),        cmocka_unit_test(unpacks),
		cmocka_unit_test(many_roles_take_no_time),
	};

	return cmocka_run_group_tests_name("barrier_gang", tests, NULL, NULL);
}
