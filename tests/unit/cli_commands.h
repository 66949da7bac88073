/* Commands of kubectl framework, from their words to their end, against an API server that the test scripts. */
#ifndef TESTS_UNIT_CLI_COMMANDS_H
#define TESTS_UNIT_CLI_COMMANDS_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <ev.h>

#include "cli/commands.h"
#include "common/base/json.h"
#include "common/kube/client/call.h"
#include "tests/unit/cli_asserts.h"
#include "tests/unit/http_server.h"
#include "tests/unit/temp.h"

#define FRAMEWORKS "/apis/frameworkcontroller.microsoft.com/v1/namespaces/ns/frameworks"

struct world {
	struct cli cli;
	struct http_server server;
	char kubeconfig[TEMP_PATH_SIZE];
	void (*script)(struct world *w, struct http_conn *conn);
	const char *framework;  /* with ' for " */
	int asked;              /* for the same thing, as the script counts */
	struct http_conn *held; /* a watch of Frameworks */
	bool released;
	char *out;
	char *err;
};

static MAYBE_UNUSED void on_request(void *arg, struct http_conn *conn)
{
	struct world *w = arg;

	w->script(w, conn);
}

static MAYBE_UNUSED void begin(struct world *w, void (*script)(struct world *w, struct http_conn *conn))
{
	FILE *file;
	int fd = -1;

	*w = (struct world){.script = script};
	http_server_start(&w->server, ev_default_loop(EVFLAG_AUTO), on_request, w);
	fd = temp_file(w->kubeconfig);
	file = fdopen(fd, "w");
	fprintf(file,
		"{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: \"%s\"}}], "
		"contexts: [{name: c, context: {cluster: c, user: u, namespace: ns}}], users: [{name: u, user: {}}]}\n",
		w->server.address);
	fclose(file);
	cli_init(&w->cli);
	w->cli.out.fd = memfd_create("out", MFD_CLOEXEC);
	w->cli.err_out.fd = memfd_create("err", MFD_CLOEXEC);
}

static MAYBE_UNUSED char *take_text(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *text = mem_alloc((size_t)len + 1);

	assert_int_equal(pread(fd, text, (size_t)len, 0), len);
	text[len] = '\0';
	close(fd);
	return text;
}

/* Runs a command to its end; its words end with NULL. Returns its exit code. */
static MAYBE_UNUSED int run(struct world *w, const char *name, ...)
{
	const struct command *command = command_find(name);
	char *words[32] = {(char *)name};
	struct error err = {.message = ""};
	int count = 1, code, out = w->cli.out.fd, err_out = w->cli.err_out.fd;
	va_list args;

	va_start(args, name);
	while ((words[count] = va_arg(args, char *)) != NULL)
		count++;
	va_end(args);
	words[count++] = (char *)"--kubeconfig";
	words[count++] = w->kubeconfig;
	words[count] = NULL;
	assert_int_equal(options_parse(count, words, command->groups, &w->cli.options, &err), 0);
	code = command->run(&w->cli);
	http_server_free(&w->server);
	code = cli_finish(&w->cli, code);
	w->out = take_text(out);
	w->err = take_text(err_out);
	return code;
}

static MAYBE_UNUSED void end(struct world *w)
{
	unlink(w->kubeconfig);
	free(w->out);
	free(w->err);
}

static MAYBE_UNUSED void reply(struct http_conn *conn, int status, const char *text)
{
	cleanup_free char *quoted = mem_strdup(text);

	for (char *c = quoted; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	http_reply(conn, status, "", quoted);
}

#endif
