/* fc-testapi: the embedded API server as a program. It listens on loopback, keeps everything in memory, and ends on
 * SIGTERM. */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/process/guard.h"
#include "tests/cluster/testapi/access.h"
#include "tests/cluster/testapi/http.h"

struct settings {
	struct api_options api;
	const char *address;
	uint16_t port;
	const char *port_file;
	const char *kubeconfig;
	bool die_with_parent;
};

static const char USAGE[] =
	"Usage: fc-testapi [options]\n"
	"  --port N              port to listen on; 0 (default): the kernel chooses one\n"
	"  --address A           loopback IPv4 address to listen on; default 127.0.0.1\n"
	"  --port-file FILE      write the port to FILE when the server listens\n"
	"  --kubeconfig FILE     write a kubeconfig for the server to FILE when it listens\n"
	"  --token-auth-file F   file of lines token,user,uid,\"group,...\"; default: no authentication\n"
	"  --watch-log N         watch events to keep per resource; default 16384\n"
	"  --bookmark-interval S seconds between bookmarks; default 60\n"
	"  --gc-delay S          seconds between a change and its garbage collection; default 0.005\n"
	"  --first-version N     first resourceVersion; default 1\n"
	"  --die-with-parent     end when the parent process ends\n"
	"  -v N                  log level, default 0; 1: every request\n"
	"  --help, --version\n";

enum {
	OPT_PORT = 256,
	OPT_ADDRESS,
	OPT_PORT_FILE,
	OPT_KUBECONFIG,
	OPT_TOKENS,
	OPT_LOG,
	OPT_BOOKMARK,
	OPT_GC,
	OPT_FIRST,
	OPT_DIE,
	OPT_HELP,
	OPT_VERSION
};

static const struct option OPTIONS[] = {
	{"port", required_argument, NULL, OPT_PORT},
	{"address", required_argument, NULL, OPT_ADDRESS},
	{"port-file", required_argument, NULL, OPT_PORT_FILE},
	{"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
	{"token-auth-file", required_argument, NULL, OPT_TOKENS},
	{"watch-log", required_argument, NULL, OPT_LOG},
	{"bookmark-interval", required_argument, NULL, OPT_BOOKMARK},
	{"gc-delay", required_argument, NULL, OPT_GC},
	{"first-version", required_argument, NULL, OPT_FIRST},
	{"die-with-parent", no_argument, NULL, OPT_DIE},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int read_options(int argc, char **argv, struct settings *settings)
{
	int option;

	while ((option = getopt_long(argc, argv, "v:", OPTIONS, NULL)) >= 0) {
		switch (option) {
		case OPT_PORT: settings->port = (uint16_t)strtoul(optarg, NULL, 10); break;
		case OPT_ADDRESS: settings->address = optarg; break;
		case OPT_PORT_FILE: settings->port_file = optarg; break;
		case OPT_KUBECONFIG: settings->kubeconfig = optarg; break;
		case OPT_TOKENS: settings->api.token_file = optarg; break;
		case OPT_LOG: settings->api.event_log = strtoul(optarg, NULL, 10); break;
		case OPT_BOOKMARK: settings->api.bookmark_sec = strtod(optarg, NULL); break;
		case OPT_GC: settings->api.gc_delay_sec = strtod(optarg, NULL); break;
		case OPT_FIRST: settings->api.first_version = strtoull(optarg, NULL, 10); break;
		case OPT_DIE: settings->die_with_parent = true; break;
		case 'v': log_verbosity = atoi(optarg); break;
		case OPT_VERSION: release_print("fc-testapi");
		case OPT_HELP: fputs(USAGE, stdout); exit(EXIT_SUCCESS);
		default: return -1;
		}
	}
	return optind == argc && strncmp(settings->address, "127.", 4) == 0 ? 0 : -1;
}

/* Written beside and renamed, so that who waits for the file reads all of it. */
static int write_file(const char *path, const char *text, struct error *err)
{
	cleanup_free char *temporary = mem_printf("%s.%ld", path, (long)getpid());
	FILE *file = fopen(temporary, "we");

	if (file == NULL)
		return error_set_errno(err, errno, "%s", temporary);
	if (fputs(text, file) < 0 || fflush(file) != 0) {
		fclose(file);
		unlink(temporary);
		return error_set_errno(err, errno, "write %s", temporary);
	}
	fclose(file);
	if (rename(temporary, path) < 0) {
		unlink(temporary);
		return error_set_errno(err, errno, "rename to %s", path);
	}
	return 0;
}

static int announce(const struct settings *settings, const struct api *api, uint16_t port, struct error *err)
{
	cleanup_free char *number = mem_printf("%u\n", port);
	const char *token = access_admin_token(api->access);
	cleanup_free char *config = mem_printf(
		"apiVersion: v1\nkind: Config\nclusters:\n- name: testapi\n  cluster:\n"
		"    server: http://%s:%u\nusers:\n- name: admin\n  user:%s%s\ncontexts:\n"
		"- name: testapi\n  context:\n    cluster: testapi\n    user: admin\n"
		"current-context: testapi\n",
		settings->address, port, token == NULL ? " {}" : "\n    token: ", token == NULL ? "" : token);

	if (settings->kubeconfig != NULL && write_file(settings->kubeconfig, config, err) < 0)
		return -1;
	return settings->port_file == NULL ? 0 : write_file(settings->port_file, number, err);
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int revents)
{
	(void)watcher;
	(void)revents;
	ev_break(loop, EVBREAK_ALL);
}

static int serve(const struct settings *settings, struct ev_loop *loop, struct error *err)
{
	struct api *api = api_new(loop, &settings->api, err);
	struct api_http *http = NULL;
	ev_signal term;
	ev_signal interrupt;
	int result = -1;

	if (api == NULL)
		return -1;
	ev_signal_init(&term, on_signal, SIGTERM);
	ev_signal_init(&interrupt, on_signal, SIGINT);
	ev_signal_start(loop, &term);
	ev_signal_start(loop, &interrupt);
	http = api_http_new(api, settings->address, settings->port, err);
	if (http != NULL && announce(settings, api, api_http_port(http), err) == 0) {
		log_info("serving on http://%s:%u", settings->address, api_http_port(http));
		ev_run(loop, 0);
		result = 0;
	}
	if (http != NULL)
		api_http_free(http);
	ev_signal_stop(loop, &term);
	ev_signal_stop(loop, &interrupt);
	api_free(api);
	return result;
}

int main(int argc, char **argv)
{
	struct settings settings = {.address = "127.0.0.1"};
	struct error err = {0};
	pid_t parent = getppid();

	if (read_options(argc, argv, &settings) < 0) {
		fputs("Try fc-testapi --help.\n", stderr);
		return 2;
	}
	if (settings.die_with_parent) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			return 0; /* it went before we asked */
	}
	signal(SIGPIPE, SIG_IGN);
	process_raise_descriptors(); /* a watch per client and a socket per connection */
	if (serve(&settings, ev_default_loop(0), &err) < 0) {
		log_error("%s", err.message);
		return 1;
	}
	return 0;
}
