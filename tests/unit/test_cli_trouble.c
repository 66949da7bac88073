/* kubectl framework where something goes wrong on the way: answers that are lost, names that do not exist, Frameworks
 * that stay, time that is over, more logs than connections. */
#define _GNU_SOURCE
#include "tests/unit/cli_commands.h"

#include <sys/stat.h>

#include "cli/logs.h"

#define FRAMEWORK(name, state)                                                                               \
	"{'metadata':{'name':'" name "','namespace':'ns','uid':'u-" name                                     \
	"','creationTimestamp':'2026-01-01T00:00:00Z'},'spec':{'taskRoles':[{'name':'a','taskNumber':1}]},'" \
	"status':{'state':'" state "'}}"
#define LIST(items) "{'kind':'FrameworkList','metadata':{'resourceVersion':'5'},'items':[" items "]}"
#define NOT_FOUND \
	"{'kind':'Status','apiVersion':'v1','status':'Failure','reason':'NotFound','code':404,'message':'not found'}"

/* ---- the kubeconfig ---------------------------------------------------------------------------------------------- */

/* ~/.kube/config exists, and $KUBECONFIG names another file, which does not: the other cluster is left alone. */
static void test_kubeconfig(void **state)
{
	char home[TEMP_PATH_SIZE];
	cleanup_free char *directory = NULL, *file = NULL;
	struct error err = {.message = ""};
	struct cli cli;

	(void)state;
	temp_directory(home);
	directory = mem_printf("%s/.kube", home);
	file = mem_printf("%s/config", directory);
	assert_int_equal(mkdir(directory, 0700), 0);
	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	setenv("HOME", home, 1);
	setenv("KUBECONFIG", "/nonexistent/a:/nonexistent/b", 1);
	cli_init(&cli);
	assert_int_equal(cli_connect(&cli, &err), CLI_BAD_USE);
	assert_string_equal(err.message,
			    "found no kubeconfig: $KUBECONFIG is /nonexistent/a:/nonexistent/b, which does not exist");
	cli_finish(&cli, 0);
	unsetenv("KUBECONFIG");
	unlink(file);
	rmdir(directory);
	rmdir(home);
}

/* ---- several names ----------------------------------------------------------------------------------------------- */

/* A finalizer holds the first one for ever. */
static void serve_held(struct world *w, struct http_conn *conn)
{
	bool first = strstr(conn->path, "/first") != NULL || strstr(conn->path, "%3Dfirst") != NULL;

	if (strcmp(conn->method, "DELETE") == 0) {
		w->asked++;
		assert_contains(conn->body, "\"propagationPolicy\":\"Foreground\"");
		assert_contains(conn->body, first ? "\"uid\":\"u-first\"" : "\"uid\":\"u-second\"");
		reply(conn, 200, "{}");
	} else if (strstr(conn->path, "watch=") != NULL) {
		http_stream_begin(conn);
	} else if (strstr(conn->path, "fieldSelector") != NULL) {
		assert_int_equal(w->asked, 2); /* nothing is waited for before all are deleted */
		reply(conn, 200, first ? LIST(FRAMEWORK("first", "")) : LIST(""));
	} else {
		reply(conn, 200, first ? FRAMEWORK("first", "") : FRAMEWORK("second", ""));
	}
}

static void test_delete_several(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_held);
	assert_int_equal(run(&w, "delete", "first", "second", "--timeout=0", NULL), CLI_TIME_OUT);
	assert_contains(w.out, "/first deleted\n");
	assert_contains(w.out, "/second deleted\n");
	assert_contains(w.err, "Framework first still exists after --timeout");
	assert_null(strstr(w.err, "second"));
	end(&w);
}

static void serve_one(struct world *w, struct http_conn *conn)
{
	w->asked++;
	if (strstr(conn->path, "/nope") != NULL)
		reply(conn, 404, NOT_FOUND);
	else
		reply(conn, 200, FRAMEWORK("hello", "Completed"));
}

