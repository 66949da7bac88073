/* kubectl framework against a scripted API server: what is asked for and what is not, missing rights, and logs. */
#define _GNU_SOURCE
#include "tests/unit/cli_commands.h"

#define FORBIDDEN(what)                                                                                          \
	"{'kind':'Status','apiVersion':'v1','status':'Failure','reason':'Forbidden','code':403,'message':'" what \
	" is forbidden: User \\u001b[31mbob cannot list'}"

/* More than the client takes. */
static void http_reply_too_large(struct http_conn *conn)
{
	cleanup_buf struct buf answer = {0};

	buf_printf(&answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n{", ANSWER_MAX_BYTES + 1);
	buf_reserve(&answer, ANSWER_MAX_BYTES);
	memset(answer.data + answer.len, ' ', ANSWER_MAX_BYTES);
	answer.len += ANSWER_MAX_BYTES;
	http_raw(conn, answer.data, answer.len);
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* Three pages; the second one's token has expired, and the server gives another one. One item is no object. */
static void serve_pages(struct world *w, struct http_conn *conn)
{
	static const char *const answers[] = {
		"{'kind':'FrameworkList','metadata':{'resourceVersion':'9','continue':'t "
		"1'},'items':[{'metadata':{'name':'a','namespace':'ns'},'spec':{}}]}",
		"{'kind':'Status','status':'Failure','reason':'Expired','code':410,'message':'expired','metadata':{'"
		"continue':'t2'}}",
		"{'kind':'FrameworkList','metadata':{'resourceVersion':'9','continue':'t3'},'items':[7,{'metadata':{'"
		"name':'b','namespace':'ns'},'spec':{}}]}",
		"{'kind':'FrameworkList','metadata':{'resourceVersion':'9'},'items':[{'metadata':{'name':'c','"
		"namespace':'ns'},'spec':{}}]}",
	};

	assert_in_range(w->asked, 0, 3);
	reply(conn, w->asked == 1 ? 410 : 200, answers[w->asked]);
	w->asked++;
}

static void test_pages(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_pages);
	assert_int_equal(run(&w, "list", "-o", "name", "-l", "a in (b, c)", NULL), CLI_DONE);
	assert_int_equal(w.asked, 4);
	assert_string_equal(
		w.out, "framework.frameworkcontroller.microsoft.com/a\nframework.frameworkcontroller.microsoft.com/b\n"
		       "framework.frameworkcontroller.microsoft.com/c\n");
	assert_contains(w.err, "one object of the list cannot be read");
	end(&w);
}

/* A server whose tokens have always expired is given up. */
static void serve_expired(struct world *w, struct http_conn *conn)
{
	w->asked++;
	reply(conn, 410,
	      "{'kind':'Status','status':'Failure','reason':'Expired','code':410,'message':'expired','metadata':{'"
	      "continue':'t'}}");
}

static void test_expired(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_expired);
	assert_int_equal(run(&w, "list", NULL), CLI_FAILED);
	assert_int_equal(w.asked, 4);
	assert_contains(w.err, "410 (Expired): expired");
	end(&w);
}

/* A page that is too large is asked for in halves. */
static void serve_large(struct world *w, struct http_conn *conn)
{
	static const char *const limits[] = {"?limit=500", "?limit=250", "?limit=250&continue=t"};

	assert_string_equal(conn->path + strlen(FRAMEWORKS), limits[w->asked]);
	if (w->asked++ == 0)
		http_reply_too_large(conn);
	else
		reply(conn, 200,
		      w->asked == 2 ? "{'metadata':{'resourceVersion':'9','continue':'t'},'items':[]}"
				    : "{'metadata':{'resourceVersion':'9'},'items':[]}");
}

static void test_large_page(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_large);
	assert_int_equal(run(&w, "list", NULL), CLI_DONE);
	assert_int_equal(w.asked, 3);
	end(&w);
}

