/* What one Pod event costs: as many instructions and allocations in a Framework of 10 000 Tasks as in one of 10
 * (ARCHITECTURE.md §4.6). Instructions are counted by single steps, so that the figures are the same on
 * any machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "common/framework/spec.h"
#include "reconciler/sync/sync.h"
#include "tests/unit/instructions.h"

/* ---- allocations, counted where they arise ---- */

/* (debug builds check the counters against full counts) */
#if defined(__SANITIZE_ADDRESS__) || defined(DEBUG)
enum { COUNTING = 0 };
static uint64_t allocations;
static uint64_t allocated;
#else
enum { COUNTING = 1 };
static uint64_t allocations;
static uint64_t allocated; /* bytes */

/* glibc's own, under the names that it keeps for those who stand in for malloc */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	allocations++;
	allocated += size;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	allocations++;
	allocated += count * size;
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	allocations++;
	allocated += size;
	return __libc_realloc(old, size);
}
#endif

/* ---- a Framework that runs ---- */

struct story {
	struct framework *framework;
	struct sync_config config;
	struct sync_time time;
	struct random random;
	struct failure_spec failures;
	struct plan plan;
	uint64_t version;
};

/* `wanted` Tasks; idle: how many TaskRoles without a Task there are beside theirs; load: a text of that length is in
 * the Task's spec. */
static void write_spec(struct buf *out, int version, size_t wanted, size_t policy, size_t idle, size_t load)
{
	buf_printf(out,
		   "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f\",\"uid\":\"u\",\"resourceVersion\":\"%d\","
		   "\"generation\":1},\"spec\":{\"executionType\":\"Start\",\"taskRoles\":[{\"name\":\"a\","
		   "\"taskNumber\":%zu,\"frameworkAttemptCompletionPolicy\":{\"minFailedTaskCount\":1,"
		   "\"minSucceededTaskCount\":%zu},\"task\":{\"pod\":{\"load\":\"%*s\"}}}",
		   version, wanted, policy, (int)load, "");
	for (size_t i = 1; i <= idle; i++)
		buf_printf(out, ",{\"name\":\"idle%zu\"}", i);
	buf_puts(out, "]}");
}

/* idle: how many TaskRoles without a Task there are beside that of the Tasks. */
static void write_framework(struct buf *out, size_t tasks, size_t idle)
{
	struct role_status role = {
		.name = mem_strdup("a"),
		.instance_uid = mem_strdup("role"),
		.pod_graceful_deletion_timeout_sec = SECONDS_NULL,
		.tasks = mem_calloc(tasks, sizeof(*role.tasks)),
		.task_count = tasks,
		.task_cap = tasks,
	};
	struct framework_status status = {
		.start_time = 1000,
		.run_time = 1000,
		.transition_time = 1000,
		.observed_generation = 1,
		.state = STATE_RUNNING,
		.retry = {.delay_sec = DELAY_NULL},
		.attempt = {.start_time = 1000,
			    .run_time = 1000,
			    .instance_uid = mem_strdup("0_map"),
			    .config_map_uid = mem_strdup("map"),
			    .roles = mem_calloc(1 + idle, sizeof(role)),
			    .role_count = 1 + idle},
	};

	for (size_t i = 0; i < tasks; i++)
		role.tasks[i] = (struct task_status){
			.instance_uid = mem_printf("task%zu", i),
			.start_time = 1000,
			.run_time = 1000,
			.transition_time = 1000,
			.state = STATE_RUNNING,
			.retry = {.delay_sec = DELAY_NULL},
			.attempt = {.start_time = 1000,
				    .run_time = 1000,
				    .instance_uid = mem_printf("0_pod%zu", i),
				    .pod_uid = mem_printf("pod%zu", i),
				    .pod_node_name = mem_strdup("node"),
				    .pod_ip = mem_strdup("10.0.0.1"),
				    .pod_host_ip = mem_strdup("10.0.0.2")},
		};
	status.attempt.roles[0] = role;
	for (size_t i = 1; i <= idle; i++)
		status.attempt.roles[i] = (struct role_status){
			.name = mem_printf("idle%zu", i),
			.instance_uid = mem_printf("role%zu", i),
			.pod_graceful_deletion_timeout_sec = SECONDS_NULL,
		};
	write_spec(out, 1, tasks, tasks, idle, 0);
	buf_puts(out, ",\"status\":");
	framework_status_write(out, &status, "f", NULL);
	buf_putc(out, '}');
	framework_status_free(&status);
}

