/* The files of the bus's keys: how they are made, what is said of bad ones, and the list that is read again. */
#include <sys/resource.h>
#include <sys/stat.h>
#include <zmq.h>

#include "tests/unit/curve_world.h"

static void test_keygen(void **state)
{
	struct fixture *f = *state;
	char directory[KEYS_PATH_SIZE];
	char path[FILE_PATH_SIZE];
	char secret[4096];
	char again[4096];
	char clients[4096];
	struct stat stat_of;
	struct error err;

	path_of(path, f->peer, "client.secret");
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 0777, 0600);
	path_of(path, f->server, "server.secret");
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 0777, 0600);
	read_text(f->server, "server.secret", secret);
	assert_int_equal(strlen(secret), CURVE_KEY_SIZE);
	read_text(f->server, "clients", clients);
	assert_int_equal(strlen(clients), CURVE_KEY_SIZE - 1 + strlen(" peer\n"));
	assert_string_equal(clients + CURVE_KEY_SIZE - 1, " peer\n");

	/* a name that has a key keeps it, and so does the server */
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"peer"}, 1, &err), -1);
	assert_non_null(
		strstr(err.message, "peer/client.secret, expected a peer without keys: choose another NAME, or "));
	assert_non_null(strstr(err.message, "/server/clients"));
	read_text(f->server, "server.secret", again);
	assert_string_equal(secret, again);
	/* somebody has edited the list, without an end of the line */
	path_of(path, f->server, "clients");
	assert_int_equal(truncate(path, (off_t)strlen(clients) - 1), 0);
	/* names that say what they are for */
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"fc-barrier", "reconciler"}, 2, &err), 0);
	read_text(f->server, "clients", clients);
	assert_non_null(strstr(clients, " peer\n"));
	assert_non_null(strstr(clients, " fc-barrier role=barrier\n"));
	assert_non_null(strstr(clients, " reconciler role=reconciler\n"));
	for (size_t i = 0; i < 2; i++) {
		snprintf(directory, sizeof(directory), "%s/%s", f->directory, i == 0 ? "fc-barrier" : "reconciler");
		remove_keys(directory);
	}
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"../x"}, 1, &err), -1);
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"server"}, 1, &err), -1);
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){""}, 1, &err), -1);
	assert_int_equal(curve_keygen("/proc/none", NULL, 0, &err), -1);
	assert_non_null(strstr(err.message, "/proc/none"));
}

static void expect_no_listener(struct fixture *f, const char *pattern)
{
	const struct bus_security security = {.keys = f->server};
	struct error err;

	assert_null(bus_socket_bind(f->loop, "tcp://127.0.0.1:*", &security, on_receive, f, &err));
	if (strstr(err.message, pattern) == NULL)
		fail_msg("found \"%s\", expected %s in it", err.message, pattern);
}

static void test_bad_files(void **state)
{
	struct fixture *f = *state;
	const struct bus_security security = {.keys = f->peer};
	struct error err;
	char secret[4096];

	read_text(f->server, "server.secret", secret);
	write_text(f->server, "server.secret", "too short\n");
	expect_no_listener(f, "server.secret: expected a key");
	write_text(f->server, "server.secret", "");
	expect_no_listener(f, "server.secret: expected a key");
	remove_file(f->server, "server.secret");
	expect_no_listener(f, "server.secret: No such file");
	write_text(f->server, "server.secret", secret);
	write_text(f->server, "clients", "# a comment\nno key\n");
	expect_no_listener(f, "clients:2: expected a key");
	remove_file(f->server, "clients");
	expect_no_listener(f, "clients: No such file");
	remove_file(f->peer, "server.public");
	assert_null(bus_socket_connect(f->loop, "tcp://127.0.0.1:1", &security, on_receive, f, &err));
	assert_non_null(strstr(err.message, "server.public: No such file"));
	assert_null(strstr(err.message, "secret"));
}

static void test_list_lines(void **state)
{
	struct fixture *f = *state;
	struct curve_clients *clients;
	struct error err;
	static const char *const wrong[] = {"role=leader", "role=", "member="};
	char public[CURVE_KEY_SIZE] = "";
	char secret[CURVE_KEY_SIZE];
	char text[512];

	assert_int_equal(zmq_curve_keypair(public, secret), 0);
	snprintf(text, sizeof(text), "#\n#comment\n\n  %s  two words\r\n", public);
	write_text(f->server, "clients", text);
	clients = curve_clients_new(f->server, &err);
	assert_non_null(clients);
	assert_string_equal(curve_clients_find(clients, public), "two words");
	assert_false(curve_clients_refresh(clients));
	snprintf(text, sizeof(text), "%s", public);
	write_text(f->server, "clients", text);
	assert_true(curve_clients_refresh(clients));
	assert_string_equal(curve_clients_find(clients, public), "");
	assert_null(curve_clients_find(clients, secret));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		snprintf(text, sizeof(text), "%s a %s\n", public, wrong[i]);
		write_text(f->server, "clients", text);
		assert_false(curve_clients_refresh(clients)); /* the old list stays */
	}
	curve_clients_free(clients);
}

/* A key that is taken off the list while no file can be opened is off it as soon as one can. */
static void test_list_unread(void **state)
{
	struct fixture *f = *state;
	char public[CURVE_KEY_SIZE] = "";
	struct curve_clients *clients;
	struct rlimit limit;
	struct rlimit none;
	struct error err;
	char text[4096];

	read_text(f->server, "clients", text);
	memcpy(public, text, CURVE_KEY_SIZE - 1);
	clients = curve_clients_new(f->server, &err);
	assert_non_null(clients);
	write_text(f->server, "clients", "# nobody\n");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_false(curve_clients_refresh(clients));
	assert_false(curve_clients_refresh(clients));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_non_null(curve_clients_find(clients, public));
	assert_true(curve_clients_refresh(clients));
	assert_null(curve_clients_find(clients, public));
	curve_clients_free(clients);
}

/* A list that cannot be used any more changes nothing. */
static void test_list_broken_later(void **state)
{
	struct fixture *f = *state;

	listen_with(f, f->server);
	write_text(f->server, "clients", "nonsense\n");
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	remove_file(f->server, "clients");
	connect_with(f, f->peer);
	want(f, is_heard, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_keygen),      TEST(test_bad_files),         TEST(test_list_lines),
		TEST(test_list_unread), TEST(test_list_broken_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