static void serve_checked(struct world *w, struct http_conn *conn)
{
	static const char *const paths[] = {FRAMEWORKS "?limit=500&labelSelector=a%20in%20%28b%2C%20c%29", FRAMEWORKS
					    "?limit=500&labelSelector=a%20in%20%28b%2C%20c%29&continue=t%201"};

	assert_string_equal(conn->path, paths[w->asked]);
	assert_string_equal(http_header(conn, "Impersonate-User"), "bob");
	assert_string_equal(http_header(conn, "Impersonate-Group"), "team");
	reply(conn, 200,
	      w->asked == 0 ? "{'metadata':{'resourceVersion':'9','continue':'t 1'},'items':[]}"
			    : "{'metadata':{'resourceVersion':'9'},'items':[]}");
	w->asked++;
}

static void test_what_is_asked(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_checked);
	assert_int_equal(run(&w, "list", "-l", "a in (b, c)", "--as", "bob", "--as-group", "team", NULL), CLI_DONE);
	assert_int_equal(w.asked, 2);
	assert_string_equal(w.out, "");
	assert_string_equal(w.err, "note: found no Frameworks in namespace ns\n");
	end(&w);
}

/* ---- mistakes cost no request -------------------------------------------------------------------------------------
 */

static void serve_nothing(struct world *w, struct http_conn *conn)
{
	(void)conn;
	w->asked++;
}

static void test_nothing_is_asked(void **state)
{
	static const char *const rows[][4] = {
		{"scale", "f", "worker=x"},
		{"scale", "f", "worker"},
		{"logs", "f", "no role"},
		{"wait", "f", "--for=Nothing"},
		{"exec", "f", "a["},
		{"list", "f", "-lx"},
		{"retry", "f", "--name=A"},
		{"timeline", "f", "--snapshots=/nonexistent"},
		{"port-forward", "f", "a-0", "9:99999"},
		{"port-forward", "f", "a-0", "0"},
		{"port-forward", "f", "a-0", "x:80"},
		{"port-forward", "f", "a-0", "80:"},
		{"port-forward", "f", "a-0", "1:2:3"},
		{"port-forward", "f", "a-0", "65536:80"},
		{"port-forward", "f", "a-0", "A"},
		{"wait", "f", "--for=condition=Running=false"},
		{"wait", "f", "--for=Running=true"},
		{"wait", "f", "--for=condition=delete"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		begin(&w, serve_nothing);
		assert_int_equal(run(&w, rows[i][0], rows[i][1], rows[i][2], rows[i][3], NULL), CLI_BAD_USE);
		assert_int_equal(w.asked, 0);
		assert_string_equal(w.out, "");
		end(&w);
	}
}

/* ---- missing rights ---------------------------------------------------------------------------------------------- */

#define PREPARING                                                                                                      \
	"{'metadata':{'name':'f','namespace':'ns','uid':'u','generation':1,'creationTimestamp':'2026-01-01T00:00:00Z'" \
	"},"                                                                                                           \
	"'spec':{'taskRoles':[{'name':'a','taskNumber':1}]},'status':{'observedGeneration':1,'state':'"                \
	"AttemptPreparing',"                                                                                           \
	"'retryPolicyStatus':{},'attemptStatus':{'id':0,'configMapUID':'c','instanceUID':'0_c','taskRoleStatuses':[{'" \
	"name':'a',"                                                                                                   \
	"'instanceUID':'r','taskStatuses':[{'index':0,'instanceUID':'t','state':'AttemptPreparing','"                  \
	"retryPolicyStatus':{},"                                                                                       \
	"'attemptStatus':{'id':0}}]}]}}}"

static void serve_forbidden(struct world *w, struct http_conn *conn)
{
	w->asked++;
	if (strcmp(conn->path, FRAMEWORKS "/f") == 0)
		reply(conn, 200, w->framework);
	else if (strncmp(conn->path, "/api/v1/namespaces/ns/pods", 26) == 0)
		reply(conn, 403, FORBIDDEN("pods"));
	else
		reply(conn, 403, FORBIDDEN("events"));
}

static void test_degraded(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_forbidden);
	w.framework = PREPARING;
	assert_int_equal(run(&w, "why", "f", NULL), CLI_DONE);
	assert_contains(w.out, "Task a[0] has a Pod that is Pending.");
	assert_contains(
		w.err,
		"note: Pods are left out, and with them why they wait: the API server answers 403 (Forbidden): pods is "
		"forbidden: User \357\277\275[31mbob cannot list\n");
	assert_contains(w.err, "note: Events are left out");
	end(&w);
}

