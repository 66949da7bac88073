/* TLS of the HTTP server side: certificates are read again when their files change, and bad ones are not taken. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/serve/serve.h"
#include "tests/unit/http_asker.h"
#include "tests/unit/temp.h"

enum { PEM_MAX = 8192, NAME_SIZE = 64 };

struct world {
	struct ev_loop *loop;
	struct serve *serve;
	char directory[TEMP_PATH_SIZE];
	char *cert;
	char *key;
};

static void write_text(const char *path, const char *text, size_t len)
{
	/* as Secrets are updated: a new file in the place of the old */
	cleanup_free char *temporary = mem_printf("%s.new", path);
	FILE *file = fopen(temporary, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	fclose(file);
	assert_int_equal(rename(temporary, path), 0);
}

/* A self-signed certificate of this name, and its key. */
static void make_pair(const struct world *world, const char *name, bool with_key)
{
	unsigned char pem[PEM_MAX];
	size_t len = sizeof(pem);
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;

	gnutls_x509_privkey_init(&key);
	assert_int_equal(
		gnutls_x509_privkey_generate(key, GNUTLS_PK_EC, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
		0);
	gnutls_x509_crt_init(&crt);
	gnutls_x509_crt_set_version(crt, 3);
	gnutls_x509_crt_set_serial(crt, "\x01", 1);
	gnutls_x509_crt_set_activation_time(crt, time(NULL) - 60);
	gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 3600);
	gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name));
	gnutls_x509_crt_set_key(crt, key);
	assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
	assert_int_equal(gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_PEM, pem, &len), 0);
	write_text(world->cert, (const char *)pem, len);
	len = sizeof(pem);
	assert_int_equal(gnutls_x509_privkey_export(key, GNUTLS_X509_FMT_PEM, pem, &len), 0);
	if (with_key)
		write_text(world->key, (const char *)pem, len);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
}

static struct world *world_new(void)
{
	struct world *world = mem_calloc(1, sizeof(*world));

	world->loop = ev_loop_new(0);
	temp_directory(world->directory);
	world->cert = mem_printf("%s/tls.crt", world->directory);
	world->key = mem_printf("%s/tls.key", world->directory);
	return world;
}

static int start(struct world *world, struct error *err)
{
	const struct serve_options options = {
		.address = "127.0.0.1:0",
		.tls_cert_file = world->cert,
		.tls_key_file = world->key,
	};

	world->serve = serve_new(world->loop, &options, err);
	return world->serve == NULL ? -1 : 0;
}

static void world_free(struct world *world)
{
	serve_free(world->serve);
	ev_loop_destroy(world->loop);
	unlink(world->cert);
	unlink(world->key);
	rmdir(world->directory);
	free(world->cert);
	free(world->key);
	free(world);
}

/* Shakes hands, asks for /healthz, and tells whose certificate it saw; "" when no connection came about. */
static void ask(const struct world *world, char name[NAME_SIZE])
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
	struct asking asking = asker_open(serve_address(world->serve));
	gnutls_certificate_credentials_t credentials;
	gnutls_session_t session;
	gnutls_x509_crt_t crt;
	unsigned count;
	const gnutls_datum_t *peer;
	char answer[512] = "";
	size_t size = NAME_SIZE;
	ssize_t result;

	name[0] = '\0';
	gnutls_certificate_allocate_credentials(&credentials);
	gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
	gnutls_set_default_priority(session);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
	gnutls_transport_set_int(session, asking.fd);
	fcntl(asking.fd, F_SETFL, O_NONBLOCK);
	while ((result = gnutls_handshake(session)) < 0 && !gnutls_error_is_fatal((int)result)) {
		struct pollfd readable = {.fd = asking.fd, .events = POLLIN};

		ev_run(world->loop, EVRUN_NOWAIT);
		poll(&readable, 1, 1);
	}
	if (result == 0) {
		peer = gnutls_certificate_get_peers(session, &count);
		gnutls_x509_crt_init(&crt);
		gnutls_x509_crt_import(crt, peer, GNUTLS_X509_FMT_DER);
		gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size);
		gnutls_x509_crt_deinit(crt);
		gnutls_record_send(session, request, sizeof(request) - 1);
		RUN_UNTIL(world->loop, (result = gnutls_record_recv(session, answer, sizeof(answer) - 1)) > 0 ||
					       (result < 0 && gnutls_error_is_fatal((int)result)));
		assert_memory_equal(answer, "HTTP/1.1 200", 12);
	}
	gnutls_deinit(session);
	gnutls_certificate_free_credentials(credentials);
	asker_close(&asking);
}

