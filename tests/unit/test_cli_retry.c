/* kubectl framework retry against a scripted API server: one command makes one Framework, and loses none. */
#define _GNU_SOURCE
#include <glob.h>

#include "tests/unit/cli_commands.h"

#define OLD_OF(network)                                                                                               \
	"{'apiVersion':'frameworkcontroller.microsoft.com/v1','kind':'Framework','metadata':{'name':'f','namespace':" \
	"'ns','uid':'u'},'spec':{'description':'keep me','network':{" network                                         \
	"},'taskRoles':[]},'status':{'state':'Completed'}}"
#define OLD OLD_OF("")
#define GONE "{'kind':'Status','status':'Failure','reason':'NotFound','code':404,'message':'not found'}"
#define TAKEN "{'kind':'Status','status':'Failure','reason':'AlreadyExists','code':409,'message':'already exists'}"
#define DENIED "{'kind':'Status','status':'Failure','reason':'Forbidden','code':403,'message':'denied'}"
#define BROKEN "{'kind':'Status','status':'Failure','reason':'InternalError','code':500,'message':'etcd has no leader'}"

/* What becomes of a request that changes something. */
enum fate {
	ANSWERED,
	ANSWER_LOST, /* it is carried out, and its answer breaks off */
	SENT_TWICE,  /* it is carried out, and the connection ends: libcurl sends it again */
	LOST,        /* it is not carried out, and an answer breaks off */
	FORBIDDEN,
	FAILED,
};

/* The server's Frameworks: f, others' by their names, and what was created. */
static struct {
	enum fate create, delete;
	const char *taken; /* " fr1 fr2 " */
	int dry_status;    /* of the dry run */
	json_t *made;
	bool deleted;
	bool subdomain; /* f has one in its spec */
	int posts;      /* without dry runs */
	bool safe;      /* when the creation came, f was gone, and the user had been told of a file with its spec */
} server;

static char directory[TEMP_PATH_SIZE];

static bool is_others(const char *name)
{
	cleanup_free char *word = mem_printf(" %s ", name);

	return strstr(server.taken, word) != NULL;
}

static bool is_taken(const char *name)
{
	return (!server.deleted && strcmp(name, "f") == 0) || is_others(name) ||
	       (server.made != NULL &&
		strcmp(json_string_value(json_path(server.made, "metadata", "name", NULL)), name) == 0);
}