static void write_pod(struct buf *out, size_t index, uint64_t version, const char *status)
{
	buf_clear(out);
	buf_printf(out,
		   "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f-a-%zu\",\"uid\":\"pod%zu\",\"resourceVersion\":"
		   "\"%llu\",\"labels\":{\"FC_FRAMEWORK_NAME\":\"f\"},\"annotations\":{\"FC_TASK_UID\":\"task%zu\","
		   "\"FC_TASK_ATTEMPT_ID\":\"0\",\"FC_FRAMEWORK_ATTEMPT_INSTANCE_UID\":\"0_map\"},\"ownerReferences\":"
		   "[{\"kind\":\"ConfigMap\",\"name\":\"f-attempt\",\"uid\":\"map\",\"controller\":true}]},"
		   "\"spec\":{\"nodeName\":\"node\"},\"status\":{\"podIP\":\"10.0.0.1\",\"hostIP\":\"10.0.0.2\",%s}}",
		   index, index, (unsigned long long)version, index, status);
}

static void run_reconcile(struct story *story, bool write)
{
	framework_sync(story->framework, &story->config, &story->time, &story->random, &story->plan);
	if (write) {
		char version[24];
		uint64_t started = framework_write_started(story->framework, story->time.boot_ms);

		snprintf(version, sizeof(version), "%llu", (unsigned long long)++story->version);
		framework_written(story->framework, started, version);
	}
}

/* All Tasks run, all that is known is stored, and nothing is due. */
static void begin(struct story *story, size_t tasks, size_t idle)
{
	static const char config_map[] =
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f-attempt\",\"uid\":\"map\",\"resourceVersion\":\"2\","
		"\"labels\":{\"FC_FRAMEWORK_NAME\":\"f\"},\"annotations\":{\"FC_FRAMEWORK_UID\":\"u\","
		"\"FC_FRAMEWORK_ATTEMPT_ID\":\"0\"},\"ownerReferences\":[{\"kind\":\"Framework\",\"name\":\"f\","
		"\"uid\":\"u\",\"controller\":true}]}}";
	struct object_parts parts;
	struct error err = {0};
	struct buf text = {0};

	*story = (struct story){
		.config = {.failures = &story->failures, .creation_timeout_sec = 300, .completed_retain_sec = 1000000},
		.time = {.wall_ms = 2000000, .boot_ms = 1000000, .live = true},
		.version = 100,
	};
	random_init_seed(&story->random, 1);
	story->framework = framework_new("ns", "f");
	write_framework(&text, tasks, idle);
	if (object_parts_read(text.data, text.len, &parts, &err) < 0)
		fail_msg("%s", err.message);
	framework_observe(story->framework, &parts, OBSERVED_EVENT);
	object_meta_free(&parts.meta);
	framework_observe_config_map(story->framework, config_map_read(config_map, sizeof(config_map) - 1, &err));
	for (size_t i = 0; i < tasks; i++) {
		write_pod(&text, i, 3 + i, "\"phase\":\"Running\"");
		framework_observe_pod(story->framework, pod_read(text.data, text.len, &err));
	}
	story->version += tasks;
	for (int i = 0; i < 3; i++)
		run_reconcile(story, true);
	if (story->framework->problem != NULL)
		fail_msg("%s", story->framework->problem);
	assert_int_equal(story->framework->roles[0].running, tasks);
	assert_int_equal(story->plan.call_count, 0);
	buf_free(&text);
}

static void end(struct story *story)
{
	plan_reset(&story->plan);
	framework_free(story->framework);
}

/* What the shell does with one event: read it, take it in, run a reconcile. */
static void take_pod(struct story *story, const struct buf *text)
{
	struct error err;

	framework_observe_pod(story->framework, pod_read(text->data, text->len, &err));
	run_reconcile(story, false);
}

