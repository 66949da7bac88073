/* Why Frameworks wait, in lists of them: list, list -w and the rows of ui say the same, from statuses, Events and time.
 */
#define _GNU_SOURCE
#include "tests/unit/cli_commands.h"

#include "cli/ui/rows.h"
#include "tests/unit/cli_world.h"

/* A Framework of one Task that is Pending, and the Event that says why. */
#define TASK(state)                                                                                  \
	"{'name':'a','instanceUID':'r','taskStatuses':[{'index':0,'instanceUID':'t','state':'" state \
	"','retryPolicyStatus':{},'attemptStatus':{'id':0}}]}"
#define IN_STATE(state, roles)                                                                                         \
	"{'metadata':{'name':'f','namespace':'ns','uid':'u','generation':1,'resourceVersion':'4','creationTimestamp':" \
	"'2026-01-01T00:00:00Z'},'spec':{'taskRoles':[{'name':'a','taskNumber':1}]},'status':{'observedGeneration':1," \
	"'state':'" state "','retryPolicyStatus':{},'attemptStatus':{'id':0,'configMapUID':'c','instanceUID':"         \
	"'0_c','taskRoleStatuses':[" roles "]}}}"
#define FRAMEWORK IN_STATE("AttemptPreparing", TASK("AttemptPreparing"))
#define EVENT(name, uid, message)                                                                                      \
	"{'metadata':{'name':'" name "','namespace':'ns','resourceVersion':'7'},'involvedObject':{'kind':'Framework'," \
	"'namespace':'ns','name':'f','uid':'" uid "'},'reason':'TaskWaiting','type':'Warning','lastTimestamp':'"       \
	"2026-01-01T00:30:00Z','message':'Task a[0] waits: " message "'}"
#define CONFLICT(message)                                                                                       \
	"{'metadata':{'name':'e','namespace':'ns','resourceVersion':'7'},'involvedObject':{'kind':'Framework'," \
	"'namespace':'ns','name':'f','uid':'u'},'reason':'NamingConflict','type':'Warning','lastTimestamp':'"   \
	"2026-01-01T00:30:00Z','message':'" message " with uid x is controlled by nobody and not by this Framework'}"
#define LIST(items) "{'metadata':{'resourceVersion':'5'},'items':[" items "]}"
#define EVENTS "/api/v1/namespaces/ns/events"

/* ---- the rows of ui ---------------------------------------------------------------------------------------------- */

static void put_event(struct rows *rows, const char *text)
{
	json_t *event = cli_json(text);
	cleanup_free char *key = reasons_key(event);

	reasons_put(&rows->reasons, event);
	json_decref(event);
	rows_renew(rows, key, CLI_NOW * 1000L);
}

static void delete_event(struct rows *rows, const char *text)
{
	json_t *event = cli_json(text);

	reasons_delete(&rows->reasons, event);
	json_decref(event);
	rows_renew(rows, NULL, CLI_NOW * 1000L);
}

static void put_framework(struct rows *rows, const char *text)
{
	json_t *object = cli_json(text);
	struct framework_view view;

	assert_int_equal(framework_view_read(object, &view, NULL), 0);
	rows_put(rows, &view, true, CLI_NOW * 1000L);
	framework_view_free(&view);
	json_decref(object);
}

/* The row's reason, and whether the row has changed since the last call. */
static void check_row(struct rows *rows, const char *why, bool changed)
{
	static uint64_t before;
	const struct ui_row *row = rows_find(rows, "ns", "f");

	assert_non_null(row);
	assert_string_equal(row->summary.why, why);
	assert_int_equal(row->version != before, changed);
	before = row->version;
}

static void test_rows(void **state)
{
	struct rows rows = {0};

	(void)state;
	put_framework(&rows, FRAMEWORK);
	assert_true(rows.wants_events);
	check_row(&rows, "pending: a[0]", true);
	put_event(&rows, EVENT("e", "former", "Unschedulable: of a former Framework of this name"));
	check_row(&rows, "pending: a[0]", false);
	put_event(&rows, EVENT("e", "u", "Unschedulable: 0/4 nodes"));
	check_row(&rows, "unschedulable: a[0]", true);
	put_event(&rows, EVENT("e", "u", "Unschedulable: 0/5 nodes"));
	check_row(&rows, "unschedulable: a[0]", false);
	/* a list that does not contain it */
	reasons_list_begin(&rows.reasons);
	rows_renew(&rows, NULL, CLI_NOW * 1000L);
	check_row(&rows, "unschedulable: a[0]", false);
	put_event(&rows, EVENT("e2", "u", "container c: ErrImagePull: m"));
	check_row(&rows, "unschedulable: a[0]", false);
	reasons_list_end(&rows.reasons);
	rows_renew(&rows, NULL, CLI_NOW * 1000L);
	check_row(&rows, "start-fails: a[0]", true);
	delete_event(&rows, EVENT("e2", "u", ""));
	check_row(&rows, "pending: a[0]", true);
	rows_free(&rows);
}