#define POD(name, uid, attempt, state)                                                               \
	"{'metadata':{'name':'" name "','namespace':'ns','uid':'" uid                                \
	"','resourceVersion':'7','labels':{'FC_TASKROLE_NAME':'a',"                                  \
	"'FC_TASK_INDEX':'0','FC_FRAMEWORK_NAME':'f'},'annotations':{'FC_TASK_ATTEMPT_ID':'" attempt \
	"'}},'spec':{},'status':{"                                                                   \
	"'phase':'Running','containerStatuses':[{'name':'c','restartCount':0,'state':{'" state "':{}}}]}}"
#define PODS(items) "{'metadata':{'resourceVersion':'5'},'items':[" items "]}"
#define RUNNING_POD POD("f-a-0", "p0", "0", "running")

static void serve_no_frameworks(struct world *w, struct http_conn *conn)
{
	w->asked++;
	reply(conn, 403, FORBIDDEN("frameworks"));
}

static void test_forbidden(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_no_frameworks);
	assert_int_equal(run(&w, "why", "f", NULL), CLI_FORBIDDEN);
	assert_int_equal(w.asked, 1);
	end(&w);
	begin(&w, serve_no_frameworks);
	/* a watch does not try for ever */
	assert_int_equal(run(&w, "list", "-w", NULL), CLI_FORBIDDEN);
	assert_int_equal(w.asked, 1);
	end(&w);
}

static void serve_forbidden_log(struct world *w, struct http_conn *conn)
{
	if (strstr(conn->path, "/log?") != NULL) {
		assert_int_equal(w->asked++, 0); /* it is not asked for again */
		reply(conn, 403, FORBIDDEN("pods/log"));
	} else if (strstr(conn->path, "watch=") != NULL) {
		http_stream_begin(conn);
	} else if (strcmp(conn->path, FRAMEWORKS "/f") == 0) {
		reply(conn, 200, PREPARING);
	} else {
		reply(conn, 200, strstr(conn->path, FRAMEWORKS) != NULL ? PODS(PREPARING) : PODS(RUNNING_POD));
	}
}

static void test_forbidden_log(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_forbidden_log);
	assert_int_equal(run(&w, "logs", "f", "-f", NULL), CLI_FORBIDDEN);
	assert_contains(w.err, "logs need the right to get pods/log in namespace ns");
	end(&w);
}

/* ---- Events of somebody else --------------------------------------------------------------------------------------
 */

/* Whoever may write Events must not choose what the user's rights are used for. */
static void serve_hostile_event(struct world *w, struct http_conn *conn)
{
	w->asked += strstr(conn->path, "f-a-7") != NULL;
	assert_null(strstr(conn->path, "secrets"));
	if (strcmp(conn->path, FRAMEWORKS "/f") == 0)
		reply(conn, 200, PREPARING);
	else if (strstr(conn->path, "/events") != NULL)
		reply(conn, 200,
		      "{'metadata':{'resourceVersion':'5'},'items':["
		      "{'reason':'NamingConflict','type':'Warning','message':'Pod ../secrets/s with uid x is there'},"
		      "{'reason':'NamingConflict','type':'Warning','message':'Pod f-a-7 with uid x is there'}]}");
	else if (strstr(conn->path, "/pods/") != NULL)
		reply(conn, 403, FORBIDDEN("pods"));
	else
		reply(conn, 200, "{'metadata':{'resourceVersion':'5'},'items':[]}");
}

