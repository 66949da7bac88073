/* How fc-jobs changes Frameworks (jobs/change.c): on copies that are old, beside others who change them, and while
 * changes are refused. */
#include "tests/unit/jobs_server.h"

#define MORE_WORKERS "{successPolicy: AllWorkers, tfReplicaSpecs: {Worker: {replicas: 3, " CONTAINER "}}}"

static size_t changes_sent(const struct world *world, size_t from)
{
	const struct sent *sent;
	size_t count = 0;

	while ((sent = find(world, from, "PATCH", "/frameworks/j")) != NULL) {
		from = (size_t)(sent - world->sent) + 1;
		count++;
	}
	return count;
}

/* Waits for the next change of the Framework, and returns the place behind it. */
static size_t expect_change(struct world *world, size_t from)
{
	return (size_t)(expect_sent(world, from, "PATCH", "/frameworks/j") - world->sent) + 1;
}

static bool lose_patch(struct world *world, struct http_conn *conn)
{
	return carry_out_and_lose(world, conn, "PATCH");
}

/* The server carries out the change that suspends the Framework. Its answer is lost, and the watch is late. The job is
 * resumed with another template, as Kueue does: it runs. */
static void test_resumed_after_lost_answer(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	from = world->count;
	world->script = lose_patch;
	show_job(world, "{runPolicy: {suspend: true}, " WORKERS "}");
	expect_sent(world, from, "PATCH", "/frameworks/j");
	assert_true(json_is_true(stored_member(world, "suspend")));
	from = world->count;
	show_job(world, MORE_WORKERS);
	expect_change(world, expect_change(world, from));
	assert_true(json_is_false(stored_member(world, "suspend")));
	show_framework(world, "RR"); /* the watch has caught up */
	settle(world);
	assert_int_equal(changes_sent(world, from), 2);
}

static struct http_conn *held;

static bool hold_patch(struct world *world, struct http_conn *conn)
{
	if (!on_framework(conn, "PATCH"))
		return false;
	world->script = NULL;
	held = conn;
	return true;
}

/* Somebody suspends the Framework while a change of it is on the way. */
static void test_changed_during_change(void **state)
{
	struct world *world = *state;
	cleanup_free char *text = NULL;
	json_t *object;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	settle(world);
	from = world->count;
	world->script = hold_patch;
	show_job(world, MORE_WORKERS);
	from = expect_change(world, from);
	change_stored(world, "{'spec':{'suspend':true}}");
	object = json_deep_copy(world->framework);
	merge_patch(object, world->sent[world->count - 1].body);
	store_as(world, &world->framework, object, "uid-f");
	text = json_text(object);
	http_reply(held, 200, "", text);
	expect_change(world, from);
	assert_true(json_is_false(stored_member(world, "suspend")));
}

/* A job's deadline is removed before the watch has shown the Framework's spec. */
static void test_deadline_removed_at_once(void **state)
{
	struct world *world = *state;

	show_job(world, "{runPolicy: {activeDeadlineSeconds: 60}, " WORKERS "}");
	expect_sent(world, 0, "POST", "/frameworks");
	settle(world);
	assert_int_equal(json_integer_value(stored_member(world, "activeDeadlineSec")), 60);
	show_job(world, "{" WORKERS "}");
	expect_change(world, expect_change(world, 0));
	assert_null(stored_member(world, "activeDeadlineSec"));
	settle(world);
	assert_int_equal(changes_sent(world, 0), 2);
}

/* A webhook that lets nobody suspend a Framework. */
static bool never_suspend(struct world *world, struct http_conn *conn)
{
	const json_t *spec = json_object_get(world->sent[world->count - 1].body, "spec");

	if (on_framework(conn, "PATCH"))
		json_object_del((json_t *)spec, "suspend");
	return false;
}

/* The API server accepts changes and undoes them: after two of them, no more are sent. */
static void test_undone_by_webhook(void **state)
{
	struct world *world = *state;
	struct item *item;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	settle(world);
	from = world->count;
	world->script = never_suspend;
	show_job(world, "{runPolicy: {suspend: true}, " WORKERS "}");
	expect_sent(world, from, "PATCH", "/frameworks/j");
	for (int i = 0; i < 5; i++)
		settle(world);
	assert_int_equal(changes_sent(world, from), 2);
	/* another process, whose changes change nothing, and of which no event tells */
	item = first_item(world);
	item->checked = 0;
	item->changes = (struct changes){0};
	from = world->count;
	show_framework(world, "fR");
	expect_sent(world, from, "PATCH", "/tfjobs/j/status");
	assert_int_equal(changes_sent(world, from), 2);
	/* the next change is sent again */
	from = world->count;
	show_job(world, MORE_WORKERS);
	expect_sent(world, from, "PATCH", "/frameworks/j");
	settle(world);
	assert_int_equal(changes_sent(world, from), 1);
}

/* Another controller suspends the Framework each time that fc-jobs resumes it. That is changed back at once at first,
 * and then ever more rarely; the job's status follows all the same. */