/* The events of a Pod's end, one by one: it has run, its deletion was asked for, it is gone. What the server would do
 * in between costs nothing here: `mark` is called before and after each event. */
static void live_through(struct story *story, size_t index, void (*mark)(void))
{
	static const char over[] = "\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{"
				   "\"terminated\":{\"exitCode\":0,\"finishedAt\":\"2024-05-06T07:08:59Z\"}}}]";
	struct call_answer answer = {
		.sent = true, .http_status = 200, .reason = "", .message = "", .retry_after_ms = -1};
	struct buf text = {0};
	char name[32];
	char uid[32];
	char version[24];

	write_pod(&text, index, ++story->version, over);
	mark();
	take_pod(story, &text);
	mark();
	run_reconcile(story, true); /* persisted, so the next one deletes */
	run_reconcile(story, false);
	assert_int_equal(story->plan.call_count, 1);
	assert_int_equal(story->plan.calls[0].kind, CALL_DELETE_POD);
	write_pod(&text, index, ++story->version, over);
	answer.body = text.data;
	mark();
	framework_answer(story->framework, &story->plan.calls[0], &answer, &story->time, &story->random);
	run_reconcile(story, false);
	mark();
	snprintf(name, sizeof(name), "f-a-%zu", index);
	snprintf(uid, sizeof(uid), "pod%zu", index);
	snprintf(version, sizeof(version), "%llu", (unsigned long long)++story->version);
	mark();
	framework_observe_gone(story->framework, KIND_POD, name, uid, version, true);
	run_reconcile(story, false);
	mark();
	run_reconcile(story, true);
	assert_int_equal(story->framework->status.attempt.roles[0].tasks[index].state, STATE_COMPLETED);
	buf_free(&text);
}

enum { EVENTS = 3 };
static const char *const event_names[EVENTS] = {"end of a Pod", "answer to its deletion", "its going"};
static const size_t sizes[] = {10, 1000, 10000};

/* ---- allocations ---- */

static uint64_t marks[2 * EVENTS];
static size_t mark_count;

static void mark_allocations(void)
{
	marks[mark_count++ % ARRAY_LEN(marks)] = allocations;
}

/* Most allocations that an event may make: the objects, the texts of a completion, the plan. */
enum { ALLOCATIONS_MAX = 12 };

static void test_allocations(void **state)
{
	uint64_t counts[ARRAY_LEN(sizes)][EVENTS];

	(void)state;
	if (!COUNTING)
		skip();
	for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
		struct story story;

		begin(&story, sizes[s], 0);
		live_through(&story, 1, mark_allocations); /* what is made once */
		mark_count = 0;
		live_through(&story, 2, mark_allocations);
		for (size_t e = 0; e < EVENTS; e++) {
			counts[s][e] = marks[2 * e + 1] - marks[2 * e];
			if (counts[s][e] != counts[0][e] || counts[s][e] > ALLOCATIONS_MAX)
				fail_msg("%s: %llu allocations with %zu Tasks, %llu with %zu", event_names[e],
					 (unsigned long long)counts[s][e], sizes[s], (unsigned long long)counts[0][e],
					 sizes[0]);
		}
		end(&story);
	}
	print_message("allocations: %s %llu, %s %llu, %s %llu\n", event_names[0], (unsigned long long)counts[0][0],
		      event_names[1], (unsigned long long)counts[0][1], event_names[2],
		      (unsigned long long)counts[0][2]);
}

/* ---- snapshots ---- */

static void mark_nothing(void)
{
}

struct cost {
	uint64_t allocations;
	uint64_t bytes;
};

enum { LEAVING = 40, SPEC_LOAD = 100000 };

/* Of the reconcile in which LEAVING Tasks go, each with its snapshot. */
static struct cost cost_of_leaving(size_t idle, size_t load)
{
	struct object_parts parts;
	struct story story;
	struct error err;
	struct buf text = {0};
	struct cost cost;