static void break_off(struct http_conn *conn)
{
	static const char part[] = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{";

	http_raw(conn, part, strlen(part));
	http_close(conn);
}

/* The text of the one file of the working directory. The caller frees. */
static char *kept_file(void)
{
	char text[4096] = "";
	glob_t found;

	if (glob("f-retry-*.json", 0, NULL, &found) == 0) {
		FILE *file = fopen(found.gl_pathv[0], "r");

		assert_int_equal(found.gl_pathc, 1);
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		fclose(file);
		globfree(&found);
	}
	return mem_strdup(text);
}

static void answer_change(struct http_conn *conn, enum fate fate, json_t *object)
{
	cleanup_free char *text = object == NULL ? mem_strdup("{}") : json_text(object);

	switch (fate) {
	case ANSWERED: reply(conn, 200, text); break;
	case SENT_TWICE: http_close(conn); break;
	case FORBIDDEN: reply(conn, 403, DENIED); break;
	case FAILED: reply(conn, 500, BROKEN); break;
	default: break_off(conn); break;
	}
}

static void serve_create(struct world *w, struct http_conn *conn)
{
	json_t *object = json_parse(conn->body, strlen(conn->body), NULL);
	const char *name = json_string_value(json_path(object, "metadata", "name", NULL));
	cleanup_free char *file = kept_file();
	char said[4096] = "";

	assert_non_null(name);
	server.posts++;
	(void)!pread(w->cli.err_out.fd, said, sizeof(said) - 1, 0);
	server.safe = server.deleted && strstr(file, "keep me") != NULL &&
		      strstr(said, "kubectl create -f ./f-retry-") != NULL && strstr(said, " --kubeconfig ") != NULL;
	if (is_taken(name)) {
		reply(conn, 409, TAKEN);
	} else {
		if (server.create <= SENT_TWICE)
			server.made = json_incref(object);
		answer_change(conn, server.create, object);
	}
	json_decref(object);
}

static void serve_delete(struct http_conn *conn)
{
	assert_contains(conn->body, "\"uid\":\"u\"");
	if (server.deleted) {
		reply(conn, 404, GONE);
		return;
	}
	server.deleted = server.delete <= SENT_TWICE;
	answer_change(conn, server.delete, NULL);
}

static void serve_get(struct http_conn *conn)
{
	const char *name = conn->path + strlen(FRAMEWORKS "/");
	cleanup_free char *made = server.made == NULL ? mem_strdup("") : json_text(server.made);

	if (conn->path[strlen(FRAMEWORKS)] == '?')
		reply(conn, 200,
		      server.deleted ? "{'metadata':{'resourceVersion':'9'},'items':[]}"
				     : "{'metadata':{'resourceVersion':'9'},'items':[" OLD "]}");
	else if (strcmp(name, "f") == 0 && !server.deleted)
		reply(conn, 200, server.subdomain ? OLD_OF("'subdomain':'s'") : OLD);
	else if (!is_taken(name))
		reply(conn, 404, GONE);
	else if (is_others(name))
		reply(conn, 200, "{'metadata':{'name':'x'}}");
	else
		reply(conn, 200, made);
}

static void serve(struct world *w, struct http_conn *conn)
{
	if (strcmp(conn->method, "DELETE") == 0)
		serve_delete(conn);
	else if (strcmp(conn->method, "GET") == 0)
		serve_get(conn);
	else if (strstr(conn->path, "dryRun=All") != NULL)
		reply(conn, server.dry_status, server.dry_status == 409 ? TAKEN : DENIED);
	else
		serve_create(w, conn);
}

struct expected {
	int code;
	int posts;
	const char *made; /* its name, or NULL */
	const char *said; /* on stderr */
	bool kept, deleted;
};

static void check(const struct expected *expected, const char *option, const char *value)
{
	struct world w;
	cleanup_free char *file = NULL;

	begin(&w, serve);
	assert_int_equal(run(&w, "retry", "f", option, value, NULL), expected->code);
	if (expected->said != NULL)
		assert_contains(w.err, expected->said);
	assert_int_equal(server.posts, expected->posts);
	assert_int_equal(server.deleted, expected->deleted);
	if (expected->made == NULL) {
		assert_null(server.made);
	} else {
		assert_string_equal(json_string_value(json_path(server.made, "metadata", "name", NULL)),
				    expected->made);
		assert_string_equal(json_string_value(json_path(server.made, "spec", "description", NULL)), "keep me");
	}
	file = kept_file();
	assert_int_equal(*file != '\0', expected->kept);
	json_decref(server.made);
	end(&w);
}

static void clear(void)
{
	glob_t found;

	if (glob("f-retry-*.json", 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			unlink(found.gl_pathv[i]);
		globfree(&found);
	}
}

static void test_next_name(void **state)
{
	static const struct {
		enum fate create;
		const char *taken;
		struct expected expected;
	} rows[] = {
		{ANSWERED, " ", {CLI_DONE, 1, "fr1", NULL, false, false}},
		{ANSWERED, " fr1 fr2 ", {CLI_DONE, 3, "fr3", NULL, false, false}},
		{ANSWER_LOST, " fr1 ", {CLI_DONE, 2, "fr2", NULL, false, false}},
		{SENT_TWICE, " ", {CLI_DONE, 2, "fr1", NULL, false, false}},
		{LOST, " ", {CLI_FAILED, 1, NULL, "whether Framework fr1 was created is not known", false, false}},
		{FAILED, " ", {CLI_FAILED, 1, NULL, "it may still appear", false, false}},
		{FORBIDDEN, " ", {CLI_FORBIDDEN, 1, NULL, "denied", false, false}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		memset(&server, 0, sizeof(server));
		server.create = rows[i].create;
		server.taken = rows[i].taken;
		check(&rows[i].expected, NULL, NULL);
	}
}

/* The old Framework still has the Service that the new one needs. */
static void test_same_service(void **state)
{
	static const struct expected waits = {
		CLI_DONE, 1, "fr1", "if Framework f still has the Service s, the new one waits", false, false};

	(void)state;
	memset(&server, 0, sizeof(server));
	server.taken = " ";
	server.subdomain = true;
	check(&waits, NULL, NULL);
}

static void test_named(void **state)
{
	static const struct expected taken = {CLI_FAILED, 1, NULL, "already exists", false, false};
	static const struct expected lost = {CLI_DONE, 1, "g", NULL, false, false};
	static const struct expected malformed = {
		CLI_FAILED, 0,    NULL, "Framework 1g would be malformed: spec.network.subdomain is missing",
		false,      false};

	(void)state;
	memset(&server, 0, sizeof(server));
	server.taken = " g ";
	check(&taken, "--name", "g");
	memset(&server, 0, sizeof(server));
	server.taken = " ";
	server.create = ANSWER_LOST;
	check(&lost, "--name", "g");
	memset(&server, 0, sizeof(server));
	server.taken = " ";
	check(&malformed, "--name", "1g"); /* a name that no Service can have */
}

static void test_replace(void **state)
{
	static const struct {
		int dry_status;
		enum fate delete, create;
		struct expected expected;
	} rows[] = {
		{409,
		 ANSWERED,
		 ANSWERED,
		 {CLI_DONE, 1, "f", "if this command breaks off: kubectl create -f", false, true}},
		{409, ANSWERED, ANSWER_LOST, {CLI_DONE, 1, "f", NULL, false, true}},
		{409, SENT_TWICE, SENT_TWICE, {CLI_DONE, 2, "f", NULL, false, true}},
		{403, ANSWERED, ANSWERED, {CLI_FORBIDDEN, 0, NULL, "the new one would be refused", false, false}},
		{409, FORBIDDEN, ANSWERED, {CLI_FORBIDDEN, 0, NULL, "denied", false, false}},
		{409,
		 ANSWER_LOST,
		 ANSWERED,
		 {CLI_FAILED, 0, NULL, "the new Framework f is kept in ./f-retry-", true, true}},
		{409,
		 ANSWERED,
		 FORBIDDEN,
		 {CLI_FORBIDDEN, 1, NULL, "the new Framework f is kept in ./f-retry-", true, true}},
		{409, ANSWERED, LOST, {CLI_FAILED, 1, NULL, "the new Framework f is kept in ./f-retry-", true, true}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		memset(&server, 0, sizeof(server));
		server.taken = " fr1 ";
		server.dry_status = rows[i].dry_status;
		server.delete = rows[i].delete;
		server.create = rows[i].create;
		check(&rows[i].expected, "--replace", NULL);
		assert_int_equal(server.safe, rows[i].expected.posts > 0);
		clear();
	}
}

/* Without a place for the copy, nothing is deleted. */
static void test_no_copy(void **state)
{
	cleanup_free char *room = mem_strdup(getenv("TMPDIR"));
	struct world w;

	(void)state;
	memset(&server, 0, sizeof(server));
	server.taken = " ";
	server.dry_status = 409;
	begin(&w, serve);
	assert_int_equal(chdir("/proc"), 0);
	setenv("TMPDIR", "/proc/nowhere", 1);
	assert_int_equal(run(&w, "retry", "f", "--replace", NULL), CLI_FAILED);
	assert_contains(w.err, "Framework f is kept, because its copy cannot be written");
	assert_false(server.deleted);
	end(&w);
	assert_int_equal(chdir(directory), 0);
	if (room == NULL)
		unsetenv("TMPDIR");
	else
		setenv("TMPDIR", room, 1);
}

static int enter(void **state)
{
	(void)state;
	temp_directory(directory);
	return chdir(directory);
}

/* rmdir: nothing is left in it. */
static int leave(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_name), cmocka_unit_test(test_same_service), cmocka_unit_test(test_named),
		cmocka_unit_test(test_replace),   cmocka_unit_test(test_no_copy),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("cli_retry", tests, enter, leave);
}