static void test_hostile_event(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_hostile_event);
	assert_int_equal(run(&w, "why", "f", NULL), CLI_DONE);
	assert_int_equal(w.asked, 1);
	end(&w);
}

/* ---- exec -------------------------------------------------------------------------------------------------------- */

static void serve_preparing(struct world *w, struct http_conn *conn)
{
	w->asked++;
	reply(conn, 200, PREPARING);
}

static void test_exec_too_early(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_preparing);
	assert_int_equal(run(&w, "exec", "f", "a-0", NULL), CLI_ABSENT);
	assert_string_equal(w.out, "");
	assert_contains(w.err, "Task a[0] of Framework f is in state AttemptPreparing, expected one that runs\n");
	end(&w);
}

/* ---- scale ------------------------------------------------------------------------------------------------------- */

/* Somebody else scales it between the GET and the PATCH. */
static void serve_conflict(struct world *w, struct http_conn *conn)
{
	static const char object[] = "{'metadata':{'name':'f'},'spec':{'taskRoles':[{'name':'a','taskNumber':%d}]}}";
	cleanup_buf struct buf text = {0};

	if (strcmp(conn->method, "PATCH") == 0) {
		assert_string_equal(http_header(conn, "Content-Type"), "application/json-patch+json");
		reply(conn, 422,
		      "{'kind':'Status','status':'Failure','reason':'Invalid','code':422,'message':'the server "
		      "rejected our request'}");
		return;
	}
	buf_printf(&text, object, w->asked++ == 0 ? 2 : 3);
	reply(conn, 200, text.data);
}

static void serve_invalid(struct world *w, struct http_conn *conn)
{
	w->asked = -1; /* the object stays the same */
	serve_conflict(w, conn);
}

static void test_scale_conflict(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_conflict);
	assert_int_equal(run(&w, "scale", "f", "a=5", NULL), CLI_CONFLICT);
	assert_contains(w.err, "was changed by somebody else at the same time");
	end(&w);
	begin(&w, serve_invalid);
	assert_int_equal(run(&w, "scale", "f", "a=5", NULL), CLI_FAILED);
	assert_contains(w.err, "422 (Invalid): the server rejected our request");
	end(&w);
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

/* Of the Framework's next attempt: its lines look like those of the former one. */
#define NEXT_POD                                                                                                      \
	"{'metadata':{'name':'f-a-0','namespace':'ns','uid':'p1','resourceVersion':'8','labels':{'FC_TASKROLE_NAME':" \
	"'a','FC_TASK_INDEX':'0','FC_FRAMEWORK_NAME':'f'},'annotations':{'FC_TASK_ATTEMPT_ID':'0',"                   \
	"'FC_FRAMEWORK_ATTEMPT_ID':'1'}},'spec':{},'status':{'phase':'Running','containerStatuses':[{'name':'c',"     \
	"'restartCount':0,'state':{'running':{'startedAt':'2026-01-01T00:00:08Z'}}}]}}"