	begin(&story, LEAVING + 1, idle);
	story.config.snapshot_task_deletion = true;
	for (size_t i = 1; i <= LEAVING; i++)
		live_through(&story, i, mark_nothing);
	write_spec(&text, (int)++story.version, 1, LEAVING + 2, idle, load);
	buf_putc(&text, '}');
	assert_int_equal(object_parts_read(text.data, text.len, &parts, &err), 0);
	framework_observe(story.framework, &parts, OBSERVED_EVENT);
	object_meta_free(&parts.meta);
	run_reconcile(&story, true);
	assert_int_equal(story.plan.snapshot_count, 0);
	cost = (struct cost){allocations, allocated};
	run_reconcile(&story, false);
	cost = (struct cost){allocations - cost.allocations, allocated - cost.bytes};
	assert_int_equal(story.plan.snapshot_count, LEAVING);
	for (size_t i = 0; i < LEAVING; i++) {
		buf_clear(&text);
		plan_snapshot_write(&story.plan.snapshots[i], &text);
		assert_non_null(strstr(text.data, ",\"spec\":{\"pod\":{\"load\":\""));
		assert_true(text.len > load);
	}
	buf_free(&text);
	end(&story);
	return cost;
}

/* A spec is looked at once for all the Tasks that leave, and not copied for each. */
static void test_snapshots(void **state)
{
	struct cost small;
	struct cost roles;
	struct cost loaded;

	(void)state;
	if (!COUNTING || getenv("TEST_MEMCHECK") != NULL)
		skip(); /* the allocations are a sanitizer's or memcheck's */
	small = cost_of_leaving(0, 0);
	roles = cost_of_leaving(1000, 0);
	loaded = cost_of_leaving(0, SPEC_LOAD);
	print_message(
		"%d snapshots: %llu allocations of %llu bytes, with 1000 TaskRoles %llu of %llu, with %d bytes of "
		"spec %llu of %llu\n",
		LEAVING, (unsigned long long)small.allocations, (unsigned long long)small.bytes,
		(unsigned long long)roles.allocations, (unsigned long long)roles.bytes, SPEC_LOAD,
		(unsigned long long)loaded.allocations, (unsigned long long)loaded.bytes);
	assert_in_range(roles.allocations, 1, small.allocations);
	assert_in_range(loaded.allocations, 1, small.allocations);
	assert_in_range(loaded.bytes, 1, small.bytes + 1000);
}

/* ---- status writes ---- */

enum { TRICKLE_MS = 100, TRICKLE_EVENTS = 300 };

/* Pods end one by one, one in TRICKLE_MS. How many writes that takes, and how long the first one waits. */
static int writes_of_trickle(size_t tasks, int64_t *first_ms)
{
	struct story story;
	struct buf text = {0};
	int writes = 0;

	begin(&story, tasks, 0);
	story.time.boot_ms += 60000; /* all is quiet */
	for (size_t i = 0; i < TRICKLE_EVENTS; i++) {
		write_pod(&text, i, ++story.version, "\"phase\":\"Succeeded\"");
		take_pod(&story, &text);
		if (story.plan.write) {
			if (writes++ == 0)
				*first_ms = (int64_t)i * TRICKLE_MS;
			run_reconcile(&story, true);
		}
		story.time.boot_ms += TRICKLE_MS;
	}
	buf_free(&text);
	end(&story);
	return writes;
}

/* What a write costs grows with the Tasks, so a large Framework is written less often; the first change is prompt. */
static void test_writes(void **state)
{
	int64_t first_ms = 0;

	(void)state;
	assert_in_range(writes_of_trickle(1000, &first_ms), 15, 25);
	assert_true(first_ms <= 200);
	assert_in_range(writes_of_trickle(10000, &first_ms), 3, 5);
	assert_true(first_ms <= 200);
}

/* Of `tasks` that run, all but `to` are scaled away and go one by one, one in TRICKLE_MS. How many writes that takes.
 */