static void test_list_several(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_one);
	assert_int_equal(run(&w, "list", "nope", "hello", NULL), CLI_ABSENT);
	assert_contains(w.out, "hello");
	assert_contains(w.err, "404 (NotFound): not found");
	end(&w);
	begin(&w, serve_one);
	assert_int_equal(run(&w, "list", "hello", "nope", "-o=json", NULL), CLI_ABSENT);
	assert_contains(w.out, "\"u-hello\"");
	end(&w);
	begin(&w, serve_one);
	assert_int_equal(run(&w, "list", "nope", NULL), CLI_ABSENT);
	assert_string_equal(w.out, "");
	end(&w);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void serve_running(struct world *w, struct http_conn *conn)
{
	if (strstr(conn->path, "watch=") != NULL)
		http_stream_begin(conn);
	else
		reply(conn, 200, LIST(FRAMEWORK("hello", "AttemptRunning")));
	w->asked++;
}

/* --timeout 0 looks once, as kubectl wait does. */
static void test_wait_once(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_running);
	assert_int_equal(run(&w, "wait", "hello", "--timeout", "0", NULL), CLI_TIME_OUT);
	assert_contains(w.err, "is in state AttemptRunning after --timeout, expected condition Completed");
	end(&w);
}

static void serve_bad_selector(struct world *w, struct http_conn *conn)
{
	w->asked++;
	assert_contains(conn->path, "labelSelector=a%3Db%3Dc");
	reply(conn, 400,
	      "{'kind':'Status','apiVersion':'v1','status':'Failure','reason':'BadRequest','code':400,'message':'"
	      "unable "
	      "to parse requirement'}");
}

/* A watch that the server will never allow ends at once. */
static void test_bad_selector(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_bad_selector);
	assert_int_equal(run(&w, "list", "-w", "-l", "a=b=c", NULL), CLI_FAILED);
	assert_contains(w.err, "unable to parse requirement");
	assert_int_equal(w.asked, 1);
	end(&w);
}

/* ---- watches that fail ------------------------------------------------------------------------------------------- */

/* Lists work, and watches of one collection fail. */
struct watch_failure {
	const char *path; /* of the collection */
	int status;
	int times; /* after so many, watches work; 0: never */
};
static struct watch_failure watch_failure;

#define FORBIDDEN \
	"{'kind':'Status','status':'Failure','reason':'Forbidden','code':403,'message':'jane cannot watch it'}"
#define UNAUTHORIZED "{'kind':'Status','status':'Failure','reason':'Unauthorized','code':401,'message':'Unauthorized'}"
#define UNAVAILABLE \
	"{'kind':'Status','status':'Failure','reason':'ServiceUnavailable','code':503,'message':'shut down'}"

static void serve_failing_watch(struct world *w, struct http_conn *conn)
{
	bool fails = strncmp(conn->path, watch_failure.path, strlen(watch_failure.path)) == 0;

	if (strcmp(conn->path, FRAMEWORKS "/hello") == 0) {
		reply(conn, 200, FRAMEWORK("hello", "AttemptRunning"));
	} else if (strstr(conn->path, "watch=") == NULL) {
		reply(conn, 200,
		      strstr(conn->path, "/pods") != NULL ? LIST("") : LIST(FRAMEWORK("hello", "AttemptRunning")));
	} else if (fails && (watch_failure.times == 0 || w->asked < watch_failure.times)) {
		/* (the client sends a request once more after a 401) */
		assert_true(watch_failure.times != 0 || w->asked < (watch_failure.status == 401 ? 2 : 1));
		w->asked++;
		reply(conn, watch_failure.status,
		      watch_failure.status == 403   ? FORBIDDEN
		      : watch_failure.status == 401 ? UNAUTHORIZED
						    : UNAVAILABLE);
	} else {
		http_stream_begin(conn);
		if (fails)
			http_stream_puts(conn, "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"hello\","
					       "\"namespace\":\"ns\",\"resourceVersion\":\"9\"}}}\n");
	}
}