static void expect(const struct world *world, const char *expected)
{
	char name[NAME_SIZE];

	/* the files are looked at once a second */
	for (int64_t until_ms = clock_boot_ms() + ASKER_PATIENCE_MS; clock_boot_ms() < until_ms;) {
		ask(world, name);
		if (strcmp(name, expected) == 0)
			return;
		for (int i = 0; i < 50; i++)
			asker_turn(world->loop);
	}
	assert_string_equal(name, expected);
}

static int readings;

static void count_readings(char severity, const char *message)
{
	readings += severity == 'I' && strncmp(message, "read certificate ", strlen("read certificate ")) == 0;
}

static void serves_and_reloads(void **state)
{
	struct world *world = world_new();
	char name[NAME_SIZE];
	struct error err;

	(void)state;
	make_pair(world, "first", true);
	if (start(world, &err) < 0)
		fail_msg("%s", err.message);
	expect(world, "first");
	readings = 0;
	log_set_sink(count_readings);
	make_pair(world, "second", true);
	expect(world, "second");
	/* it is read once, not at each look */
	for (int64_t until_ms = clock_boot_ms() + 1300; clock_boot_ms() < until_ms;) {
		ask(world, name);
		assert_string_equal(name, "second");
	}
	log_set_sink(NULL);
	assert_int_equal(readings, 1);
	/* a certificate without its key (the key comes a moment later), and rubbish: the old pair goes on */
	make_pair(world, "third", false);
	for (int64_t until_ms = clock_boot_ms() + 1300; clock_boot_ms() < until_ms;) {
		ask(world, name);
		assert_string_equal(name, "second");
	}
	write_text(world->cert, "rubbish", 7);
	for (int64_t until_ms = clock_boot_ms() + 1300; clock_boot_ms() < until_ms;) {
		ask(world, name);
		assert_string_equal(name, "second");
	}
	make_pair(world, "fourth", true);
	expect(world, "fourth");
	world_free(world);
}

/* Whether this process may read files whatever their mode, as root may. */
static void read_all_files(bool on)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	data[0].effective = data[0].permitted;
	if (!on)
		data[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
	assert_int_equal(syscall(SYS_capset, &head, data), 0);
}

/* The kubelet makes new files readable for the Pod's group a moment after it has put them in place; chown and chmod
 * change neither inode, size nor mtime. */
static void what_cannot_be_read_is_read_later(void **state)
{
	struct world *world = world_new();
	char name[NAME_SIZE];
	struct error err;

	(void)state;
	make_pair(world, "first", true);
	if (start(world, &err) < 0)
		fail_msg("%s", err.message);
	expect(world, "first");
	make_pair(world, "second", true);
	assert_int_equal(chmod(world->key, 0), 0);
	read_all_files(false);
	for (int64_t until_ms = clock_boot_ms() + 1300; clock_boot_ms() < until_ms;) {
		ask(world, name);
		assert_string_equal(name, "first");
	}
	read_all_files(true);
	assert_int_equal(chmod(world->key, 0600), 0);
	expect(world, "second");
	world_free(world);
}

static int next_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

static void bad_files_stop_the_start(void **state)
{
	struct world *world = world_new();
	int free_before = next_descriptor();
	struct error err;

	(void)state;
	assert_int_equal(start(world, &err), -1);
	assert_non_null(strstr(err.message, world->cert));
	assert_non_null(strstr(err.message, "--tls-cert: open "));
	make_pair(world, "first", true);
	make_pair(world, "second", false);
	assert_int_equal(start(world, &err), -1);
	assert_non_null(strstr(err.message, "does not belong to"));
	make_pair(world, "third", true);
	write_text(world->key, "rubbish", 7);
	assert_int_equal(start(world, &err), -1);
	assert_non_null(strstr(err.message, world->key));
	assert_int_equal(next_descriptor(), free_before); /* no listener is left */
	make_pair(world, "fourth", true);
	assert_int_equal(start(world, &err), 0);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serves_and_reloads),
		cmocka_unit_test(what_cannot_be_read_is_read_later),
		cmocka_unit_test(bad_files_stop_the_start),
	};

	return cmocka_run_group_tests_name("serve_tls", tests, NULL, NULL);
}