static void test_fight(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	settle(world);
	from = world->count;
	for (int i = 0; i < 10; i++) {
		change_stored(world, "{'spec':{'suspend':true}}");
		show_framework(world, i % 2 == 0 ? "RR" : "fR");
		if (i == 0)
			expect_change(world, from);
		else
			settle(world);
	}
	assert_in_range(changes_sent(world, from), 2, 6);
	assert_non_null(find(world, from, "PATCH", "/tfjobs/j/status"));
	for (int i = 0; i < 20 && !json_is_false(stored_member(world, "suspend")); i++)
		settle(world); /* it is changed back in the end */
	assert_true(json_is_false(stored_member(world, "suspend")));
}

/* A job that changes does not wait for that. */
static void test_changed_during_fight(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	settle(world);
	for (int i = 0; i < 20 && !json_is_true(stored_member(world, "suspend")); i++) {
		change_stored(world, "{'spec':{'suspend':true}}");
		show_stored(world);
		settle(world);
	}
	assert_true(json_is_true(stored_member(world, "suspend")));
	from = world->count;
	show_job(world, MORE_WORKERS);
	expect_change(world, from);
	assert_true(json_is_false(stored_member(world, "suspend")));
	settle(world);
	assert_int_equal(changes_sent(world, from), 1);
}

/* A webhook that refuses what changes the TaskRoles. */
static bool refuse_templates(struct world *world, struct http_conn *conn)
{
	const json_t *body = world->sent[world->count - 1].body;

	if (!on_framework(conn, "PATCH") || json_path(body, "spec", "taskRoles", NULL) == NULL)
		return false;
	http_reply(conn, 403, "", STATUS(403, "Forbidden"));
	return true;
}

static size_t show_refused_change(struct world *world, const char *spec, const char *changed)
{
	size_t from;

	begin(world, "{}", spec);
	settle(world);
	from = world->count;
	world->script = refuse_templates;
	show_job(world, changed);
	expect_sent(world, from, "PATCH", "/frameworks/j");
	return from;
}

/* A change of a job that runs is refused. Its status follows all the same, and the change is made when that is possible
 * again. */
static void test_status_beside_refused_change(void **state)
{
	struct world *world = *state;
	size_t from = show_refused_change(world, "{" WORKERS "}", MORE_WORKERS);

	show_framework(world, "fR");
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Restarting");
	assert_true(changes_sent(world, from) <= 3);
	world->script = NULL;
	from = world->count;
	expect_sent(world, from, "PATCH", "/frameworks/j");
	settle(world);
	assert_int_equal(json_array_size(stored_member(world, "taskRoles")), 1);
	assert_int_equal(json_int(json_array_get(stored_member(world, "taskRoles"), 0), "taskNumber", 0), 3);
}

#define RESTARTED(replicas) \
	"{tfReplicaSpecs: {Worker: {replicas: " replicas ", restartPolicy: OnFailure, " CONTAINER "}}}"

/* A job whose change is refused is to end: its Framework is stopped, without the change. */
static void test_stop_beside_refused_change(void **state)
{
	struct world *world = *state;
	size_t from = show_refused_change(world, RESTARTED("2"), RESTARTED("3"));
	const struct sent *sent;

	show_framework(world, "Ru");
	do
		sent = expect_sent(world, from, "PATCH", "/frameworks/j");
	while (from = (size_t)(sent - world->sent) + 1,
	       json_object_get(json_object_get(sent->body, "spec"), "executionType") == NULL);
	assert_int_equal(json_object_size(json_object_get(sent->body, "spec")), 1);
	assert_non_null(json_path(sent->body, "metadata", "annotations", VIEW_REFUSED, NULL));
	show_framework(world, "Ru"); /* stopped, and still there */
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Failed");
}

/* A webhook that lets nobody stop a Framework, or change its TaskRoles. */
static bool refuse_and_never_stop(struct world *world, struct http_conn *conn)
{
	const json_t *spec = json_object_get(world->sent[world->count - 1].body, "spec");

	if (refuse_templates(world, conn))
		return true;
	if (on_framework(conn, "PATCH"))
		json_object_del((json_t *)spec, "executionType");
	return false;
}

/* A stop that is undone is tried ever more rarely: soon three pieces of news in a row lead to no try. */
static void test_stop_undone(void **state)
{
	struct world *world = *state;
	size_t from = show_refused_change(world, RESTARTED("2"), RESTARTED("3"));
	int without = 0;

	world->script = refuse_and_never_stop;
	show_framework(world, "Ru");
	expect_sent(world, from, "PATCH", "/frameworks/j");
	for (int i = 0; i < 20 && without < 3; i++) {
		size_t before = world->count;

		show_framework(world, "Ru");
		settle(world);
		without = changes_sent(world, before) == 0 ? without + 1 : 0;
	}
	assert_int_equal(without, 3);
	assert_true(changes_sent(world, from) >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_resumed_after_lost_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_during_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deadline_removed_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_undone_by_webhook, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fight, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_during_fight, setup, teardown),
		cmocka_unit_test_setup_teardown(test_status_beside_refused_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_beside_refused_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_undone, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