static int writes_of_leaving(size_t tasks, size_t to)
{
	struct object_parts parts;
	struct story story;
	struct error err;
	struct buf text = {0};
	int writes = 0;

	begin(&story, tasks, 0);
	story.time.boot_ms += 60000;
	write_spec(&text, (int)++story.version, to, tasks, 0, 0);
	buf_putc(&text, '}');
	assert_int_equal(object_parts_read(text.data, text.len, &parts, &err), 0);
	framework_observe(story.framework, &parts, OBSERVED_EVENT);
	object_meta_free(&parts.meta);
	for (int i = 0; i < 3; i++)
		run_reconcile(&story, true);
	for (size_t i = tasks; i-- > to;) {
		cleanup_free char *name = mem_printf("f-a-%zu", i);
		cleanup_free char *uid = mem_printf("pod%zu", i);
		cleanup_free char *version = mem_printf("%llu", (unsigned long long)++story.version);

		framework_observe_gone(story.framework, KIND_POD, name, uid, version, true);
		run_reconcile(&story, false);
		if (story.plan.write) {
			writes++;
			run_reconcile(&story, true);
		}
		story.time.boot_ms += TRICKLE_MS;
	}
	buf_free(&text);
	end(&story);
	return writes;
}

/* That those which stay all run is no reason to write whenever one of the others has gone. */
static void test_writes_of_leaving(void **state)
{
	(void)state;
	assert_in_range(writes_of_leaving(TRICKLE_EVENTS + 700, 700), 5, 20);
	assert_in_range(writes_of_leaving(2, 1), 1, 1); /* the last one to go is not waited for any longer */
}

/* ---- instructions ---- */

struct life {
	size_t tasks;
	size_t idle;
};

/* In a child. */
static void live(void *arg)
{
	const struct life *life = arg;
	struct story story;

	begin(&story, life->tasks, life->idle);
	live_through(&story, 1, mark_nothing);
	live_through(&story, 2, instructions_mark);
}

/* false: processes may not be traced here. */
static bool count_instructions(size_t tasks, size_t idle, uint64_t out[EVENTS])
{
	struct life life = {.tasks = tasks, .idle = idle};

	return instructions_count(live, &life, EVENTS, out);
}

/* Some more, because digits are longer and hash chains are not all of one length. */
enum { INSTRUCTIONS_MORE_PERCENT = 15 };

static void test_instructions(void **state)
{
	uint64_t counts[ARRAY_LEN(sizes)][EVENTS];

	(void)state;
	if (!COUNTING)
		skip();
	/* a step is a switch of processes: the smallest and the largest will do */
	for (size_t s = 0; s < ARRAY_LEN(sizes); s += ARRAY_LEN(sizes) - 1) {
		if (!count_instructions(sizes[s], 0, counts[s]))
			skip();
		for (size_t e = 0; e < EVENTS; e++) {
			print_message("%s, %zu Tasks: %llu instructions\n", event_names[e], sizes[s],
				      (unsigned long long)counts[s][e]);
			if (counts[s][e] > counts[0][e] * (100 + INSTRUCTIONS_MORE_PERCENT) / 100)
				fail_msg("%s costs more in a larger Framework", event_names[e]);
		}
	}
}

/* A reconcile passes over the TaskRoles, but it does not look for each of them among all. */
static void test_many_roles(void **state)
{
	enum { IDLE = 1000, INSTRUCTIONS_PER_ROLE = 100 };
	uint64_t few[EVENTS];
	uint64_t many[EVENTS];

	(void)state;
	if (!COUNTING || !count_instructions(10, 0, few) || !count_instructions(10, IDLE, many))
		skip();
	for (size_t e = 0; e < EVENTS; e++) {
		print_message("%s, %d idle TaskRoles: %llu instructions\n", event_names[e], IDLE,
			      (unsigned long long)many[e]);
		if (many[e] > few[e] + (uint64_t)IDLE * INSTRUCTIONS_PER_ROLE)
			fail_msg("%s: %llu instructions with no idle TaskRole", event_names[e],
				 (unsigned long long)few[e]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocations),  cmocka_unit_test(test_snapshots),
		cmocka_unit_test(test_writes),       cmocka_unit_test(test_writes_of_leaving),
		cmocka_unit_test(test_instructions), cmocka_unit_test(test_many_roles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