static void send_event(struct http_conn *conn, const char *type, const char *object)
{
	cleanup_free char *text = mem_printf("{'type':'%s','object':%s}\n", type, object);

	for (char *c = text; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	http_stream_puts(conn, text);
}

static struct http_conn *pods_watch;

/* One Task: its first Pod's log breaks off and is resumed; then the Pod of its second attempt comes. */
static void serve_logs(struct world *w, struct http_conn *conn)
{
	bool watch = strstr(conn->path, "watch=") != NULL;

	if (strcmp(conn->path, FRAMEWORKS "/f") == 0) {
		reply(conn, 200, PREPARING);
	} else if (strncmp(conn->path, FRAMEWORKS, strlen(FRAMEWORKS)) == 0) {
		if (!watch) {
			reply(conn, 200,
			      "{'kind':'FrameworkList','metadata':{'resourceVersion':'5'},'items':[" PREPARING "]}");
			return;
		}
		http_stream_begin(conn);
		w->held = conn;
	} else if (strstr(conn->path, "/log?") != NULL) {
		w->asked++;
		if (w->asked == 1) {
			assert_contains(conn->path, "/pods/f-a-0/log?container=c&timestamps=true&follow=true");
			http_stream_begin(conn);
			http_stream_puts(conn, "2026-01-01T00:00:01.5Z one\n2026-01-01T00:00:02Z t\033[31mwo\n");
			http_stream_end(conn);
		} else if (w->asked == 2) {
			assert_contains(conn->path, "sinceTime=2026-01-01T00%3A00%3A02Z");
			http_stream_begin(conn);
			http_stream_puts(conn, "2026-01-01T00:00:02Z t\033[31mwo\n2026-01-01T00:00:03Z three\n");
			http_stream_end(conn);
			send_event(pods_watch, "DELETED", POD("f-a-0", "p0", "0", "terminated"));
			send_event(pods_watch, "ADDED", POD("f-a-0", "p1", "1", "terminated"));
		} else {
			http_stream_begin(conn);
			http_stream_puts(conn, "2026-01-01T00:00:09Z again");
			http_stream_end(conn);
			send_event(w->held, "DELETED", PREPARING);
		}
	} else if (watch) {
		http_stream_begin(conn);
		pods_watch = conn;
	} else if (strstr(conn->path, "fieldSelector=metadata.name%3Df-a-0") != NULL && w->asked > 2) {
		reply(conn, 200, PODS(POD("f-a-0", "p1", "1", "terminated")));
	} else {
		reply(conn, 200, PODS(POD("f-a-0", "p0", "0", "running")));
	}
}

static void test_logs_followed(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_logs);
	assert_int_equal(run(&w, "logs", "f", "a[0]", "-f", NULL), CLI_DONE);
	assert_string_equal(w.out, "a[0] one\na[0] t\357\277\275[31mwo\na[0] three\na[0]#1 again\n");
	assert_string_equal(w.err, "note: a[0]: the log of attempt 0 has ended, and that of attempt 1 begins\n");
	end(&w);
}

/* The log of the first Pod breaks off. When it is asked for again, another Pod has its name, and the watch is late. */
static void serve_other_pod(struct world *w, struct http_conn *conn)
{
	bool watch = strstr(conn->path, "watch=") != NULL, framework = strstr(conn->path, FRAMEWORKS) != NULL;

	if (strstr(conn->path, "/log?") != NULL) {
		w->asked++;
		http_stream_begin(conn);
		if (w->asked == 1)
			http_stream_puts(conn, "2026-01-01T00:00:01Z one\n");
		if (w->asked == 2)
			http_stream_puts(conn, "2026-01-01T00:00:02Z two\n");
		if (w->asked >= 2)
			http_stream_puts(conn, "2026-01-01T00:00:08.5Z again\n");
		if (w->asked != 2)
			http_stream_end(conn);
		if (w->asked == 3)
			send_event(w->held, "DELETED", PREPARING);
	} else if (strstr(conn->path, "fieldSelector=metadata.name%3Df-a-0") != NULL) {
		reply(conn, 200, w->asked == 1 ? PODS(POD("f-a-0", "p0", "0", "running")) : PODS(NEXT_POD));
		if (w->asked == 2)
			send_event(pods_watch, "ADDED", NEXT_POD);
	} else if (watch && framework) {
		http_stream_begin(conn);
		w->held = conn;
	} else if (watch) {
		http_stream_begin(conn);
		pods_watch = conn;
	} else if (strcmp(conn->path, FRAMEWORKS "/f") == 0) {
		reply(conn, 200, PREPARING);
	} else {
		reply(conn, 200, framework ? PODS(PREPARING) : PODS(POD("f-a-0", "p0", "0", "running")));
	}
}

