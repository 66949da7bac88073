/* Exec plugins, which are shell scripts here; the loop is the default one, which alone hears of children. Shared by
 * test_kube_exec.c and test_kube_exec_client.c. */
#ifndef TESTS_EXEC_WORLD_H
#define TESTS_EXEC_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/kube/client.h"
#include "common/kube/config/exec_plugin.h"
#include "tests/unit/http_server.h"
#include "tests/unit/temp.h"

#define API_V1 "client.authentication.k8s.io/v1"
#define CREDENTIAL(status) "{\"apiVersion\": \"" API_V1 "\", \"kind\": \"ExecCredential\", \"status\": " status "}"
#define CERT "-----BEGIN CERTIFICATE-----"
#define KEY "-----BEGIN KEY-----"

struct fixture {
	struct ev_loop *loop;
	char dir[TEMP_PATH_SIZE];
	struct kube_config config;
	struct error err;
	/* one run */
	struct exec_plugin *plugin;
	struct exec_credential given;
	size_t ended;
	char failure[2048];
	/* a client */
	struct http_server server;
	bool serving;
	const char *wanted; /* the token that is right; NULL: whatever comes */
	char authorization[256];
	struct kube_client *client;
	size_t answers;
	enum kube_failure outcome;
	int status;
	char message[2048];
};

static inline int setup(void **state)
{
	struct fixture *fixture = mem_calloc(1, sizeof(*fixture));

	*state = fixture;
	fixture->loop = ev_default_loop(0);
	temp_directory(fixture->dir);
	fixture->config.server = mem_strdup("https://h");
	fixture->config.source = mem_strdup("test");
	return 0;
}

static inline int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
	(void)info;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	exec_plugin_free(fixture->plugin);
	exec_credential_free(&fixture->given);
	kube_client_free(fixture->client);
	if (fixture->serving)
		http_server_free(&fixture->server);
	kube_config_free(&fixture->config);
	assert_int_equal(nftw(fixture->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(fixture);
	return 0;
}

static inline void put_file(struct fixture *fixture, const char *name, const char *text)
{
	cleanup_free char *path = mem_printf("%s/%s", fixture->dir, name);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	chmod(path, 0700);
}

static inline char *get_file(struct fixture *fixture, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", fixture->dir, name);
	FILE *file = fopen(path, "re");
	char *text = mem_calloc(1, 4096);

	assert_non_null(file);
	assert_true(fread(text, 1, 4095, file) > 0);
	fclose(file);
	return text;
}

/* A shell script is the plugin from now on; its working directory is this process's, $DIR the fixture's. */
static inline void use_plugin(struct fixture *fixture, const char *script)
{
	struct kube_exec *exec = mem_calloc(1, sizeof(*exec));
	cleanup_free char *text = mem_printf("#!/bin/sh\nDIR=%s\n%s\n", fixture->dir, script);

	put_file(fixture, "plugin", text);
	exec->command = mem_printf("%s/plugin", fixture->dir);
	exec->api_version = mem_strdup(API_V1);
	exec->place = mem_strdup("users[\"u\"].user.exec of FILE");
	assert_null(fixture->config.exec);
	fixture->config.exec = exec;
}

#define exec_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
