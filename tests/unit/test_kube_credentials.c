/* How the Kubernetes client gets in: tokens that are read again, and those that cannot be read;
 * impersonation and a proxy. */
#include "tests/unit/kube_world.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <time.h>

#include "common/base/log.h"

static void write_token(struct fixture *fixture, const char *text)
{
	FILE *file;

	if (fixture->token_path[0] == '\0') {
		close(temp_file(fixture->token_path));
		fixture->config.token_file = mem_strdup(fixture->token_path);
	}
	file = fopen(fixture->token_path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void want_new_token(struct fixture *fixture, struct http_conn *conn)
{
	const char *token = http_header(conn, "Authorization");

	assert_non_null(token);
	if (strcmp(token, "Bearer second") == 0)
		reply_ok(fixture, conn);
	else
		http_reply(conn, 401, "", "Unauthorized");
}

static void test_token_read_again(void **state)
{
	struct fixture *fixture = *state;

	write_token(fixture, "  first\n");
	start_client(fixture, &(struct kube_client_options){0});
	write_token(fixture, "second\n");
	fixture->script = want_new_token;
	call(fixture, 0, (struct kube_request){.method = "POST", .body = "{}", .body_len = 2});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_int_equal(fixture->server.request_count, 2);
	assert_int_equal(counted(fixture, "POST", "pods", 401), 1);
	assert_int_equal(counted(fixture, "POST", "pods", 200), 1);
}

/* A token that stays wrong is tried twice, not for ever, and is not shown. An emptied file keeps the old one. */
static void test_token_stays_wrong(void **state)
{
	struct fixture *fixture = *state;

	write_token(fixture, "secret-token");
	start_client(fixture, &(struct kube_client_options){0});
	write_token(fixture, "\n");
	fixture->script = want_new_token;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 401);
	assert_int_equal(fixture->server.request_count, 2);
	assert_string_equal(fixture->seen[0].message, "GET /api/v1/pods: 401 Unauthorized");
}

static void test_reload(void **state)
{
	struct fixture *fixture = *state;

	write_token(fixture, "first");
	start_client(fixture, &(struct kube_client_options){0});
	write_token(fixture, "second");
	kube_client_reload(fixture->client);
	fixture->script = want_new_token;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_int_equal(fixture->server.request_count, 1);
}

static int complaints;

static void count_complaints(char severity, const char *message)
{
	(void)message;
	complaints += severity == 'W';
}

/* What is wrong with a file is logged once, until the file is right again. */
static void test_one_complaint(void **state)
{
	static const char *const texts[] = {"", "", "", "right", "", ""};
	struct fixture *fixture = *state;

	write_token(fixture, "first");
	start_client(fixture, &(struct kube_client_options){0});
	complaints = 0;
	log_set_sink(count_complaints);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		write_token(fixture, texts[i]);
		kube_client_reload(fixture->client);
	}
	log_set_sink(NULL);
	assert_int_equal(complaints, 2);
}

static void test_bad_credentials(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_client_options options = {0};
	struct error err;

	write_token(fixture, "two\nlines");
	assert_null(kube_client_new(fixture->loop, &fixture->config, &options, &err));
	assert_non_null(strstr(err.message, fixture->token_path));
	assert_null(strstr(err.message, "lines\n"));
	write_token(fixture, "");
	assert_null(kube_client_new(fixture->loop, &fixture->config, &options, &err));
	assert_non_null(strstr(err.message, "empty"));
	mem_replace(&fixture->config.token_file, "/nonesuch/token");
	assert_null(kube_client_new(fixture->loop, &fixture->config, &options, &err));
	assert_non_null(strstr(err.message, "/nonesuch/token: No such file"));
	mem_replace(&fixture->config.token_file, NULL);
	write_token(fixture, "no PEM");
	fixture->config.ca_file = mem_strdup(fixture->token_path);
	assert_null(kube_client_new(fixture->loop, &fixture->config, &options, &err));
	assert_non_null(strstr(err.message, "certificate authority"));
}

/* Shows the client what it said of itself. */
static void echo_who(struct fixture *fixture, struct http_conn *conn)
{
	const char *authorization = http_header(conn, "Authorization");
	const char *group = http_header(conn, "Impersonate-Group");

	(void)fixture;
	http_reply(conn, 200, "", authorization != NULL ? authorization : group != NULL ? group : "");
}

static void test_impersonation(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.impersonate = mem_calloc(3, sizeof(char *));
	fixture->config.impersonate[0] = mem_strdup("Impersonate-User: me");
	fixture->config.impersonate[1] = mem_strdup("Impersonate-Group: mine");
	start_client(fixture, &(struct kube_client_options){0});
	fixture->script = echo_who;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_string_equal(fixture->seen[0].body, "mine");
}

/* The server plays the proxy: it is asked for the whole address. */
static void test_proxy(void **state)
{
	struct fixture *fixture = *state;

	mem_replace(&fixture->config.server, "http://nonesuch.invalid:1");
	fixture->config.proxy_url = mem_strdup(fixture->server.address);
	start_client(fixture, &(struct kube_client_options){0});
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_non_null(strstr(fixture->server.log.data, "GET http://nonesuch.invalid:1/api/v1/pods"));
}

/* libcurl refuses the proxy's URL, and quotes it. */
static void test_proxy_password(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.proxy_url = mem_strdup("http://user:pass@word@127.0.0.1:9");
	start_client(fixture, &(struct kube_client_options){0});
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_NETWORK);
	assert_null(strstr(fixture->seen[0].message, "pass"));
	assert_null(strstr(fixture->seen[0].message, "word"));
	assert_non_null(strstr(fixture->seen[0].message, "cannot use the proxy"));
}

/* A client certificate, and its key with a passphrase that nobody gives. */
static void make_encrypted_pair(struct kube_config *config)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	gnutls_datum_t pem;

	gnutls_x509_privkey_init(&key);
	assert_int_equal(
		gnutls_x509_privkey_generate(key, GNUTLS_PK_EC, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
		0);
	gnutls_x509_crt_init(&crt);
	gnutls_x509_crt_set_serial(crt, "\x01", 1);
	gnutls_x509_crt_set_activation_time(crt, time(NULL) - 60);
	gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 3600);
	gnutls_x509_crt_set_key(crt, key);
	assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
	assert_int_equal(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem), 0);
	config->client_cert_data = mem_strndup((const char *)pem.data, pem.size);
	gnutls_free(pem.data);
	assert_int_equal(gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, "secret", 0, &pem), 0);
	config->client_key_data = mem_strndup((const char *)pem.data, pem.size);
	gnutls_free(pem.data);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
}

/* The call fails, and the process lives. */
static void test_encrypted_key(void **state)
{
	struct fixture *fixture = *state;
	cleanup_free char *address = mem_printf("https%s", fixture->server.address + strlen("http"));

	make_encrypted_pair(&fixture->config);
	assert_non_null(strstr(fixture->config.client_key_data, "ENCRYPTED"));
	mem_replace(&fixture->config.server, address);
	start_client(fixture, &(struct kube_client_options){0});
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_NETWORK);
	assert_non_null(strstr(fixture->seen[0].message, "private key"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		client_test(test_token_read_again), client_test(test_token_stays_wrong),
		client_test(test_reload),           client_test(test_bad_credentials),
		client_test(test_impersonation),    client_test(test_proxy),
		client_test(test_proxy_password),   client_test(test_encrypted_key),
		client_test(test_one_complaint),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("kube_credentials", tests, NULL, NULL);
}