/* A watch that the API server refuses is over: the error names the right, the resource and the namespace. */
static void test_refused_watch(void **state)
{
	static const struct {
		const char *words[3];
		struct watch_failure failure;
		const char *message;
	} rows[] = {
		{{"wait", "hello"},
		 {FRAMEWORKS, 403, 0},
		 "kubectl framework: the right to watch frameworks in namespace ns is missing: "},
		{{"list", "-w"},
		 {FRAMEWORKS, 403, 0},
		 "kubectl framework: the right to watch frameworks in namespace ns is missing: "},
		{{"list", "-w"},
		 {FRAMEWORKS, 401, 0},
		 "kubectl framework: the API server does not accept the user's credentials for frameworks in namespace "
		 "ns: "},
		{{"logs", "hello", "-f"},
		 {"/api/v1/namespaces/ns/pods", 403, 0},
		 "kubectl framework: the right to watch pods in namespace ns is missing: "},
		{{"logs", "hello", "-f"},
		 {FRAMEWORKS, 403, 0},
		 "kubectl framework: the right to watch frameworks in namespace ns is missing: "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		watch_failure = rows[i].failure;
		begin(&w, serve_failing_watch);
		assert_int_equal(run(&w, rows[i].words[0], rows[i].words[1], rows[i].words[2], NULL), CLI_FORBIDDEN);
		assert_contains(w.err, rows[i].message);
		assert_contains(w.err, rows[i].failure.status == 403 ? "jane cannot watch it" : "Unauthorized");
		assert_null(strstr(w.err, "trying again"));
		end(&w);
	}
}

/* An API server that is away for a while is asked again, and one line says so. */
static void test_watch_retried(void **state)
{
	struct world w;

	(void)state;
	watch_failure = (struct watch_failure){FRAMEWORKS, 503, 2};
	begin(&w, serve_failing_watch);
	assert_int_equal(run(&w, "wait", "hello", NULL), CLI_ABSENT);
	assert_int_equal(w.asked, 2);
	assert_contains(w.err, "note: Frameworks: cannot watch: ");
	assert_contains(w.err, "shut down; trying again until it works\n");
	assert_null(strstr(strstr(w.err, "trying again") + 1, "trying again"));
	end(&w);
}

/* The Framework is deleted while nothing can be watched: the first watch is too old, and the second one is refused. */
static void serve_deleted_between(struct world *w, struct http_conn *conn)
{
	if (strstr(conn->path, "watch=") == NULL)
		reply(conn, 200, w->asked == 0 ? LIST(FRAMEWORK("hello", "AttemptRunning")) : LIST(""));
	else if (w->asked++ == 0)
		reply(conn, 410,
		      "{'kind':'Status','status':'Failure','reason':'Expired','code':410,'message':'too old'}");
	else
		reply(conn, 403, FORBIDDEN);
}

static void test_deleted_between(void **state)
{
	const char *screen;
	struct world w;

	(void)state;
	begin(&w, serve_deleted_between);
	assert_int_equal(run(&w, "wait", "hello", NULL), CLI_ABSENT);
	end(&w);
	begin(&w, serve_deleted_between);
	w.cli.out.terminal = true;
	assert_int_equal(run(&w, "list", "-w", NULL), CLI_FORBIDDEN);
	assert_contains(w.out, "hello");
	screen = strstr(w.out, "hello");
	assert_contains(screen, "\033[2J");
	assert_null(strstr(strstr(screen, "\033[2J"), "hello"));
	end(&w);
}

/* ---- a server that is busy or fails for a moment ----------------------------------------------------------------- */

static void serve_busy(struct world *w, struct http_conn *conn)
{
	if (w->asked++ % 2 == 0)
		http_reply(conn, 429, "Retry-After: 1\r\n", "");
	else if (strcmp(conn->path, FRAMEWORKS "/hello") == 0)
		reply(conn, 200, FRAMEWORK("hello", "AttemptRunning"));
	else
		reply(conn, 200, LIST(FRAMEWORK("hello", "AttemptRunning")));
}

static void serve_too_busy(struct world *w, struct http_conn *conn)
{
	w->asked++;
	http_reply(conn, 429, "", "");
}

/* It is asked again when it says when, and only then. */
static void test_busy(void **state)
{
	struct world w;

	(void)state;
	for (size_t named = 0; named < 2; named++) {
		begin(&w, serve_busy);
		assert_int_equal(run(&w, "list", "-o=name", named == 1 ? "hello" : NULL, NULL), CLI_DONE);
		assert_int_equal(w.asked, 2);
		assert_string_equal(w.err, "");
		end(&w);
	}
	begin(&w, serve_too_busy);
	assert_int_equal(run(&w, "list", NULL), CLI_FAILED);
	assert_int_equal(w.asked, 1);
	end(&w);
}

static void serve_shortly_away(struct world *w, struct http_conn *conn)
{
	if (strstr(conn->path, "/pods") != NULL && w->asked++ < 2)
		reply(conn, 503, UNAVAILABLE);
	else if (strcmp(conn->path, FRAMEWORKS "/hello") == 0 && w->asked > 3)
		reply(conn, 404, NOT_FOUND);
	else
		serve_failing_watch(w, conn);
}

/* What -w follows is shown as soon as it can be read again, and one line says why it cannot. */
static void test_tree_read_again(void **state)
{
	struct world w;

	(void)state;
	watch_failure = (struct watch_failure){FRAMEWORKS, 503, 3};
	begin(&w, serve_shortly_away);
	assert_int_equal(run(&w, "tree", "hello", "-w", NULL), CLI_ABSENT);
	assert_contains(w.out, "hello  Running");
	assert_contains(w.err, "kubectl framework: the API server answers 503 (ServiceUnavailable): shut down\n");
	assert_null(strstr(strstr(w.err, "answers 503") + 1, "answers 503"));
	end(&w);
}

/* ---- an end that the controller has yet to note ------------------------------------------------------------------ */

#define RUNS                                                                                                           \
	"{'metadata':{'name':'f','namespace':'ns','uid':'u','generation':1,'resourceVersion':'4','creationTimestamp':" \
	"'"                                                                                                            \
	"2026-01-01T00:00:00Z'},'spec':{'taskRoles':[{'name':'a','taskNumber':1}]},'status':{'observedGeneration':1,"  \
	"'state':'AttemptRunning','retryPolicyStatus':{},'attemptStatus':{'id':0,'configMapUID':'c','instanceUID':'0_" \
	"c',"                                                                                                          \
	"'taskRoleStatuses':[{'name':'a','instanceUID':'r','taskStatuses':[{'index':0,'instanceUID':'t','state':"      \
	"'AttemptRunning','retryPolicyStatus':{},'attemptStatus':{'id':0,'podUID':'p%d'}}]}]}}}"

static int noted_after; /* so many requests for the Framework */

/* A Task whose Pod is gone; later its status names the next Pod, which is there. */
static void serve_late_status(struct world *w, struct http_conn *conn)
{
	bool noted = w->asked >= noted_after;
	cleanup_free char *framework = mem_printf(RUNS, noted);

	if (strcmp(conn->path, FRAMEWORKS "/f") == 0) {
		w->asked++;
		if (noted)
			memcpy(strstr(framework, "'4'"), "'5'", 3);
		reply(conn, 200, framework);
	} else if (strstr(conn->path, "/pods?") != NULL && w->asked > noted_after) {
		reply(conn, 200,
		      LIST("{'metadata':{'name':'f-a-0','namespace':'ns','uid':'p1'},'spec':{'nodeName':'n'},'status':{"
			   "'phase':'Running'}}"));
	} else {
		reply(conn, 200, LIST(""));
	}
}

/* Within the seconds that a controller may take, why looks again; it says so only of what lasts. */
static void test_late_status(void **state)
{
	struct world w;

	(void)state;
	noted_after = 2;
	begin(&w, serve_late_status);
	assert_int_equal(run(&w, "why", "f", NULL), CLI_DONE);
	assert_contains(w.out, "Framework f waits for nothing: of its 1 Task 1 runs, 0 have succeeded");
	assert_int_equal(w.asked, 3);
	end(&w);
	noted_after = 1000;
	begin(&w, serve_late_status);
	assert_int_equal(run(&w, "why", "f", NULL), CLI_DONE);
	assert_contains(w.out, "not yet noted the end of its Pod: the Pod is gone.\n"); /* (of two lines) */
	end(&w);
}

/* ---- scale ------------------------------------------------------------------------------------------------------- */

/* The server scales it, and its answer is lost. */
static void serve_scaled(struct world *w, struct http_conn *conn)
{
	static const char object[] = "{'metadata':{'name':'f'},'spec':{'taskRoles':[{'name':'a','taskNumber':%d}]}}";
	cleanup_free char *text = mem_printf(object, w->asked > 0 ? 5 : 2);

	if (strcmp(conn->method, "PATCH") == 0) {
		w->asked++;
		http_reset(conn);
		return;
	}
	reply(conn, 200, text);
}

/* Its answer is lost, and nothing shows that it was carried out. */
static void serve_lost(struct world *w, struct http_conn *conn)
{
	w->asked = -1;
	serve_scaled(w, conn);
}

static void test_scale_lost(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_scaled);
	assert_int_equal(run(&w, "scale", "f", "a=5", NULL), CLI_DONE);
	assert_contains(w.out, "/f scaled");
	assert_string_equal(w.err, "");
	end(&w);
	begin(&w, serve_lost);
	assert_int_equal(run(&w, "scale", "f", "a=5", NULL), CLI_FAILED);
	assert_contains(w.err, "whether Framework f was scaled is not known");
	end(&w);
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

enum { CONTAINERS = 260 };

static struct http_conn *log_conns[CONTAINERS];
static struct http_conn *frameworks_watch;
static size_t logs_asked, logs_sent;

static void send_pod(struct http_conn *conn)
{
	cleanup_buf struct buf pods = {0};

	buf_puts(&pods,
		 "{'kind':'PodList','metadata':{'resourceVersion':'5'},'items':[{'metadata':{'name':'f-a-0',"
		 "'namespace':'ns','uid':'p','resourceVersion':'7','labels':{'FC_TASKROLE_NAME':'a','FC_TASK_INDEX':"
		 "'0','FC_FRAMEWORK_NAME':'f'}},'spec':{},'status':{'phase':'Running','containerStatuses':[");
	for (int i = 0; i < CONTAINERS; i++)
		buf_printf(&pods, "%s{'name':'c%d','restartCount':0,'state':{'terminated':{}}}", i == 0 ? "" : ",", i);
	buf_puts(&pods, "]}}]}");
	reply(conn, 200, pods.data);
}

/* A log: those of the first 248 containers end when there are so many; then those of the others come. */
static void serve_log(struct http_conn *conn)
{
	http_stream_begin(conn);
	log_conns[logs_asked++] = conn;
	if (logs_asked != CLI_CONNECTIONS - 8 && logs_asked != CONTAINERS)
		return;
	if (logs_asked == CONTAINERS) {
		cleanup_free char *text = mem_strdup("{'type':'DELETED','object':" FRAMEWORK("f", "") "}\n");

		for (char *c = text; *c != '\0'; c++)
			if (*c == '\'')
				*c = '"';
		http_stream_puts(frameworks_watch, text);
	}
	while (logs_sent < logs_asked) {
		http_stream_puts(log_conns[logs_sent], "2026-01-01T00:00:01Z a\tb\n");
		http_stream_end(log_conns[logs_sent++]);
	}
}

static void serve_many(struct world *w, struct http_conn *conn)
{
	bool watch = strstr(conn->path, "watch=") != NULL, framework = strstr(conn->path, FRAMEWORKS) != NULL;

	(void)w;
	if (strstr(conn->path, "/log?") != NULL) {
		serve_log(conn);
	} else if (strcmp(conn->path, FRAMEWORKS "/f") == 0) {
		reply(conn, 200, FRAMEWORK("f", ""));
	} else if (watch) {
		http_stream_begin(conn);
		if (framework)
			frameworks_watch = conn;
	} else if (framework) {
		reply(conn, 200, LIST(FRAMEWORK("f", "")));
	} else {
		send_pod(conn);
	}
}

/* More containers than connections: the rest is said, and comes later. A tab stays a tab. */
static void test_many_logs(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_many);
	assert_int_equal(run(&w, "logs", "f", "-f", NULL), CLI_DONE);
	assert_int_equal(logs_asked, CONTAINERS);
	assert_contains(w.err, "at most 248 logs are followed at once");
	assert_contains(w.out, "a[0]/c0 a\tb\n");
	assert_contains(w.out, "a[0]/c259 a\tb\n");
	end(&w);
}

