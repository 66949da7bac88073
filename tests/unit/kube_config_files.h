/* A directory with a kubeconfig for each test, and parts of kubeconfigs. Shared by test_kube_config.c and
 * test_kube_config_refused.c. */
#ifndef TESTS_KUBE_CONFIG_FILES_H
#define TESTS_KUBE_CONFIG_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/kube/kubeconfig.h"
#include "tests/unit/temp.h"

/* A directory of its own for each test, with the file `config` in it. */
struct fixture {
	char dir[TEMP_PATH_SIZE];
	char path[TEMP_PATH_SIZE + 16];
	struct kube_config config;
	struct error err;
};

static const char *const proxy_variables[] = {"HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
					      "https_proxy", "NO_PROXY",   "no_proxy"};

static int setup(void **state)
{
	struct fixture *fixture = mem_calloc(1, sizeof(*fixture));

	for (size_t i = 0; i < ARRAY_LEN(proxy_variables); i++)
		unsetenv(proxy_variables[i]);
	*state = fixture;
	temp_directory(fixture->dir);
	snprintf(fixture->path, sizeof(fixture->path), "%s/config", fixture->dir);
	return 0;
}

static int teardown(void **state)
{
	static const char *const files[] = {"config", "token", "ca.crt", "namespace", "sub/config"};
	struct fixture *fixture = *state;
	cleanup_free char *sub = NULL;

	kube_config_free(&fixture->config);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		cleanup_free char *path = mem_printf("%s/%s", fixture->dir, files[i]);

		unlink(path);
	}
	sub = mem_printf("%s/sub", fixture->dir);
	rmdir(sub);
	assert_int_equal(rmdir(fixture->dir), 0);
	free(fixture);
	return 0;
}

static void put_file(struct fixture *fixture, const char *name, const char *text)
{
	cleanup_free char *path = mem_printf("%s/%s", fixture->dir, name);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* The message from the line number on, if context and path are before it. */
static const char *after_place(struct fixture *fixture, const char *context)
{
	cleanup_free char *start = context == NULL
					   ? mem_printf("kubeconfig: %s:", fixture->path)
					   : mem_printf("kubeconfig, context \"%s\": %s:", context, fixture->path);

	if (strncmp(fixture->err.message, start, strlen(start)) != 0)
		fail_msg("no place in: %s", fixture->err.message);
	return fixture->err.message + strlen(start);
}

#define HEAD "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u, namespace: n}\n"
#define CLUSTER "clusters:\n- name: other\n  cluster: {server: \"http://no\"}\n- name: k\n  cluster:\n"
#define USER "users:\n- name: u\n  user:\n"

#define SERVER CLUSTER "    server: https://h\n"
#define AT_USER "users[\"u\"].user"

#define V1 "apiVersion: client.authentication.k8s.io/v1"

#define config_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