/* Somebody else's objects have the names that the Framework needs. */
static void test_conflicts(void **state)
{
	struct rows rows = {0};

	(void)state;
	put_framework(&rows, IN_STATE("AttemptCreationPending", ""));
	assert_true(rows.wants_events);
	check_row(&rows, "", true);
	put_event(&rows, CONFLICT("ConfigMap f-attempt"));
	check_row(&rows, "another ConfigMap f-attempt", true);
	rows_free(&rows);
	rows = (struct rows){0};
	put_framework(&rows, IN_STATE("AttemptPreparing", TASK("AttemptCreationPending")));
	check_row(&rows, "creation: a[0]", true);
	put_event(&rows, CONFLICT("Pod f-a-0"));
	check_row(&rows, "foreign-pod: a[0]", true);
	delete_event(&rows, CONFLICT("Pod f-a-0"));
	check_row(&rows, "creation: a[0]", true);
	rows_free(&rows);
}

/* A Framework that nobody looks after changes no more, and its reason does. */
static void test_time(void **state)
{
	struct rows rows = {0};
	const struct ui_row *row;
	uint64_t version;

	(void)state;
	put_framework(&rows, "{'metadata':{'name':'f','namespace':'ns','uid':'u','generation':1,'resourceVersion':'4',"
			     "'creationTimestamp':'2026-01-01T00:59:30Z'},'spec':{'taskRoles':[]}}");
	row = rows_find(&rows, "ns", "f");
	assert_string_equal(row->summary.why, "new");
	version = row->version;
	rows_renew(&rows, NULL, (CLI_NOW + 60) * 1000L);
	assert_string_equal(row->summary.why, "no controller");
	assert_true(row->version > version);
	rows_free(&rows);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void stream(struct http_conn *conn, const char *text)
{
	cleanup_free char *quoted = mem_strdup(text);

	for (char *c = quoted; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	http_stream_puts(conn, quoted);
}

static void serve_list(struct world *w, struct http_conn *conn)
{
	bool events = strncmp(conn->path, EVENTS, strlen(EVENTS)) == 0;

	w->asked++;
	reply(conn, 200, events ? LIST(EVENT("e", "u", "Unschedulable: 0/4 nodes")) : LIST(FRAMEWORK));
}

static const char *awaited; /* by the server */

/* The Event comes after the list. The watch of Frameworks ends until the awaited row is printed; then it is refused. */
static void serve_watch(struct world *w, struct http_conn *conn)
{
	bool events = strncmp(conn->path, EVENTS, strlen(EVENTS)) == 0;
	char printed[4096] = "";

	if (strstr(conn->path, "watch=") == NULL) {
		reply(conn, 200, events ? LIST("") : LIST(FRAMEWORK));
	} else if (events) {
		assert_contains(conn->path, "fieldSelector=involvedObject.kind%3DFramework,type%3DWarning");
		http_stream_begin(conn);
		stream(conn, "{'type':'ADDED','object':" EVENT("e", "u", "Unschedulable: 0/4 nodes") "}\n");
	} else {
		(void)!pread(w->cli.out.fd, printed, sizeof(printed) - 1, 0);
		if (strstr(printed, awaited) != NULL || w->asked++ > 5) {
			reply(conn, 403, "{'kind':'Status','status':'Failure','reason':'Forbidden','code':403}");
			return;
		}
		http_stream_begin(conn);
		http_stream_end(conn);
	}
}

static void serve_watch_of_old_event(struct world *w, struct http_conn *conn)
{
	if (strncmp(conn->path, EVENTS, strlen(EVENTS)) == 0 && strstr(conn->path, "watch=") == NULL)
		serve_list(w, conn);
	else
		serve_watch(w, conn);
}

/* Who may not read Events gets the status' reason. */
static void serve_without_events(struct world *w, struct http_conn *conn)
{
	if (strncmp(conn->path, EVENTS, strlen(EVENTS)) == 0)
		reply(conn, 403, "{'kind':'Status','status':'Failure','reason':'Forbidden','code':403}");
	else
		serve_watch(w, conn);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

static void test_list(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_list);
	assert_int_equal(run(&w, "list", NULL), CLI_DONE);
	assert_int_equal(w.asked, 3); /* Frameworks, Events, and whether a watcher leads */
	assert_contains(w.out, " unschedulable: a[0]\n");
	end(&w);
	awaited = " unschedulable: a[0]\n";
	begin(&w, serve_watch);
	assert_int_equal(run(&w, "list", "-w", NULL), CLI_FORBIDDEN);
	assert_contains(w.out, " pending: a[0]\n");
	assert_contains(w.out, " unschedulable: a[0]\n");
	assert_int_equal(count_lines(w.out), 3);
	end(&w);
	begin(&w, serve_watch_of_old_event);
	assert_int_equal(run(&w, "list", "-w", NULL), CLI_FORBIDDEN);
	assert_contains(w.out, " unschedulable: a[0]\n");
	assert_int_equal(count_lines(w.out), 2);
	end(&w);
	awaited = " pending: a[0]\n";
	begin(&w, serve_without_events);
	assert_int_equal(run(&w, "list", "-w", NULL), CLI_FORBIDDEN);
	assert_contains(w.out, " pending: a[0]\n");
	assert_null(strstr(w.err, "vents"));
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_list),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("cli_reasons", tests, NULL, NULL);
}