/* ---- several Leases ---------------------------------------------------------------------------------------------- */

/* One that a former watcher released, one whose holder is gone, and the live one. */
static void serve_leases(struct world *w, struct http_conn *conn)
{
	static const char leases[] =
		"{'metadata':{'resourceVersion':'5'},'items':["
		"{'metadata':{'namespace':'a','name':'frameworkcontroller'},'spec':{'holderIdentity':'',"
		"'renewTime':'2026-01-03T00:00:00.000000Z'}},"
		"{'metadata':{'namespace':'b','name':'frameworkcontroller'},'spec':{'holderIdentity':'gone',"
		"'renewTime':'2026-01-01T00:00:00.000000Z'}},"
		"{'metadata':{'namespace':'c','name':'frameworkcontroller'},'spec':{'holderIdentity':'live',"
		"'renewTime':'2026-01-02T00:00:00.000000Z','leaseDurationSeconds':2000000000}},"
		"{'metadata':{'namespace':'d','name':'frameworkcontroller'},'spec':{}}]}";

	(void)w;
	if (strstr(conn->path, "/leases") != NULL)
		reply(conn, 200, leases);
	else if (strstr(conn->path, "/frameworks/f") != NULL)
		reply(conn, 200, "{'metadata':{'name':'f','namespace':'ns','uid':'u'},'spec':{'taskRoles':[]}}");
	else
		reply(conn, 200, LIST(""));
}

