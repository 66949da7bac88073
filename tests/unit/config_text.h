/* Loads a configuration from a text. Shared by test_config.c and test_config_failures.c. */
#ifndef TESTS_CONFIG_TEXT_H
#define TESTS_CONFIG_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/config/config.h"
#include "tests/unit/temp.h"

static void load(const char *text, struct config *out)
{
	struct error err = {0};
	if (config_load_text("c.yaml", text, strlen(text), CONFIG_UNKNOWN_WARN, out, &err) < 0)
		fail_msg("%s", err.message);
}

static void assert_loads(const char *text)
{
	struct config config;
	load(text, &config);
	config_free(&config);
}

static void assert_refused_mode(const char *text, enum config_unknown unknown, const char *expected)
{
	struct config config;
	struct error err = {0};
	memset(&config, 0x5A, sizeof(config));
	struct config before = config;
	if (config_load_text("c.yaml", text, strlen(text), unknown, &config, &err) == 0) {
		config_free(&config);
		fail_msg("'%s' was taken, expected: %s", text, expected);
	}
	assert_memory_equal(&config, &before, sizeof(config));
	if (!strstr(err.message, expected))
		fail_msg("\"%s\" lacks \"%s\"", err.message, expected);
}

static void assert_refused(const char *text, const char *expected)
{
	assert_refused_mode(text, CONFIG_UNKNOWN_WARN, expected);
}

/* The tests must not depend on who runs them. */
static int clear_environment(void **state)
{
	(void)state;
	unsetenv("KUBE_APISERVER_ADDRESS");
	unsetenv("KUBECONFIG");
	unsetenv("HOME");
	return 0;
}

#endif