/* No line has the heading of an attempt that did not write it. */
static void test_logs_of_another_pod(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_other_pod);
	assert_int_equal(run(&w, "logs", "f", "-f", NULL), CLI_DONE);
	assert_int_equal(w.asked, 3);
	assert_string_equal(w.out, "a[0] one\na[0] two\na[0] again\n");
	assert_string_equal(w.err,
			    "note: a[0]: the log of the Framework's attempt 0 has ended, and that of its attempt "
			    "1 begins\n");
	end(&w);
}

static void serve_logs_once(struct world *w, struct http_conn *conn)
{
	if (strcmp(conn->path, FRAMEWORKS "/f") == 0) {
		reply(conn, 200, PREPARING);
	} else if (strstr(conn->path, "/log?") != NULL) {
		w->asked++;
		assert_null(strstr(conn->path, "follow"));
		assert_contains(conn->path, "tailLines=2");
		http_reply(conn, 200, "", "2026-01-01T00:00:01Z one\n2026-01-01T00:00:02Z two\n");
	} else {
		reply(conn, 200,
		      "{'kind':'PodList','metadata':{'resourceVersion':'5'},'items':[" POD("f-a-0", "p0", "0",
											   "running") "]}");
	}
}

static void test_logs(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_logs_once);
	assert_int_equal(run(&w, "logs", "f", "--tail", "2", "--timestamps", NULL), CLI_DONE);
	assert_int_equal(w.asked, 1);
	assert_string_equal(w.out, "a[0] 2026-01-01T00:00:01Z one\na[0] 2026-01-01T00:00:02Z two\n");
	end(&w);
	begin(&w, serve_logs_once);
	assert_int_equal(run(&w, "logs", "f", "b", NULL), CLI_ABSENT);
	assert_contains(w.err, "Framework f has no TaskRole b, expected one of: a\n");
	end(&w);
	begin(&w, serve_logs_once);
	assert_int_equal(run(&w, "logs", "f", "a-0", "b-1", NULL), CLI_ABSENT);
	assert_contains(w.err, "Framework f has no TaskRole b, expected one of: a\n");
	end(&w);
	begin(&w, serve_logs_once);
	assert_int_equal(run(&w, "logs", "f", "a[1]", NULL), CLI_ABSENT);
	assert_contains(w.err, "Framework f has no Task a[1]\n");
	end(&w);
}

/* A log that does not end. */
static void serve_endless_log(struct world *w, struct http_conn *conn)
{
	if (strstr(conn->path, "/log?") == NULL) {
		serve_logs_once(w, conn);
		return;
	}
	http_stream_begin(conn);
	http_stream_puts(conn, "2026-01-01T00:00:01Z one\n");
}

/* Output that cannot be written ends the command, although the log goes on. */
static void test_logs_unwritten(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_endless_log);
	close(w.cli.out.fd);
	w.cli.out.fd = open("/dev/full", O_RDWR | O_CLOEXEC);
	assert_int_equal(run(&w, "logs", "f", NULL), CLI_FAILED);
	assert_contains(w.err, "cannot write to stdout: No space left on device\n");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_expired),
		cmocka_unit_test(test_large_page),
		cmocka_unit_test(test_what_is_asked),
		cmocka_unit_test(test_nothing_is_asked),
		cmocka_unit_test(test_degraded),
		cmocka_unit_test(test_forbidden),
		cmocka_unit_test(test_scale_conflict),
		cmocka_unit_test(test_logs_followed),
		cmocka_unit_test(test_logs_of_another_pod),
		cmocka_unit_test(test_logs),
		cmocka_unit_test(test_logs_unwritten),
		cmocka_unit_test(test_forbidden_log),
		cmocka_unit_test(test_hostile_event),
		cmocka_unit_test(test_exec_too_early),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("cli_requests", tests, NULL, NULL);
}