static void test_leases(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_leases);
	assert_int_equal(run(&w, "why", "f", NULL), CLI_DONE);
	assert_contains(w.out, "Lease c/frameworkcontroller");
	assert_contains(w.out, "fc-watcher live leads");
	end(&w);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static void serve_dated(struct world *w, struct http_conn *conn)
{
	(void)w;
	http_reply(conn, 200, "Date: Thu, 01 Jan 2026 01:00:30 GMT\r\n",
		   "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"f\",\"namespace\":"
		   "\"ns\","
		   "\"uid\":\"u\",\"creationTimestamp\":\"2026-01-01T01:00:00Z\"},\"spec\":{\"taskRoles\":[]}}]}");
}

/* Times of objects are those of the cluster: this machine's clock may be wrong. */
static void test_clock(void **state)
{
	struct world w;

	(void)state;
	begin(&w, serve_dated);
	assert_int_equal(run(&w, "list", "--no-headers", NULL), CLI_DONE);
	assert_contains(w.out, "30s");
	assert_contains(w.out, "new");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kubeconfig),
		cmocka_unit_test(test_delete_several),
		cmocka_unit_test(test_list_several),
		cmocka_unit_test(test_wait_once),
		cmocka_unit_test(test_bad_selector),
		cmocka_unit_test(test_refused_watch),
		cmocka_unit_test(test_watch_retried),
		cmocka_unit_test(test_scale_lost),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_tree_read_again),
		cmocka_unit_test(test_many_logs),
		cmocka_unit_test(test_late_status),
		cmocka_unit_test(test_leases),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_deleted_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
